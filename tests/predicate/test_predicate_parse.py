"""Reading the SQL spelling: what is in the language, what is not, and the way back."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdstill import errors
from holdstill.predicate import f, parse
from holdstill.text import clean
from strategies import FIELD_NAMES, HOSTILE, asked, strings

SAME = {
    "x = 5": f.x == 5,
    "x==5": f.x == 5,
    "x <> 5": f.x != 5,
    "5 <= x": f.x >= 5,
    "5 > x": f.x < 5,
    "x = -5": f.x == -5,
    "x = - 5": f.x == -5,
    "-5 = x": f.x == -5,
    "x = 5.": f.x == 5.0,
    "x = 1e3": f.x == 1000.0,
    "x = 1E-3": f.x == 0.001,
    f"x > {10**400}": f.x > 10**400,
    "x BETWEEN 1 AND 2 and y = 3": f.x.between(1, 2) & (f.y == 3),
    "x not between 1 and 2": ~f.x.between(1, 2),
    "x in ()": f.x.isin([]),
    "x in (2, 1, 2)": f.x.isin([1, 2]),
    "x in (1)": f.x == 1,
    "x not in (1)": f.x != 1,
    "x NOT IN (1, 2)": f.x.not_in([1, 2]),
    "not x in (1, 2)": f.x.not_in([1, 2]),
    "x is null": f.x.is_null(),
    "x IS NOT NULL": f.x.is_not_null(),
    "not x is null": f.x.is_not_null(),
    "has(x, 'a')": f.x.has("a"),
    "has_all(x, 'a')": f.x.has("a"),
    "has_any(x, 'a')": f.x.has("a"),
    "HAS_ANY(x, 'b', 'a')": f.x.has_any(["a", "b"]),
    "has_all(x)": f.x.has_all([]),
    "contains(text, 'python')": f.text.contains("python"),
    "phrase(text, 'null pointer')": f.text.phrase("null pointer"),
    "x": f.x == True,  # noqa: E712
    "not x": ~(f.x == True),  # noqa: E712
    "(x)": f.x == True,  # noqa: E712
    "true = x": f.x == True,  # noqa: E712
    "a = 1 or b = 2 and c = 3": (f.a == 1) | ((f.b == 2) & (f.c == 3)),
    "(a = 1 or b = 2) and c = 3": ((f.a == 1) | (f.b == 2)) & (f.c == 3),
    "not a = 1 and b = 2": ~(f.a == 1) & (f.b == 2),
    "x = 'it''s'": f.x == "it's",
    "x = 'a\\'": f.x == "a\\",
    "x = ''": f.x == "",
    "\"x\" = 'y'": f.x == "y",
    '"a""b" = 1': f['a"b'] == 1,
    '"in" = 1': f["in"] == 1,
    "date > date '2018-01-01'": f.date > date(2018, 1, 1),
    "date '2018-01-01' < date": f.date > date(2018, 1, 1),
    "order = 1 and select = 2 and end = 3": (f.order == 1) & (f.select == 2) & (f.end == 3),
    "call = 'x'": f.call == "x",
    "has = 1 or between_ = 2": (f.has == 1) | (f.between_ == 2),
    "x = datetime '2018-01-01T01:00:00+01:00'": f.x == datetime(2018, 1, 1, tzinfo=UTC),
    "x = TIMESTAMP '2018-01-01 00:00:00Z'": f.x == datetime(2018, 1, 1, tzinfo=UTC),
    " \n x\t=\r\n 1 ": f.x == 1,
    "\ufeffx = 1": f.x == 1,
}


@pytest.mark.parametrize("text", SAME)
def test_spellings(text):
    assert parse(text) == SAME[text]
    assert str(parse(str(parse(text)))) == str(SAME[text])


OUTSIDE = [
    "", " ", "()", ";", "x = 1;", "x = 1; y = 2", "x = 1 y", "x y = 1", "x = 'a' 'b'", "x = 12abc",
    "x = 0x1F", "x = 1_000", "x = .5", "x = 1e", "x = +1", "x = --1", "x = -(1)", "x = - 'a'", "x = -y",
    "x + 1 = 2", "x = 1 + 1", "x || 'a' = 'b'", "x = y", "x = \"y\"", "1 = 1", "'a' = 'a'", "5", "'a'",
    "null", "not", "and", "x and", "or x", "x = 1 and or y = 2", "x = 1 = 2", "x is true", "x is not false",
    "x is distinct from 1", "x isnull", "x in 1", "x in y", "x in (y)", "x in (1,)", "x in (,1)",
    "x in (1 2)", "x in (1", "x in ((1))", "x in (select 1)", "x not 1", "x between 1", "x between 1 or 2",
    "x like 'a%'", "x ilike 'a'", "x ~ 'a'", "x ! = 1", "!x", "x = n'a'", "x = b'1'", "x = e'a'",
    "lower(x) = 'a'", "x = lower('a')", "count(*) > 1", "cast(x as int) = 1", "x::int = 1",
    "case when x = 1 then true end", "exists (select 1)", "select 1", "drop table documents",
    "x = 1 -- more", "x = 1 /* more */", "/* x */ x = 1", "{# a #} x = 1", "x = 1 {# or true #}",
    "x = {{ y }}", "x = ?", "x = $1", "x = @y", "x = :", "x = :1", "x = [1]", "x[0] = 1", "x.y = 1",
    "x = y.z", "principal.id = 'a'", "x = principal.id", "x in principal.groups", "has(x)",
    "has(x, 'a', 'b')", "has x, 'a'", "has('a', x)", "has_any(x 'a')", "has_any(x, 'a'", "has_any()",
    "contains('a')", "contains(title, 'a')", "contains(text)", "contains(text, 'a', 'b')",
    "phrase(text, a)", "x = date '2018-13-01'", "x = date '2018-1-1'", "x = date ''",
    "x = datetime '2018-01-01T00:00:00'", "x = datetime '2018-01-01'", "x = timestamp 'now'",
    "x = time '10:00'", "x = interval '1' day", "x = date 2018", "(x = 1, y = 2)", "(x = 1)(y = 2)",
    "((x = 1)", "(x = 1))", "x = 'a", 'x = "a', '"" = 1', "x = '''", "`x` = 1", "x =", "= 1", "x == = 1",
    "x = (1)", "x = \u00b2", "\u0664 = x", "x\u2260y",
]  # fmt: skip


@pytest.mark.parametrize("text", OUTSIDE)
def test_what_is_outside_the_language_is_refused(text):
    with pytest.raises(errors.PredicateSyntax) as caught:
        parse(text)
    assert caught.value.field == "where"
    assert caught.value.expected


def test_the_message_says_where_and_what():
    with pytest.raises(errors.PredicateSyntax) as caught:
        parse("years >= 5 and lower(city) = 'berlin'")
    assert str(caught.value).startswith(
        "the filter cannot be read at character 16; expected a condition; the only functions are has, has_any, "
        "has_all, contains, phrase; got 'lower' (str). A filter has = != < <= > >=, between, in"
    )
    with pytest.raises(errors.PredicateSyntax, match="at its end"):
        parse("years >=")
    with pytest.raises(errors.PredicateSyntax, match="'text' in single quotes"):
        parse("city = Berlin")


@pytest.mark.parametrize("text", ["x >= {}", "x between {} and {}", "x in ({})", "{} <= x"])
def test_a_date_without_quotes_is_shown_as_it_is_written(text):
    with pytest.raises(errors.PredicateSyntax, match="a date is not in quotes") as caught:
        parse(text.format(*["2025-01-01"] * 2))
    assert caught.value.expected == "date '2025-01-01'"
    assert caught.value.hint is None


@pytest.mark.parametrize("text", ["date '2025-13-01'", "datetime '2025-01-01T00:00:00'"])
def test_a_bad_date_says_what_is_wrong_with_it_and_no_more(text):
    with pytest.raises(errors.PredicateSyntax, match="this is no date") as caught:
        parse(f"x = {text}")
    assert caught.value.hint is None


def test_the_text_is_said_to_hold_the_title():
    with pytest.raises(errors.PredicateSyntax) as caught:
        parse("contains(title, 'payments')")
    assert "title and headings included" in caught.value.expected


@pytest.mark.parametrize("given_", [None, 5, b"x = 1", ["x = 1"]])
def test_a_filter_is_a_text(given_):
    with pytest.raises(errors.PredicateSyntax, match="a filter is a text"):
        parse(given_)


@pytest.mark.parametrize(
    "text", ["x = null", "x != null", "null = x", "x in (1, null)", "x between null and 1", "has(x, null)", "null < x"]
)
def test_null_is_asked_for_by_name(text):
    with pytest.raises(errors.InvalidPredicate):
        parse(text)


def test_comparing_with_null_names_is_null():
    with pytest.raises(errors.InvalidPredicate, match="Write `x is null`"):
        parse("x = null")


def test_numbers_beyond_floats_and_beyond_reason():
    with pytest.raises(errors.InvalidPredicate, match="finite"):
        parse("x = 1e400")
    for text in ("x = " + "9" * 5_000, "x = 0." + "9" * 5_000):
        with pytest.raises(errors.PredicateSyntax, match="too long"):
            parse(text)


def test_depth_is_bounded_and_length_is_not():
    assert parse("(" * 64 + "x = 1" + ")" * 64) == (f.x == 1)
    for text in ("(" * 65 + "x = 1" + ")" * 65, "(" * 5_000 + "x = 1" + ")" * 5_000, "(" * 100_000, "not (" * 5_000):
        with pytest.raises(errors.PredicateSyntax, match="nested too deeply"):
            parse(text)
    with pytest.raises(errors.PredicateSyntax, match="nested too deeply"):
        parse("a or b and (" * 40 + "c" + ")" * 40)
    assert parse("not " * 5_001 + "x = 1") == (f.x != 1)
    assert len(parse(" or ".join(f"x = {n}" for n in range(10_000))).parts) == 10_000
    assert len(parse(f"x in ({', '.join(map(str, range(10_000)))})").values) == 10_000


# Parameters


def test_parameters():
    params = {"least": 5, "cities": ["Berlin", "it's"], "one": "x", "from": date(2018, 1, 1), "skills": ("sql",)}
    text = "x >= :least and y in :cities and y not in (:one, 'z') and d >= :from and has_any(s, :skills, 'c')"
    assert parse(text, params) == (
        (f.x >= 5)
        & f.y.isin(["Berlin", "it's"])
        & f.y.not_in(["x", "z"])
        & (f.d >= date(2018, 1, 1))
        & f.s.has_any(["sql", "c"])
    )
    assert parse("x = :a or y = :a", {"a": 1}) == (f.x == 1) | (f.y == 1)
    assert parse("x in :a", {"a": []}) == f.x.isin([])


@pytest.mark.parametrize(
    ("text", "params", "error", "message"),
    [
        ("x = :a", None, errors.InvalidPredicate, "parameter 'a' has no value"),
        ("x = :a", {"A": 1}, errors.InvalidPredicate, "which hold A"),
        ("x = 1", {"a": 1}, errors.InvalidPredicate, "parameter 'a' is not used"),
        ("x = ':a'", {"a": 1}, errors.InvalidPredicate, "parameter 'a' is not used"),
        ("x = :a", {"a": None}, errors.InvalidPredicate, "is null"),
        ("x = :a", {"a": [1]}, errors.TypeMismatch, "no field can hold"),
        ("x = :a", {"a": float("nan")}, errors.InvalidPredicate, "finite"),
        ("x = :a", {"a": datetime(2018, 1, 1)}, errors.TypeMismatch, "no time zone"),  # noqa: DTZ001
        ("x in :a", {"a": "abc"}, errors.TypeMismatch, "takes a list"),
        ("x in :a", {"a": 5}, errors.TypeMismatch, "takes a list"),
        ("x in :a", {"a": [1, None]}, errors.InvalidPredicate, "is null"),
        ("has(x, :a)", {"a": ["b"]}, errors.PredicateSyntax, "one value"),
        ("contains(text, :a)", {"a": 5}, errors.InvalidPredicate, "no words"),
        (":a = 1", {"a": "x"}, errors.PredicateSyntax, "not compared with one another"),
    ],
)
def test_parameters_that_cannot_be_used(text, params, error, message):
    with pytest.raises(error, match=message):
        parse(text, params)


def test_parameters_are_not_changed():
    cities = ["b", "a"]
    parse("x in :cities", {"cities": cities})
    assert cities == ["b", "a"]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_hostile_parameter_is_a_value(hostile):
    assert parse("x = :a", {"a": hostile}) == (f.x == hostile)


# The way back


@given(asked(text=True))
def test_the_canonical_spelling_reads_back(case):
    schema, _, predicate = case
    for each in (predicate, ~predicate, predicate.check(schema)):
        assert parse(str(each)) == each
        assert str(parse(str(each))) == str(each)


@given(st.sampled_from(FIELD_NAMES), strings())
def test_hostile_strings_read_back(name, text):
    for predicate in (f[name] == text, f[name].isin([text, "other"]), f[name].has_any([text, "other"])):
        assert parse(str(predicate)) == predicate


@given(strings().filter(clean))
def test_hostile_names_read_back(name):
    predicate = f[name] == 1
    assert parse(str(predicate)) == predicate


@given(
    st.text(max_size=40)
    | st.lists(
        st.sampled_from(
            ["x", "=", "'a'", "(", ")", "and", "or", "not", "in", "is", "null", ",", ":", "-", "1", '"', ";", "."]
        ),
        max_size=12,
    ).map(" ".join)
)
def test_any_text_is_read_or_refused(text):
    try:
        predicate = parse(text)
    except errors.InvalidPredicate:
        return
    assert parse(str(predicate)) == predicate


def test_instants_are_spelled_in_utc():
    moment = datetime(2018, 1, 1, 1, 30, 0, 5, tzinfo=timezone(timedelta(hours=1)))
    assert str(f.x == moment) == "x = datetime '2018-01-01T00:30:00.000005Z'"
    assert str(f.x == datetime(1, 1, 1, tzinfo=UTC)) == "x = datetime '0001-01-01T00:00:00Z'"


def test_sqlglot_is_loaded_when_something_is_parsed():
    code = (
        "import sys, holdstill as h; assert 'sqlglot' not in sys.modules; h.parse('x'); assert 'sqlglot' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
