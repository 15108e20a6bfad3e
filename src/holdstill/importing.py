"""Making a collection from an export: see `holdstill.interchange`."""

from __future__ import annotations

import hashlib
import itertools
import os
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BufferedReader
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdstill.arguments import as_flag, as_path, as_seconds
from holdstill.collection import Collection
from holdstill.config import LOCK_TIMEOUT, LogSettings, as_log_settings
from holdstill.embedding import Embedder
from holdstill.errors import HoldstillError, MalformedInput
from holdstill.interchange import (
    DOCUMENTS,
    MANIFEST,
    PASSAGES,
    VECTORS,
    Manifest,
    decode_document,
    decode_passage,
)
from holdstill.models import matching
from holdstill.policy import Policy
from holdstill.ranking.grid import ONE
from holdstill.stores.base import PreparedDocument, PreparedPassage, Progress

_LONGEST_MANIFEST = 2**24  # bytes


def import_collection(
    file: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    embedder: Embedder | None = None,
    trust: bool = False,
    lock_timeout: float = LOCK_TIMEOUT,
    log: LogSettings | None = None,
    progress: Progress | None = None,
) -> Collection:
    """Make a collection from what `Collection.export` wrote, at a path where nothing is, and open it.

    It has one generation, made as the exported one was, and one commit. Nothing is embedded. A policy comes with it.

    Args:
        file: the export.
        path: the directory to make.
        embedder: embeds questions, and documents to be added, where the collection's model is not the bundled one.
        trust: whether to take over how its embedder is reached, where that is an endpoint or a model to be loaded by
            its name: a search sends the question, and the key of the environment that is named, to that URL. Otherwise
            the collection is searched by text with an embedder that you give.
        lock_timeout: seconds to wait for another process to let go.
        log: what is kept of searches made through this handle; searches are logged unless it says otherwise.
        progress: called with what is being done, how much of it, and of how much.

    Raises:
        holdstill.MalformedInput: the file is no export, is cut off, or is not as it was written; nothing was made.
        holdstill.NewerFormat: a newer holdstill wrote it.
        holdstill.InvalidInput: this version reads other words from its texts.
        holdstill.CollectionExists: something is at the path already.
        holdstill.ModelMismatch: the embedder is of another model than the rows.
        holdstill.NotWritable: the directory cannot be made.
    """
    from holdstill.stores.duckdb.store import DuckDBStore

    source, directory = as_path("file", file), as_path("path", path)
    timeout, logged = as_seconds("lock_timeout", lock_timeout), as_log_settings(log)
    trusted = as_flag("trust", trust)
    with _opened(source) as export:
        manifest = export.manifest
        settings = manifest.generation.settings if trusted else None
        generation = replace(manifest.generation, number=1, settings=settings)
        if embedder is not None:
            matching(generation, embedder)
        export.verify(progress)
        policy = None if manifest.policy is None else Policy.parse(manifest.policy[0], manifest.schema)
        documents = export.documents(progress)
        store = DuckDBStore.copy(directory, generation, manifest.schema, policy, documents, timeout, progress)
    return Collection(directory, store, embedder, logged)


