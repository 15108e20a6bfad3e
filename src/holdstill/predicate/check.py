"""Names and types of a predicate against a schema. What passes holds every literal in its field's own type.

An integer literal compares exactly with a float field, and with an int field whatever its size. Where no value of the
field's type is equal to it, the comparison becomes one with a neighbour, or one that is the same for every known value:
`x in ()`, which is false, or `x not in ()`, which is true; both stay unknown where `x` is null.
"""

from __future__ import annotations

import math
from datetime import date, datetime
from typing import cast

from holdstill.errors import FusedScoreThreshold, TypeMismatch, UnknownField
from holdstill.predicate.literals import Attribute, Value, identifier
from holdstill.predicate.nodes import Compare, Has, Junction, Member, Not, Null, Operator, Predicate, has, join, member
from holdstill.schema import INT64_MAX, INT64_MIN, Field, FieldType, Schema

FUSED_SCORES = ("score", "rrf_score")

_EXPECTED: dict[str, str] = {
    "int": "an integer, as in 5",
    "float": "a number, as in 5 or 2.5",
    "bool": "true or false",
    "str": "a string, as in 'Berlin'",
    "date": "a date, as in date '2018-01-01'",
    "datetime": "a datetime, as in datetime '2018-01-01T00:00:00Z'",
}
_IN_PYTHON = {
    "date": "Nothing is read out of a string; in Python, datetime.date(2018, 1, 1)",
    "datetime": "Nothing is read out of a string; in Python, datetime.datetime(2018, 1, 1, tzinfo=datetime.UTC)",
}
#: What `in` and `not in` of a single value have become.
_LIKE_IN: dict[Operator, str] = {"=": "`=` or `in`", "!=": "`!=` or `not in`"}
_CLASSES: dict[str, tuple[type, ...]] = {
    "int": (int,), "float": (int, float), "bool": (bool,), "str": (str,), "date": (date,), "datetime": (datetime,),
}  # fmt: skip


def check(predicate: Predicate, schema: Schema) -> Predicate:
    """The predicate in terms of the schema; see `Predicate.check`."""
    match predicate:
        case Junction():
            return join(predicate.word, [check(part, schema) for part in predicate.parts])
        case Not():
            return ~check(predicate.part, schema)
        case Compare():
            return _compare(predicate, _field(predicate.field, schema))
        case Member():
            return _member(predicate, _field(predicate.field, schema))
        case Has():
            return _has(predicate, _field(predicate.field, schema))
        case Null():
            _field(predicate.field, schema)
    return predicate


def _field(name: str, schema: Schema) -> Field:
    if name not in schema and name in FUSED_SCORES:
        raise FusedScoreThreshold(
            "a fused score cannot be thresholded",
            field=name,
            hint="It orders hits and measures nothing. Say what must hold of the fields, or cut by `k`",
        )
    if name == "text":
        raise UnknownField(
            "the text is no field",
            field=name,
            expected="contains(text, 'word') or phrase(text, 'several words')",
            hint="In Python, f.text.contains('word') or f.text.phrase('several words')",
        )
    return schema[name]


def _compare(leaf: Compare, field: Field) -> Predicate:
    _no_list(field, _LIKE_IN.get(leaf.operator, f"`{leaf.operator}`"))
    if field.type == "bool" and leaf.operator not in ("=", "!="):
        raise TypeMismatch(
            f"field {field.name!r} is a bool, which has no order",
            field=field.name,
            expected="`=` or `!=`",
            got=leaf.operator,
        )
    if isinstance(leaf.value, bool) and field.type != "bool":  # as a bare name asks, where nobody wrote `true`
        raise TypeMismatch(
            f"field {field.name!r} is of type {field.type}, and only a bool field may stand alone or be true or false",
            field=field.name,
            expected=_EXPECTED[field.type],
        )
    value = _typed(field, field.type, leaf.value)
    if isinstance(value, int) and field.type == "float":
        return _exact_float(leaf, value)
    if isinstance(value, int) and field.type == "int" and not INT64_MIN <= value <= INT64_MAX:
        return _beyond(leaf, above=value > 0)
    return Compare(field.name, leaf.operator, value)


def _exact_float(leaf: Compare, value: int) -> Predicate:
    low, high = _around(value)
    if low == high:
        return Compare(leaf.field, leaf.operator, low)
    if math.isinf(low) or math.isinf(high):
        return _beyond(leaf, above=math.isinf(high))
    match leaf.operator:
        case "<" | "<=":
            return Compare(leaf.field, "<=", low)
        case ">" | ">=":
            return Compare(leaf.field, ">=", high)
    return Member(leaf.field, (), leaf.operator == "!=")


def _beyond(leaf: Compare, *, above: bool) -> Predicate:
    """The comparison with a value above, or below, all that the field's type can hold."""
    holds = leaf.operator == "!=" or (leaf.operator in ("<", "<=") and above)
    return Member(leaf.field, (), holds or (leaf.operator in (">", ">=") and not above))


def _around(value: int) -> tuple[float, float]:
    """The floats next below and next above; the value itself, twice, where a float holds it exactly."""
    try:
        near = float(value)
    except OverflowError:
        near = math.inf if value > 0 else -math.inf
    if near == value:
        return near, near
    if near < value:
        return near, math.nextafter(near, math.inf)
    return math.nextafter(near, -math.inf), near


def _member(leaf: Member, field: Field) -> Predicate:
    _no_list(field, "`in`")
    values = [_typed(field, field.type, value) for value in leaf.values]
    return member(field.name, _storable(values, field.type), negated=leaf.negated)


def _has(leaf: Has, field: Field) -> Predicate:
    if not field.type.endswith("[]"):
        raise TypeMismatch(
            f"field {field.name!r} is of type {field.type}, not a list",
            field=field.name,
            expected=f"a comparison, such as {identifier(field.name)} = ... or {identifier(field.name)} in (...)",
        )
    element = cast(FieldType, field.type.removesuffix("[]"))
    values = [_typed(field, element, value) for value in leaf.values]
    storable = _storable(values, element)
    if leaf.every and len(storable) < len(values):
        return Has(field.name, (), every=False)  # no list holds them all
    return has(field.name, storable, every=leaf.every)


def _storable(values: list[Value], type_: FieldType) -> list[Value]:
    """The values that a field of the type can be equal to, in that type."""
    if type_ == "int":
        return [value for value in values if not isinstance(value, int) or INT64_MIN <= value <= INT64_MAX]
    if type_ == "float":
        lowered = [_around(value) if isinstance(value, int) else (value, value) for value in values]
        return [low for low, high in lowered if low == high]
    return values


def _typed(field: Field, type_: FieldType, value: Value) -> Value:
    if isinstance(value, Attribute):
        return value
    fits = isinstance(value, _CLASSES[type_])
    # Python counts bool among the ints and datetime among the dates; the language does not.
    if isinstance(value, bool):
        fits = type_ == "bool"
    elif isinstance(value, datetime):
        fits = type_ == "datetime"
    if fits:
        return value
    raise TypeMismatch(
        f"field {field.name!r} is of type {field.type}",
        field=field.name,
        expected=_EXPECTED[type_],
        got=value,
        hint=_IN_PYTHON.get(type_),
    )


def _no_list(field: Field, operators: str) -> None:
    if field.type.endswith("[]"):
        raise TypeMismatch(
            f"field {field.name!r} is a list ({field.type}), and lists are not compared with {operators}",
            field=field.name,
            expected=f"has({identifier(field.name)}, ...), has_any(...) or has_all(...)",
        )
