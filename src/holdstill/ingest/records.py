"""From a record (an object of JSON, a row of a table) to a document."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec

import numpy as np
from numpy.typing import NDArray

from holdstill.document import Document, Passage
from holdstill.errors import InvalidDocument, InvalidInput, InvalidVector
from holdstill.ingest.rows import Keys

_PASSAGE_KEYS = ("text", "vector", "headings", "pages")

P = ParamSpec("P")


def attempt(make: Callable[P, Document], *args: P.args, **kwargs: P.kwargs) -> Document | InvalidInput:
    """What `make` gives, or the error that says why it gives nothing: readers go on after a bad row."""
    try:
        return make(*args, **kwargs)
    except InvalidInput as error:
        return error


def document_of(record: object, keys: Keys) -> Document:
    """The document that a record describes.

    The record holds an id, `title`, `text` (and `vector`) or `passages`, and fields in `metadata`, in `fields` or
    beside them. With `keys.document` it describes a part of the document that the key names, and may give `headings`
    and `pages` for its text.

    Raises:
        holdstill.InvalidDocument: a key is missing, of another type than expected, or contradicts another.
        holdstill.InvalidVector: a vector is not a list of numbers.
    """
    if not isinstance(record, Mapping):
        raise InvalidDocument("the row is not an object", expected="an object with an id and a text", got=record)
    parts = _Parts(record)
    id_ = _id(parts, keys)
    title = parts.take(keys.title, "title")
    text = parts.take(keys.text, "text")
    vector, passages = parts.take(None, "vector"), parts.take(None, "passages")
    if keys.text is not None and passages is None and not parts.has(keys.text):
        raise InvalidDocument(f"the row has no {keys.text!r}", field=keys.text, expected="the text, as --text says")
    content: dict[str, Any] = {"title": "" if title is None else title}
    if passages is not None:
        content |= {"passages": _passages(passages), "text": text, "vector": _vector(vector)}
    elif keys.document is None:
        content |= {"text": text, "vector": _vector(vector)}
    else:
        span = {name: parts.take(None, name) for name in ("headings", "pages")}
        content["passages"] = [_passage({"text": "" if text is None else text, "vector": vector} | span)]
    fields = parts.rest()
    try:
        return Document(id_, fields=fields, **content)
    except InvalidDocument as error:
        if error.field == "text" and text is None and keys.text is None:
            error.hint = _text_hint(fields)
        raise


def _text_hint(fields: Mapping[str, Any]) -> str | None:
    """Which key of a row without a text may hold it: the one with the longest string."""
    strings = {name: len(value) for name, value in fields.items() if isinstance(value, str)}
    longest = max(strings, key=lambda name: strings[name], default=None)
    return None if longest is None else f"If {longest!r} holds the text, say --text {shlex.quote(longest)}"


def same(left: object, right: object) -> bool:
    """Whether two values of a field are the same in value and in type: 1 is neither 1.0 nor true."""
    return _canonical(left) == _canonical(right)


class _Parts:
    """A record taken apart: its own keys, and those of `metadata` and `fields`. A key with a role is no field."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self._top = dict(record)
        self._inner = _merged(_object(self._top, "metadata"), _object(self._top, "fields"))
        self._taken: list[tuple[dict[str, Any], str]] = []

    def has(self, key: str) -> bool:
        return key in self._top or key in self._inner

    def take(self, named: str | None, default: str) -> Any:
        """The value of the key that the caller named, or of the default one; None where there is none."""
        key = default if named is None else named
        holder = self._inner if named is not None and key not in self._top else self._top
        # One key may have two roles, as in `--id name --title name`, so it stays until `rest`.
        self._taken.append((holder, key))
        return holder.get(key)

    def rest(self) -> dict[str, Any]:
        """What had no role: the fields."""
        for holder, key in self._taken:
            holder.pop(key, None)
        return _merged(self._inner, self._top)


def _id(parts: _Parts, keys: Keys) -> str:
    own = _own_id(parts, keys)
    if keys.document is None:
        value, key, expected, option = own, keys.id or "id", repr(keys.id) if keys.id else "'id' or '_id'", "--id"
    else:
        value, key = parts.take(keys.document, "document"), keys.document
        expected, option = repr(key), "--document"
    if value is None:
        hint = f"Name the key that holds it with {option} KEY"
        raise InvalidDocument("the row has no id", field=key, expected=expected, hint=hint)
    # An id is a name, and many corpora write theirs as whole numbers. Document refuses whatever else is not text.
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _own_id(parts: _Parts, keys: Keys) -> Any:
    if keys.id is not None:
        return parts.take(keys.id, "id")
    plain, marked = parts.take(None, "id"), parts.take(None, "_id")
    if plain is None or marked is None or keys.document is not None:
        return marked if plain is None else plain
    if not same(plain, marked):
        raise InvalidDocument("the row has two ids", field="_id", expected=f"{plain!r}, as in 'id'", got=marked)
    return plain


def _passages(value: object) -> list[Passage]:
    items = _list(value, "passages", "a list of objects, each with a text")
    passages = []
    for number, item in enumerate(items):
        try:
            passages.append(_passage(item))
        except InvalidInput as error:
            error.field = f"passages[{number}]" + (f".{error.field}" if error.field else "")
            error.message = f"{error.field}: {error.message}"
            raise
    return passages


def _passage(item: object) -> Passage:
    if not isinstance(item, Mapping):
        raise InvalidDocument("a passage is not an object", expected="an object with a text", got=item)
    for key in item:
        if key not in _PASSAGE_KEYS:
            raise InvalidDocument("a passage has a key that is not read", expected=", ".join(_PASSAGE_KEYS), got=key)
    headings, pages = item.get("headings"), item.get("pages")
    return Passage(
        item.get("text"),  # type: ignore[arg-type]  # Passage says what is wrong with it
        _vector(item.get("vector")),
        headings=() if headings is None else _list(headings, "headings", "a list of strings"),
        pages=None if pages is None else _list(pages, "pages", "[first, last], whole numbers from 1"),
    )


def _vector(value: object) -> NDArray[np.float64] | None:
    if value is None:
        return None
    if not isinstance(value, (list, tuple)) or not set(map(type, value)) <= {int, float}:
        raise InvalidVector(
            "a vector is not a list of numbers", field="vector", expected="a list of numbers", got=value
        )
    try:
        return np.array(value, dtype=np.float64)
    except OverflowError as error:
        raise InvalidVector("a vector holds a number beyond a 64-bit float", field="vector", got=value) from error


def _list(value: object, name: str, expected: str) -> list[Any] | tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise InvalidDocument(f"{name} must be a list", field=name, expected=expected, got=value)
    return value


def _object(record: dict[str, Any], key: str) -> dict[str, Any]:
    value = record.pop(key, None)
    if value is not None and not isinstance(value, Mapping):
        raise InvalidDocument(f"{key!r} is not an object", field=key, expected="an object of fields", got=value)
    return dict(value or {})


def _merged(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    for key in right:
        if key in left and not same(left[key], right[key]):
            raise InvalidDocument(
                "a field stands twice in the row with different values",
                field=key,
                expected=f"{left[key]!r} in both places",
                got=right[key],
            )
    return left | right


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=repr)
