"""What can be fused, what cannot and why, and what is written."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

import holdstill as hs

VEC = "v=array_cosine_similarity(vec, [1.0, 0.0]::FLOAT[2]) desc"


@pytest.fixture
def files(tmp_path):
    """One table of three rows as Parquet, CSV and DuckDB; Parquet and CSV have no arrays."""
    with duckdb.connect(tmp_path / "t.duckdb") as connection:
        connection.execute("""
            CREATE TABLE t AS SELECT * FROM (VALUES
                ('b', 2.5::DOUBLE, [1, 0]::FLOAT[2], 'x'), ('a', 1.5, [0, 1]::FLOAT[2], 'y'), ('c', NULL, NULL, NULL)
            ) v(id, s, vec, title)""")
        connection.execute(f"COPY t TO '{tmp_path}/t.parquet'")
        connection.execute(f"COPY (SELECT id, s, title FROM t) TO '{tmp_path}/t.csv'")
    return tmp_path


@pytest.mark.parametrize("name", ["t.duckdb", "t.parquet", "t.csv"])
def test_files_are_read(files, name):
    result = hs.fuse(files / name, id="id", ranks=["r=s desc"], carry=["title"])
    assert result.columns == ("id", "title", "r", "rrf_score")
    assert [tuple(row.values()) for row in result.rows()] == [("b", "x", 1, 1 / 61), ("a", "y", 2, 1 / 62)]
    assert result.notes == ("1 row has a value in no list, and is left out",)


@pytest.mark.parametrize("name", ["t.duckdb", "t.parquet"])
def test_functions_of_vectors_take_what_parquet_has_for_arrays(files, name):
    assert hs.fuse(files / name, id="id", ranks=[VEC]).ids.tolist() == ["b", "a"]


def test_lists_of_unequal_length_are_no_arrays(tmp_path):
    duckdb.sql("SELECT 1 AS id, [1, 0]::FLOAT[] AS vec UNION ALL SELECT 2, [1]").write_parquet(
        str(tmp_path / "t.parquet")
    )
    with pytest.raises(hs.InvalidQuery, match="DuckDB cannot evaluate the ranking 'v'"):
        hs.fuse(tmp_path / "t.parquet", id="id", ranks=[VEC])


def test_arrays_of_numpy_are_a_table():
    result = hs.fuse({"id": np.array([1, 2]), "s": np.array([0.5, 0.75])}, id="id", ranks={"r": "s desc"})
    assert (result.ids.tolist(), result.ranks["r"].tolist()) == ([2, 1], [1, 2])


def test_arrow_tables_and_data_frames_are_tables():
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    frame = polars.DataFrame({"id": ["a", "b"], "s": [1, 2]})
    for table in (frame, frame.to_arrow()):
        assert hs.fuse(table, id="id", ranks=["r=s desc"]).ids.tolist() == ["b", "a"]


def test_names_that_need_quotes(tmp_path):
    path = tmp_path / "a'[1]*.parquet"
    duckdb.sql("""SELECT 'x' AS "my ""id", 1 AS "S s" """).write_parquet(str(path))
    result = hs.fuse(path, id='my "id', ranks=['r="S s" desc'])
    assert result.rows() == [{'my "id': "x", "r": 1, "rrf_score": 1 / 61}]


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_what_is_written_reads_back(files, kind):
    result = hs.fuse(files / "t.parquet", id="id", ranks=["r=s desc", VEC], carry=["vec", "title"])
    result.write(files / f"out.{kind}")
    read = duckdb.sql(f"SELECT id, title, r, v, rrf_score FROM '{files}/out.{kind}'").fetchall()
    assert read == [("b", "x", 1, 1, 2 / 61), ("a", "y", 2, 2, 2 / 62)]
    assert result.stages[-1].name == "write"
    assert sorted(path.name for path in files.iterdir() if "out" in path.name) == [f"out.{kind}"]


def test_writing_refuses_what_it_must(files):
    result = hs.fuse(files / "t.parquet", id="id", ranks=["r=s desc"])
    with pytest.raises(hs.InvalidInput, match="that is the file to be read"):
        result.write(files / "t.parquet")
    with pytest.raises(hs.InvalidInput, match="cannot tell what to write"):
        result.write(files / "out.txt")
    with pytest.raises(hs.NotWritable, match="cannot be written"):
        result.write(files / "nowhere" / "out.parquet")


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("nope", 'Referenced column "nope" not found'),
        ("s +", "syntax error"),
        ("s), (s", "syntax error"),
        ("s FROM t; DROP TABLE t", "Parser Error"),
        ("s, s", "single expression"),
        ("max(s)", "GROUP BY"),
        ("unnest([1, 2])", "several rows of one"),
        ("CAST(title AS INTEGER)", "Could not convert"),
        ("title", "no order of merit"),
        ("[s]", "no order of merit"),
    ],
)
def test_an_expression_that_cannot_rank_is_named(files, expression, says):
    with pytest.raises(hs.InvalidQuery) as caught:
        hs.fuse(files / "t.duckdb", id="id", ranks=["fine=s desc", f"mine={expression} desc"])
    assert "'mine'" in caught.value.message
    assert caught.value.field == "rank"
    assert says in str(caught.value)


@pytest.mark.parametrize("name", ["no.parquet", "no.csv", "no.duckdb", "no.txt"])
def test_files_that_are_not_there_or_not_what_they_say(tmp_path, name):
    with pytest.raises(hs.MalformedInput, match="there is no file"):
        hs.fuse(tmp_path / name, id="id", ranks=["r=s desc"])
    (tmp_path / name).write_bytes(b"\x00\xff nothing \x80" * 20)
    with pytest.raises(hs.InvalidInput):
        hs.fuse(tmp_path / name, id="id", ranks=["r=s desc"])


def test_a_torn_parquet_file_is_malformed(tmp_path):
    path = tmp_path / "t.parquet"
    duckdb.sql("SELECT range AS id, random() AS s FROM range(100000)").write_parquet(str(path))
    content = bytearray(path.read_bytes())
    content[1000:200_000] = bytes(199_000)
    path.write_bytes(content)
    with pytest.raises(hs.MalformedInput, match="cannot be read"):
        hs.fuse(path, id="id", ranks=["r=s desc"])


@pytest.mark.parametrize(
    ("changed", "error", "says"),
    [
        ({"id": "nope"}, hs.UnknownField, "one of id, s, vec, title"),
        ({"carry": ["nope"]}, hs.UnknownField, "no such column"),
        ({"id": "s"}, hs.InvalidInput, "cannot name the rows"),
        ({"id": "title"}, hs.InvalidInput, "1 row has no id"),
        ({"table": "u"}, hs.InvalidInput, "one of t"),
        ({"ranks": []}, hs.InvalidQuery, "1 to 64 rankings"),
        ({"ranks": ["s desc"]}, hs.InvalidQuery, "a ranking cannot be read"),
        ({"ranks": ["r=s"]}, hs.InvalidQuery, "a ranking cannot be read"),
        ({"ranks": ["ID=s desc"]}, hs.InvalidQuery, "would stand twice"),
        ({"ranks": ["rrf_score=s desc"]}, hs.InvalidQuery, "would stand twice"),
        ({"ranks": "r=s desc"}, hs.InvalidQuery, "rank cannot be used"),
        ({"rrf_k": 0}, hs.InvalidQuery, "rrf_k is out of range"),
        ({"top": 0}, hs.InvalidQuery, "top is out of range"),
        ({"round": 16}, hs.InvalidQuery, "round is out of range"),
        ({"weights": [1, 1]}, hs.InvalidQuery, "weights do not fit"),
        ({"weights": [0]}, hs.InvalidQuery, "a number above 0"),
        ({"weights": [float("nan")]}, hs.InvalidQuery, "a number above 0"),
        ({"weights": [0.1234567]}, hs.InvalidQuery, "at most 6 decimals"),
        ({"ties": "dense"}, hs.InvalidQuery, "one of row-number, rank"),
        ({"duplicates": "drop"}, hs.InvalidQuery, "one of refuse, keep, join"),
    ],
)
def test_arguments_out_of_range(files, changed, error, says):
    with pytest.raises(error, match=says):
        hs.fuse(files / "t.duckdb", **({"id": "id", "ranks": ["r=s desc"]} | changed))


def test_a_database_of_several_tables_needs_a_name(files):
    with duckdb.connect(files / "t.duckdb") as connection:
        connection.execute("CREATE SCHEMA more; CREATE VIEW more.v AS SELECT * FROM t")
    with pytest.raises(hs.InvalidInput, match=r"name the table; expected one of t, more\.v"):
        hs.fuse(files / "t.duckdb", id="id", ranks=["r=s desc"])
    assert len(hs.fuse(files / "t.duckdb", table="more.v", id="id", ranks=["r=s desc"])) == 2


def test_something_else_is_no_table():
    with pytest.raises(hs.InvalidInput, match="this cannot be read as a table"):
        hs.fuse(7, id="id", ranks=["r=s desc"])


def test_a_connection_stays_as_it_was(files):
    with duckdb.connect(files / "t.duckdb") as connection:
        cursor = connection.execute("SELECT id FROM t")
        hs.fuse(connection, id="id", ranks=["r=s desc"], carry=["title"]).rows()
        assert cursor.fetchall() == [("b",), ("a",), ("c",)]
