"""CSV and Parquet."""

from __future__ import annotations

import gzip
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdstill.ingest import Cell, Keys, Refused, Row, read

DEFAULT = Keys()


def split(items: Any) -> tuple[list[Row], list[Refused]]:
    items = list(items)
    return [item for item in items if isinstance(item, Row)], [item for item in items if isinstance(item, Refused)]


def read_table(
    folder: Path, content: str | bytes, name: str = "data.csv", keys: Keys = DEFAULT
) -> tuple[list[Row], list[Refused]]:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return split(read([path], keys=keys))


def test_columns_become_cells_and_an_empty_one_null(tmp_path: Path) -> None:
    (row,), refused = read_table(tmp_path, 'id,title,text,n,note\na,T,"one, ""two""\nthree",007,\n')
    assert not refused
    document = row.document
    assert (document.id, document.title, document.passages[0].text) == ("a", "T", 'one, "two"\nthree')
    assert dict(document.fields) == {"n": "007", "note": None}
    assert isinstance(document.fields["n"], Cell)


def test_a_row_has_the_number_of_the_line_where_it_starts(tmp_path: Path) -> None:
    rows, refused = read_table(tmp_path, 'id,text\r\na,"x\r\ny"\r\n\r\nb,x\r\nc\r\nd,"x\ny"\n,x\n')
    assert [(row.document.id, row.number) for row in rows] == [("a", 2), ("b", 5), ("d", 7)]
    assert [(item.row, item.reason) for item in refused] == [
        (6, "the row is not as wide as the header; expected 2 cells; got 1 (int)"),
        (9, "the row has no id; expected 'id' or '_id'. Name the key that holds it with --id KEY"),
    ]


def test_tabs_separate_where_the_name_says_so(tmp_path: Path) -> None:
    for name, content in (("a.tsv", b"id\ttext\na\tx,y\n"), ("b.TSV.gz", gzip.compress(b"id\ttext\na\tx,y\n"))):
        (row,), _ = read_table(tmp_path, content, name=name)
        assert row.document.passages[0].text == "x,y"


def test_any_other_column_is_a_field_whatever_it_is_called(tmp_path: Path) -> None:
    (row,), refused = read_table(tmp_path, "id,text,metadata,fields,vector,passages,pages\na,x,1,2,3,4,5\n")
    assert not refused
    assert dict(row.document.fields) == {"metadata": "1", "fields": "2", "vector": "3", "passages": "4", "pages": "5"}


def test_columns_can_be_named(tmp_path: Path) -> None:
    keys = Keys(id="slug", title="slug", text="body")
    (row,), _ = read_table(tmp_path, "slug,body,title,text\ns,b,t,x\n", keys=keys)
    assert (row.document.id, row.document.title, row.document.passages[0].text) == ("s", "s", "b")
    assert dict(row.document.fields) == {"title": "t", "text": "x"}


@pytest.mark.parametrize(
    ("content", "keys", "field", "reason"),
    [
        ("", Keys(), None, "there is no header"),
        (
            "name,text\na,x\nb,y\n",
            Keys(),
            "id",
            "no column holds the id; expected a column 'id' or '_id'. Name one with",
        ),
        ("id,text,n,n\na,x,1,2\n", Keys(), "n", "a column stands twice; got 'n' (str)"),
        ("id,text\na,x\n", Keys(id="slug"), "slug", "there is no such column; expected one of id, text; got 'slug'"),
        ("id,text\na,x\n", Keys(title="name"), "name", "there is no such column"),
        ("id,text\na,x\n", Keys(text="body"), "body", "there is no such column"),
        ("id,text\na,x\n", Keys(document="book"), "book", "there is no such column"),
        (b"id,caf\xe9\na,x\n", Keys(), None, "not UTF-8: byte 0xe9 in cell 2. Save it as UTF-8"),
        ('id,"te"xt\na,x\n', Keys(), None, "not CSV"),
    ],
)
def test_a_bad_header_is_said_once(
    tmp_path: Path, content: str | bytes, keys: Keys, field: str | None, reason: str
) -> None:
    rows, (refused,) = read_table(tmp_path, content, keys=keys)
    assert not rows
    assert (refused.row, refused.field) == (1, field)
    assert reason in refused.reason


