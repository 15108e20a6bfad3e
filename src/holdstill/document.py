"""What goes into a collection: `Document` and `Passage`."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdstill.errors import InvalidDocument, InvalidVector
from holdstill.frozen import FrozenDict
from holdstill.text import blank, clean

MAX_ID_BYTES = 1024
MAX_PAGE = 2**31 - 1


def _frozen_vector(value: ArrayLike | None) -> NDArray[np.float64] | None:
    if value is None:
        return None
    try:
        given = np.asarray(value)
    except (TypeError, ValueError, OverflowError):
        given = np.array(None)
    if given.ndim != 1 or (given.dtype.kind not in "fiu" and given.size) or given.dtype.itemsize > 8:
        raise InvalidVector("a vector cannot be read", field="vector", expected="a flat list of numbers", got=value)
    vector = given.astype(np.float64)
    vector.flags.writeable = False
    return vector


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise InvalidDocument(f"{name} must be text", field=name, expected="a string", got=value)
    return clean(value)


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """A piece of a document: the unit that is ranked.

    Args:
        text: the passage's own words.
        vector: its vector, where the caller brings one; any scale, copied.
        headings: the path of headings above it, outermost first.
        pages: first and last page, from 1.
    """

    text: str
    vector: NDArray[np.float64] | None = None
    headings: tuple[str, ...] = ()
    pages: tuple[int, int] | None = None

    def __init__(
        self,
        text: str,
        vector: ArrayLike | None = None,
        headings: Sequence[str] = (),
        pages: Sequence[int] | None = None,
    ) -> None:
        if not isinstance(headings, (list, tuple)):
            raise InvalidDocument(
                "headings must be a list", field="headings", expected="a list of strings", got=headings
            )
        object.__setattr__(self, "text", _text(text, "text"))
        object.__setattr__(self, "vector", _frozen_vector(vector))
        object.__setattr__(self, "headings", tuple(_text(item, "headings") for item in headings))
        object.__setattr__(self, "pages", None if pages is None else _pages(pages))

    @property
    def blank(self) -> bool:
        """Whether there is nothing to find it by: no text, no heading and no vector."""
        return self.vector is None and all(blank(part) for part in (self.text, *self.headings))


def _pages(pages: object) -> tuple[int, int]:
    span = tuple(pages) if isinstance(pages, (list, tuple)) else ()
    if len(span) != 2 or not all(type(page) is int for page in span) or not 1 <= span[0] <= span[1] <= MAX_PAGE:
        raise InvalidDocument(
            "pages must be a range",
            field="pages",
            expected=f"[first, last], whole numbers from 1 to {MAX_PAGE}",
            got=pages,
        )
    return span[0], span[1]


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A document to add: an id and either a text or its passages.

    Args:
        id: 1 to 1,024 bytes of UTF-8; adding a document with an id that exists replaces that document.
        text: the whole text; split into passages where the model's window demands it.
        passages: the passages, where the caller has them; not together with `text`.
        title: shown with every passage and searched with it.
        fields: values of the schema's fields; other keys are stored and shown but cannot be filtered on.
        vector: the text's vector, where the caller brings one; not together with `passages`, which carry their own.

    Raises:
        holdstill.InvalidDocument: a bad id, both text and passages, or nothing to search at all.
        holdstill.InvalidVector: a vector that is not a flat list of numbers.
    """

    id: str
    title: str
    passages: tuple[Passage, ...]
    fields: Mapping[str, Any] = field(default_factory=dict)
    #: Whether `passages` is one text that may be split, rather than passages that the caller chose.
    whole: bool = True

    def __init__(
        self,
        id: str,  # noqa: A002 - the field's name everywhere
        text: str | None = None,
        *,
        passages: Sequence[Passage] | None = None,
        title: str = "",
        fields: Mapping[str, Any] | None = None,
        vector: ArrayLike | None = None,
    ) -> None:
        object.__setattr__(self, "id", _id(id))
        object.__setattr__(self, "title", _text(title, "title"))
        object.__setattr__(self, "fields", FrozenDict(copy.deepcopy(_fields(fields))))
        if passages is not None and (text is not None or vector is not None):
            raise InvalidDocument(
                f"document {id!r} has both passages and a text or vector of its own",
                field="passages",
                expected="either text (and vector) or passages",
            )
        object.__setattr__(self, "whole", passages is None)
        parts = (Passage("" if text is None else text, vector),) if passages is None else _passages(passages)
        kept = tuple(part for part in parts if not part.blank)
        if not kept and not blank(self.title):
            kept = parts[:1]
        if not kept:
            raise InvalidDocument(
                f"document {id!r} is empty", field="text", expected="a text, passages or a title with at least one word"
            )
        object.__setattr__(self, "passages", kept)


def _fields(fields: Mapping[str, Any] | None) -> dict[str, Any]:
    if fields is None:
        return {}
    if not isinstance(fields, Mapping) or not all(isinstance(name, str) for name in fields):
        raise InvalidDocument(
            "fields holds values by name", field="fields", expected="a mapping whose keys are strings", got=fields
        )
    return dict(fields)


def _passages(passages: Sequence[Passage]) -> tuple[Passage, ...]:
    parts = tuple(passages) if isinstance(passages, Iterable) else (passages,)
    for part in parts:
        if not isinstance(part, Passage):
            raise InvalidDocument(
                "passages is a list of passages", field="passages", expected="holdstill.Passage", got=part
            )
    return parts


def _id(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidDocument("a document's id must be text", field="id", expected="a string", got=value)
    cleaned = clean(value)
    if cleaned != value or not cleaned.strip() or len(cleaned.encode()) > MAX_ID_BYTES:
        raise InvalidDocument(
            "a document's id cannot be used",
            field="id",
            expected=f"1 to {MAX_ID_BYTES} bytes of UTF-8, not blank, without NUL, surrogates or byte-order mark",
            got=value,
        )
    return cleaned
