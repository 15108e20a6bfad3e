"""Vectors in a few bytes, with what is needed to bound their dot products: made when an index segment is written.

A grid vector x is rotated to y = R x, whose leading components hold most of its length. R comes from the vectors
themselves (principal components without centring), so the leading components of a collection's vectors are also those
of questions like them. Both parts are rounded to a multiple of one step for each row:

    y_leading  = leading_step * leading + a residual no longer than leading_residual
    y_trailing = trailing_step * trailing + a residual no longer than trailing_residual,  |y_trailing| <= remainder

The three lengths are rounded up, so that they bound the true ones; docs/exactness.md derives by how much. Nothing here
reaches a result: codes only say which vectors need not be looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

MIN_ROWS = 2**14  #: fewer vectors than this are compared one by one sooner than bounded
MIN_DIMENSIONS = 64
STEPS = 127  #: codes go from -127 to 127

_SAMPLE = 2**14  # rows the rotation is made from; their products sum to integers below 2^53
_CHUNK = 2**18  # numbers rotated at a time: 2 MB as float64
_LEADING_SHARE = 0.75  # of the squared length that the leading components hold together
_UP = 1 + 2.0**-20

Floats = NDArray[np.float64]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, eq=False)
class Codes:
    """The codes of n vectors of d dimensions, m of them leading: d + 20 bytes a vector.

    Attributes:
        rotation: R, float64 (d, d).
        defect: float64 (1,), no less than the Frobenius norm of R^T R - I.
        leading: int8 (n, m).
        leading_step, leading_residual: float32 (n,).
        remainder: float32 (n,).
        trailing: int8 (n, d - m).
        trailing_step, trailing_residual: float32 (n,).
    """

    rotation: Floats
    defect: Floats
    leading: NDArray[np.int8]
    leading_step: NDArray[np.float32]
    leading_residual: NDArray[np.float32]
    remainder: NDArray[np.float32]
    trailing: NDArray[np.int8]
    trailing_step: NDArray[np.float32]
    trailing_residual: NDArray[np.float32]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name, as a segment stores them."""
        return {f"codes.{each.name}": getattr(self, each.name) for each in fields(self)}

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> Codes | None:
        """The codes among a segment's arrays; None where it has none."""
        if "codes.rotation" not in arrays:
            return None
        return cls(*(arrays[f"codes.{each.name}"] for each in fields(cls)))


def encode(vectors: NDArray[np.int16], progress: Progress | None = None) -> Codes | None:
    """The codes of grid vectors, shape (n, d); None where they would not pay.

    They do not for few vectors, in few dimensions, or where no small part of the dimensions holds most of the length.
    The same vectors give the same codes on one machine; elsewhere the rotation may differ in its last bits.

    Args:
        vectors: int16 (n, d), each no longer than 2^15 + sqrt(d) / 2.
        progress: told what is being done, how many rows are done, and of how many.
    """
    count, dimensions = vectors.shape
    if count < MIN_ROWS or dimensions < MIN_DIMENSIONS:
        return None
    rotation, energy = principal_axes(vectors)
    leading = leading_dimensions(energy)
    if leading is None:
        return None
    return code(vectors, rotation, leading, progress)


def code(vectors: NDArray[np.int16], rotation: Floats, leading: int, progress: Progress | None = None) -> Codes:
    """The codes of grid vectors under a rotation, shape (d, d), of which the first `leading` rows are kept apart.

    A matrix that is nearly a rotation will do: how far it is off, up to a thousandth, is part of every bound.
    """
    count, dimensions = vectors.shape
    codes = _empty(rotation, count, leading)
    step = max(1, _CHUNK // dimensions)
    for start in range(0, count, step):
        if progress is not None:
            progress("coding vectors", start, count)
        _fill(codes, slice(start, start + step), vectors[start : start + step].astype(np.float64) @ rotation.T)
    return codes


def principal_axes(vectors: NDArray[np.int16]) -> tuple[Floats, Floats]:
    """An orthonormal basis as rows, (d, d), and how much squared length each holds, largest first.

    Every sum of products is an integer below 2^53, so the matrix is exact; its eigenvectors are the library's.
    """
    every = max(1, len(vectors) // _SAMPLE)
    sample = vectors[::every][:_SAMPLE].astype(np.float64)
    energy, axes = np.linalg.eigh(sample.T @ sample)
    return np.ascontiguousarray(axes[:, ::-1].T), np.maximum(energy[::-1], 0)


def leading_dimensions(energy: Floats) -> int | None:
    """How many leading components to keep apart, a multiple of 32; None where that would be most of them."""
    shares = np.cumsum(energy) / energy.sum()
    needed = int(np.searchsorted(shares, _LEADING_SHARE)) + 1
    rounded = -(-needed // 32) * 32
    return rounded if rounded <= len(energy) * 2 // 3 else None


def defect_of(rotation: Floats) -> float:
    """No less than the Frobenius norm of R^T R - I: what it is computed as, and what computing it may lose."""
    dimensions = len(rotation)
    computed = float(np.linalg.norm(rotation.T @ rotation - np.eye(dimensions)))
    return computed * _UP + 4 * dimensions**2 * 2.0**-53


def rotation_error(dimensions: int) -> float:
    """How far a rotated grid vector, computed in float64 by any order of additions, may lie from the true one."""
    return float(2 * dimensions**1.5 * 2.0**-53 * longest(dimensions))


def longest(dimensions: int) -> float:
    """No grid vector is longer."""
    return float(2**15 + dimensions**0.5)


def no_less(lengths: Any, error: float) -> Any:
    """Computed lengths, raised by what was lost in computing them and in rounding them to float32."""
    return np.float32(lengths * _UP + 2 * error)


def _empty(rotation: Floats, count: int, leading: int) -> Codes:
    one, size = (count,), np.float32
    return Codes(
        rotation=rotation,
        defect=np.array([defect_of(rotation)]),
        leading=np.empty((count, leading), np.int8),
        leading_step=np.empty(one, size),
        leading_residual=np.empty(one, size),
        remainder=np.empty(one, size),
        trailing=np.empty((count, len(rotation) - leading), np.int8),
        trailing_step=np.empty(one, size),
        trailing_residual=np.empty(one, size),
    )


def _fill(codes: Codes, rows: slice, rotated: Floats) -> None:
    error = rotation_error(rotated.shape[1])
    leading, trailing = np.split(rotated, [codes.leading.shape[1]], axis=1)
    codes.remainder[rows] = no_less(_lengths(trailing), error)
    for part, units, steps, residuals in (
        (leading, codes.leading, codes.leading_step, codes.leading_residual),
        (trailing, codes.trailing, codes.trailing_step, codes.trailing_residual),
    ):
        steps[rows] = np.abs(part).max(axis=1) / STEPS
        step = steps[rows, np.newaxis].astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            rounded = np.where(step > 0, np.clip(np.rint(part / step), -STEPS, STEPS), 0)
        units[rows] = rounded
        residuals[rows] = no_less(_lengths(part - step * rounded), error)


def _lengths(rows: Floats) -> Floats:
    lengths: Floats = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return lengths
