"""Integer dot products of grid vectors, by floating-point hardware.

BLAS adds in an order of its own, which differs between machines and thread counts. Here that cannot show: every factor
is an integer of at most 15 bits, so every partial sum is an integer below 2^53 and float64 holds it exactly.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from holdstill.errors import InvariantViolated

_CHUNK = 2**18  # numbers multiplied at a time: 2 MB as float64, which a core's cache holds


def scores(
    blocks: Iterable[tuple[int, NDArray[np.int16]]], query: NDArray[np.int16], eligible: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """The dot product of the query with each eligible row, in row order: as `np.flatnonzero(eligible)`.

    Args:
        blocks: the number of the first row and the rows, shape (m, d), for every stretch of rows, in ascending order.
            They may be memory-mapped: what is not eligible is not read.
        query: a grid vector, shape (d,).
        eligible: which rows to score, shape (n,).

    Returns:
        Scores in 2^-30 units of cosine, from -2^31 to 2^31.

    Raises:
        holdstill.InvariantViolated: the blocks do not hold every eligible row exactly once, in order.
    """
    result = np.empty(np.count_nonzero(eligible), np.int64)
    factor = query.astype(np.float64)
    step = max(1, _CHUNK // len(query))
    buffer = np.empty((step, len(query)))
    done = row = 0
    for first, block in blocks:
        if first < row:
            break
        row = first + len(block)
        wanted = np.flatnonzero(eligible[first:row])
        for start in range(0, len(wanted), step):
            some = wanted[start : start + step]
            part = buffer[: len(some)]
            part[:] = _take(block, some)
            result[done : done + len(some)] = part @ factor
            done += len(some)
    if done != len(result):
        raise InvariantViolated("the vector blocks do not cover the eligible rows", got=row)
    return result


def _take(block: NDArray[np.int16], rows: NDArray[np.intp]) -> NDArray[np.int16]:
    first, last = rows[0], rows[-1]
    return block[first : last + 1] if last - first + 1 == len(rows) else block[rows]
