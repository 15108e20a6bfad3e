"""JSON that is the same for equal values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, datetime

from holdstill.errors import InvalidDocument
from holdstill.text import clean


def canonical_json(value: object) -> str:
    """JSON that is the same for equal values: keys sorted, text cleaned, dates in ISO 8601.

    Raises:
        holdstill.InvalidDocument: something in it has no JSON form.
    """
    try:
        return json.dumps(_plain(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidDocument(
            f"a value outside the schema cannot be stored: {error}",
            field="fields",
            expected="what JSON can hold",
            got=value,
        ) from error


def _plain(value: object) -> object:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        plain = {clean(str(key)): _plain(item) for key, item in value.items()}
        if len(plain) < len(value):
            raise ValueError("two of its keys become the same text")
        return plain
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.isoformat() if isinstance(value, (date, datetime)) else value
