"""What text becomes before anything else sees it."""

from __future__ import annotations

import re

_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
_VISIBLE = re.compile(r"[^\s\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")


def blank(text: str) -> bool:
    """Whether there is nothing to see in it: white space and invisible characters at most."""
    return _VISIBLE.search(text) is None


def storable(text: str) -> bool:
    """Whether every store can hold it: no NUL, and no lone surrogates."""
    return _UNSTORABLE.search(text) is None


def clean(text: str) -> str:
    """Text that every store can hold: no byte-order marks at the start, NUL and lone surrogates as U+FFFD.

    Replacing one character by one keeps every offset after the mark right.
    """
    return _UNSTORABLE.sub("\ufffd", text.lstrip("\ufeff"))
