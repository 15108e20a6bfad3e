"""Arguments of the wrong type, refused by name: what a caller passes is looked at before it is used."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeGuard

from holdstill.errors import InvalidInput, InvalidQuery


def as_path(name: str, value: object) -> Path:
    """The value as a path, if it is one.

    Raises:
        holdstill.InvalidInput: it is not text or a path, or no file can have that name.
    """
    if isinstance(value, (str, os.PathLike)):
        path = os.fspath(value)
        if isinstance(path, str) and path and "\0" not in path:
            return Path(path)
    raise InvalidInput(f"{name} is no path", field=name, expected="a path, as text or pathlib.Path", got=value)


def as_paths(name: str, values: object) -> list[Path]:
    """One path, or several, as a list.

    Raises:
        holdstill.InvalidInput: something in it is no path.
    """
    return [as_path(name, value) for value in (values if _several(values) else [values])]


def _several(values: object) -> TypeGuard[Iterable[object]]:
    return isinstance(values, Iterable) and not isinstance(values, (str, bytes, os.PathLike))


def as_mapping(name: str, value: object) -> dict[str, Any]:
    """The value as a dictionary with text for keys.

    Raises:
        holdstill.InvalidInput: it is not a mapping, or has other keys.
    """
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return dict(value)
    raise InvalidInput(f"{name} cannot be read", field=name, expected="a mapping from names to values", got=value)


def as_strings(name: str, values: object) -> tuple[str, ...]:
    """The values of a list or tuple of strings.

    Raises:
        holdstill.InvalidQuery: it is anything else, such as a bare string.
    """
    if isinstance(values, (list, tuple)) and all(isinstance(value, str) for value in values):
        return tuple(values)
    raise InvalidQuery(f"{name} cannot be used", field=name, expected="a list of strings", got=values)


def as_ids(values: object) -> list[str]:
    """Ids that were named, each once: one id, or any iterable of them.

    Raises:
        holdstill.InvalidQuery: something in it is no text.
    """
    named: dict[str, None] = {}
    for each in values if _several(values) else [values]:
        if not isinstance(each, str):
            raise InvalidQuery("an id is text", field="id", expected="a string", got=each)
        named[each] = None
    return list(named)


def as_seconds(name: str, value: object) -> float:
    """A duration in seconds, 0 or more.

    Raises:
        holdstill.InvalidInput: it is not a finite number, or negative.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0:
        return float(value)
    raise InvalidInput(f"{name} cannot be used", field=name, expected="a number of seconds, 0 or more", got=value)


def as_flag(name: str, value: object) -> bool:
    """True or False; what merely counts as true is refused, since `"false"` does.

    Raises:
        holdstill.InvalidInput: it is neither.
    """
    if isinstance(value, bool):
        return value
    raise InvalidInput(f"{name} cannot be used", field=name, expected="True or False", got=value)
