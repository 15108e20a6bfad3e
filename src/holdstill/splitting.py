"""Documents into passages that the embedding model can read whole.

A text that fits the model's window stays one passage. A longer one is cut where it hurts least: after a sentence, else
after a line, a word, a part of a word, a character; and as late as fits. No word of it is lost or read twice.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence

import regex

from holdstill.analysis import lexical_text
from holdstill.document import Document, Passage
from holdstill.embedding.base import Embedder, as_passage, as_query, fits, token_count
from holdstill.errors import EmbedderFailed

#: The identity of these rules, stored with every generation: other rules, another name.
PROFILE = "sentences-2"

Reads = Callable[[str], bool]  # whether a text is read whole

#: What a text is cut after where no sentence ends in time, the best first: a stop before a small letter, a line, a
#: word, a part of a word, a letter with its accents, anything. White space is what str.isspace() says, which `re`
#: follows and `regex` does not.
_BREAKS = (
    re.compile(r"[.!?][\"')\]]*\s+"),
    re.compile(r"\n\s*"),
    re.compile(r"\s+"),
    re.compile(r"\W+"),
    regex.compile(r"\X"),
    re.compile(r".", re.DOTALL),
)
_NOT_SPACE = re.compile(r"\S")
#: Markdown's code spans, those that stay on one line and are of a length that keeps the search linear.
_CODE_SPAN = re.compile(r"(?<!`)(`{1,3})(?!`)[^\n\u2029]{1,500}?(?<!`)\1(?!`)")
_PARAGRAPH_BREAK = re.compile(r"(?:\n[^\S\n]*\n|\u2029)\s*")


def split(document: Document, embedder: Embedder | None) -> tuple[Passage, ...]:
    """The passages of a document as they are stored, in order.

    Passages that bring their own vector are kept as they are, and so are all of them where nothing embeds. The pieces
    of a passage keep its headings and its range of pages; together they are the whole of its text but for white space
    at the seams. Where there is no text but a title longer than the window, the pieces of the title are the texts.

    Raises:
        holdstill.EmbedderFailed: the embedder cannot count tokens, or its window does not hold a single character.
    """
    if embedder is None:
        return document.passages
    return tuple(piece for passage in document.passages for piece in _split(passage, document.title, embedder))


def embedded_text(title: str, headings: Sequence[str], text: str, embedder: Embedder) -> str:
    """What is embedded for a passage: title, headings and text, so that a bare paragraph keeps its context.

    Title and headings that take more than half of the window by themselves are left out, to leave the text room. They
    are never left out of the words that are searched. The embedder's prefix stands before all, and counts.

    Raises:
        holdstill.EmbedderFailed: the embedder cannot count tokens.
    """
    if text.strip() and not _context_fits(title, headings, embedder):
        return as_passage(embedder, text)
    return as_passage(embedder, lexical_text(title, headings, text))


def opening(text: str, embedder: Embedder) -> tuple[str, bool]:
    """What is embedded for a question: the part of it that the embedder reads, and whether that is all of it.

    Raises:
        holdstill.EmbedderFailed: the embedder cannot count tokens, or its window does not hold a single character.
    """

    def reads(piece: str) -> bool:
        return fits(embedder, as_query(embedder, piece))

    whole = reads(text)
    return as_query(embedder, text if whole else next(_pieces(text, reads))), whole


def sentence_ends(text: str) -> list[int]:
    """Where sentences end, white space included, ascending; the last is the end of the text.

    By the rules of Unicode (UAX #29, section 5.1), save that a single line break is a space, since text comes wrapped,
    and that common abbreviations, initials, the numbers of a list and what stands in a code span end nothing.
    """
    code = [found.span() for found in _CODE_SPAN.finditer(text)]
    ends: list[int] = []
    start = 0
    for paragraph in _paragraph_ends(text):
        found = _SENTENCE_END.finditer(text, start, paragraph)
        ends += [end.end() for end in found if not _NO_END.match(text, end.end("stop")) and end.end() < paragraph]
        ends.append(paragraph)
        start = paragraph
    return [end for end in ends if not _within(code, end)]


def _within(spans: list[tuple[int, int]], place: int) -> bool:
    """Whether the place is inside one of the spans, which are in order and apart."""
    before = bisect_left(spans, (place,))
    return before > 0 and place < spans[before - 1][1]


def _paragraph_ends(text: str) -> Iterator[int]:
    yield from (found.end() for found in _PARAGRAPH_BREAK.finditer(text) if found.end() < len(text))
    if text:
        yield len(text)


def _split(passage: Passage, title: str, embedder: Embedder) -> Iterable[Passage]:
    def reads(text: str) -> bool:
        return fits(embedder, embedded_text(title, passage.headings, text, embedder))

    if passage.vector is not None or reads(passage.text):
        return (passage,)
    text = passage.text if passage.text.strip() else lexical_text(title, passage.headings, "")
    return (Passage(piece, headings=passage.headings, pages=passage.pages) for piece in _pieces(text, reads))


def _context_fits(title: str, headings: Sequence[str], embedder: Embedder) -> bool:
    context = lexical_text(title, headings, "")
    if not context or embedder.window is None:
        return True
    return token_count(embedder, as_passage(embedder, context)) <= embedder.window // 2


def _pieces(text: str, reads: Reads) -> Iterator[str]:
    sentences = sentence_ends(text)
    found = _NOT_SPACE.search(text)
    while found is not None:
        end = _cut(text, found.start(), sentences, reads)
        yield text[found.start() : end].rstrip()
        found = _NOT_SPACE.search(text, end)


def _cut(text: str, start: int, sentences: list[int], reads: Reads) -> int:
    """The end of the piece that begins at `start`."""
    horizon = _horizon(text, start, reads)
    if horizon is None:
        return len(text)
    for ends in _ends(text, start, horizon, sentences):
        count = bisect_right(ends, False, key=lambda end: not reads(text[start:end].rstrip()))
        if count:
            return ends[count - 1]
    raise EmbedderFailed(
        "the embedder's window does not hold a single character beside the title and the headings",
        field="embedder.window",
        got=text[start],
        hint="Use an embedder with a larger window, or mend its count_tokens",
    )


def _horizon(text: str, start: int, reads: Reads) -> int | None:
    """A place that the piece from `start` cannot reach, or None where it reaches the end of the text.

    Looking twice as far each time keeps the work in proportion to the piece, however long the text behind it is.
    """
    reach = 512
    while start + reach < len(text):
        if not reads(text[start : start + reach].rstrip()):
            return start + reach
        reach *= 2
    return None if reads(text[start:].rstrip()) else len(text)


def _ends(text: str, start: int, horizon: int, sentences: list[int]) -> Iterator[list[int]]:
    """Where one may cut between `start` and `horizon`, the best kind of place first."""
    yield sentences[bisect_right(sentences, start) : bisect_left(sentences, horizon)]
    for kind in _BREAKS:
        ends = [found.end() for found in kind.finditer(text, start, horizon)]
        yield ends[: bisect_left(ends, horizon)]


def _sentence_end() -> regex.Pattern[str]:
    """Rules SB5 to SB11 of UAX #29 as one pattern; its group `stop` is the stop itself.

    Every quantifier is possessive, so a match never backtracks and the whole text is read in linear time.
    """
    extend = r"[\p{SB=EX}\p{SB=FO}]*+"  # SB5
    aterm = rf"\p{{SB=AT}}{extend}"
    no_number = r"(?!\p{SB=NU})"  # SB6
    no_initialism = rf"(?!(?<=[\p{{SB=UP}}\p{{SB=LO}}]{extend}{aterm})\p{{SB=UP}})"  # SB7
    no_lower = r"(?![^\p{SB=LE}\p{SB=UP}\p{SB=LO}\p{SB=ST}\p{SB=AT}]*+\p{SB=LO})"  # SB8
    no_more = r"(?![\p{SB=SC}\p{SB=ST}\p{SB=AT}])"  # SB8a
    tail = rf"(?:\p{{SB=CL}}{extend})*+(?:[\p{{SB=SP}}\p{{SB=SE}}\p{{SB=CR}}\p{{SB=LF}}]{extend})*+"  # SB9 to SB11
    full_stop = rf"(?P<stop>{aterm}){no_number}{no_initialism}{tail}{no_lower}"
    other_stop = rf"(?P<stop>\p{{SB=ST}}{extend}){tail}"
    return regex.compile(f"(?:{full_stop}|{other_stop}){no_more}")


_SENTENCE_END = _sentence_end()

#: Looks back from behind a stop: abbreviations, initials, the numbers of a list.
_NO_END = regex.compile(
    r"""
    (?<= \b (?i: e\.g | i\.e | al | cf | vs | viz | approx | dr | mr | mrs | ms | prof | st | figs? | eqs? ) \. )
    | (?<= \b (?i: ch | sec | vol | art | nos? | pp? ) \. ) (?= \s* \p{N} )
    | (?<= \b \p{Lu} \. )
    | (?<= (?: ^ | \n ) [ ]{0,8} \p{Nd}{1,3} \. )
    """,
    regex.VERBOSE,
)
