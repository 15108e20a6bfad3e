"""What reading is told and what it gives: `Keys` and `Row`."""

from __future__ import annotations

from dataclasses import dataclass

from holdstill.document import Document
from holdstill.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Keys:
    """Which keys or columns of a record to read; None means the default.

    A key that is named here is looked for in the record itself, then in its `metadata` or `fields`.

    Args:
        id: the document's id; by default `id` or `_id`.
        title: the title; by default `title`.
        text: the text; by default `text`.
        document: groups rows: those with the same value are the passages of one document, whose id is that value.
    """

    id: str | None = None
    title: str | None = None
    text: str | None = None
    document: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A document that was read, and where it stood.

    Attributes:
        source: the file, as it was named.
        number: the line (JSONL, CSV) or row (Parquet, JSON) where it starts, from 1; 1 where the file is the document.
        document: what stood there; the values of a CSV file are `Cell`s until `typed` has read them.
    """

    source: str
    number: int
    document: Document


#: What a reader makes of one row: its number, and the document or what is wrong with it.
Outcome = tuple[int, Document | InvalidInput]