@pytest.mark.parametrize(
    ("name", "header", "separator"),
    [
        ("t.csv", "id;text", "';'"),
        ("t.csv", "id\ttext", r"'\t'"),
        ("t.csv", "id|text", "'|'"),
        ("t.tsv", "id,text", "','"),
    ],
)
def test_another_separator_is_recognised(tmp_path: Path, name: str, header: str, separator: str) -> None:
    path = tmp_path / name
    path.write_text(f"{header}\n")
    (refused,) = read([path])
    assert isinstance(refused, Refused)
    assert refused.reason.startswith(f"the cells look separated by {separator}; expected cells separated by ")


def test_a_column_of_that_name_alone_is_no_separator(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("my;id\na\n")
    (refused,) = read([path], keys=Keys(id="my;id"))
    assert isinstance(refused, Refused)
    assert "is empty" in refused.reason


def test_vectors_of_csv_are_noted_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('id,text,vector\na,words,"[1, 2]"\nb,words,\n')
    reading = read([path])
    assert all(isinstance(row, Row) for row in reading)
    assert reading.notes == (
        f"{path}: CSV brings no vectors, so 'vector' is a field like any other; JSONL and Parquet bring them",
    )


def test_a_bad_row_costs_itself_alone(tmp_path: Path) -> None:
    rows, refused = read_table(tmp_path, b'id,text\na,x\nb,"x"y\nc,\xff\nd,\ne,x\n')
    assert [row.document.id for row in rows] == ["a", "e"]
    assert [(item.row, item.reason.split(".")[0]) for item in refused] == [
        (3, "not CSV: ',' expected after '\"'"),
        (4, "not UTF-8: byte 0xff in cell 2"),
        (5, "document 'd' is empty; expected a text, passages or a title with at least one word"),
    ]


def test_a_quote_that_is_never_closed_says_which_lines_it_costs(tmp_path: Path) -> None:
    rows, (refused,) = read_table(tmp_path, 'id,text\na,x\nb,"open\nc,x\nd,x\n')
    assert [row.document.id for row in rows] == ["a"]
    assert refused.row == 3
    assert refused.reason == "not CSV: unexpected end of data; lines 3 to 5 are lost. See the quotes of line 3"


def test_marks_nul_bytes_and_long_cells(tmp_path: Path) -> None:
    long = "w" * 2_000_000
    rows, refused = read_table(tmp_path, f"\ufeffid,text\na,x\0y\nb,{long}\n")
    assert not refused
    assert [row.document.passages[0].text for row in rows] == ["x\ufffdy", long]


cells = st.text("a1 \"',;\t\r\n\0\x85\u2028\ufeffé漢😀", min_size=1, max_size=8)


@given(st.lists(st.tuples(cells, cells | st.just("")), max_size=5))
def test_what_the_csv_module_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]
) -> None:
    import csv
    import io

    buffer = io.StringIO(newline="")
    csv.writer(buffer, quoting=csv.QUOTE_ALL).writerows(
        [("id", "text", "a", "b"), *(("x", "y", *pair) for pair in pairs)]
    )
    rows, refused = read_table(tmp_path_factory.mktemp("csv"), buffer.getvalue())
    assert not refused
    assert [(row.document.fields["a"], row.document.fields["b"] or "") for row in rows] == pairs


def write_parquet(path: Path, query: str) -> Path:
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
    return path


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    path = write_parquet(
        tmp_path / "data.parquet",
        """SELECT 7 AS id, 'T' AS title, 'words' AS text, 1 AS i, 0.5::DOUBLE AS f, true AS b, NULL AS nothing,
                  DATE '2020-01-02' AS d, TIMESTAMPTZ '2020-01-02 03:04:05+02' AS z,
                  TIMESTAMP '2020-01-02 03:04:05' AS t, ['x', 'y'] AS s, [1, 2] AS l,
                  1.10::DECIMAL(9, 2) AS price, 12::DECIMAL(9, 0) AS whole,
                  {'k': DATE '2020-01-02'} AS o, 'x'::BLOB AS raw, TIME '01:02:03' AS clock""",
    )
    (row,), refused = split(read([path]))
    assert not refused
    assert (row.number, row.document.id, row.document.title) == (1, "7", "T")
    fields = dict(row.document.fields)
    assert fields.pop("z").astimezone(UTC) == datetime(2020, 1, 2, 1, 4, 5, tzinfo=UTC)
    expected = {
        "i": 1, "f": 0.5, "b": True, "nothing": None, "d": date(2020, 1, 2), "t": datetime(2020, 1, 2, 3, 4, 5),  # noqa: DTZ001
        "s": ["x", "y"], "l": [1, 2], "price": 1.1, "whole": 12, "o": {"k": "2020-01-02"},
        "raw": "x", "clock": "01:02:03",
    }  # fmt: skip
    assert {name: (type(value), value) for name, value in fields.items()} == {
        name: (type(value), value) for name, value in expected.items()
    }


