"""A file of named numpy arrays, memory-mapped: header with length, commit and checksums, then the arrays."""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"HOLDSEG1"
_ALIGN = 64

Arrays = Mapping[str, NDArray[Any]]


class TornFile(Exception):
    """The file is missing, short, of another commit, or damaged; it can be rebuilt from the database."""


def write(path: Path, arrays: Arrays, commit: int) -> int:
    """Write the arrays to a new file, durably, and return its length in bytes."""
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
    start = _aligned(len(MAGIC) + 8 + len(header))
    with path.open("xb") as file:
        file.write(MAGIC + struct.pack("<Q", len(header)) + header)
        for entry, array in zip(entries, arrays.values(), strict=True):
            file.seek(start + entry["offset"])
            file.write(np.ascontiguousarray(array, dtype=entry["dtype"]).data)
        file.truncate(start + offset)
        file.flush()
        os.fsync(file.fileno())
    _sync_folder(path.parent)
    return start + offset


def load(path: Path, *, commit: int, length: int) -> dict[str, NDArray[Any]]:
    """Map the arrays of a file into memory.

    Raises:
        TornFile: the file is not the one that the database describes.
    """
    header, start = _header(path, commit, length)
    buffer = np.memmap(path, dtype=np.uint8, mode="r")
    arrays = {}
    for entry in header["arrays"]:
        dtype, shape = np.dtype(entry["dtype"]), tuple(entry["shape"])
        begin = start + entry["offset"]
        size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        arrays[entry["name"]] = buffer[begin : begin + size].view(np.ndarray).view(dtype).reshape(shape)
    return arrays


def verify(path: Path, *, commit: int, length: int) -> None:
    """Compare every array with its checksum.

    Raises:
        TornFile: the file is not the one that the database describes, or an array is damaged.
    """
    arrays = load(path, commit=commit, length=length)
    header, _ = _header(path, commit, length)
    for entry in header["arrays"]:
        data = arrays[entry["name"]]
        if hashlib.sha256(data.data if data.size else b"").hexdigest() != entry["sha256"]:
            raise TornFile(f"{path.name}: array {entry['name']!r} does not match its checksum")


def _header(path: Path, commit: int, length: int) -> tuple[dict[str, Any], int]:
    try:
        actual = path.stat().st_size
        with path.open("rb") as file:
            magic, size = file.read(len(MAGIC)), file.read(8)
            if actual != length or magic != MAGIC:
                raise TornFile(f"{path.name}: not a segment of {length} bytes")
            (header_length,) = struct.unpack("<Q", size)
            header: dict[str, Any] = json.loads(file.read(min(header_length, length)))
    except (OSError, ValueError, struct.error) as error:
        raise TornFile(f"{path.name}: {error}") from error
    if header.get("commit") != commit:
        raise TornFile(f"{path.name}: of commit {header.get('commit')}, not {commit}")
    return header, _aligned(len(MAGIC) + 8 + header_length)


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGN) * _ALIGN


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # Windows has no handle for a folder to flush
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
