"""Records: what a hit shows of its passage, as bytes. They stand in the index, since a stored passage never changes.

A record is a JSON array in UTF-8: title, headings, first page, last page (null where there are no pages), text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from holdstill.errors import InvariantViolated
from holdstill.stores.base import StoredPassage

_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def encode(title: str, headings: Sequence[str], first_page: int | None, last_page: int | None, text: str) -> bytes:
    """The record of a passage: for equal values the same bytes."""
    return _JSON.encode([title, headings, first_page, last_page, text]).encode()


def decode(record: bytes, ordinal: int) -> tuple[str, StoredPassage]:
    """The title of a passage's document, and the passage.

    Raises:
        holdstill.InvariantViolated: it is no record.
    """
    try:
        title, headings, first_page, last_page, text = json.loads(record.decode())
        pages = None if first_page is None else (first_page, last_page)
        return title, StoredPassage(ordinal, tuple(headings), pages, text)
    except (ValueError, TypeError) as error:
        raise InvariantViolated(
            "a passage is damaged in the index; nothing is returned",
            hint="`holdstill doctor` rebuilds the index from the database",
        ) from error
