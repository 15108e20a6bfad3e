"""Text to terms: what is indexed and what is asked, by one function.

Normalised text is scanned for words of three kinds. What a word becomes depends on its own characters, never on its
neighbours, so every word of a text, asked as a query or as a phrase, finds the text.

- *Words and identifiers*: atoms (letters, digits and marks, as UAX #29 joins them) and the signs between them, as in
  `long-term`, `std::vector`, `v2.14.1`. The whole is one term; what it is made of are parts, kept for recall. It is as
  wide as its atoms are many, so that `TCP/IP` also answers the phrase `tcp ip`. What splits inside an atom stands at
  the atom's position, so that `getUserName` and `getusername` are equally wide.
- *Runs* of Korean and of scripts written without spaces: overlapping bigrams of characters with their marks; the
  characters are parts.
- *Emoji*: one term each; the pictures of a joined sequence are parts.
"""

from __future__ import annotations

import hashlib
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple
from unicodedata import normalize

import regex

from holdstill.errors import AnalyserMismatch, InvalidInput, InvalidPredicate

ANALYSERS = ("simple", "english")
MAX_TERM = 256  #: characters; of a longer term the first 64 are kept, and a digest of all of it

_RULES = 1  # rises with any change below that moves a term


class Term(NamedTuple):
    """One indexed unit.

    Attributes:
        text: what is indexed.
        position: where it stands, from 0. A whole stands where its first part does.
        word: the ordinal of the word it comes from, from 0.
        whole: True for what the word is: a word or identifier, an emoji, each bigram of a run. False for a part.
    """

    text: str
    position: int
    word: int
    whole: bool


@dataclass(frozen=True, slots=True)
class Analyser:
    """Text to terms, the same for passages and queries. Threads may share one.

    Args:
        name: `simple`: words as written, folded. `english`: those of letters alone also lose their endings (Snowball,
            http://snowballstem.org/algorithms/english/stemmer.html); no word is left out.

    Raises:
        holdstill.InvalidInput: there is no such analyser.
    """

    name: str

    def __post_init__(self) -> None:
        if self.name not in ANALYSERS:
            raise InvalidInput(
                "unknown analyser", field="analyser", expected="one of " + ", ".join(ANALYSERS), got=self.name
            )

    @property
    def identity(self) -> str:
        """The name and the versions of what decides a term: `simple-1`, `english-1-snowball-3.1.0`."""
        return f"{self.name}-{_RULES}" + (f"-snowball-{_snowball_version()}" if self._stems else "")

    @property
    def _stems(self) -> bool:
        return self.name == "english"

    def terms(self, text: str) -> list[Term]:
        """The terms, by position; none if there is no letter, digit or emoji. Any string is accepted."""
        stems = self._stems
        terms: list[Term] = []
        position = 0
        for word, match in enumerate(_WORDS.finditer(_normalise(text))):
            layout = _LAYOUTS[match.lastgroup or ""](match.group(), stems)
            for term, offset, whole in layout.terms:
                terms.append(Term(term, position + offset, word, whole))
            position += layout.width
        return terms

    def passage(self, title: str, headings: Sequence[str], text: str) -> list[Term]:
        """The terms of a passage: those of `lexical_text`, with a position left free where one part ends and another
        begins, so that no phrase reaches from a title into a text."""
        terms: list[Term] = []
        for part in (title, *headings, text):
            position, word = (terms[-1].position + 2, terms[-1].word + 1) if terms else (0, 0)
            terms += [
                Term(term.text, term.position + position, term.word + word, term.whole) for term in self.terms(part)
            ]
        return terms


def require_same(analyser: Analyser, identity: str) -> Analyser:
    """The analyser, if it is the one of that identity: other rules read other terms from the same text.

    Raises:
        holdstill.AnalyserMismatch: it is not.
    """
    if analyser.identity != identity:
        raise AnalyserMismatch(
            f"the index was built by the analyser {identity}, and this version of holdstill has {analyser.identity}",
            field="analyser",
            expected=identity,
            got=analyser.identity,
            hint="`holdstill rebuild COLLECTION` (`collection.rebuild()`) builds the index anew; or install the "
            "versions that built it",
        )
    return analyser


def analyser(name: str) -> Analyser:
    """The analyser of that name, one of `ANALYSERS`.

    Raises:
        holdstill.InvalidInput: there is none.
    """
    return Analyser(name)


def lexical_text(title: str, headings: Sequence[str], text: str) -> str:
    """What is indexed and embedded for a passage: title, headings and text, each on its line, blank ones left out."""
    return "\n".join(part for part in (title, *headings, text) if part.strip())


def requirement(analyser: Analyser, words: str) -> list[tuple[str, int]]:
    """What a passage must hold to have these words, adjacent and in order.

    Returns:
        The whole terms, each with its position relative to the first. A passage has the words if, for some base, it
        has every one of these terms, as a whole or as a part, at base + position.

    Raises:
        holdstill.InvalidPredicate: no term is left after analysis.
    """
    return [(term.text, term.position) for term in _wholes(analyser, words)]


