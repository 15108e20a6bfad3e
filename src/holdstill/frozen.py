"""Mappings that cannot be changed, so that a value is what it was when it was made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn


class FrozenDict(dict[str, Any]):
    """A dictionary that refuses every change. It compares, pickles and turns into JSON as a dictionary does."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("this mapping is part of a frozen value and cannot be changed")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, Any]]]:
        return FrozenDict, (dict(self),)


def freeze(value: Mapping[str, Any] | None) -> FrozenDict | None:
    """The mapping, unchangeable from now on; None stays None."""
    return None if value is None else FrozenDict(value)


def thaw(value: Any) -> Any:
    """The value with plain dictionaries and lists, as JSON has them."""
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    return [thaw(item) for item in value] if isinstance(value, (list, tuple)) else value
