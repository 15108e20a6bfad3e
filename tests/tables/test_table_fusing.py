"""`holdstill.fuse` against the oracle and against the SQL that it replaces."""

from __future__ import annotations

import math
import uuid
from fractions import Fraction
from unittest import mock

import duckdb
import numpy as np
import pytest
from fusion_oracle import fused, listed
from hypothesis import given
from hypothesis import strategies as st

import holdstill as hs
from holdstill.tables import leaders as leading

FLOATS = st.one_of(
    st.none(),
    st.sampled_from([0.0, -0.0, 1.0, math.inf, -math.inf, math.nan, 5e-324, -1.5]),
    st.floats(width=32, allow_nan=False),
)
WEIGHTS = st.sampled_from([Fraction(1), Fraction(2), Fraction(1, 10), Fraction(3, 7), Fraction(10**6)])


@st.composite
def tables(draw, *, distinct=True):
    """Ids, one to three lists of values, and whether each is descending."""
    kind = draw(st.sampled_from([st.integers(-5, 60), st.integers(-(2**63), 2**63 - 1), st.text(max_size=3)]))
    ids = draw(st.lists(kind.filter(lambda id_: id_ != "\0"), unique=distinct, max_size=40))
    ids = [id_ if isinstance(id_, int) else id_.replace("\0", "") + str(at) for at, id_ in enumerate(ids)]
    count = draw(st.integers(1, 3))
    lists = [draw(st.lists(FLOATS, min_size=len(ids), max_size=len(ids))) for _ in range(count)]
    return ids, lists, draw(st.lists(st.booleans(), min_size=count, max_size=count))


def connect(ids, lists, type_="DOUBLE"):
    connection = duckdb.connect()
    kind = "VARCHAR" if ids and isinstance(ids[0], str) else "BIGINT"
    columns = "".join(f", s{at} {type_}" for at in range(len(lists)))
    connection.execute(f"CREATE TABLE t (id {kind}{columns})")
    rows = [list(row) for row in zip(ids, *lists, strict=True)]
    if rows:
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(rows[0]))})", rows)
    return connection


def ranks(descending):
    return [f"r{at}=s{at} {'desc' if order else 'asc'}" for at, order in enumerate(descending)]


@given(tables(), st.data())
def test_it_gives_what_the_oracle_gives(table, data):
    ids, lists, descending = table
    weights = data.draw(st.lists(WEIGHTS, min_size=len(lists), max_size=len(lists)))
    ties = data.draw(st.sampled_from(["row-number", "rank"]))
    rrf_k = data.draw(st.sampled_from([1, 60, 2**31 - 1]))
    given_ = {"id": "id", "ranks": ranks(descending), "weights": weights, "rrf_k": rrf_k, "ties": ties}
    result = hs.fuse(connect(ids, lists), **given_)
    wanted = fused(ids, lists, descending=descending, weights=weights, rrf_k=rrf_k, ties=ties)
    assert listed(result) == [(id_, own, float(score)) for id_, own, score, _ in wanted]
    assert result.total == len(result) == len(wanted)
    assert bool(result.notes) == (len(wanted) < len(ids))


@given(tables(), st.integers(1, 10), st.sampled_from(["row-number", "rank"]), st.sampled_from([1, 2, 5]))
def test_the_first_rows_are_those_of_the_whole(table, top, ties, depth):
    ids, lists, descending = table
    connection = connect(ids, lists)
    whole = hs.fuse(connection, id="id", ranks=ranks(descending), ties=ties)
    with mock.patch.multiple(leading, _DEPTH=depth, _DEEPER=2):
        first = hs.fuse(connection, id="id", ranks=ranks(descending), ties=ties, top=top)
    assert listed(first) == listed(whole)[:top]
    assert first.total == whole.total


def test_the_first_rows_are_found_without_ordering_all():
    draws = np.random.default_rng(7)
    table = {"id": draws.permutation(100_000), "a": draws.normal(size=100_000), "b": draws.integers(0, 500, 100_000)}
    for ties in ("row-number", "rank"):
        given_ = {"id": "id", "ranks": ["x=a desc", "y=b asc"], "ties": ties}
        whole, first = hs.fuse(table, **given_), hs.fuse(table, **given_, top=20)
        assert listed(first) == listed(whole)[:20]
        assert {stage.name for stage in first.stages} >= {"leaders"}
        assert not {stage.name for stage in first.stages} & {"rank x", "rank y", "join"}


