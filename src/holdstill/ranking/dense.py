"""Integer dot products of grid vectors: of every eligible row.

On floating-point hardware BLAS adds in an order of its own, which differs between machines and thread counts. Here that
cannot show: every factor is an integer of at most 15 bits, so every partial sum is an integer below 2^53 and float64
holds it exactly. The compiled kernel adds integers, and gets the same ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdstill.errors import InvariantViolated
from holdstill.ranking import compiled
from holdstill.ranking.codes import Codes

_CHUNK = 2**18  # numbers multiplied at a time: 2 MB as float64, which a core's cache holds


class Block(NamedTuple):
    """A stretch of rows.

    Attributes:
        first: the number of the first row.
        vectors: their grid vectors, int16 (m, d), perhaps memory-mapped: what is not eligible is not read.
        codes: the same in fewer bytes, if they are kept.
    """

    first: int
    vectors: NDArray[np.int16]
    codes: Codes | None = None


def scores(blocks: Iterable[Block], query: NDArray[np.int16], eligible: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The dot product of the query with each eligible row, in row order: as `np.flatnonzero(eligible)`.

    Args:
        blocks: every stretch of rows, in ascending order.
        query: a grid vector, shape (d,).
        eligible: which rows to score, shape (n,).

    Returns:
        Scores in 2^-30 units of cosine, from -2^31 to 2^31.

    Raises:
        holdstill.InvariantViolated: the blocks do not hold every eligible row exactly once, in order.
    """
    kernels = compiled.kernels(len(eligible))
    parts = [
        of_rows(block.vectors, query, np.flatnonzero(allowed), kernels) for block, allowed, _ in spans(blocks, eligible)
    ]
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, np.int64), *parts])


def spans(blocks: Iterable[Block], eligible: NDArray[np.bool_]) -> Iterator[tuple[Block, NDArray[np.bool_], int]]:
    """Each block, which of its rows are eligible, and how many.

    Raises:
        holdstill.InvariantViolated: the blocks do not hold every eligible row exactly once, in order.
    """
    row = done = 0
    for block in blocks:
        if block.first < row:
            break
        row = block.first + len(block.vectors)
        allowed = eligible[block.first : row]
        count = int(np.count_nonzero(allowed))
        done += count
        yield block, allowed, count
    if done != np.count_nonzero(eligible):
        raise InvariantViolated("the vector blocks do not cover the eligible rows", got=row)


def of_rows(
    vectors: NDArray[np.int16], query: NDArray[np.int16], rows: NDArray[np.int64], kernels: Any | None
) -> NDArray[np.int64]:
    """The dot product of the query with each of some rows, ascending, by the compiled kernels where there are any."""
    result = np.empty(len(rows), np.int64)
    if kernels is not None:
        kernels.dot_rows(vectors, query, rows, result)
        return result
    factor = query.astype(np.float64)
    step = max(1, _CHUNK // len(query))
    buffer = np.empty((min(step, len(rows)), len(query)))
    for start in range(0, len(rows), step):
        some = rows[start : start + step]
        part = buffer[: len(some)]
        part[:] = _take(vectors, some)
        result[start : start + len(some)] = part @ factor
    return result


def _take(vectors: NDArray[np.int16], rows: NDArray[np.int64]) -> NDArray[np.int16]:
    first, last = rows[0], rows[-1]
    return vectors[first : last + 1] if last - first + 1 == len(rows) else vectors[rows]
