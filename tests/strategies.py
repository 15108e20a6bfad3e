"""Hypothesis strategies for schemas, rows and predicates.

Values come from small pools with the extremes of each type in them, so that random predicates match some rows, and the
edges (both zeros, 2^53 + 1, the ends of int64, hostile strings) turn up all the time.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

from hypothesis import strategies as st

from holdstill.predicate import Predicate, f
from holdstill.predicate.nodes import Constant
from holdstill.schema import FIELD_TYPES, INT64_MAX, INT64_MIN, Field, FieldType, Schema

FIELD_NAMES = ("x", "y", "order", "date", "null", "And", "naïve", "select", "n", "_", "has", "between", "Order")

HOSTILE = (
    "", "'", "''", '"', "\\", "\\'", "a\nb", "\r\n", "\t", "\x00", "a\x00b", "\ud800", "\ufeffx", "\ufffd", "--", "/*",
    "*/", "{# x #}", ":x", "$1", "?", ";", "'; DROP TABLE documents; --", "' or 1=1 --", "%", "_", "é", "e\u0301", "ß",
    "İ", "日本", "\U0001f600", "\uffff", "null", "NULL", "true", "5", "[x, y]", "{'a': 1}", "a", "b", "ab", "A", " a",
    "a ",
)  # fmt: skip

INTS = (0, 1, -1, 2, 5, 2**53, 2**53 + 1, INT64_MAX, INT64_MIN, INT64_MAX - 1)
BEYOND_INT64 = (INT64_MAX + 1, INT64_MIN - 1, 10**30, -(10**30), 10**400)
FLOATS = (0.0, -0.0, 0.5, -0.5, 1.0, 5.0, 2.0**53, 2.0**53 + 2, 1e16, 1e-7, 5e-324, 1.7976931348623157e308, -1e300, 0.1)
UNREPRESENTABLE = (2**53 + 1, -(2**53) - 1, INT64_MAX, 10**30, 10**400, -(10**400), 2**1024 - 1)
DATES = (date(2018, 1, 1), date(2017, 12, 31), date(1, 1, 1), date(9999, 12, 31))
INSTANTS = (
    datetime(2018, 1, 1, tzinfo=UTC),
    datetime(2018, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
    datetime(2018, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))),
    datetime(2018, 1, 1, tzinfo=timezone(timedelta(hours=-5, minutes=-30))),
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
)


def strings() -> st.SearchStrategy[str]:
    return st.sampled_from(HOSTILE) | st.text(max_size=8).map(lambda text: text.lstrip("\ufeff"))


_COMMON: dict[str, st.SearchStrategy[Any]] = {
    "int": st.sampled_from((0, 1, 2)),
    "float": st.sampled_from((0.0, 0.5, 1.0)),
    "bool": st.booleans(),
    "str": st.sampled_from(("a", "b", "ab")),
    "date": st.sampled_from(DATES[:2]),
    "datetime": st.sampled_from(INSTANTS[:2]),
}
_RARE: dict[str, st.SearchStrategy[Any]] = {
    "int": st.sampled_from(INTS) | st.integers(INT64_MIN, INT64_MAX),
    "float": st.sampled_from(FLOATS) | st.floats(allow_nan=False, allow_infinity=False),
    "bool": st.booleans(),
    "str": strings(),
    "date": st.sampled_from(DATES) | st.dates(),
    "datetime": st.sampled_from(INSTANTS) | st.datetimes(timezones=st.just(UTC)),
}
# Half of all values are few, so that they meet: a list with one of two wanted members must not be a rarity.
_VALUES = {type_: st.booleans().flatmap([_RARE[type_], _COMMON[type_]].__getitem__) for type_ in _COMMON}
_LITERALS = _VALUES | {
    "int": _VALUES["int"] | st.sampled_from(BEYOND_INT64),
    "float": _VALUES["float"] | st.sampled_from(UNREPRESENTABLE) | st.integers(-5, 5),
}


def schemas(min_size: int = 1) -> st.SearchStrategy[Schema]:
    names = st.lists(st.sampled_from(FIELD_NAMES), min_size=min_size, max_size=5, unique=True)
    return names.flatmap(
        lambda chosen: st.tuples(*(st.sampled_from(FIELD_TYPES) for _ in chosen)).map(
            lambda types: Schema(tuple(Field(name, type_) for name, type_ in zip(chosen, types, strict=True)))
        )
    )


def values(type_: FieldType) -> st.SearchStrategy[Any]:
    """Values of a field, as a caller gives them."""
    if type_.endswith("[]"):
        return st.lists(_VALUES[type_.removesuffix("[]")], max_size=4)
    return _VALUES[type_]


def rows(schema: Schema) -> st.SearchStrategy[dict[str, Any]]:
    """Documents' fields as the schema stores them, nulls among them."""
    return st.fixed_dictionaries(
        {field.name: st.none() | values(field.type).map(field.accept) for field in schema.fields}
    )


def literals(type_: FieldType) -> st.SearchStrategy[Any]:
    """Values that a filter may compare a field, or a list's members, with."""
    return _LITERALS[type_.removesuffix("[]")]


def leaves(schema: Schema) -> st.SearchStrategy[Predicate]:
    """Conditions on one field that fit the schema."""
    return st.one_of([_leaves(field) for field in schema.fields])


def _leaves(field: Field) -> st.SearchStrategy[Predicate]:
    column, value, many = f[field.name], literals(field.type), st.lists(literals(field.type), max_size=4)
    made = [st.sampled_from([column.is_null(), column.is_not_null()])]
    if field.type.endswith("[]"):
        made += [value.map(column.has), many.map(column.has_any), many.map(column.has_all)]
    else:
        made += [value.map(lambda v: column == v), value.map(lambda v: column != v)]
        made += [many.map(column.isin), many.map(column.not_in)]
    if field.type != "bool" and not field.type.endswith("[]"):
        made += [value.map(lambda v: column < v), value.map(lambda v: column <= v)]
        made += [value.map(lambda v: column > v), value.map(lambda v: column >= v)]
        made += [st.tuples(value, value).map(lambda pair: column.between(*pair))]
    return st.one_of(made)


def text_leaves() -> st.SearchStrategy[Predicate]:
    words = st.sampled_from(["python", "null pointer", "it's", "C++", "a\\b", "日本"])
    return words.map(f.text.contains) | words.map(f.text.phrase)


def predicates(schema: Schema, *, text: bool = False) -> st.SearchStrategy[Predicate]:
    """Predicates that fit the schema, constants included; with `text`, ones that ask of the text too."""
    base = leaves(schema) | st.sampled_from([Constant(True), Constant(False)])
    return st.recursive(
        base | text_leaves() if text else base,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda pair: pair[0] & pair[1]),
            st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
            inner.map(lambda predicate: ~predicate),
        ),
        max_leaves=8,
    )


@st.composite
def asked(draw: st.DrawFn, *, text: bool = False, max_rows: int = 6) -> tuple[Schema, list[dict[str, Any]], Predicate]:
    """A schema, rows of it and a predicate that fits it."""
    schema = draw(schemas())
    return (
        schema,
        draw(st.lists(rows(schema), min_size=1, max_size=max_rows)),
        draw(predicates(schema, text=text)),
    )
