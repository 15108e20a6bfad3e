"""Constraints hold on every arm, mean one thing, and bring nothing in."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdstill
import strategies
from histories import budget
from holdstill import Collection, Document, f
from holdstill.schema import Schema

SCHEMA = {
    "n": "int", "x": "float", "s": "str", "ok": "bool", "d": "date", "at": "datetime",
    "tags": "str[]", "years": "int[]",
}  # fmt: skip
FORBIDDEN = {
    "n": 7, "x": 7.5, "s": "no", "ok": False, "d": date(2001, 1, 1), "at": datetime(2001, 1, 1, tzinfo=UTC),
    "tags": ["no"], "years": [2001],
}  # fmt: skip
ALLOWED = {
    "n": 3, "x": 3.5, "s": "yes", "ok": True, "d": date(2024, 1, 1), "at": datetime(2024, 1, 1, tzinfo=UTC),
    "tags": ["yes", "also"], "years": [2024, 2025],
}  # fmt: skip

#: Each operator once, in a condition that the allowed documents satisfy and the forbidden ones do not.
CONDITIONS = (
    "n = 3", "n != 7", "n < 7", "n <= 6", "not n >= 7", "not n > 6", "x < 7", "s > 'o'", "s >= 'yes'",
    "n between 1 and 6", "not n between 7 and 9", "s in ('yes', 'maybe')", "s not in ('no', 'never')", "ok = true",
    "ok != false", "d > date '2018-01-01'", "at >= datetime '2018-01-01T00:00:00Z'", "has(tags, 'yes')",
    "not has(tags, 'no')", "has_any(tags, 'yes', 'other')", "has_all(tags, 'yes', 'also')",
    "not has_any(years, 2001, 2002)",
    "contains(text, 'granted')", "not contains(text, 'secret')", "phrase(text, 'granted freely')",
    "not phrase(text, 'secret plan')", "n = 3 and s = 'yes'", "n = 3 or n = 4", "not (n = 7 or s = 'no')",
)  # fmt: skip


def ids(result: holdstill.Result) -> list[str]:
    return [hit.document for hit in result]


@pytest.fixture(scope="module")
def planted(make: Any) -> Collection:
    """Twelve allowed documents, and two forbidden ones that one arm alone would put first."""
    collection = make(schema=SCHEMA, vector_model="small")
    collection.add(
        [
            *(
                Document(f"good{i}", "granted freely " + "red " * (i % 3), fields=ALLOWED, vector=[1.0, float(i)])
                for i in range(12)
            ),
            Document("words", "zebra zebra red secret plan", fields=FORBIDDEN, vector=[-1.0, 0.0]),
            Document("vector", "blue secret plan", fields=FORBIDDEN, vector=[0.0, -1.0]),
        ]
    )
    return collection


ASKED: tuple[dict[str, Any], ...] = (
    {"text": "zebra red", "arms": ["lexical"]},
    {"vector": [0.0, -1.0]},
    {"text": "zebra red", "vector": [0.0, -1.0]},
    {},
)


@pytest.mark.parametrize("where", CONDITIONS)
def test_what_one_arm_alone_would_find_stays_out_where_the_filter_forbids_it(planted: Collection, where: str) -> None:
    free = {id_ for asked in ASKED[:3] for id_ in ids(planted.search(**asked, k=1))}
    assert free == {"words", "vector"}, "the planted ones come first where nothing forbids them"
    for by in ("passage", "document"):
        for asked in ASKED:
            result = planted.search(**asked, where=where, k=50, by=by)
            assert {"words", "vector"}.isdisjoint(ids(result)), asked
            assert result.completeness == "exhausted"
    assert planted.count(where) == 12


@pytest.mark.parametrize(
    "required", [{"must": ["granted"]}, {"must": ["granted freely"]}, {"must_not": ["secret"]},
                 {"must_not": ["plan"], "must": ["granted"]}, {"must_not": ["secret plan"]}],
)  # fmt: skip
def test_what_one_arm_alone_would_find_stays_out_where_the_words_forbid_it(
    planted: Collection, required: dict[str, Any]
) -> None:
    for by in ("passage", "document"):
        for asked in ASKED:
            result = planted.search(**asked, **required, k=50, by=by)
            assert {"words", "vector"}.isdisjoint(ids(result)), asked
            assert all(arm.eligible == 12 for arm in result.arms)


NOTHING = ("n in ()", "false", "n = 3 and n = 4", "has_any(tags)", "s = 'nobody'", "n in () or n is null", "not true")


@pytest.mark.parametrize("where", NOTHING)
def test_a_filter_that_matches_nothing_gives_nothing(planted: Collection, where: str) -> None:
    for by in ("passage", "document"):
        for asked in ASKED:
            result = planted.search(**asked, where=where, by=by)
            assert (ids(result), result.completeness, result.ties_beyond) == ([], "exhausted", 0)
            assert all((arm.eligible, arm.matched) == (0, 0) for arm in result.arms)
    assert planted.count(where) == 0


def test_deleting_by_a_filter_that_matches_nothing_deletes_nothing(planted: Collection) -> None:
    assert planted.delete(where="n in ()").changed == 0
    assert planted.update(where="false", fields={"n": 1}).changed == 0
    assert planted.count() == 14


def test_adding_a_condition_never_adds_a_row(make: Any) -> None:
    types = {"n": "int", "x": "float", "s": "str", "ok": "bool", "tags": "str[]", "d": "date"}
    pools: dict[str, tuple[Any, ...]] = {
        "n": (None, *strategies.INTS), "x": (None, *strategies.FLOATS), "s": (None, "a", "", "b", "é"),
        "ok": (None, True, False), "tags": (None, [], ["a"], ["a", "b"], ["'"]), "d": (None, *strategies.DATES),
    }  # fmt: skip
    schema = Schema.of(types)
    collection = make(schema=schema, vector_model="small")
    collection.add(
        [
            Document(
                str(i),
                ("zebra red", "null pointer", "python red", "it's C++")[i % 4],
                # The pools' lengths differ, so the values meet in many combinations.
                fields={name: pool[i % len(pool)] for name, pool in pools.items()},
                vector=[1.0, i % 5 - 2.0],
            )
            for i in range(45)
        ]
    )

    @budget(40)
    @given(
        strategies.predicates(schema, text=True),
        strategies.predicates(schema, text=True),
        st.sampled_from(ASKED),
        st.sampled_from(("passage", "document")),
    )
    def check(first: Any, second: Any, asked: dict[str, Any], by: str) -> None:
        fewer = set(ids(collection.search(**asked, where=first & second, k=50, by=by)))
        alone = set(ids(collection.search(**asked, where=first, k=50, by=by)))
        assert fewer <= alone
        assert alone <= set(ids(collection.search(**asked, where=first | second, k=50, by=by)))
        assert alone.isdisjoint(ids(collection.search(**asked, where=~first, k=50, by=by)))

    check()


#: For each operator the documents that satisfy it, of `value`, `other` and `null`; a missing key is null.
TRUTH: tuple[tuple[str, str], ...] = (
    ("n = 1", "value"), ("n != 1", "other"), ("not n = 1", "other"), ("not n != 1", "value"),
    ("n < 2", "value"), ("not n < 2", "other"), ("n >= 2", "other"), ("n between 1 and 1", "value"),
    ("not n between 1 and 1", "other"), ("n in (1, 5)", "value"), ("n not in (1, 5)", "other"),
    ("not n in (1, 5)", "other"), ("n in ()", ""), ("n not in ()", "value other"), ("not n in ()", "value other"),
    ("n is null", "null missing"), ("not n is null", "value other"), ("n is not null", "value other"),
    ("has(tags, 'a')", "value"), ("not has(tags, 'a')", "other"), ("has_any(tags, 'a', 'z')", "value"),
    ("has_all(tags, 'a')", "value"), ("not has_all(tags, 'a')", "other"), ("has_all(tags)", "value other"),
    ("has_any(tags)", ""), ("not has_any(tags)", "value other"), ("tags is null", "null missing"),
    ("n = 1 or n is null", "value null missing"), ("n != 1 or true", "value other null missing"),
    ("n = 1 and false", ""), ("not (n = 1 and n = 1)", "other"), ("n = 1 or not n = 1", "value other"),
)  # fmt: skip


def test_every_operator_treats_a_missing_value_alike(make: Any) -> None:
    collection = make(schema={"n": "int", "tags": "str[]"})
    collection.add(
        [
            Document("value", "red", fields={"n": 1, "tags": ["a"]}),
            Document("other", "red", fields={"n": 2, "tags": []}),
            Document("null", "red", fields={"n": None, "tags": None}),
            Document("missing", "red"),
        ]
    )
    for where, expected in TRUTH:
        for text in ("red", None):
            assert set(ids(collection.search(text, where=where))) == set(expected.split()), where


def test_a_candidate_left_out_for_a_missing_value_is_counted(make: Any) -> None:
    collection = make(schema={"n": "int", "m": "int"})
    collection.add(
        [
            Document("both", "red", fields={}),
            Document("n", "red", fields={"m": 1}),
            Document("decided", "red", fields={"m": 9}),
            Document("known", "blue", fields={"n": 1, "m": 1}),
        ]
    )
    result = collection.search("red", where="n = 1 and m = 1")
    assert (ids(result), result.unknown) == ([], {"m": 1, "n": 2})
    assert collection.search("red", where="m = 1").unknown == {"m": 1}
    assert collection.search("red").unknown == {}


def test_hostile_names_and_values_are_values(make: Any) -> None:
    values = sorted({strategies.HOSTILE[0], *(holdstill.text.clean(value) for value in strategies.HOSTILE)})
    schema = dict.fromkeys(strategies.FIELD_NAMES, "str")
    collection = make(schema=schema)
    collection.add(
        [Document(f"{i}", "red", fields=dict.fromkeys(strategies.FIELD_NAMES, value)) for i, value in enumerate(values)]
    )
    for i, value in enumerate(values):
        name = strategies.FIELD_NAMES[i % len(strategies.FIELD_NAMES)]
        for where in (f[name] == value, f[name].isin([value, value]), (f[name] >= value) & (f[name] <= value)):
            assert ids(collection.search("red", where=where, k=100)) == [str(i)], where
        assert len(collection.search("red", where=f[name] != value, k=100)) == len(values) - 1
        spelled = collection.search(where=str(f[name] == value), k=100)
        bound = collection.search(where=f'"{name}" = :value', params={"value": value}, k=100)
        assert ids(spelled) == ids(bound) == [str(i)]
    assert collection.count() == len(values)


@pytest.mark.parametrize("name", ["n'; drop table documents; --", 'n" = "n', "documents", "d.id", "", "1", "field_0"])
def test_a_name_outside_the_schema_is_an_error_that_names_it(planted: Collection, name: str) -> None:
    with pytest.raises(holdstill.InvalidPredicate) as caught:
        planted.search("red", where=f[name] == "x", arms=["lexical"])
    assert not name or caught.value.field == name
    assert planted.count() == 14


@pytest.mark.parametrize(
    ("where", "expected"),
    [("n = '7'", "integer"), ("n = 7.5", "integer"), ("s = 7", "string"), ("d = '2001-01-01'", "date '"),
     ("ok = 1", "true or false"), ("tags = 'no'", "has("), ("has(n, 7)", None),
     ("at > date '2001-01-01'", "datetime '")],
)  # fmt: skip
def test_nothing_is_coerced(planted: Collection, where: str, expected: str | None) -> None:
    with pytest.raises(holdstill.TypeMismatch) as caught:
        planted.search("red", where=where, arms=["lexical"])
    assert expected is None or expected in str(caught.value)


def test_a_filter_never_moves_a_score(planted: Collection) -> None:
    for asked in ASKED[:3]:
        free = {hit.id: hit.scores for hit in planted.search(**asked, k=50)}
        for where in CONDITIONS:
            assert all(free[hit.id] == hit.scores for hit in planted.search(**asked, where=where, k=50))
