"""Writing one commit of a collection to a file that any machine can read: see `holdstill.interchange`."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO, cast

from holdstill.arguments import as_path
from holdstill.errors import CollectionExists, InvalidInput, NotWritable
from holdstill.interchange import (
    DOCUMENTS,
    MANIFEST,
    PASSAGES,
    VECTORS,
    Manifest,
    Member,
    encode_document,
    encode_passage,
)
from holdstill.reports import ExportReport
from holdstill.stores.base import PreparedDocument, Progress, Snapshot


def export(
    snapshot: Snapshot, file: str | os.PathLike[str] | BinaryIO, *, overwrite: bool, progress: Progress | None
) -> ExportReport:
    """Write what is visible to the operator in a snapshot.

    The members are written beside the file first, under no name, since a tar begins with what is known at the end.

    Args:
        snapshot: what to export.
        file: a path, or a binary file that is open for writing.
        overwrite: whether to replace a file that is there.
        progress: called with what is being done, how many passages of it, and of how many.

    Raises:
        holdstill.CollectionExists: something is at the path already.
        holdstill.NotWritable: the disk is full, or the folder cannot be written; nothing is left there.
    """
    with _target(file, overwrite=overwrite) as (target, folder), ExitStack() as stack:
        names = (DOCUMENTS, PASSAGES, VECTORS) if snapshot.generation.dense else (DOCUMENTS, PASSAGES)
        members = {name: _Hashed(stack.enter_context(tempfile.TemporaryFile(dir=folder))) for name in names}
        documents, passages = _write_members(snapshot, members, progress)
        manifest = Manifest(
            commit=snapshot.commit,
            generation=snapshot.generation,
            schema=snapshot.schema,
            policy=_policy(snapshot),
            documents=documents,
            passages=passages,
            members={name: member.summary() for name, member in members.items()},
        )
        written = _Hashed(target)
        _write_tar(written, manifest.encode(), members)
        return ExportReport(snapshot.commit, documents, passages, written.bytes, written.summary().sha256)


def _policy(snapshot: Snapshot) -> tuple[str, int] | None:
    if snapshot.policy is None or snapshot.policy_version is None:
        return None
    return str(snapshot.policy), snapshot.policy_version


class _Hashed:
    """A file being written, and what has been written to it."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.bytes = 0
        self._sha256 = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.file.write(data)
        self.bytes += len(data)
        self._sha256.update(data)
        return len(data)

    def summary(self) -> Member:
        return Member(self.bytes, self._sha256.hexdigest())


def _write_members(snapshot: Snapshot, members: dict[str, _Hashed], progress: Progress | None) -> tuple[int, int]:
    """Write every document; how many there are, and how many passages they have."""
    total = snapshot.select(None).passages
    documents = passages = 0
    for document in snapshot.documents():
        members[DOCUMENTS].write(encode_document(document, snapshot.schema))
        _write_passages(document, members)
        documents += 1
        passages += len(document.passages or ())
        if progress is not None:
            progress("exporting", passages, total)
    return documents, passages


def _write_passages(document: PreparedDocument, members: dict[str, _Hashed]) -> None:
    for ordinal, passage in enumerate(document.passages or ()):
        members[PASSAGES].write(encode_passage(document.id, ordinal, passage))
        if passage.vector is not None:
            members[VECTORS].write(passage.vector.astype("<i2").tobytes())


def _write_tar(target: _Hashed, manifest: bytes, members: dict[str, _Hashed]) -> None:
    """The tar: the manifest first; nothing in it of when, where and by whom it was written."""
    with tarfile.open(fileobj=cast(IO[bytes], target), mode="w|", format=tarfile.PAX_FORMAT) as tar:
        _add(tar, MANIFEST, len(manifest), io.BytesIO(manifest))
        for name, member in members.items():
            _add(tar, name, member.bytes, member.file)


def _add(tar: tarfile.TarFile, name: str, length: int, file: IO[bytes]) -> None:
    about = tarfile.TarInfo(name)  # owner, group and time are 0, and the mode 0644
    about.size = length
    file.seek(0)
    tar.addfile(about, file)


@contextmanager
def _target(file: str | os.PathLike[str] | BinaryIO, *, overwrite: bool) -> Iterator[tuple[IO[bytes], Path | None]]:
    """The file to write to, and the folder for what is written on the way; the path has it only once it is whole."""
    if callable(getattr(file, "write", None)):
        yield cast(BinaryIO, file), None
        return
    path = as_path("file", file)
    if not overwrite and path.exists():
        raise CollectionExists(
            f"{path} already exists", field="file", hint="Choose another file, or pass `overwrite=True`"
        )
    if path.is_dir():
        raise InvalidInput(f"{path} is a directory", field="file", expected="the name of a file")
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with part.open("wb") as target:
            yield target, path.parent
            target.flush()
            os.fsync(target.fileno())
        part.replace(path)
    except OSError as error:
        raise NotWritable(f"{path} cannot be written; nothing is left of it", field="file", hint=str(error)) from error
    finally:
        with suppress(OSError):
            part.unlink()
