"""The compiled SQL against the reference, in a real database."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdstill import errors
from holdstill.predicate import Predicate, evaluate, f, parse, split, to_sql
from holdstill.predicate.plan import Truth
from holdstill.schema import Schema
from strategies import HOSTILE, asked, predicates, rows, schemas

SQL_TYPES = {
    "int": "BIGINT", "float": "DOUBLE", "bool": "BOOLEAN", "str": "VARCHAR",
    "date": "DATE", "datetime": "TIMESTAMP", "str[]": "VARCHAR[]", "int[]": "BIGINT[]",
}  # fmt: skip


@pytest.fixture(scope="module")
def database() -> Any:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'Asia/Kolkata'")  # the machine's own zone must not matter
        yield connection


def _stored(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None)
    return list(value) if isinstance(value, tuple) else value


def _answers(database: Any, schema: Schema, table: list[dict[str, Any]], predicate: Predicate) -> list[bool | None]:
    names = list(schema.types())
    columns = ", ".join(f"field_{at} {SQL_TYPES[type_]}" for at, type_ in enumerate(schema.types().values()))
    database.execute(f"CREATE OR REPLACE TEMP TABLE documents (row BIGINT, {columns})")
    marks = ", ".join("?" for _ in range(len(names) + 1))
    for number, row in enumerate(table):
        database.execute(f"INSERT INTO documents VALUES ({marks})", [number, *(_stored(row[name]) for name in names)])
    sql, params = to_sql(predicate, lambda name: f"field_{names.index(name)}")
    found = database.execute(f"SELECT {sql} FROM documents ORDER BY row", params).fetchall()
    return [answer for (answer,) in found]


@settings(deadline=None, max_examples=250)
@given(asked())
def test_the_database_says_what_the_reference_says(database, case):
    schema, table, predicate = case
    checked = predicate.check(schema)
    expected = [evaluate(predicate, row) for row in table]
    assert [evaluate(checked, row) for row in table] == expected
    assert _answers(database, schema, table, checked) == expected


@settings(deadline=None, max_examples=50)
@given(asked())
def test_one_more_condition_adds_no_row_and_one_more_alternative_takes_none(database, case):
    schema, table, predicate = case
    checked = predicate.check(schema)
    narrower = (checked & f[schema.fields[0].name].is_not_null()).check(schema)
    wider = (checked | f[schema.fields[0].name].is_null()).check(schema)
    for less, some, more in zip(
        *(_answers(database, schema, table, each) for each in (narrower, checked, wider)), strict=True
    ):
        assert (less is True) <= (some is True) <= (more is True)


TYPES = Schema.of({"s": "str", "tags": "str[]"})


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_value_reaches_the_statement(database, hostile):
    def shapes(value: str) -> list[str]:
        made = [
            f.s == value, f.s != value, f.s < value, f.s.isin([value, "other"]), f.s.not_in([value, "other"]),
            f.tags.has(value), f.tags.has_any([value, "other"]), ~f.tags.has_all([value, "other"]),
        ]  # fmt: skip
        return [to_sql(each.check(TYPES), lambda name: f"field_{name}")[0] for each in made]

    assert shapes(hostile) == shapes("harmless")
    row = {"s": TYPES["s"].accept(hostile), "tags": TYPES["tags"].accept([hostile])}
    found = _answers(database, TYPES, [row, {"s": None, "tags": None}], (f.s == hostile).check(TYPES))
    assert found == [True, None]
    assert _answers(database, TYPES, [row], f.tags.has(hostile).check(TYPES)) == [True]


def test_no_name_reaches_the_statement():
    schema = Schema.of({"select": "int"})
    sql, params = to_sql((f["select"] == 3).check(schema), lambda _: "field_0")
    assert (sql, params) == ("field_0 = CAST(? AS BIGINT)", [3])


def test_long_lists_and_long_disjunctions(database):
    schema = Schema.of({"x": "int"})
    table = [{"x": 5}, {"x": -1}, {"x": None}]
    listed = f.x.isin(range(10_000)).check(schema)
    assert _answers(database, schema, table, listed) == [True, False, None]
    assert len(to_sql(listed, lambda _: "c")[0]) < 100
    spelled = parse(" or ".join(f"x = {n} and x != {n + 1}" for n in range(2_000))).check(schema)
    assert _answers(database, schema, table, spelled) == [True, False, None]


def test_the_deepest_predicate_runs(database):
    schema = Schema.of({"x": "int"})
    predicate = f.x == 0
    for n in range(1, 65):
        predicate = (predicate & (f.x >= -n)) if n % 2 else (predicate | (f.x == n))
    assert _answers(database, schema, [{"x": 64}, {"x": 0}, {"x": -99}, {"x": None}], predicate) == [
        True, True, False, None,
    ]  # fmt: skip
    with pytest.raises(errors.PredicateSyntax, match="nested too deeply"):
        predicate & (f.x == 1)


def test_strings_are_ordered_by_code_point(database):
    schema = Schema.of({"s": "str"})
    ordered = ["", "A", "a", "a ", "é", "\uffff", "\U0001f600"]
    table = [{"s": each} for each in ordered]
    for at, each in enumerate(ordered):
        below = _answers(database, schema, table, (f.s < each).check(schema))
        assert below == [True] * at + [False] * (len(ordered) - at)


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (f.tags.has("a"), [True, True, False, False, None]),
        (f.tags.has_any(["a", "c"]), [True, True, False, False, None]),
        (f.tags.has_all(["a", "b"]), [True, False, False, False, None]),
        (~f.tags.has_all(["a", "b"]), [False, True, True, True, None]),
        (f.tags.has_any([]), [False, False, False, False, None]),
        (f.tags.has_all([]), [True, True, True, True, None]),
    ],
    ids=str,
)
def test_lists(database, predicate, expected):
    table = [{"s": None, "tags": tags} for tags in (("b", "a"), ("a", "a"), ("A", "ab"), (), None)]
    assert _answers(database, TYPES, table, predicate) == expected


def test_instants_do_not_depend_on_the_zone(database):
    schema = Schema.of({"t": "datetime"})
    moment = datetime(2018, 1, 1, tzinfo=UTC)
    table = [{"t": moment}]
    for same in (f.t == moment, f.t.isin([moment, datetime.max.replace(tzinfo=UTC)])):
        assert _answers(database, schema, table, same) == [True]


def test_text_is_no_column():
    with pytest.raises(errors.InvalidPredicate, match="not a column"):
        to_sql(f.text.contains("python"), lambda name: name)


@settings(deadline=None, max_examples=100)
@given(asked(text=True), st.randoms(use_true_random=False))
def test_the_parts_of_a_plan_give_the_whole(case, random):
    schema, table, predicate = case
    checked = predicate.check(schema)
    plan = split(checked)
    assert not any(part.has_text() for part in plan.fields)
    held = {leaf: [random.random() < 0.5 for _ in table] for leaf in plan.texts}
    known = [[evaluate(part, row) for row in table] for part in plan.fields]
    answers = [Truth(np.array([a is True for a in column]), np.array([a is None for a in column])) for column in known]
    whole = plan.combine(answers, [np.array(held[leaf]) for leaf in plan.texts])
    for at, row in enumerate(table):
        expected = evaluate(checked, row, lambda leaf, at=at: held[leaf][at])
        got = None if whole.unknown[at] else bool(whole.true[at])
        assert got == expected
        assert whole.false[at] == (expected is False)


def test_a_plan_takes_the_largest_parts_without_text():
    plan = split(parse("a = 1 and b = 2 and (contains(text, 'x') or not phrase(text, 'y z') or c = 3 or d = 4)"))
    assert sorted(map(str, plan.fields)) == ["a = 1 and b = 2", "c = 3 or d = 4"]
    assert sorted(map(str, plan.texts)) == ["contains(text, 'x')", "phrase(text, 'y z')"]
    assert split(parse("a = 1 and not b = 2")).fields == (parse("a = 1 and not b = 2"),)
    assert split(parse("a = 1 and contains(text, 'x') or a = 1 and contains(text, 'x') and b = 1")).texts == (
        f.text.contains("x"),
    )


def test_statements_hold_only_the_language_and_columns():
    """Whatever the predicate, the statement consists of a fixed vocabulary and the columns' names."""
    vocabulary = re.compile(
        r"(?:\bfield_\d\b|\b(?:AND|OR|NOT|TRUE|FALSE|IS|NULL|CASE|WHEN|THEN|ELSE|END|CAST|AS|BIGINT|DOUBLE|BOOLEAN"
        r"|VARCHAR|DATE|TIMESTAMP|list_contains|list_has_any|list_has_all)\b|[()\[\],?=<>! ])*"
    )

    @settings(deadline=None, max_examples=100)
    @given(schemas().flatmap(lambda schema: st.tuples(st.just(schema), predicates(schema), rows(schema))))
    def run(case):
        schema, predicate, _ = case
        names = list(schema.types())
        sql, params = to_sql(predicate.check(schema), lambda name: f"field_{names.index(name)}")
        assert vocabulary.fullmatch(sql), sql
        assert sql.count("?") == len(params)

    run()
