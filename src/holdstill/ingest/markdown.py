"""Files that are one document each: Markdown, whose sections are its passages, and plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from holdstill.document import Document, Passage
from holdstill.errors import InvalidDocument
from holdstill.ingest.files import Source
from holdstill.ingest.records import attempt
from holdstill.ingest.rows import Keys, Outcome
from holdstill.text import clean

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_FRONT_MATTER = re.compile(r"---[ \t]*\n(?=[\w\"'-]+[ \t]*:)(?:.*\n)*?(?:---|\.\.\.)[ \t]*(?:\n|\Z)")


def read_text(source: Source, keys: Keys) -> Iterator[Outcome]:
    """The file as one text, which may be split; its title is the file's name."""
    yield 1, attempt(_text_document, source)


def read_markdown(source: Source, keys: Keys) -> Iterator[Outcome]:
    """The file as one document, with a passage for each section."""
    yield 1, attempt(_markdown_document, source)


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a Markdown text: what stands under one heading, up to the next.

    Attributes:
        level: 1 to 6; 0 for what stands before the first heading.
        path: the headings above it and its own, outermost first, in Markdown.
        body: the Markdown under the heading, as it was written.
    """

    level: int
    path: tuple[str, ...]
    body: str


def sections(text: str) -> list[Section]:
    """The sections of a Markdown text, as CommonMark reads it; the first holds what stands before any heading.

    A `#` in a code block is no heading, and one in a list or a quotation starts no section. Front matter between
    `---` lines belongs to the first section. A heading without words is part of the body.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    front = _FRONT_MATTER.match(text)
    start = text.count("\n", 0, front.end()) if front else 0
    lines = text.split("\n")
    headings = _headings("\n".join(lines[start:]), start)
    ends = [first for first, *_ in headings] + [len(lines)]
    found = [Section(0, (), _body(lines[: ends[0]]))]
    path: list[tuple[int, str]] = []
    for (_, body, level, heading), end in zip(headings, ends[1:], strict=True):
        path = [above for above in path if above[0] < level] + [(level, heading)]
        found.append(Section(level, tuple(words for _, words in path), _body(lines[body:end])))
    return found


def _headings(text: str, offset: int) -> list[tuple[int, int, int, str]]:
    """For each heading: its first line, the line after it, its level, and its Markdown on one line."""
    tokens = _parser().parse(text)
    found = []
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open" and opening.level == 0 and opening.map is not None:
            first, after = opening.map
            words = " ".join(inline.content.split())
            if _has_words(words):
                found.append((first + offset, after + offset, int(opening.tag[1:]), words))
    return found


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # Only the blocks are wanted: what is inside a line stays as it was written.
    return MarkdownIt("commonmark").disable("inline")


def _has_words(text: str) -> bool:
    return bool(clean(text).strip())


def _body(lines: list[str]) -> str:
    return "\n".join(lines).strip("\n")


def _markdown_document(source: Source) -> Document:
    text = _whole_text(source)
    start, *headed = parts = sections(text)
    opens = bool(headed) and headed[0].level == 1 and not _FRONT_MATTER.sub("", start.body + "\n", count=1).strip()
    return Document(source.id, passages=_passages(parts), title=headed[0].path[-1] if opens else source.stem)


def _passages(parts: list[Section]) -> list[Passage]:
    """A passage for each section that has a body; a heading with nothing under it, not even a section, is its own."""
    passages = []
    for part, after in zip(parts, [*parts[1:], None], strict=True):
        if _has_words(part.body):
            passages.append(Passage(part.body, headings=part.path))
        elif part.path and (after is None or after.level <= part.level):
            passages.append(Passage(part.path[-1], headings=part.path))
    return passages


def _text_document(source: Source) -> Document:
    return Document(source.id, _whole_text(source), title=source.stem)


def _whole_text(source: Source) -> str:
    text = source.text()
    if not _has_words(text):
        raise InvalidDocument("the file is empty", field="text", expected="at least one word")
    return text
