"""Typed columns: `Field` and `Schema`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Literal, cast, get_args

from holdstill.arguments import as_mapping
from holdstill.errors import InvalidDocument, InvalidSchema, UnknownField
from holdstill.text import clean

FieldType = Literal["int", "float", "bool", "str", "date", "datetime", "str[]", "int[]"]
FieldValue = int | float | bool | str | date | datetime | tuple[str, ...] | tuple[int, ...] | None

FIELD_TYPES: tuple[FieldType, ...] = get_args(FieldType)
RESERVED_NAMES = frozenset({"text", "principal", "score"})
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

_NAME = re.compile(r"[^\W\d]\w{0,62}")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_ZONED = re.compile(r"\d{4}-\d{2}-\d{2}[T ].*(Z|[+-]\d{2}:?\d{2})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Field:
    """One typed column.

    Args:
        name: a letter or underscore, then letters, digits and underscores; at most 63 characters.
            `text`, `score` and `principal` are taken by the filter language.
        type: `int` (64 bits), `float` (finite), `bool`, `str`, `date`, `datetime` (stored as UTC), `str[]`, `int[]`.

    Raises:
        holdstill.InvalidSchema: the name or the type is not one of these.
    """

    name: str
    type: FieldType

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not is_field_name(self.name):
            raise InvalidSchema(
                "a field's name cannot be used",
                field="name",
                expected="a letter or underscore, then letters, digits, underscores (63 at most), and none of "
                + ", ".join(sorted(RESERVED_NAMES)),
                got=self.name,
            )
        if self.type not in FIELD_TYPES:
            raise InvalidSchema(
                f"field {self.name!r} has an unknown type",
                field=self.name,
                expected="one of " + ", ".join(FIELD_TYPES),
                got=self.type,
            )

    def accept(self, value: object) -> FieldValue:
        """The value as this field stores it; lists become tuples, nothing is coerced to another type.

        Dates and datetimes may be given as ISO 8601 text, since JSON has no type for them.

        Raises:
            holdstill.InvalidDocument: the value is not of the field's type.
        """
        if value is None:
            return None
        accepted: FieldValue = _ACCEPT[self.type](value)
        if accepted is None:
            raise InvalidDocument(
                f"field {self.name!r} does not take this value",
                field=self.name,
                expected=_EXPECTED[self.type],
                got=value,
            )
        return accepted


def is_field_name(name: str) -> bool:
    """Whether a field may have this name."""
    return _NAME.fullmatch(name) is not None and name not in RESERVED_NAMES


def _int(value: object) -> int | None:
    ok = isinstance(value, int) and not isinstance(value, bool) and INT64_MIN <= value <= INT64_MAX
    return cast(int, value) if ok else None


def _float(value: object) -> float | None:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value) if int(float(value)) == value else None
        except OverflowError:
            return None
    return None


def _bool(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _str(value: object) -> str | None:
    return clean(value) if isinstance(value, str) else None


def _date(value: object) -> date | None:
    if isinstance(value, str) and _DATE.fullmatch(value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            return None
    return value if isinstance(value, date) and not isinstance(value, datetime) else None


def _datetime(value: object) -> datetime | None:
    if isinstance(value, str) and _ZONED.fullmatch(value):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    try:
        zoned = isinstance(value, datetime) and value.tzinfo is not None
        return value.astimezone(UTC) if zoned and isinstance(value, datetime) else None
    except OverflowError:
        return None


def _str_list(value: object) -> tuple[str, ...] | None:
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return tuple(clean(item) for item in value)
    return None


def _int_list(value: object) -> tuple[int, ...] | None:
    if isinstance(value, (list, tuple)) and all(_int(item) is not None for item in value):
        return tuple(value)
    return None


_ACCEPT: dict[FieldType, Any] = {
    "int": _int,
    "float": _float,
    "bool": _bool,
    "str": _str,
    "date": _date,
    "datetime": _datetime,
    "str[]": _str_list,
    "int[]": _int_list,
}

_EXPECTED: dict[FieldType, str] = {
    "int": "an integer of 64 bits",
    "float": "a finite number that a 64-bit float holds exactly",
    "bool": "true or false",
    "str": "a string",
    "date": "a date, YYYY-MM-DD",
    "datetime": "a date and time with a time zone, as in 2024-05-01T09:30:00Z",
    "str[]": "a list of strings",
    "int[]": "a list of integers of 64 bits",
}


@dataclass(frozen=True, slots=True)
class Schema:
    """The fields of a collection, in order.

    Raises:
        holdstill.InvalidSchema: a name stands twice.
    """

    fields: tuple[Field, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.fields, (list, tuple)) or not all(isinstance(field, Field) for field in self.fields):
            raise InvalidSchema(
                "a schema cannot be read",
                field="schema",
                expected="fields: Schema((Field('n', 'int'),))",
                got=self.fields,
            )
        object.__setattr__(self, "fields", tuple(self.fields))
        seen: set[str] = set()
        for field in self.fields:
            if field.name in seen:
                raise InvalidSchema("a field stands twice in the schema", field=field.name, got=field.name)
            seen.add(field.name)

    @classmethod
    def of(cls, types: Mapping[str, str]) -> Schema:
        """A schema from names and types: `Schema.of({"years_exp": "int"})`."""
        named = as_mapping("schema", types)
        return cls(tuple(Field(name, cast(FieldType, type_)) for name, type_ in named.items()))

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __contains__(self, name: object) -> bool:
        return any(field.name == name for field in self.fields)

    def __getitem__(self, name: str) -> Field:
        """The field of that name.

        Raises:
            holdstill.UnknownField: the schema has no such field.
        """
        for field in self.fields:
            if field.name == name:
                return field
        raise UnknownField(
            f"no field is called {name!r}",
            field=name,
            expected="one of " + ", ".join(self.types()) if self.fields else "no field at all: the schema has none",
            hint="`holdstill schema COLLECTION` lists the fields; `schema COLLECTION add-field NAME:TYPE` adds one",
        )

    def types(self) -> dict[str, str]:
        """Names and types, in order."""
        return {field.name: field.type for field in self.fields}
