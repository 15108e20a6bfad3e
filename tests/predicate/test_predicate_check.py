"""Names and types against a schema, and literals that no field can hold."""

from __future__ import annotations

import math
import operator
from datetime import UTC, date, datetime
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdstill import errors
from holdstill.predicate import evaluate, f, parse
from holdstill.schema import INT64_MAX, INT64_MIN, Schema
from strategies import asked

TYPES = Schema.of(
    {
        "i": "int", "x": "float", "b": "bool", "s": "str", "d": "date", "t": "datetime", "tags": "str[]", "ns": "int[]",
        "Case": "int",
    }
)  # fmt: skip
MOMENT = datetime(2018, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "predicate",
    [
        f.i == 5, f.x == 5, f.x == 5.5, f.b == True, f.s == "a", f.d == date(2018, 1, 1), f.t == MOMENT,  # noqa: E712
        f.tags.has("a"), f.ns.has_all([1, 2]), f.tags.is_null(), f.b.isin([True]), f.text.contains("x"), parse("true"),
        f.i.isin([]), f.tags.has_any([]),
    ],
    ids=str,
)  # fmt: skip
def test_what_fits(predicate):
    assert predicate.check(TYPES).check(TYPES) == predicate.check(TYPES)


@pytest.mark.parametrize(
    "predicate",
    [
        f.i == "5", f.i == 5.5, f.i == 5.0, f.i == True, f.i.isin([1, "2"]), f.i.isin([1, 2.0]), f.i < "a",  # noqa: E712
        f.x == "5.5", f.x == False, f.x.isin([True]), f.b == 1, f.b == "true", f.b < True,  # noqa: E712
        f.b.between(False, True), f.s == 5, f.s < 5, f.s.not_in(["a", 1]), f.s == date(2018, 1, 1),
        f.d == "2018-01-01", f.d == MOMENT, f.d == 20180101, f.d.between("2018-01-01", "2018-12-31"),
        f.t == "2018-01-01T00:00:00Z", f.t == date(2018, 1, 1), f.t > 1514764800,
        f.tags == "a", f.tags != "a", f.tags < "a", f.tags.isin(["a"]), f.tags.isin([]), f.tags.has(1),
        f.tags.has_any(["a", 1]), f.ns.has("1"), f.ns.has(1.0), f.ns.has(True), f.ns == 1, f.s.has("a"),
        f.i.has_any([1]), f.s.has_all([]), parse("i"), parse("not s"), f.s.isin([]) & (f.i == "5"),
        f.s.isin([]) | ~f.i.has(1),
    ],
    ids=str,
)  # fmt: skip
def test_what_does_not_fit(predicate):
    for each in (predicate, ~predicate, (f.i == 1) & predicate, parse("false") & predicate):
        with pytest.raises(errors.TypeMismatch):
            each.check(TYPES)


@pytest.mark.parametrize(
    ("predicate", "message"),
    [
        (f.i == "5", "field 'i' is of type int; expected an integer, as in 5; got '5' (str)"),
        *(
            (
                bare,
                (
                    "field 'i' is of type int, and only a bool field may stand alone or be true or false; "
                    "expected an integer, as in 5"
                ),
            )
            for bare in (f.i == True, parse("i"), parse("not i"))  # noqa: E712
        ),
        (
            f.d >= "2018-01-01",
            (
                "field 'd' is of type date; expected a date, as in date '2018-01-01'; got '2018-01-01' (str). "
                "Nothing is read out of a string; in Python, datetime.date(2018, 1, 1)"
            ),
        ),
        (
            f.t >= "2018-01-01",
            (
                "field 't' is of type datetime; expected a datetime, as in datetime '2018-01-01T00:00:00Z'; "
                "got '2018-01-01' (str). Nothing is read out of a string; in Python, "
                "datetime.datetime(2018, 1, 1, tzinfo=datetime.UTC)"
            ),
        ),
        (f.b < True, "field 'b' is a bool, which has no order; expected `=` or `!=`; got '<' (str)"),
        (
            f.tags == "a",
            (
                "field 'tags' is a list (str[]), and lists are not compared with `=` or `in`; "
                "expected has(tags, ...), has_any(...) or has_all(...)"
            ),
        ),
        *(
            (
                predicate,
                (
                    f"field 'tags' is a list (str[]), and lists are not compared with {operators}; "
                    "expected has(tags, ...), has_any(...) or has_all(...)"
                ),
            )
            for predicate, operators in (
                (parse("tags in ('a')"), "`=` or `in`"),
                (parse("tags not in ('a')"), "`!=` or `not in`"),
                (parse("tags in ('a', 'b')"), "`in`"),
                (f.tags < "a", "`<`"),
            )
        ),
        (f.s.has("a"), "field 's' is of type str, not a list; expected a comparison, such as s = ... or s in (...)"),
    ],
    ids=str,
)
def test_messages(predicate, message):
    with pytest.raises(errors.TypeMismatch) as caught:
        predicate.check(TYPES)
    assert str(caught.value) == message
    assert caught.value.field in predicate.fields()


