"""JSON Lines and JSON: strict decoding, and one outcome for each object."""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Iterator
from typing import Any, NoReturn

from holdstill.document import Document
from holdstill.errors import InvalidInput, MalformedInput
from holdstill.ingest.files import Source, decode
from holdstill.ingest.records import attempt, document_of
from holdstill.ingest.rows import Keys, Outcome

#: How many lists and objects may be inside one another. Python's own limit depends on the caller's depth of calls.
MAX_NESTING = 64


def read_jsonl(source: Source, keys: Keys) -> Iterator[Outcome]:
    """One outcome for each line that is not blank; the number is that of the line."""
    with source.open() as file:
        # Binary files break lines at \n alone: U+2028 and its like stay inside their strings.
        for number, line in enumerate(file, 1):
            if line.strip() not in (b"", codecs.BOM_UTF8):
                yield number, attempt(_document, line, keys)


def read_json(source: Source, keys: Keys) -> Iterator[Outcome]:
    """One outcome for each object of a list, or one for a single object; the number is the position in the list."""
    try:
        value = parse(source.text())
    except MalformedInput as error:
        error.hint = error.hint or "If every line is an object of its own, say --format jsonl"
        yield 1, error
        return
    for number, item in enumerate(value if isinstance(value, list) else [value], 1):
        yield number, attempt(document_of, item, keys)


def _document(line: bytes, keys: Keys) -> Document:
    text = decode(line.rstrip(b"\r\n"))
    try:
        return document_of(parse(text), keys)
    except InvalidInput as error:
        if text.lstrip().startswith("["):
            error.hint = "A file that holds one list of objects is JSON: name it .json"
        raise


def parse(text: str) -> Any:
    """The value of a JSON text, strictly: no NaN or infinity, no key twice, nesting within `MAX_NESTING`.

    Raises:
        holdstill.MalformedInput: saying what is wrong, and where.
    """
    try:
        value = _DECODER.decode(text)
    except MalformedInput:
        raise
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        what = error.msg.removesuffix(" at")
        raise MalformedInput(f"not JSON: {what} at {line}column {error.colno}") from error
    except ValueError as error:  # Python reads no whole number of more than 4,300 digits
        raise MalformedInput("not JSON that can be read: a number of thousands of digits") from error
    except RecursionError as error:
        raise _too_deep() from error
    if text.count("[") + text.count("{") > MAX_NESTING and _nesting(value) > MAX_NESTING:
        raise _too_deep()
    return value


def _too_deep() -> MalformedInput:
    return MalformedInput("not JSON that can be read: nested too deeply", expected=f"at most {MAX_NESTING} levels")


def _nesting(value: Any) -> int:
    """How many lists and objects are inside one another, level by level rather than by recursion."""
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, (list, dict))]:
        depth += 1
        level = [child for item in level for child in (item.values() if isinstance(item, dict) else item)]
    return depth


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise MalformedInput("a key stands twice in one object", field=key, got=key)
            seen.add(key)
    return value


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise MalformedInput(f"the number {text[:40]} is beyond a 64-bit float")
    return value


def _no_constant(name: str) -> NoReturn:
    raise MalformedInput(f"not JSON: {name} is not a number", hint="Write null where a value is unknown")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite, parse_constant=_no_constant)
