"""Text to terms: what is indexed and what is asked, by one function.

Normalised text is scanned for three kinds of word. What a word becomes depends on its letters alone, never on its
neighbours, so every word of a text, asked as a query or a phrase, finds the text.

- *Words and identifiers*: letters and digits as Unicode segments them (UAX #29), joined by `-`, `.`, `_`, `/`, `:` and
  their like. The whole is one term; components and atoms (the runs of letters and digits) are parts, kept for recall.
  An identifier is as wide as its atoms are many, so that `TCP/IP` also answers the phrase `tcp ip`.
- *Runs of scripts that put no space between words* (Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese): overlapping
  bigrams of grapheme clusters. Single clusters are parts.
- *Emoji*: one term each; the pictures of a joined sequence are parts.
"""

from __future__ import annotations

import hashlib
import threading
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple
from unicodedata import normalize

import regex

from holdstill.errors import InvalidInput, InvalidPredicate

ANALYSERS = ("simple", "english")
MAX_TERM = 256  #: characters; a longer term is kept as its first 64 and a digest of all of it
RULES = 1  #: the version of the rules below: any change of theirs that moves a term changes it


class Term(NamedTuple):
    """One indexed unit.

    Attributes:
        text: what is indexed.
        position: where it stands, from 0. A whole stands at its first atom's position.
        word: the ordinal of the word it comes from, from 0.
        whole: True for what the word is: a word or identifier, an emoji, each bigram of a run. False for a part.
    """

    text: str
    position: int
    word: int
    whole: bool


class _Layout(NamedTuple):
    """A word's terms as (text, offset from the word's position, whole), offsets ascending, and its width."""

    terms: tuple[tuple[str, int, bool], ...]
    width: int


@dataclass(frozen=True, slots=True)
class Analyser:
    """Text to terms, the same for passages and queries. Threads may share it.

    Args:
        name: `simple`: every term as written, folded. `english`: words of letters also lose their endings.
    """

    name: str

    @property
    def identity(self) -> str:
        """The name with the version of everything that decides a term: `simple-1`, `english-1-snowball-3.1.0`."""
        return f"{self.name}-{RULES}" + (f"-snowball-{_snowball_version()}" if self.name == "english" else "")

    def terms(self, text: str) -> list[Term]:
        """The terms of a text by position; none if it holds no letter, digit or emoji. Any string is accepted."""
        stemmed = self.name == "english"
        terms: list[Term] = []
        position = 0
        for word, match in enumerate(_WORDS.finditer(_normalise(text))):
            surface = match.group()
            layout = _LAYOUTS[match.lastgroup](surface, stemmed)
            for term, offset, whole in layout.terms:
                terms.append(Term(term, position + offset, word, whole))
            position += layout.width
        return terms


def analyser(name: str) -> Analyser:
    """The analyser of that name, one of `ANALYSERS`.

    Raises:
        holdstill.InvalidInput: there is none.
    """
    if name not in ANALYSERS:
        raise InvalidInput("unknown analyser", field="analyser", expected="one of " + ", ".join(ANALYSERS), got=name)
    return Analyser(name)


def lexical_text(title: str, headings: Sequence[str], text: str) -> str:
    """What is indexed and embedded for a passage: title, headings and text, each on its line, blank ones left out."""
    return "\n".join(part for part in (title, *headings, text) if part.strip())


def requirement(analyser: Analyser, words: str) -> list[tuple[str, int]]:
    """What must hold of a passage for it to have these words, adjacent and in order.

    Returns:
        The whole terms with positions relative to the first. The passage matches where, for some base, it has each
        term (as a whole or as a part) at base + position.

    Raises:
        holdstill.InvalidPredicate: no term is left after analysis.
    """
    return [(term.text, term.position) for term in _required(analyser, words)]


def requirements(analyser: Analyser, words: str) -> list[list[tuple[str, int]]]:
    """One requirement for each distinct word: a passage that meets them all contains the words, in any order.

    Raises:
        holdstill.InvalidPredicate: no term is left after analysis.
    """
    by_word: dict[int, list[Term]] = {}
    for term in _required(analyser, words):
        by_word.setdefault(term.word, []).append(term)
    distinct = {tuple((term.text, term.position - word[0].position) for term in word) for word in by_word.values()}
    return [list(word) for word in sorted(distinct)]


