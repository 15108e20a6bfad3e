"""Reading files: `read`, which gives every good row as a document and says why it refuses the others."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from holdstill.arguments import as_paths
from holdstill.document import Document
from holdstill.ingest.files import Format, Kind, Source, locate
from holdstill.ingest.grouping import grouped
from holdstill.ingest.jsonl import read_json, read_jsonl
from holdstill.ingest.markdown import read_markdown, read_text
from holdstill.ingest.rows import Keys, Outcome, Row
from holdstill.ingest.tabular import read_csv, read_parquet
from holdstill.refused import Refused

_READERS: dict[Kind, Callable[[Source, Keys], Iterator[Outcome]]] = {
    "jsonl": read_jsonl,
    "json": read_json,
    "csv": read_csv,
    "parquet": read_parquet,
    "markdown": read_markdown,
    "text": read_text,
}
_DEFAULT_KEYS = Keys()


class Reading(Iterator[Row | Refused]):
    """Rows as they are read, once."""

    def __init__(self, rows: Iterator[Row | Refused], notes: list[str]) -> None:
        self._rows = rows
        self._notes = notes

    def __next__(self) -> Row | Refused:
        return next(self._rows)

    @property
    def notes(self) -> tuple[str, ...]:
        """What else the reader of the rows should know so far: files passed over; and of a file that was read to its
        end, whether it holds no rows, no texts, or vectors that its format cannot bring."""
        return tuple(self._notes)


def read(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    format: Format = "auto",  # noqa: A002 - the word for it
    keys: Keys = _DEFAULT_KEYS,
) -> Reading:
    """What the files and folders hold, in order: the files as given, a folder's by their paths.

    Args:
        paths: a file or a folder, or several. A folder is read whole, but for hidden files and those of no known kind.
        format: what the files are; `auto` goes by their names. In a folder, only files of that kind are read.
        keys: which keys or columns to read; they mean nothing for Markdown and text.

    Returns:
        An iterator over rows and refused rows. A row that cannot be read costs itself alone, and a file that breaks
        off costs what is behind the break.

    Raises:
        holdstill.InvalidInput: no such format.
        holdstill.MalformedInput: a path does not exist, is of no known kind, or holds nothing to read.
    """
    located = locate(as_paths("paths", paths), format)
    notes = list(located.notes)
    rows: Iterator[Row | Refused] = chain.from_iterable(_rows(source, keys, notes) for source in located.sources)
    if keys.document is not None:
        rows = grouped(rows)
        notes.append(f"rows with the same {keys.document!r} are one document; the rows' own ids are not kept")
    return Reading(chain(located.refused, rows), notes)


def _rows(source: Source, keys: Keys, notes: list[str]) -> Iterator[Row | Refused]:
    number, name = 0, source.name
    seen = _Seen()
    try:
        for number, outcome in _READERS[source.kind](source, keys):
            if isinstance(outcome, Document):
                seen.add(outcome)
                yield Row(name, number, outcome)
            else:
                yield Refused.because(outcome, number, name)
    except (OSError, EOFError, zlib.error) as error:
        number += 1
        yield Refused(number, None, f"the file cannot be read from here on: {error}", name)
    notes += [f"{name}{note}" for note in seen.notes(source.kind, keys, empty=number == 0)]


@dataclass(slots=True)
class _Seen:
    """What the documents of a file have, counted while they pass by."""

    documents: int = 0
    texts: int = 0
    vectors: int = 0

    def add(self, document: Document) -> None:
        self.documents += 1
        self.texts += any(passage.text.strip() for passage in document.passages)
        self.vectors += "vector" in document.fields

    def notes(self, kind: Kind, keys: Keys, *, empty: bool) -> Iterator[str]:
        if empty:
            yield " holds no rows"
        if self.documents and not self.texts:
            advice = "; name the key with --text KEY" if keys.text is None else ""
            yield f": no row has {keys.text or 'text'!r} or 'passages', so only titles are searched{advice}"
        if self.vectors and kind == "csv":
            yield ": CSV brings no vectors, so 'vector' is a field like any other; JSONL and Parquet bring them"