REFERENCE = """
WITH a AS (SELECT id, row_number() OVER (ORDER BY s0 DESC, id) AS r0 FROM t),
     b AS (SELECT id, row_number() OVER (ORDER BY s1 DESC, id) AS r1 FROM t)
SELECT id, r0, r1, {score} AS rrf_score FROM a JOIN b USING (id) ORDER BY rrf_score DESC, id
"""
SUM = "1.0 / (60.0 + r0) + 1.0 / (60.0 + r1)"


def sample(rows, seed=3):
    draws = np.random.default_rng(seed)
    connection = duckdb.connect()
    table = {
        "id": draws.permutation(rows),
        "s0": draws.exponential(5, rows),
        "s1": np.cos(draws.uniform(0, 7, rows)).astype(np.float32),
    }
    connection.register("columns", table)
    connection.execute("CREATE TABLE t AS SELECT * FROM columns")
    return connection


def test_rows_ranks_and_order_are_those_of_the_sql():
    connection = sample(30_000)
    wanted = connection.execute(REFERENCE.format(score=SUM)).fetchall()
    result = hs.fuse(connection, table="t", id="id", ranks=["r0=s0 desc", "r1=s1 desc"])
    assert [(id_, *own) for id_, own, _ in listed(result)] == [row[:3] for row in wanted]
    assert np.abs(result.scores / np.array([row[3] for row in wanted]) - 1).max() < 4e-16


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30), st.randoms())
def test_rows_and_ranks_are_those_of_the_sql_with_ties(values, chance):
    ids = list(range(len(values)))
    chance.shuffle(ids)
    connection = connect(ids, [[float(one) for one, _ in values], [float(other) for _, other in values]])
    wanted = connection.execute(REFERENCE.format(score=SUM)).fetchall()
    result = hs.fuse(connection, id="id", ranks=["r0=s0 desc", "r1=s1 desc"])
    assert {(id_, *own) for id_, own, _ in listed(result)} == {row[:3] for row in wanted}


def test_rounding_reproduces_the_sql_that_rounds():
    connection = sample(30_000)
    wanted = connection.execute(REFERENCE.format(score=f"round({SUM}, 6)")).fetchall()
    result = hs.fuse(connection, table="t", id="id", ranks=["r0=s0 desc", "r1=s1 desc"], round=6)
    assert [(id_, *own, score) for id_, own, score in listed(result)] == wanted
    assert len(set(result.scores.tolist())) < 3_000


# -- exactness -----------------------------------------------------------------------------------


def by_ranks(pairs):
    """A table in which row i has the ranks pairs[i] in two lists; other rows fill the other ranks."""
    most = max(map(max, pairs))
    lists = []
    for at in (0, 1):
        taken = {pair[at]: row for row, pair in enumerate(pairs)}
        free = iter(range(len(pairs), 2 * most))
        values = {taken[rank] if rank in taken else next(free): -rank for rank in range(1, most + 1)}
        lists.append(values)
    rows = sorted(set(lists[0]) | set(lists[1]))
    return {
        "id": np.array(rows),
        **{
            name: np.array([values.get(row, math.nan) for row in rows], float)
            for name, values in zip("ab", lists, strict=True)
        },
    }


def test_equal_fractions_tie_where_floats_differ():
    assert Fraction(1, 61) + Fraction(1, 549) == Fraction(1, 63) + Fraction(1, 427)
    assert 1 / 61 + 1 / 549 != 1 / 63 + 1 / 427
    for pairs in ([(1, 489), (3, 367)], [(3, 367), (1, 489)]):
        result = hs.fuse(by_ranks(pairs), id="id", ranks=["x=a desc", "y=b desc"])
        at = [result.ids.tolist().index(row) for row in (0, 1)]
        assert at[1] == at[0] + 1
        assert result.scores[at[0]] == result.scores[at[1]]


# -- ids, duplicates, values ---------------------------------------------------------------------


def test_uuids_name_rows_and_stay_uuids(tmp_path):
    ids = [uuid.UUID(int=at * 2**124) for at in (9, 3, 12)]
    connection = duckdb.connect(tmp_path / "u.duckdb")
    connection.execute("CREATE TABLE t (id UUID, s DOUBLE)")
    connection.executemany("INSERT INTO t VALUES (?, 1)", [[id_] for id_ in ids])
    result = hs.fuse(connection, id="id", ranks=["r=s desc"], carry=["s"])
    assert result.ids.tolist() == sorted(map(str, ids))
    assert [row["id"] for row in result.rows()] == sorted(ids)