def _required(analyser: Analyser, words: str) -> list[Term]:
    terms = [term for term in analyser.terms(words) if term.whole]
    if not terms:
        raise InvalidPredicate(
            "a requirement on words has no words",
            field="text",
            expected="at least one letter, digit or emoji",
            got=words,
        )
    return terms


# --- what a word is ---

# Scripts written without spaces; Line_Break=SA is "complex context dependent (South East Asian)", UAX #14.
_SPACELESS = r"[\p{Script=Han}\p{scx=Hira}\p{scx=Kana}\p{Script=Hangul}\p{Script=Bopomofo}\p{LB=SA}]"
_INITIAL = rf"[[\p{{L}}\p{{N}}]--{_SPACELESS}]"
_LETTER = rf"[[\p{{L}}\p{{N}}\p{{M}}]--{_SPACELESS}]"
_ATOM = rf"{_INITIAL}{_LETTER}*+(?:'{_INITIAL}{_LETTER}*+)*+"
_RUN = rf"[[\p{{L}}\p{{N}}]&&{_SPACELESS}](?:{_SPACELESS}|\p{{M}})*+"
_EMOJI = r"\p{RI}{1,2}|[\p{ExtPict}\p{EMod}]\p{EMod}?(?:\u200D\p{ExtPict}\p{EMod}?)*+"

# Signs that belong to an identifier at its ends: .NET, @types/node, #42, --no-verify, __init__; C++, C#, CD4+.
_BEFORE = "".join(
    rf"(?<!{_LETTER}|[_{last}]){sign}|" for sign, last in ((r"\.", "."), ("@", "@"), (r"\#", "#"), ("--", r"\-"))
)
_PREFIX = rf"(?:{_BEFORE})(?:(?<!_)_{{1,2}}(?!_))?+"
_SUFFIX = rf"(?:\+\+(?![+\#])|[+\#](?![+\#_]|{_LETTER})|_{{1,2}}(?!_))?+"


def _joined(signs: str) -> str:
    """A pattern of atoms joined by one to three of these signs; an ellipsis or a dash of two hyphens joins nothing."""
    return rf"{_ATOM}(?:(?:(?!\.\.|--|//)[{signs}]){{1,3}}+{_ATOM}|(?<=\p{{Nd}}),(?=\p{{Nd}}){_ATOM})*+"


def _compile(pattern: str) -> regex.Pattern[str]:
    return regex.compile(pattern, regex.VERSION1)


_ALL_SIGNS = r"-._/\\:@\#+&~·"
_CORE = _compile(_joined(_ALL_SIGNS))
_ATOMS = _compile(_ATOM)
_WORDS = _compile(rf"(?P<word>{_PREFIX}{_CORE.pattern}{_SUFFIX})|(?P<run>{_RUN})|(?P<emoji>{_EMOJI})")
_COMPONENTS = (
    _compile(_PREFIX + _joined(r"\-._/") + _SUFFIX),
    _compile(_PREFIX + _joined(r"\-._") + _SUFFIX),
    _compile(_joined(r"\-_") + _SUFFIX),
    _compile(_joined("._") + _SUFFIX),
)
_VERSION = _compile(rf"(?<=(?<!{_LETTER})[vV])\p{{Nd}}+(?:\.{_ATOM})++")

# Inside an atom: getUser|Name, HTTP|Server (but DNAs), utf|8.
_CASE_SEAM = r"(?<=\p{Ll}\p{M}*)(?=\p{Lu})|(?<=\p{Lu}\p{M}*)(?=\p{Lu}(?!s(?!\p{L}))\p{Ll})"
_DIGIT_SEAM = r"(?<=\p{L}\p{M}*)(?=\p{N})|(?<=\p{N}\p{M}*)(?=\p{L})"
_SEAM = _compile(rf"{_CASE_SEAM}|{_DIGIT_SEAM}")
_DIGIT_SEAMS = _compile(_DIGIT_SEAM)
_MAX_DIGIT_SEAMS = 2  # more of them make a code or a hash, whose shreds mean nothing

# --- what a word becomes ---


