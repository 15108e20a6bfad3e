"""The opt-in web syntax: quotes and a leading minus read as requirements; everything else is plain words."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PART = re.compile(r'(?<!\w)(?P<minus>-?)["“](?P<phrase>[^"“”]*)["”](?!\w)|(?<!\S)-(?P<word>[^\s"“-]\S*)')


@dataclass(frozen=True, slots=True)
class Understood:
    """What a text in web syntax asks.

    Attributes:
        text: the words that rank, quoted ones included; None where only requirements are left.
        must: the quoted phrases.
        must_not: the words and phrases behind a leading minus.
    """

    text: str | None
    must: tuple[str, ...]
    must_not: tuple[str, ...]


def read_web(text: str) -> Understood:
    """Read `null "pointer exception" -java`; an odd quote, a lone minus and an inner hyphen are plain text,
    and so is what holds no letter or digit."""
    must: list[str] = []
    must_not: list[str] = []

    def take(part: re.Match[str]) -> str:
        words = part["word"] if part["phrase"] is None else part["phrase"]
        if not any(map(str.isalnum, words)):
            return part[0]
        if part["word"] is not None or part["minus"]:
            must_not.append(words)
            return " "
        must.append(words)
        return words

    rest = _PART.sub(take, text)
    blank = not rest.strip() and bool(must or must_not)
    return Understood(None if blank else rest, tuple(must), tuple(must_not))