@dataclass(frozen=True)
class _Export:
    """An export that is open: what it says of itself, and its members.

    Attributes:
        manifest: its manifest.
        members: the others, by name, each to be read from its beginning.
    """

    manifest: Manifest
    members: dict[str, BufferedReader]

    def verify(self, progress: Progress | None) -> None:
        """Compare every member with its checksum.

        Raises:
            holdstill.MalformedInput: one is not what was written.
        """
        for number, (name, member) in enumerate(self.members.items(), start=1):
            if hashlib.file_digest(member, "sha256").hexdigest() != self.manifest.members[name].sha256:
                raise MalformedInput(
                    f"{name} is damaged: its checksum is not that of the manifest", hint="Copy the export again"
                )
            member.seek(0)
            if progress is not None:
                progress("checking", number, len(self.members))

    def documents(self, progress: Progress | None) -> Iterator[PreparedDocument]:
        """The documents, one after the other.

        Raises:
            holdstill.MalformedInput: the members do not fit together.
        """
        lines, groups = self.members[DOCUMENTS], itertools.groupby(self._passages(), key=lambda each: each[0])
        documents = passages = 0
        for line, (id_, group) in itertools.zip_longest(lines, groups, fillvalue=(None, ())):
            if not isinstance(line, bytes):
                raise MalformedInput(f"{PASSAGES} holds a passage of {id_!r}, which {DOCUMENTS} lacks")
            parts = [(ordinal, passage) for _, ordinal, passage in group]
            whole = self._with_vectors([passage for _, passage in parts])
            document = decode_document(line, whole, self.manifest.schema)
            if document.id != id_ or [ordinal for ordinal, _ in parts] != list(range(len(parts))):
                raise MalformedInput(f"{PASSAGES} does not hold the passages of {document.id!r} in their order")
            yield document
            documents += 1
            passages += len(parts)
            if progress is not None:
                progress("importing", passages, self.manifest.passages)
        if (documents, passages) != (self.manifest.documents, self.manifest.passages):
            raise MalformedInput(
                f"{MANIFEST} does not count what is there",
                expected=f"{self.manifest.documents} documents, {self.manifest.passages} passages",
                got=f"{documents} documents, {passages} passages",
            )

    def _passages(self) -> Iterator[tuple[str, int, PreparedPassage]]:
        return map(decode_passage, self.members[PASSAGES])

    def _with_vectors(self, passages: list[PreparedPassage]) -> tuple[PreparedPassage, ...]:
        dimensions = self.manifest.generation.dimensions
        if VECTORS not in self.members or dimensions is None:
            return tuple(passages)
        data = self.members[VECTORS].read(2 * dimensions * len(passages))
        if len(data) < 2 * dimensions * len(passages):
            raise MalformedInput(f"{VECTORS} holds fewer vectors than there are passages")
        rows = np.frombuffer(data, dtype="<i2").reshape(len(passages), dimensions).astype(np.int16)
        _require_grid(rows)
        return tuple(replace(passage, vector=row) for passage, row in zip(passages, rows, strict=True))


def _require_grid(rows: NDArray[np.int16]) -> None:
    """Refuse what is no unit vector rounded to the grid: a score that it gives might not fit int32."""
    norms = np.sqrt((rows.astype(np.float64) ** 2).sum(axis=1))
    if (np.abs(norms - ONE) > np.sqrt(rows.shape[1]) / 2 + 2).any():
        raise MalformedInput(f"{VECTORS} holds what is no vector of length 1 on the grid")


@contextmanager
def _opened(path: Path) -> Iterator[_Export]:
    """The export at a path, once its members are known to be there, and all of each; errors name the file."""
    try:
        with _readable(path) as file, tarfile.open(fileobj=file, mode="r:") as tar:
            length = os.fstat(file.fileno()).st_size
            data = _member(tar, MANIFEST, length).read(_LONGEST_MANIFEST)
            manifest = Manifest.decode(data)
            members = {}
            for name in (DOCUMENTS, PASSAGES, VECTORS):
                if name in manifest.members:
                    members[name] = _member(tar, name, length, manifest.members[name].bytes)
            extra = tar.next()
            if extra is not None:
                raise MalformedInput(f"it holds {extra.name!r}, which no export does")
            yield _Export(manifest, members)
    except MalformedInput as error:
        named = MalformedInput(f"{path}: {error.message}", field="file", expected=error.expected, hint=error.hint)
        named.got = error.got
        raise named from error
    except HoldstillError:
        raise
    except (tarfile.TarError, ValueError) as error:  # tarfile lets some of what it cannot read through as it is
        raise MalformedInput(f"{path} is no export of holdstill", field="file", hint=str(error)) from error


def _readable(path: Path) -> BufferedReader:
    try:
        return path.open("rb")
    except OSError as error:
        raise MalformedInput(f"it cannot be read: {error.strerror}") from error


def _member(tar: tarfile.TarFile, name: str, length: int, bytes_: int | None = None) -> BufferedReader:
    """The next member, which has to have that name, and to end before the file does."""
    member = tar.next()
    if member is None:
        raise MalformedInput(f"{name} is missing", hint="The file may have been cut off: copy it again")
    file = tar.extractfile(member) if member.type == tarfile.REGTYPE and member.name == name else None
    if not isinstance(file, BufferedReader):
        raise MalformedInput(f"it holds {member.name!r} where {name} was expected")
    if member.offset_data + member.size > length:
        raise MalformedInput(f"{name} is cut off", hint="Copy the export again")
    if bytes_ is not None and member.size != bytes_:
        raise MalformedInput(f"{name} has another length than {MANIFEST} says", expected=f"{bytes_} bytes")
    return file