def _word(surface: str, stemmed: bool) -> _Layout:
    return _layout(surface, stemmed) if len(surface) <= 64 else _layout.__wrapped__(surface, stemmed)


@lru_cache(maxsize=1 << 16)
def _layout(surface: str, stemmed: bool) -> _Layout:
    if surface.isalpha() and not _SEAM.search(surface):
        return _Layout(((_term(surface, stemmed), 0, True),), 1)
    atoms = list(_ATOMS.finditer(surface))
    ends = [atom.end() for atom in atoms]
    whole = _term(surface, stemmed)
    parts: dict[tuple[int, str], None] = {}
    for pattern in (_CORE, *_COMPONENTS, _VERSION, _ATOMS):
        for match in pattern.finditer(surface):
            parts[bisect_right(ends, match.start()), _term(match.group(), stemmed)] = None
    for offset, atom in enumerate(atoms):
        for piece in _pieces(atom.group()):
            parts[offset, _term(piece, stemmed)] = None
    parts.pop((0, whole), None)
    ordered = sorted(parts, key=lambda part: part[0])
    return _Layout(((whole, 0, True), *((text, offset, False) for offset, text in ordered)), len(atoms))


def _pieces(atom: str) -> Iterator[str]:
    for bit in atom.split("'"):
        yield bit
        if len(bit) <= MAX_TERM and len(_DIGIT_SEAMS.findall(bit)) <= _MAX_DIGIT_SEAMS:
            yield from _SEAM.split(bit)


def _run(surface: str, stemmed: bool) -> _Layout:
    clusters = [_term(c, False) for c in regex.findall(r"\X", surface)]
    if len(clusters) == 1:
        return _Layout(((clusters[0], 0, True),), 1)
    terms = []
    for offset, cluster in enumerate(clusters):
        if offset + 1 < len(clusters):
            terms.append((_bounded(cluster + clusters[offset + 1]), offset, True))
        terms.append((cluster, offset, False))
    return _Layout(tuple(terms), len(clusters))


def _emoji(surface: str, stemmed: bool) -> _Layout:
    parts = dict.fromkeys(regex.findall(r"\p{ExtPict}", surface))
    parts.pop(surface, None)
    return _Layout(((surface, 0, True), *((p, 0, False) for p in parts)), 1)


_LAYOUTS: dict[str | None, Any] = {"word": _word, "run": _run, "emoji": _emoji}

# --- characters ---

_IGNORED = _compile(r"[\p{DI}--\u200D]+|(?<![\p{ExtPict}\p{EMod}\uFE0F])\u200D|\u200D(?!\p{ExtPict})")
_EXCESS_MARKS = _compile(r"(?<=\p{M}{30})\p{M}+")
_SAME = str.maketrans({"‘": "'", "’": "'", "‛": "'", "ʼ": "'", "‐": "-", "‒": "-", "–": "-", "−": "-"})


def _normalise(text: str) -> str:
    if text.isascii():
        return text
    text = _EXCESS_MARKS.sub("", _IGNORED.sub("", text))
    return normalize("NFKC", text).translate(_SAME)


def _term(surface: str, stemmed: bool) -> str:
    folded = _fold(surface)
    if stemmed and len(folded) <= MAX_TERM and folded.replace("'", "").isalpha():
        folded = _stem(folded)
    return _bounded(folded)


def _fold(text: str) -> str:
    if text.isascii():
        return text.lower()
    folded = normalize("NFKC", text.casefold()).casefold()
    return normalize("NFKC", folded.replace("i\u0307", "i"))


def _bounded(term: str) -> str:
    if len(term) <= MAX_TERM:
        return term
    return f"{term[:64]}…{hashlib.sha256(term.encode()).hexdigest()[:32]}"


class _Stemmers(threading.local):
    """Snowball's object is not for sharing between threads."""

    def __init__(self) -> None:
        import Stemmer

        self.stem = Stemmer.Stemmer("english", 0).stemWord


_STEMMERS = _Stemmers
_local: Any = None


def _stem(word: str) -> str:
    global _local
    if _local is None:
        _local = _Stemmers()
    while (stem := _local.stem(word)) != word:
        word = stem
    return word


def _snowball_version() -> str:
    import Stemmer

    return str(Stemmer.version())