def repeated():
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT * FROM (VALUES (1, 3, 'a'), (2, 2, 'b'), (1, 1, 'c')) v(id, s, note)")
    return connection


def test_duplicates_are_refused_with_a_count():
    with pytest.raises(hs.DuplicateId, match=r"1 id stands on several rows, 2 in all.*got 1 \(int\)"):
        hs.fuse(repeated(), id="id", ranks=["r=s desc"])


def test_duplicates_are_kept_apart_by_position():
    result = hs.fuse(repeated(), id="id", ranks=["r=s desc", "q=s asc"], carry=["note"], duplicates="keep")
    rows = [(row["id"], row["r"], row["q"], row["note"]) for row in result.rows()]
    assert rows == [(1, 1, 3, "a"), (1, 3, 1, "c"), (2, 2, 2, "b")]
    assert result.notes == ("1 id stands on 2 rows in all",)


@given(tables(distinct=False), st.booleans())
def test_duplicates_are_joined_as_sql_does(table, text):
    _, lists, _ = table
    lists = [[None if v is None or math.isnan(v) else v for v in values] for values in (lists * 2)[:2]]
    ids = [str(at % 4) if text else at % 4 for at in range(len(lists[0]))]
    connection = connect(ids, lists)
    wanted = connection.execute("""
        WITH n AS (SELECT *, row_number() OVER () AS p FROM t),
             a AS (SELECT id, row_number() OVER (ORDER BY s0 DESC, id, p) AS r0 FROM n WHERE s0 IS NOT NULL),
             b AS (SELECT id, row_number() OVER (ORDER BY s1 DESC, id, p) AS r1 FROM n WHERE s1 IS NOT NULL)
        SELECT id, r0, r1 FROM a FULL JOIN b USING (id)""").fetchall()
    result = hs.fuse(connection, id="id", ranks=["r0=s0 desc", "r1=s1 desc"], duplicates="join")
    assert sorted((id_, *map(str, own)) for id_, own, _ in listed(result)) == sorted(
        (id_, str(r0), str(r1)) for id_, r0, r1 in wanted
    )
    scores = [(-score, id_) for id_, _, score in listed(result)]
    assert scores == sorted(scores)


def test_a_join_says_how_many_rows_it_makes():
    result = hs.fuse(repeated(), id="id", ranks=["r=s desc", "q=s asc"], duplicates="join")
    assert len(result) == 5
    assert result.notes[1] == "joined by id, as SQL does: 3 rows became 5"


@pytest.mark.parametrize(
    "type_", ["TINYINT", "UBIGINT", "HUGEINT", "DECIMAL(9, 2)", "DATE", "TIMESTAMP", "BOOLEAN", "FLOAT"]
)
def test_every_type_with_an_order_ranks(type_):
    connection = duckdb.connect()
    low, high = {"DATE": ("'2020-01-01'", "'2021-01-01'"), "TIMESTAMP": ("'2020-01-01'", "'2020-01-01 00:00:01'")}.get(
        type_, ("0", "1")
    )
    connection.execute(f"CREATE TABLE t (id INTEGER, s {type_})")
    connection.execute(f"INSERT INTO t VALUES (1, {low}), (2, NULL), (3, {high})")
    assert hs.fuse(connection, id="id", ranks=["r=s desc"]).ids.tolist() == [3, 1]
    assert hs.fuse(connection, id="id", ranks=["r=s asc"]).ids.tolist() == [1, 3]


def test_integers_beyond_floats_are_told_apart():
    table = {"id": np.arange(3), "s": np.array([2**62, 2**62 + 2, 2**62 + 1])}
    assert hs.fuse(table, id="id", ranks=["r=s desc"]).ids.tolist() == [1, 2, 0]
    table["s"] = np.array([2**63, 2**64 - 1, 0], np.uint64)
    assert hs.fuse(table, id="id", ranks=["r=s asc"]).ids.tolist() == [2, 0, 1]


def test_an_empty_table_gives_no_rows():
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (id VARCHAR, s DOUBLE)")
    for more in ({}, {"top": 3}, {"round": 6}, {"duplicates": "join"}, {"ties": "rank"}):
        result = hs.fuse(connection, id="id", ranks=["r=s desc"], **more)
        assert (len(result), result.total, result.rows()) == (0, 0, [])
