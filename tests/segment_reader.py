"""Segment files read without their database: what a test has to know to look into one."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from holdstill.stores.duckdb import arrays


def load(file: Path, commit: int) -> dict[str, Any]:
    """The arrays of a file that is whole."""
    return arrays.load(file, commit=commit, length=file.stat().st_size, checksum=checksum(file))


def checksum(file: Path) -> str:
    """The SHA-256 of its header, by which the database knows it."""
    contents = file.read_bytes()
    length = int.from_bytes(contents[8:16], "little")
    return hashlib.sha256(contents[48 : 48 + length]).hexdigest()
