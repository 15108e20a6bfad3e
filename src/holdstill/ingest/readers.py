"""Reading files: `read`, which gives every good row as a document and says why it refuses the others."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Iterator
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
    """Rows as they are read, once.

    Attributes:
        notes: what else the reader of the rows should know, known from the start: files that were passed over.
    """

    def __init__(self, rows: Iterator[Row | Refused], notes: tuple[str, ...]) -> None:
        self._rows = rows
        self.notes = notes

    def __next__(self) -> Row | Refused:
        return next(self._rows)


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
    rows: Iterator[Row | Refused] = chain.from_iterable(_rows(source, keys) for source in located.sources)
    notes = located.notes
    if keys.document is not None:
        rows = grouped(rows)
        notes += (f"rows with the same {keys.document!r} are one document; the rows' own ids are not kept",)
    return Reading(chain(located.refused, rows), notes)


def _rows(source: Source, keys: Keys) -> Iterator[Row | Refused]:
    number, name = 0, source.name
    try:
        for number, outcome in _READERS[source.kind](source, keys):
            if isinstance(outcome, Document):
                yield Row(name, number, outcome)
            else:
                yield Refused.because(outcome, number, name)
    except (OSError, EOFError, zlib.error) as error:
        yield Refused(number + 1, None, f"the file cannot be read from here on: {error}", name)
