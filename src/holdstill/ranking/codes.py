"""Vectors in a few bytes, with what is needed to bound their dot products: made when an index segment is written.

Of a grid vector x, the projection y = P x on a few axes holds most of its length. The axes come from the vectors
themselves (principal components without centring), so they also hold most of questions like them. It is rounded to
multiples of a step for each axis:

    y = steps * codes + a residual no longer than `residual`,    |x - P^T y| <= remainder

The two lengths are rounded up, so that they bound the true ones; docs/exactness.md derives by how much. Nothing here
reaches a result: codes only say which vectors need not be looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

MIN_ROWS = 2**14  #: fewer vectors than this are compared one by one sooner than bounded
MIN_DIMENSIONS = 64
STEPS = 127  #: codes go from -127 to 127

_SAMPLE = 2**14  # vectors that the axes and steps are made from; their products sum to integers below 2^53
_CHUNK = 2**18  # numbers projected at a time: 2 MB as float64
_SHARE = 0.75  # of the squared length that the axes hold together
_UP = 1 + 2.0**-20

Floats = NDArray[np.float64]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, eq=False)
class Codes:
    """The codes of n vectors of d dimensions on m axes: m + 4 bytes a vector.

    Attributes:
        axes: P, float64 (m, d).
        defect: float64 (1,), no less than the Frobenius norm of P P^T - I.
        steps: float64 (m,), above 0.
        leading: int8 (n, m).
        lengths: uint16 (n, 2): residual and remainder, side by side since they are read together.
    """

    axes: Floats
    defect: Floats
    steps: Floats
    leading: NDArray[np.int8]
    lengths: NDArray[np.uint16]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name, as a segment stores them."""
        return {f"codes.{each.name}": getattr(self, each.name) for each in fields(self)}

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> Codes | None:
        """The codes among a segment's arrays; None where it has none."""
        if "codes.axes" not in arrays:
            return None
        return cls(*(arrays[f"codes.{each.name}"] for each in fields(cls)))


def encode(vectors: NDArray[np.int16], progress: Progress | None = None) -> Codes | None:
    """The codes of grid vectors, shape (n, d); None where they would not pay.

    They do not for few vectors, in few dimensions, or where no small part of the dimensions holds most of the length.
    The axes may differ in their last bits between machines, and with the number of threads that BLAS uses.

    Args:
        vectors: int16 (n, d), each no longer than 2^15 + sqrt(d) / 2.
        progress: told what is being done, how many rows are done, and of how many.
    """
    count, dimensions = vectors.shape
    if count < MIN_ROWS or dimensions < MIN_DIMENSIONS:
        return None
    axes, energy = principal_axes(vectors)
    leading = leading_dimensions(energy)
    return None if leading is None else code(vectors, axes[:leading].copy(), progress)


def code(vectors: NDArray[np.int16], axes: Floats, progress: Progress | None = None) -> Codes:
    """The codes of grid vectors on some axes, shape (m, d).

    Axes that are nearly orthonormal will do: how far they are off, up to a thousandth, is part of every bound.
    """
    count, dimensions = vectors.shape
    largest = np.abs(_sample(vectors) @ axes.T).max(axis=0)
    codes = Codes(
        axes=axes,
        defect=np.array([defect_of(axes)]),
        steps=np.where(largest > 0, largest / STEPS, 1.0),
        leading=np.empty((count, len(axes)), np.int8),
        lengths=np.empty((count, 2), np.uint16),
    )
    step = max(1, _CHUNK // dimensions)
    for start in range(0, count, step):
        if progress is not None:
            progress("coding vectors", start, count)
        _fill(codes, slice(start, start + step), vectors[start : start + step].astype(np.float64))
    return codes


def _fill(codes: Codes, rows: slice, vectors: Floats) -> None:
    projected, remainders = project(vectors, codes.axes, float(codes.defect[0]))
    rounded = np.clip(np.rint(projected / codes.steps), -STEPS, STEPS)
    residuals = np.linalg.norm(projected - codes.steps * rounded, axis=1)
    codes.leading[rows] = rounded
    codes.lengths[rows, 0] = np.ceil(no_less(residuals, projection_error(vectors.shape[1])))
    codes.lengths[rows, 1] = np.ceil(no_less(remainders))


def project(vectors: Floats, axes: Floats, defect: float) -> tuple[Floats, Floats]:
    """Grid vectors, shape (n, d), on the axes, (n, m); and no less than the length of what each loses there, (n,)."""
    dimensions = vectors.shape[1]
    projected = vectors @ axes.T
    lost = np.einsum("ij,ij->i", vectors, vectors) - np.einsum("ij,ij->i", projected, projected)
    limit = (1 + defect) * longest(dimensions)
    slack = defect * limit**2 + 3 * projection_error(dimensions) * limit
    return projected, np.sqrt(np.maximum(lost, 0) + slack)


def principal_axes(vectors: NDArray[np.int16]) -> tuple[Floats, Floats]:
    """An orthonormal basis as rows, (d, d), and how much squared length each holds, largest first.

    Every sum of products is an integer below 2^53, so the matrix is exact; its eigenvectors are the library's.
    """
    sample = _sample(vectors)
    energy, axes = np.linalg.eigh(sample.T @ sample)
    return np.ascontiguousarray(axes[:, ::-1].T), np.maximum(energy[::-1], 0)


def _sample(vectors: NDArray[np.int16]) -> Floats:
    """Vectors spread evenly over all, as float64."""
    count = min(len(vectors), _SAMPLE)
    return vectors[np.arange(count) * len(vectors) // count].astype(np.float64)


def leading_dimensions(energy: Floats) -> int | None:
    """How many axes to keep, a multiple of 32; None where that would be most of them."""
    shares = np.cumsum(energy) / energy.sum()
    needed = int(np.searchsorted(shares, _SHARE)) + 1
    rounded = -(-needed // 32) * 32
    return rounded if rounded <= len(energy) * 2 // 3 else None


def defect_of(axes: Floats) -> float:
    """No less than the Frobenius norm of P P^T - I: what it is computed as, and what computing it may lose."""
    count, dimensions = axes.shape
    computed = float(np.linalg.norm(axes @ axes.T - np.eye(count)))
    return float(computed * _UP + 4 * count * dimensions * 2.0**-53)


def projection_error(dimensions: int) -> float:
    """How far a projected grid vector, computed in float64 by any order of additions, may lie from the true one."""
    return float(2 * dimensions * math.sqrt(dimensions) * 2.0**-53 * longest(dimensions))


def longest(dimensions: int) -> float:
    """No grid vector is longer."""
    return 2**15 + math.sqrt(dimensions)


def no_less(lengths: Any, error: float = 0) -> Any:
    """Computed lengths, raised by what was lost in computing them, and by more than rounding to float32 takes off."""
    return lengths * _UP + 2 * error