def requirements(analyser: Analyser, words: str) -> list[list[tuple[str, int]]]:
    """The requirement of each distinct word: a passage that meets them all has the words, in any order.

    Raises:
        holdstill.InvalidPredicate: no term is left after analysis.
    """
    by_word: dict[int, list[Term]] = {}
    for term in _wholes(analyser, words):
        by_word.setdefault(term.word, []).append(term)
    distinct = {tuple((term.text, term.position - word[0].position) for term in word) for word in by_word.values()}
    return [list(word) for word in sorted(distinct)]


def _wholes(analyser: Analyser, words: str) -> list[Term]:
    wholes = [term for term in analyser.terms(words) if term.whole]
    if not wholes:
        raise InvalidPredicate(
            "a requirement on words has none",
            field="text",
            expected="at least one letter, digit or emoji",
            got=words,
            hint="Signs and spaces alone are not indexed",
        )
    return wholes


# --- what is a word: patterns over normalised text ---

# Line_Break=SA is "complex context dependent (South East Asian)", UAX #14: Thai, Lao, Khmer, Burmese and their kin.
_SPACELESS = r"[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー\p{Script=Bopomofo}\p{Script=Hangul}\p{LB=SA}]"
_INITIAL = rf"[[\p{{L}}\p{{N}}]--{_SPACELESS}]"
_LETTER = rf"[{_INITIAL}\p{{M}}]"
_ATOM = rf"{_INITIAL}{_LETTER}*+(?:'{_INITIAL}{_LETTER}*+)*+"
_SYLLABLE = rf"[[\p{{L}}\p{{N}}]&&{_SPACELESS}]"
_RUN = rf"{_SYLLABLE}[{_SYLLABLE}\p{{M}}]*+"
_EMOJI = r"\p{RI}{1,2}+|[\p{ExtPict}\p{EMod}]\p{EMod}?+(?:\u200D\p{ExtPict}\p{EMod}?+)*+"

# What an identifier may begin with (.NET, @types/node, #42, --no-verify, __init__) and end with (C++, C#, CD4+).
_BEFORE = "|".join(
    rf"(?<!{_LETTER}|[_{last}]){sign}" for sign, last in ((r"\.", "."), ("@", "@"), (r"\#", r"\#"), ("--", r"\-"))
)
_PREFIX = rf"(?:{_BEFORE}|)(?:(?<!_)_{{1,2}}(?!_))?+"
_SUFFIX = rf"(?:\+\+(?![+\#])|[+\#](?![+\#_]|{_LETTER})|_{{1,2}}(?!_))?+"


def _joined(signs: str) -> str:
    """Atoms joined by up to three of these signs. An ellipsis, a dash of two hyphens and `//` join nothing."""
    return rf"{_ATOM}(?:(?:(?!\.\.|--|//)[{signs}]){{1,3}}+{_ATOM}|(?<=\p{{Nd}}),(?=\p{{Nd}}){_ATOM})*+"


def _compile(pattern: str) -> regex.Pattern[str]:
    return regex.compile(pattern, regex.VERSION1)


_CORE = _joined(r"\-._/\\:@\#+&~·")
_WORDS = _compile(rf"(?P<word>{_PREFIX}{_CORE}{_SUFFIX})|(?P<run>{_RUN})|(?P<emoji>{_EMOJI})")
_ATOMS = _compile(_ATOM)
_PARTS = (  # from the loosest joint to the tightest: a path, its steps, what dashes and what dots alone join
    _compile(_CORE),
    _compile(_PREFIX + _joined(r"\-._/") + _SUFFIX),
    _compile(_PREFIX + _joined(r"\-._") + _SUFFIX),
    _compile(_joined(r"\-_") + _SUFFIX),
    _compile(_joined(r"._") + _SUFFIX),
    _compile(rf"(?<=(?<!{_LETTER})[vV])\p{{Nd}}+(?:\.{_ATOM})++"),  # 2.14.1 of v2.14.1
    _ATOMS,
)

# Inside an atom: get|User|Name, HTTP|Server (but DNAs), utf|8.
_CASE_SEAM = r"(?<=\p{Ll}\p{M}*)(?=\p{Lu})|(?<=\p{Lu}\p{M}*)(?=\p{Lu}(?!s(?!\p{L}))\p{Ll})"
_DIGIT_SEAM = r"(?<=\p{L}\p{M}*)(?=\p{N})|(?<=\p{N}\p{M}*)(?=\p{L})"
_SEAMS = _compile(rf"{_CASE_SEAM}|{_DIGIT_SEAM}")
_DIGIT_SEAMS = _compile(_DIGIT_SEAM)
_MAX_DIGIT_SEAMS = 2  # more make a hash or a key, whose shreds mean nothing

_CHARACTERS = _compile(r"\P{M}\p{M}*+")
_PICTURES = _compile(r"\p{ExtPict}")


# --- what a word becomes ---