@pytest.mark.parametrize(
    ("columns", "fields"),
    [
        ("[0.5::FLOAT, 1] AS vector", {}),
        ("[0.5::FLOAT, 1] AS embedding", {}),
        ("[0.5::DOUBLE, 1] AS vector, [2.0::DOUBLE] AS embedding", {"embedding": [2.0]}),
        ("[0.5::DOUBLE, 1] AS vector, 'bert' AS embedding", {"embedding": "bert"}),
    ],
)
def test_parquet_vectors(tmp_path: Path, columns: str, fields: dict[str, Any]) -> None:
    path = write_parquet(tmp_path / "data.parquet", f"SELECT 'a' AS id, 'x' AS text, {columns}")
    (row,), _ = split(read([path]))
    vector = row.document.passages[0].vector
    assert vector is not None
    assert vector.tolist() == [0.5, 1.0]
    assert dict(row.document.fields) == fields


def test_parquet_rows_keep_their_order_and_bad_ones_cost_themselves(tmp_path: Path) -> None:
    path = write_parquet(
        tmp_path / "data.parquet",
        """SELECT 'd' || range AS id, 'x' AS text, CASE WHEN range = 4000 THEN 'NaN'::DOUBLE ELSE range END AS n,
                  CASE WHEN range = 7 THEN '\\xFF'::BLOB END AS raw FROM range(5000) ORDER BY range""",
    )
    rows, refused = split(read([path]))
    assert [row.document.id for row in rows] == [f"d{n}" for n in range(5000) if n not in (7, 4000)]
    assert [row.number for row in rows[:9]] == [1, 2, 3, 4, 5, 6, 7, 9, 10]
    assert [(item.row, item.field, item.reason.split(";")[0]) for item in refused] == [
        (8, "raw", "bytes are not text"),
        (4001, "n", "a number is not finite"),
    ]


def test_parquet_names_are_no_patterns(tmp_path: Path) -> None:
    folder = tmp_path / "year=2024"
    folder.mkdir()
    for name, id_ in (("a[1].parquet", "brackets"), ("a1.parquet", "plain")):
        write_parquet(folder / name, f"SELECT '{id_}' AS id, 'x' AS text")
    (row,), refused = split(read([folder / "a[1].parquet"]))
    assert not refused
    assert (row.document.id, dict(row.document.fields)) == ("brackets", {})


def test_parquet_records_nest_as_json_does(tmp_path: Path) -> None:
    path = write_parquet(
        tmp_path / "data.parquet",
        """SELECT {'slug': 'a', 'n': 1} AS metadata,
                  [{'text': 'x', 'pages': [1, 2]}, {'text': 'y', 'pages': NULL}] AS passages""",
    )
    (row,), refused = split(read([path], keys=Keys(id="slug")))
    assert not refused
    assert [(passage.text, passage.pages) for passage in row.document.passages] == [("x", (1, 2)), ("y", None)]
    assert dict(row.document.fields) == {"n": 1}


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", "not Parquet"), (b"PAR1 and nothing more", "not Parquet"), (None, "no column holds the id")],
)
def test_a_bad_parquet_file_is_refused(tmp_path: Path, content: bytes | None, reason: str) -> None:
    path = tmp_path / "data.parquet"
    if content is None:
        write_parquet(path, "SELECT 'x' AS text FROM range(3)")
    else:
        path.write_bytes(content)
    rows, (refused,) = split(read([path]))
    assert not rows
    assert refused.row == 1
    assert reason in refused.reason
