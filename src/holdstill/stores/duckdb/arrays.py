"""A file of named numpy arrays, memory-mapped.

    magic, length of the header (8 bytes, little-endian), SHA-256 of the header, header (JSON), arrays

The header names the commit and, for each array, its type, shape, place and SHA-256. Reading checks all but the arrays'
checksums, which `verify` checks; what stands between two arrays is padding. The header's SHA-256 names the file: where
it is known from elsewhere, no other file can take its place.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"HOLDSEG3"
_EARLIER = (b"HOLDSEG1", b"HOLDSEG2")  # had no records, and no numbers of contents
_PREAMBLE = len(MAGIC) + 8 + hashlib.sha256().digest_size
_ALIGN = 64

Arrays = Mapping[str, NDArray[Any]]


class TornFile(Exception):
    """The file is missing, short, of another commit or layout, or damaged; it can be rebuilt from the database."""


def write(path: Path, arrays: Arrays, commit: int) -> tuple[int, str]:
    """Write the arrays to a new file, durably; gives its length in bytes and the SHA-256 of its header.

    Raises:
        OSError: it cannot be written; nothing of it is left.
    """
    entries: list[dict[str, Any]] = []
    offset = 0
    for name, array in arrays.items():
        data = np.ascontiguousarray(array)
        entries.append(
            {
                "name": name,
                "dtype": data.dtype.newbyteorder("<").str,
                "shape": data.shape,
                "offset": offset,
                "sha256": hashlib.sha256(data.data if data.size else b"").hexdigest(),
            }
        )
        offset = _aligned(offset + data.nbytes)
    header = json.dumps({"commit": commit, "arrays": entries}).encode()
    checksum = hashlib.sha256(header)
    preamble = MAGIC + len(header).to_bytes(8, "little") + checksum.digest()
    start = _aligned(len(preamble) + len(header))
    file = path.open("xb")
    try:
        with file:
            file.write(preamble + header)
            for entry, array in zip(entries, arrays.values(), strict=True):
                file.seek(start + entry["offset"])
                file.write(np.ascontiguousarray(array, dtype=entry["dtype"]).data)
            file.truncate(start + offset)
            file.flush()
            os.fsync(file.fileno())
        sync_folder(path.parent)
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise
    return start + offset, checksum.hexdigest()


def load(path: Path, *, commit: int, length: int, checksum: str) -> dict[str, NDArray[Any]]:
    """Map the arrays of a file into memory.

    Raises:
        TornFile: the file is not the one that the database describes.
    """
    header, start = _header(path, commit, length, checksum)
    try:
        buffer = np.memmap(path, dtype=np.uint8, mode="r")
    except OSError as error:  # merged and swept since its header was read
        raise TornFile(f"{path.name}: {error}") from error
    arrays = {}
    for entry in header["arrays"]:
        dtype, shape = np.dtype(entry["dtype"]), tuple(entry["shape"])
        begin = start + entry["offset"]
        size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        arrays[entry["name"]] = buffer[begin : begin + size].view(np.ndarray).view(dtype).reshape(shape)
    return arrays


def verify(path: Path, *, commit: int, length: int, checksum: str) -> None:
    """Compare every array with its checksum.

    Raises:
        TornFile: the file is not the one that the database describes, or an array is damaged.
    """
    arrays = load(path, commit=commit, length=length, checksum=checksum)
    header, _ = _header(path, commit, length, checksum)
    for entry in header["arrays"]:
        data = arrays[entry["name"]]
        if hashlib.sha256(data.data if data.size else b"").hexdigest() != entry["sha256"]:
            raise TornFile(f"{path.name}: array {entry['name']!r} does not match its checksum")


def _header(path: Path, commit: int, length: int, known: str) -> tuple[dict[str, Any], int]:
    try:
        actual = path.stat().st_size
        with path.open("rb") as file:
            magic, size, checksum = file.read(len(MAGIC)), file.read(8), file.read(32)
            header_length = int.from_bytes(size, "little")
            text = file.read(min(header_length, length))
    except OSError as error:
        raise TornFile(f"{path.name}: {error}") from error
    if magic in _EARLIER:
        raise TornFile(f"{path.name}: of an earlier layout")
    if actual != length or magic != MAGIC:
        raise TornFile(f"{path.name}: not a segment of {length} bytes")
    if hashlib.sha256(text).digest() != checksum:
        raise TornFile(f"{path.name}: the header does not match its checksum")
    header: dict[str, Any] = json.loads(text)
    if header["commit"] != commit:
        raise TornFile(f"{path.name}: of commit {header['commit']}, not {commit}")
    if checksum.hex() != known:
        raise TornFile(f"{path.name}: not the one that the database lists")
    return header, _aligned(_PREAMBLE + header_length)


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGN) * _ALIGN


def sync_folder(folder: Path) -> None:
    """Make sure that what was created, renamed or removed in the folder is on disk."""
    if os.name == "nt":  # Windows has no handle for a folder to flush
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
