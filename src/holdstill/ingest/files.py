"""Which files a path stands for, and how one is opened: `locate` and `Source`."""

from __future__ import annotations

import gzip
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Literal, cast, get_args

from holdstill.errors import InvalidInput, MalformedInput
from holdstill.refused import Refused

Format = Literal["auto", "jsonl", "csv", "parquet", "markdown", "text"]
FORMATS: tuple[Format, ...] = get_args(Format)

#: A JSON file is read where it is named, but not in folders, where such files are mostly settings.
Kind = Literal["jsonl", "json", "csv", "parquet", "markdown", "text"]

_KINDS: dict[str, Kind] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".text": "text",
}
_READ = ".jsonl, .ndjson, .csv, .tsv, .md, .markdown, .txt, .text (each also with .gz) or .parquet"


@dataclass(frozen=True, slots=True)
class Source:
    """One file to read.

    Attributes:
        path: where it is.
        id: its name, or its path inside the folder that was given, with forward slashes.
        kind: what it is read as.
    """

    path: Path
    id: str
    kind: Kind

    @property
    def name(self) -> str:
        """The path as it can be printed, whatever bytes the file system holds."""
        return os.fsencode(self.path).decode("utf-8", "backslashreplace")

    @property
    def stem(self) -> str:
        """The file's name without its extensions of kind and compression."""
        name = PurePosixPath(self.id).name
        return name[: len(name) - len(_extension(name) + _compression(name))]

    @property
    def extension(self) -> str:
        """The extension that tells the kind, in lower case: `.csv` for `A.CSV.gz`."""
        return _extension(self.path.name)

    def open(self) -> IO[bytes]:
        """The bytes, unpacked where the name ends in `.gz`."""
        return cast(IO[bytes], gzip.open(self.path)) if _compression(self.path.name) else self.path.open("rb")

    def text(self) -> str:
        """The whole text, without a byte-order mark.

        Raises:
            holdstill.MalformedInput: it is not UTF-8.
        """
        with self.open() as file:
            return decode(file.read())


@dataclass(frozen=True, slots=True)
class Located:
    """What some paths stand for: files in order, parts that cannot be listed, and what was passed over."""

    sources: tuple[Source, ...]
    refused: tuple[Refused, ...] = ()
    notes: tuple[str, ...] = ()


def locate(paths: Sequence[Path], format: Format) -> Located:  # noqa: A002 - the option's name
    """The files that the paths stand for: each file, and each folder's files in the order of their ids.

    Raises:
        holdstill.InvalidInput: no such format.
        holdstill.MalformedInput: a path does not exist, is of no known kind, or holds nothing to read.
    """
    if format not in FORMATS:
        raise InvalidInput("no such format", field="format", expected="one of " + ", ".join(FORMATS), got=format)
    found = [_folder(path, format) if path.is_dir() else _file(path, format) for path in paths]
    return Located(
        tuple(source for part in found for source in part.sources),
        tuple(refused for part in found for refused in part.refused),
        tuple(note for part in found for note in part.notes),
    )


def decode(raw: bytes) -> str:
    """UTF-8 bytes as text, without a byte-order mark.

    Raises:
        holdstill.MalformedInput: naming the first byte that is not UTF-8, and where it is.
    """
    try:
        return raw.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise MalformedInput(
            f"not UTF-8: byte 0x{raw[error.start]:02x} at byte {error.start + 1}",
            hint="Save it as UTF-8",
        ) from error


def _file(path: Path, format: Format) -> Located:  # noqa: A002
    if not path.exists():
        raise MalformedInput(f"there is no file or folder {str(path)!r}", field=str(path))
    kind = _KINDS.get(_extension(path.name)) if format == "auto" else format
    if kind is None:
        raise MalformedInput(
            f"the name of {str(path)!r} does not tell what it holds",
            field=str(path),
            expected=_READ,
            hint="Say it with --format",
        )
    return Located((Source(path, path.name, kind),))


def _folder(folder: Path, format: Format) -> Located:  # noqa: A002
    errors: list[OSError] = []
    sources: list[Source] = []
    skipped: Counter[str] = Counter()
    for path in _walk(folder, errors):
        kind = _KINDS.get(_extension(path.name))
        if path.is_file() and kind not in (None, "json") and format in ("auto", kind):
            sources.append(Source(path, path.relative_to(folder).as_posix(), kind))
        else:
            skipped[path.suffix.lower() or "no extension"] += 1
    refused = tuple(Refused(1, None, f"the folder cannot be listed: {error}", str(error.filename)) for error in errors)
    if not sources and not refused:
        raise MalformedInput(
            f"the folder {str(folder)!r} holds nothing to read",
            field=str(folder),
            expected=_READ if format == "auto" else f"files of format {format}",
        )
    sources.sort(key=lambda source: os.fsencode(source.id))
    return Located(tuple(sources), refused, _notes(folder, skipped))


def _walk(folder: Path, errors: list[OSError]) -> Iterator[Path]:
    """Every file below the folder that is not hidden. Links to folders are not followed, so that no loop is walked."""
    for parent, folders, names in os.walk(folder, onerror=errors.append):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(parent, name) for name in names if not name.startswith("."))


def _notes(folder: Path, skipped: Counter[str]) -> tuple[str, ...]:
    if not skipped:
        return ()
    kinds = ", ".join(f"{count} {suffix}" for suffix, count in sorted(skipped.items()))
    total = skipped.total()
    return (f"{total} {'file' if total == 1 else 'files'} in {str(folder)!r} not read: {kinds}",)


def _compression(name: str) -> str:
    return name[-3:] if name.lower().endswith(".gz") else ""


def _extension(name: str) -> str:
    return Path(name[: len(name) - len(_compression(name))]).suffix.lower()
