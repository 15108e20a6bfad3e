"""The search log: JSON lines beside the collection, appended to by every search, put aside by size and by age.

`searches.jsonl` is the file that is written; `searches-000001.jsonl` and so on are those put aside, oldest first. All
of them can be read by the owner of the collection alone: they hold questions.
"""

from __future__ import annotations

import errno
import json
import os
import re
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO

from holdstill.audit.record import Record, is_whole, redacted, timestamp
from holdstill.config import LogSettings
from holdstill.errors import AccessDenied

FILE = "searches.jsonl"
_REDACTED = ".redacted"  #: what a file is called that is to take the place of another

_ENCODER = json.JSONEncoder(check_circular=False, separators=(",", ":"))  # ASCII: a record has no line break in it
_ASIDE = re.compile(r"searches-([0-9]{6,})\.jsonl")

#: Several handles of one process may write to one log: files are moved, and replaced, by one thread at a time.
_FILES = threading.RLock()


class Records:
    """The records of a log, the oldest first; read line by line.

    Attributes:
        damaged: how many lines could not be read so far; a writer that was killed may leave one.
    """

    def __init__(self, files: Callable[[], list[Path]], since: datetime | None = None, containing: bytes = b"") -> None:
        self.damaged = 0
        self._files = files
        self._since = "" if since is None else timestamp(since)
        self._containing = containing

    def __iter__(self) -> Iterator[Record]:
        with ExitStack() as opened:
            for line in (line for file in self._opened(opened) for line in file if self._containing in line):
                record = _read(line)
                if record is None:
                    self.damaged += 1
                elif record["time"] >= self._since:
                    yield record

    def _opened(self, stack: ExitStack) -> list[BinaryIO]:
        """All files at once: those that are put aside meanwhile are neither missed nor read twice."""
        try:
            with _FILES:
                return [stack.enter_context(file.open("rb")) for file in self._files() if file.exists()]
        except OSError as error:
            raise AccessDenied(
                f"the search log cannot be read: {error.strerror}",
                field="path",
                hint="Check the files searches*.jsonl in the collection's directory",
            ) from error


