"""What text becomes before anything else sees it."""

from __future__ import annotations

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """Text that every store can hold: no byte-order marks at the start, NUL and lone surrogates as U+FFFD.

    Replacing one character by one keeps every offset after the mark right.
    """
    return _UNSTORABLE.sub("\ufffd", text.lstrip("\ufeff"))
