"""Vectors on the int16 grid: the form in which they are stored and compared.

A vector is scaled to length 1 and each component rounded to a multiple of 2^-15; 1.0 becomes 32767. The integer dot
product of two grid vectors is the dense score, in 2^-30 units of cosine. Rounding moves a component by half a unit at
most, so a grid vector of d components is no longer than 2^15 + sqrt(d)/2, and by Cauchy-Schwarz a dot product stays
below (2^15 + sqrt(4096)/2)^2 < 2^31: it fits int32.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdstill.errors import InvalidVector

MIN_DIMENSIONS, MAX_DIMENSIONS = 1, 4096
ONE = 32767  #: what 1.0 becomes

_UNITS = 32768
_CHUNK = 2**18  # numbers normalised at a time: 2 MB as float64


def to_grid(
    vectors: ArrayLike | Iterable[ArrayLike], *, dimensions: int | None = None, labels: Sequence[str] | None = None
) -> NDArray[np.int16]:
    """Unit vectors on the grid, shape (n, d), each component from -32767 to 32767.

    The same vector gives the same row whatever stands beside it, and so does the vector times any power of two.

    Args:
        vectors: n rows of d finite numbers of at most 64 bits, none all zero; d from 1 to 4096.
        dimensions: the d that every row must have; without it, the first row decides.
        labels: a name for each row, to be shown in errors.

    Raises:
        holdstill.InvalidVector: a row is not a flat list of numbers, is of another length, zero, NaN or infinite. The
            message names the first such row.
    """
    rows = _rows(vectors, dimensions, labels)
    grid = np.empty(rows.shape, np.int16)
    step = max(1, _CHUNK // max(1, rows.shape[1]))
    for start in range(0, len(rows), step):
        part = rows[start : start + step].astype(np.float64)
        _check_values(part, start, labels)
        grid[start : start + step] = _rounded(part)
    return grid


def _rounded(rows: NDArray[np.float64]) -> NDArray[np.int16]:
    # A power of two scales exactly: 1e300 does not overflow when squared, nor does a subnormal vanish.
    # A running sum adds from left to right; np.sum pairs up terms as the machine's registers suggest.
    with np.errstate(under="ignore"):
        _, exponents = np.frexp(np.abs(rows).max(axis=1, keepdims=True))
        scaled = np.ldexp(rows, -exponents)
        norms = np.sqrt(np.cumsum(scaled * scaled, axis=1)[:, -1:])
        units = np.rint(scaled / norms * _UNITS)
    grid: NDArray[np.int16] = np.clip(units, -ONE, ONE).astype(np.int16)
    return grid


def _rows(vectors: Any, dimensions: int | None, labels: Sequence[str] | None) -> NDArray[Any]:
    if isinstance(vectors, np.ndarray) and vectors.ndim == 2:
        for first in vectors[:1]:
            _row(first, 0, dimensions, labels)
        return vectors
    try:
        listed = list(vectors)
    except TypeError:
        raise InvalidVector("vectors must be rows", field="vector", expected="rows of numbers", got=vectors) from None
    rows: list[NDArray[Any]] = []
    for index, vector in enumerate(listed):
        rows.append(_row(vector, index, dimensions, labels))
        dimensions = len(rows[0])
    return np.stack(rows) if rows else np.empty((0, dimensions or 0))


def _row(vector: ArrayLike, index: int, dimensions: int | None, labels: Sequence[str] | None) -> NDArray[Any]:
    """The vector as a flat array of numbers, of the right length."""
    try:
        row = np.asarray(vector)
    except (TypeError, ValueError, OverflowError):
        row = np.array(None)
    if row.ndim != 1 or (row.dtype.kind not in "fiu" and row.size) or row.dtype.itemsize > 8:
        raise InvalidVector(
            f"{_name(index, labels)} is not a list of numbers",
            field="vector",
            expected="a flat list of numbers of at most 64 bits",
            got=vector.tolist() if isinstance(vector, np.ndarray) else vector,
        )
    if len(row) != dimensions and (dimensions is not None or not MIN_DIMENSIONS <= len(row) <= MAX_DIMENSIONS):
        wanted = f"{MIN_DIMENSIONS} to {MAX_DIMENSIONS}" if dimensions is None else str(dimensions)
        raise InvalidVector(
            f"{_name(index, labels)} has the wrong length",
            field="vector",
            expected=f"{wanted} dimensions",
            got=len(row),
            hint="Vectors of one collection come from one model",
        )
    return row


def _check_values(rows: NDArray[np.float64], first: int, labels: Sequence[str] | None) -> None:
    finite = np.isfinite(rows)
    bad = ~(finite.all(axis=1) & rows.any(axis=1))
    if not bad.any():
        return
    at = int(np.argmax(bad))
    column = int(np.argmin(finite[at]))
    zero = bool(finite[at, column])
    fault = "is zero and has no direction" if zero else f"is not finite at component {column}"
    raise InvalidVector(
        f"{_name(first + at, labels)} {fault}",
        field="vector",
        expected="finite numbers, not all zero",
        got=float(rows[at, column]),
        hint="An embedder that answers this has failed for that text",
    )


def _name(index: int, labels: Sequence[str] | None) -> str:
    return f"vector {index}" if labels is None else f"vector {index} ({labels[index]})"