class SearchLog:
    """The search log of one collection; any number of threads may share it."""

    def __init__(self, directory: Path, settings: LogSettings) -> None:
        self._directory = directory
        self._path = directory / FILE
        self._settings = settings
        self._handle: int | None = None
        self._end = 0  # the size of the file after the last record that this handle wrote
        self._opened: tuple[int, int] = (0, 0)  # the file's device and number
        self._begun: datetime | None = None  # when the first search in it was made

    # -- writing ---------------------------------------------------------------------------------

    def append(self, record: Record) -> None:
        """Write one record, as one line, at once.

        Raises:
            OSError: it cannot be written; nothing of it stays.
        """
        line = _line(record)
        moment = datetime.fromisoformat(record["time"])
        with _FILES:
            handle, size = self._current()
            if size and self._is_full(size + len(line), moment):
                self._put_aside()
                handle, size = self._current()
            if self._begun is None:
                self._begun = moment
            if size != self._end and _is_torn(handle, size):  # a killed writer left a line unfinished
                line = b"\n" + line
            _write(handle, line, size)
            self._end = size + len(line)

    def close(self) -> None:
        """Let go of the file; the next record opens it again."""
        with _FILES:
            handle, self._handle = self._handle, None
            if handle is not None:
                os.close(handle)

    def _current(self) -> tuple[int, int]:
        """The file to write to, and its size: opened where it is not yet, or where another handle replaced it."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            self.close()
        else:
            if self._handle is not None and (found.st_dev, found.st_ino) == self._opened:
                return self._handle, found.st_size
            self.close()
        self._handle = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        found = os.fstat(self._handle)
        self._opened, self._end = (found.st_dev, found.st_ino), 0
        first = next(iter(Records(lambda: [self._path])), None)
        self._begun = None if first is None else datetime.fromisoformat(first["time"])
        return self._handle, found.st_size

    def _is_full(self, size: int, moment: datetime) -> bool:
        old = self._begun is not None and moment - self._begun >= timedelta(days=self._settings.max_age_days)
        return old or size > self._settings.max_bytes

    def _put_aside(self) -> None:
        """Give the file its number, and delete the oldest beyond those to be kept."""
        self.close()
        aside = self._aside()
        number = 1 + (_number(aside[-1]) if aside else 0)
        aside.append(self._path.rename(self._directory / f"searches-{number:06}.jsonl"))
        for old in aside[: -self._settings.keep]:
            old.unlink()

    # -- reading ---------------------------------------------------------------------------------

    def records(self, since: datetime | None = None) -> Records:
        """The records, oldest first: all of them, or those of searches made since."""
        return Records(self._files, since)

    def find(self, search_id: str) -> Record | None:
        """The record of a search, or None."""
        sought = json.dumps(search_id, ensure_ascii=True).encode()  # most lines need not be parsed
        records = Records(self._files, containing=sought)
        return next((record for record in records if record["search_id"] == search_id), None)

    def _files(self) -> list[Path]:
        return [*self._aside(), self._path]

    def _aside(self) -> list[Path]:
        """The files put aside, oldest first."""
        return sorted((path for path in self._directory.iterdir() if _ASIDE.fullmatch(path.name)), key=_number)

    # -- erasing ---------------------------------------------------------------------------------

    def hit(self, documents: Collection[str]) -> set[str]:
        """Those of the documents that some record has among its hits."""
        named = {hit.get("document") for record in self.records() for hit in record["hits"]} if documents else set()
        return named & set(documents)

    def redact(self, documents: Collection[str]) -> int:
        """Take documents out of every record; returns how many records had one.

        Lines that cannot be read are dropped, since they may hold one too.

        Raises:
            OSError: a file cannot be replaced; those before it were.
        """
        with _FILES:
            for left in self._directory.glob(f"{Path(FILE).stem}*{_REDACTED}"):  # by a process that was killed
                left.unlink()
            files = [file for file in self._files() if documents and file.exists()]
            return sum(_redact(file, frozenset(documents)) for file in files)


def _line(record: Record) -> bytes:
    return _ENCODER.encode(record).encode() + b"\n"


def _number(path: Path) -> int:
    found = _ASIDE.fullmatch(path.name)
    return 0 if found is None else int(found[1])


def _is_torn(handle: int, size: int) -> bool:
    if not size:
        return False
    os.lseek(handle, -1, os.SEEK_END)
    return os.read(handle, 1) != b"\n"


def _write(handle: int, line: bytes, size: int) -> None:
    """Append a line, or nothing."""
    if os.write(handle, line) < len(line):
        os.ftruncate(handle, size)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _read(line: bytes) -> Record | None:
    """The record in a line; None where it holds none."""
    try:
        record = json.loads(line)
        datetime.fromisoformat(record["time"])
        return record if is_whole(record) else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _redact(file: Path, documents: frozenset[str]) -> int:
    """Rewrite a file without the documents, where it names one."""
    touched, changed, lines = 0, False, []
    with file.open("rb") as given:
        for line in given:
            record = _read(line)
            without = None if record is None else redacted(record, documents)
            if without is not None:
                touched += 1
                line = _line(without)
            changed = changed or record is None or without is not None
            if record is not None:
                lines.append(line)
    if changed:
        _replace(file, b"".join(lines))
    return touched


def _replace(file: Path, content: bytes) -> None:
    """Put a new file in a file's place, in one step."""
    building = file.with_name(f"{file.name}{_REDACTED}")
    try:
        with os.fdopen(os.open(building, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as made:
            made.write(content)
            made.flush()
            os.fsync(made.fileno())
        building.replace(file.resolve())
    except BaseException:
        building.unlink(missing_ok=True)
        raise