class _Layout(NamedTuple):
    """A word's terms as (text, offset from where the word stands, whole), by offset; and the word's width."""

    terms: tuple[tuple[str, int, bool], ...]
    width: int


def _word(surface: str, stems: bool) -> _Layout:
    return _layout(surface, stems) if len(surface) <= 64 else _layout.__wrapped__(surface, stems)


@lru_cache(maxsize=1 << 15)
def _layout(surface: str, stems: bool) -> _Layout:
    whole = _term(surface, stems)
    if surface.isalpha() and not _SEAMS.search(surface):
        return _Layout(((whole, 0, True),), 1)
    atoms = list(_ATOMS.finditer(surface))
    ends = [atom.end() for atom in atoms]
    parts: dict[tuple[int, str], None] = {}  # for its keys, in order: a part stands once at a position
    for pattern in () if surface.isalnum() else _PARTS:
        for match in pattern.finditer(surface):
            parts[bisect_right(ends, match.start()), _term(match.group(), stems)] = None
    for offset, atom in enumerate(atoms):
        for piece in _pieces(atom.group()):
            parts[offset, _term(piece, stems)] = None
    parts.pop((0, whole), None)
    ordered = sorted(parts, key=lambda part: part[0])
    return _Layout(((whole, 0, True), *((text, offset, False) for offset, text in ordered)), len(atoms))


def _pieces(atom: str) -> Iterator[str]:
    for piece in atom.split("'"):
        yield piece
        if len(piece) <= MAX_TERM and len(_DIGIT_SEAMS.findall(piece)) <= _MAX_DIGIT_SEAMS:
            yield from _SEAMS.split(piece)


def _run(surface: str, stems: bool) -> _Layout:
    characters = _CHARACTERS.findall(_fold(surface))
    if len(characters) == 1:
        return _Layout(((_bounded(characters[0]), 0, True),), 1)
    terms: list[tuple[str, int, bool]] = []
    for offset, character in enumerate(characters):
        if offset + 1 < len(characters):
            terms.append((_bounded(character + characters[offset + 1]), offset, True))
        terms.append((_bounded(character), offset, False))
    return _Layout(tuple(terms), len(characters))


def _emoji(surface: str, stems: bool) -> _Layout:
    pictures = dict.fromkeys(picture for picture in _PICTURES.findall(surface) if picture != surface)
    return _Layout(((_bounded(surface), 0, True), *((picture, 0, False) for picture in pictures)), 1)


_LAYOUTS: dict[str, Callable[[str, bool], _Layout]] = {"word": _word, "run": _run, "emoji": _emoji}


# --- characters ---

# What NFKC_Casefold ignores (Unicode section 3.13), but the joiner between two pictures makes another picture.
_IGNORED = _compile(r"[\p{DI}--\u200D]+|(?<![\p{ExtPict}\p{EMod}\uFE0F])\u200D|\u200D(?!\p{ExtPict})")
# As UAX #15 bounds them for streams: normalising a run of marks takes time quadratic in its length.
_EXCESS_MARKS = _compile(r"(?<=\p{M}{30})\p{M}+")
_DOTTED = _compile(r"i\u0307+")
# The last is a mark whose capital is a letter: left alone, a word's length would depend on its case.
_LOOKALIKES = str.maketrans(dict.fromkeys("‘’‛ʼ", "'") | dict.fromkeys("‐‒–−", "-") | {"\u0345": "ι"})


def _normalise(text: str) -> str:
    """NFKC without what is invisible, apostrophes and hyphens made one; case is kept, for the seams."""
    if text.isascii():
        return text
    visible = _EXCESS_MARKS.sub("", _IGNORED.sub("", text))
    return normalize("NFKC", visible).translate(_LOOKALIKES)


def _term(surface: str, stems: bool) -> str:
    folded = _fold(surface)
    if stems and len(folded) <= MAX_TERM and folded.replace("'", "").isalpha():
        folded = _stem(folded)
    return _bounded(folded)


def _fold(surface: str) -> str:
    """Caseless as in Unicode D146; the dot that folding leaves over a Turkish capital I is dropped."""
    if surface.isascii():
        return surface.lower()
    folded = normalize("NFKC", surface.casefold()).casefold()
    return normalize("NFKC", _DOTTED.sub("i", folded))


def _bounded(term: str) -> str:
    """The term, or what stands for a long one. No other term holds an ellipsis, so the two never meet."""
    if len(term) <= MAX_TERM:
        return term
    return f"{term[:64]}…{hashlib.sha256(term.encode()).hexdigest()[:32]}"


_LOCAL = threading.local()  # Snowball's stemmer is not to be shared by threads


def _stem(word: str) -> str:
    if not hasattr(_LOCAL, "stem"):
        import Stemmer

        _LOCAL.stem = Stemmer.Stemmer("english", 0).stemWord
    return str(_LOCAL.stem(word))


def _snowball_version() -> str:
    import Stemmer

    return str(Stemmer.version())
