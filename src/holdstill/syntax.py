"""The opt-in web syntax: quotes and a leading minus read as requirements; everything else is plain words."""

from __future__ import annotations

import re
from collections.abc import Callable
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


def read_web(text: str, has_words: Callable[[str], bool]) -> Understood:
    """Read `null "pointer exception" -java`; an odd quote, a lone minus and an inner hyphen are plain text.

    Args:
        text: what was asked.
        has_words: whether anything is left of a text after analysis; what is of no words requires nothing.
    """
    must: list[str] = []
    must_not: list[str] = []

    def take(part: re.Match[str]) -> str:
        words = part["word"] if part["phrase"] is None else part["phrase"]
        if not has_words(words):
            return part[0]
        if part["word"] is not None or part["minus"]:
            must_not.append(words)
            return " "
        must.append(words)
        return words

    rest = _PART.sub(take, text)
    nothing_left = bool(must or must_not) and not has_words(rest)
    return Understood(None if nothing_left else rest, tuple(must), tuple(must_not))
