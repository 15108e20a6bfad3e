"""Values of files that have no types: `Cell`, and reading one by a field's type."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from holdstill.document import Document
from holdstill.schema import Field, FieldType, FieldValue, Schema

# A leading zero is refused: "007" and "01067" are names, and a number would lose it.
# No 64-bit float has a whole part of more than 309 digits.
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,308})")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(?=[.eE])(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


class Cell(str):
    """The text of a value whose file has no types, such as a cell of CSV."""

    __slots__ = ()

    def __deepcopy__(self, memo: object) -> Cell:
        return self


def parse(cell: str, field: Field) -> FieldValue:
    """The value that the text spells, strictly by the field's type.

    Numbers are written as in JSON, booleans `true` or `false` (also `True`, `TRUE`), dates and datetimes in
    ISO 8601, lists as JSON lists. A whole number is never rounded to fit a float.

    Raises:
        holdstill.InvalidDocument: the text spells no value of that type.
    """
    text = str(cell)
    spelled = _SPELLED.get(field.type)
    return field.accept(text if spelled is None else spelled(text))


def typed(document: Document, schema: Schema) -> Document:
    """The document with its cells read by the schema's types; those outside the schema become plain text.

    Values that are not cells are left as they are, for the store to check.

    Raises:
        holdstill.InvalidDocument: a cell does not spell a value of its field's type.
    """
    if not any(isinstance(value, Cell) for value in document.fields.values()):
        return document
    fields = {field.name: field for field in schema}
    values = {
        name: _value(value, fields.get(name)) if isinstance(value, Cell) else value
        for name, value in document.fields.items()
    }
    return with_fields(document, values)


def with_fields(document: Document, fields: Mapping[str, Any]) -> Document:
    """The same document with other fields."""
    if document.whole:
        (only,) = document.passages
        return Document(document.id, only.text, title=document.title, fields=fields, vector=only.vector)
    return Document(document.id, passages=document.passages, title=document.title, fields=fields)


def _value(cell: Cell, field: Field | None) -> FieldValue:
    return str(cell) if field is None else parse(cell, field)


# Each gives the value, or the text itself where it spells none: `Field.accept` then says what was expected.
def _whole(text: str) -> object:
    return int(text) if _WHOLE.fullmatch(text) else text


def _number(text: str) -> object:
    return float(text) if _DECIMAL.fullmatch(text) else _whole(text)


def _bool(text: str) -> object:
    return _BOOLS.get(text, text)


def _list(text: str) -> object:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, list) else text


_SPELLED: dict[FieldType, Callable[[str], object]] = {
    "int": _whole,
    "float": _number,
    "bool": _bool,
    "str[]": _list,
    "int[]": _list,
}
