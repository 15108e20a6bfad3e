"""A schema from the data: `infer`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from holdstill.document import Document
from holdstill.errors import InvalidDocument
from holdstill.ingest.cells import Cell, parse, typed, with_fields
from holdstill.schema import Field, FieldType, Schema, is_field_name

#: A column gets the first of these types that takes every value it holds.
_PREFERRED: tuple[FieldType, ...] = ("bool", "int", "float", "date", "datetime", "str[]", "int[]", "str")


@dataclass(frozen=True, slots=True)
class Inference:
    """What was inferred, and how the same documents fit it.

    Attributes:
        schema: the fields, in the order in which they first appear.
        notes: every column that is not simply typed, and why; in the same order.
        as_text: fields that hold scalars of several types: those that are not text are kept as their JSON text.
    """

    schema: Schema
    notes: tuple[str, ...]
    as_text: frozenset[str]

    def typed(self, document: Document) -> Document:
        """The document with its values as the schema takes them.

        Raises:
            holdstill.InvalidDocument: a cell does not fit, which cannot be for a document that was inferred from.
        """
        mixed = {name: value for name, value in document.fields.items() if name in self.as_text}
        changed = {name: _json(value) for name, value in mixed.items() if value is not None and not _is_text(value)}
        return typed(with_fields(document, {**document.fields, **changed}) if changed else document, self.schema)


def infer(documents: Iterable[Document]) -> Inference:
    """The schema that takes the documents' fields without changing a value, where there is one.

    A column is the first of bool, int, float, date, datetime, str, str[], int[] that takes every value of it. The text
    of a `Cell` is read strictly. Scalars that no one type takes become `str`, with a note. Lists of several types,
    objects, and names that no field may have are left out of the schema, with a note: they are stored, not filterable.
    """
    columns: dict[str, _Column] = {}
    for document in documents:
        for name, value in document.fields.items():
            column = columns.get(name)
            if column is None:
                column = columns[name] = _Column(name)
            column.add(value)
    fields = [Field(name, column.type) for name, column in columns.items() if column.type is not None]
    return Inference(
        Schema(tuple(fields)),
        tuple(note for column in columns.values() if (note := column.note()) is not None),
        frozenset(name for name, column in columns.items() if column.type == "str" and column.mixed),
    )


@dataclass(slots=True)
class _Column:
    """One column, while its values pass by."""

    name: str
    known: int = 0  # values that are not null
    scalars: int = 0
    texts: int = 0
    left: list[Field] = field(default_factory=list)  # the types that took every value so far, preferred first
    read_as: Counter[str] = field(default_factory=Counter)  # how many cells each type but `str` reads

    def __post_init__(self) -> None:
        if is_field_name(self.name):
            self.left = [Field(self.name, type_) for type_ in _PREFERRED]

    def add(self, value: object) -> None:
        if value is None:
            return
        self.known += 1
        self.scalars += not isinstance(value, (list, tuple, Mapping))
        self.texts += _is_text(value)
        if isinstance(value, Cell) and is_field_name(self.name):
            fields = (Field(self.name, type_) for type_ in _PREFERRED if type_ != "str")
            self.read_as.update(field.type for field in fields if _takes(field, value))
        self.left = [field for field in self.left if _takes(field, value)]

    @property
    def mixed(self) -> bool:
        """Whether the column holds scalars that no one type takes."""
        return not self.left and self.scalars == self.known

    @property
    def type(self) -> FieldType | None:
        if not is_field_name(self.name):
            return None
        if self.known == 0 or self.mixed:
            return "str"
        return self.left[0].type if self.left else None

    def note(self) -> str | None:
        if not is_field_name(self.name):
            return f"{self.name!r} is stored, not filterable: no field may have that name"
        if self.known == 0:
            return f"field {self.name!r} is str: every value is null"
        if self.mixed:
            return (
                f"field {self.name!r} is str: no one type takes all {self.known} values; "
                f"{self.known - self.texts} that are not text are kept as their JSON text"
            )
        if not self.left:
            return f"{self.name!r} is stored, not filterable: it holds objects or values of several types"
        type_, count = max(self.read_as.items(), key=lambda item: item[1], default=("", 0))
        if self.type == "str" and 2 * count >= self.known:
            others = f"{self.known - count} of its {self.known} values"
            return f"field {self.name!r} is str: {others} cannot be read as {type_}, as the others can"
        return None


def _takes(field: Field, value: object) -> bool:
    try:
        accepted = parse(value, field) if isinstance(value, Cell) else field.accept(value)
    except InvalidDocument:
        return False
    return accepted is not None


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _json(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else json.dumps(value, ensure_ascii=False)