def test_names():
    for unknown in (
        f.nope == 1,
        f.case == 1,
        f.I.is_null(),
        f.nope.has(1),
        f.nope.isin([]),
        ~(f.nope == 1) | (f.i == 1),
    ):
        with pytest.raises(errors.UnknownField):
            unknown.check(TYPES)
    assert (f.Case == 1).check(TYPES) == (f.Case == 1)
    for text in (f.text == "python", f.text.is_null(), f.text.isin(["a"])):
        with pytest.raises(errors.UnknownField, match="contains"):
            text.check(TYPES)


@pytest.mark.parametrize(
    "text", ["score > 0.5", "0.5 < score", "not rrf_score < 0.1", "score is not null", "i = 1 and score > 0"]
)
def test_a_fused_score_has_no_threshold(text):
    with pytest.raises(errors.FusedScoreThreshold, match="fused score"):
        parse(text).check(TYPES)


def test_a_field_of_ones_own_may_be_called_rrf_score():
    assert (f.rrf_score > 0.5).check(Schema.of({"rrf_score": "float"})) == (f.rrf_score > 0.5)


def test_check_gives_one_predicate_to_one_meaning():
    assert parse("not b").check(TYPES) == parse("b = false").check(TYPES)
    assert parse("x = 5").check(TYPES) == parse("x = 5.0").check(TYPES)
    assert str(parse("x in (5, 5.0, 6)").check(TYPES)) == "x in (5.0, 6.0)"
    assert parse("t = datetime '2018-01-01T01:00:00+01:00'").check(TYPES) == (f.t == MOMENT).check(TYPES)


@pytest.mark.parametrize(
    ("predicate", "text"),
    [
        (f.x == 2**53 + 1, "x in ()"),
        (f.x != 2**53 + 1, "x not in ()"),
        (f.x < 2**53 + 1, "x <= 9007199254740992.0"),
        (f.x <= 2**53 + 1, "x <= 9007199254740992.0"),
        (f.x > 2**53 + 1, "x >= 9007199254740994.0"),
        (f.x >= -(2**53) - 1, "x >= -9007199254740992.0"),
        (f.x == 10**400, "x in ()"),
        (f.x < 10**400, "x not in ()"),
        (f.x > 10**400, "x in ()"),
        (f.x >= -(10**400), "x not in ()"),
        (f.x <= -(10**400), "x in ()"),
        (f.x.isin([2**53 + 1, 10**400, 1]), "x = 1.0"),
        (f.x.not_in([2**53 + 1]), "x not in ()"),
        (f.i == INT64_MAX + 1, "i in ()"),
        (f.i != INT64_MIN - 1, "i not in ()"),
        (f.i < INT64_MAX + 1, "i not in ()"),
        (f.i > INT64_MAX + 1, "i in ()"),
        (f.i >= INT64_MIN - 1, "i not in ()"),
        (f.i <= INT64_MIN - 1, "i in ()"),
        (f.i == INT64_MAX, f"i = {INT64_MAX}"),
        (f.i.isin([10**30, 1, 2]), "i in (1, 2)"),
        (f.ns.has(10**30), "has_any(ns)"),
        (f.ns.has_all([10**30, 1]), "has_any(ns)"),
        (f.ns.has_any([10**30, 1]), "has(ns, 1)"),
        (f.ns.has_any([10**30]), "has_any(ns)"),
    ],
    ids=str,
)
def test_integers_that_the_type_cannot_hold(predicate, text):
    assert str(predicate.check(TYPES)) == text


BIG = st.integers(-(2**70), 2**70) | st.integers(2**1023, 2**1025) | st.integers(2**52, 2**54)
OPERATORS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


@given(BIG, st.sampled_from(OPERATORS), st.integers(-3, 3), st.floats(allow_nan=False, allow_infinity=False))
def test_integers_compare_exactly_with_floats(literal, compare, steps, anywhere):
    try:
        near = float(literal)
    except OverflowError:
        near = 1.7976931348623157e308
    for _ in range(abs(steps)):
        near = math.nextafter(near, math.copysign(math.inf, steps))
    checked = compare(f.x, literal).check(TYPES)
    for value in (anywhere, near) if math.isfinite(near) else (anywhere,):
        assert evaluate(checked, {"x": value}) == compare(Fraction(value), literal)
    assert evaluate(checked, {"x": None}) is None


@given(asked())
def test_check_keeps_the_meaning_and_is_done_once(case):
    schema, table, predicate = case
    checked = predicate.check(schema)
    assert checked.check(schema) == checked
    assert [evaluate(checked, row) for row in table] == [evaluate(predicate, row) for row in table]
    assert (~checked).check(schema) == ~checked
