"""The values a predicate compares with: accepted strictly, spelled so that they read back, ordered."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime

from holdstill.errors import InvalidPredicate, TypeMismatch
from holdstill.text import clean

Scalar = int | float | bool | str | date | datetime

#: The words of the language; a field of such a name is written in double quotes.
KEYWORDS = frozenset({"and", "or", "not", "in", "is", "null", "between", "true", "false"})
MAX_DIGITS = 600  # Python itself may refuse to print or read an integer of more than 640

#: A name that needs no quotes.
PLAIN_NAME = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True, order=True)
class Attribute:
    """`principal.NAME` in a policy: a value, or a list of values, that is known once somebody asks."""

    name: str


Value = Scalar | Attribute


def accept(field: str, value: object) -> Value:
    """The value as a predicate holds it: strings cleaned, datetimes in UTC, negative zero as zero.

    Raises:
        holdstill.InvalidPredicate: null, NaN, an infinity or an integer of more than 600 digits.
        holdstill.TypeMismatch: no field type has such values, or a datetime lacks its time zone.
    """
    if isinstance(value, (bool, Attribute)):
        return value
    if isinstance(value, int):
        return _int(field, value)
    if isinstance(value, float):
        return _float(field, value)
    if isinstance(value, str):
        return clean(str.__str__(value))
    if isinstance(value, datetime):
        return _datetime(field, value)
    if isinstance(value, date):
        return date(value.year, value.month, value.day)
    if value is None:
        raise InvalidPredicate(
            f"nothing compares with null, so the filter on {field!r} would never hold",
            field=field,
            expected="a value",
            hint=f"Write `{identifier(field)} is null`, in Python `f.{field}.is_null()`, to ask for missing values",
        )
    raise TypeMismatch(
        f"the filter on {field!r} compares with something that no field can hold",
        field=field,
        expected="an int, float, bool, str, date or datetime",
        got=value,
    )


def accept_all(field: str, values: object) -> tuple[Value, ...]:
    """The members of a list, distinct and in order, so that equal lists are spelled alike.

    Raises:
        holdstill.TypeMismatch: not a list, or a member that no field type has.
        holdstill.InvalidPredicate: a member is null, NaN or infinite.
    """
    if not isinstance(values, Iterable) or isinstance(values, (str, bytes, dict)):
        raise TypeMismatch(
            f"the filter on {field!r} takes a list", field=field, expected="a list of values", got=values
        )
    accepted = [accept(field, value) for value in values]
    # 1, 1.0 and True are equal in Python; the type's name keeps them apart, and makes any mixture sortable.
    distinct = {(type(value).__name__, value) for value in accepted}
    return tuple(value for _, value in sorted(distinct))


def spell(value: Value) -> str:
    """The value as the SQL spelling writes it."""
    if isinstance(value, Attribute):
        return f"principal.{identifier(value.name)}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, datetime):
        return f"datetime '{value.isoformat().removesuffix('+00:00')}Z'"
    if isinstance(value, date):
        return f"date '{value.isoformat()}'"
    return repr(value)


def identifier(name: str) -> str:
    """A field's name as the SQL spelling writes it: bare where that reads back, else in double quotes."""
    if PLAIN_NAME.fullmatch(name) and name.lower() not in KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


def _int(field: str, value: int) -> int:
    if abs(value) >= 10**MAX_DIGITS:
        raise InvalidPredicate(
            f"the filter on {field!r} compares with too large an integer",
            field=field,
            expected=f"at most {MAX_DIGITS} digits",
        )
    return int(value)


def _float(field: str, value: float) -> float:
    if not math.isfinite(value):
        raise InvalidPredicate(
            f"the filter on {field!r} compares with something that is no number",
            field=field,
            expected="a finite number",
            got=value,
            hint="No field holds NaN or an infinity; missing values are asked for with `is null`",
        )
    return float(value) + 0.0  # -0.0 + 0.0 is 0.0


def _datetime(field: str, value: datetime) -> datetime:
    if value.tzinfo is None or value.utcoffset() is None:
        raise TypeMismatch(
            f"the datetime compared with {field!r} has no time zone, so it is no instant",
            field=field,
            expected="a datetime with a time zone, as in datetime '2018-01-01T00:00:00Z'",
            got=value,
            hint="In Python, give it a tzinfo: datetime(2018, 1, 1, tzinfo=UTC)",
        )
    try:
        utc = value.astimezone(UTC)
    except OverflowError as error:
        raise TypeMismatch(
            f"the datetime compared with {field!r} falls outside the years 1 to 9999 in UTC",
            field=field,
            expected="a datetime from year 1 to 9999",
            got=value,
        ) from error
    return datetime.combine(utc.date(), utc.time(), UTC)
