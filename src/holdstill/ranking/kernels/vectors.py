"""Dot products of grid vectors, and bounds of them from codes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable

from holdstill.ranking.kernels.jit import (
    BOOL,
    FLOAT32,
    INT8,
    INT16,
    INT64,
    UINT16,
    VOID,
    compiled,
    prefetch,
    reads,
    writes,
)

AHEAD = 16  #: how many rows ahead memory is asked for the next one
LINE = 64  #: bytes that memory sends at a time
GROUP = 256  #: bounds of which the highest is kept apart, so that the best ones are found without a search of all


@register_jitable
def _dot(rows: Any, row: Any, query: Any) -> Any:
    """A partial sum may wrap around; the whole one fits int32, and wrapping addition gets it right."""
    total = np.int32(0)
    for component in range(len(query)):
        total = np.int32(total + np.int32(rows[row, component]) * np.int32(query[component]))
    return total


@register_jitable
def _ask_for(array: Any, rows: Any, at: Any) -> None:
    if at < len(rows):
        begin, size = array.ctypes.data + rows[at] * array.strides[0], array.strides[0]
        for line in range(0, size, LINE):
            prefetch(begin + line)


@compiled(VOID, reads(INT16, 2), reads(INT16), reads(INT64), writes(INT64))
def dot_rows(vectors: Any, query: Any, rows: Any, scores: Any) -> None:
    """The dot product of the query with each of the rows."""
    for at in range(len(rows)):
        _ask_for(vectors, rows, at + AHEAD)
        scores[at] = _dot(vectors, rows[at], query)


@register_jitable
def _bound(leading: Any, lengths: Any, query: Any, factors: Any, row: Any) -> Any:
    return (
        factors[0] * np.float32(_dot(leading, row, query))
        + factors[1] * np.float32(lengths[row, 0])
        + factors[2] * np.float32(lengths[row, 1])
        + factors[3]
    )


_BOUND = (reads(INT8, 2), reads(UINT16, 2), reads(INT16), reads(FLOAT32))


@compiled(VOID, *_BOUND, reads(BOOL), writes(FLOAT32), writes(FLOAT32))
def bound_all(leading: Any, lengths: Any, query: Any, factors: Any, eligible: Any, bounds: Any, peaks: Any) -> None:
    """No row's dot product is above its bound; that of a row which is not eligible is minus infinity.

    `leading` and `lengths` are as `holdstill.ranking.codes` has them, `query` and `factors` as
    `holdstill.ranking.cascade` has them. `peaks` gets the highest bound of every GROUP.
    """
    for group in range(len(peaks)):
        peak = np.float32(-np.inf)
        for row in range(group * GROUP, min(len(bounds), (group + 1) * GROUP)):
            bound = _bound(leading, lengths, query, factors, row)
            bounds[row] = bound if eligible[row] else np.float32(-np.inf)
            peak = max(peak, bounds[row])
        peaks[group] = peak


@compiled(VOID, *_BOUND, reads(INT64), writes(FLOAT32), writes(FLOAT32))
def bound_rows(leading: Any, lengths: Any, query: Any, factors: Any, rows: Any, bounds: Any, peaks: Any) -> None:
    """The same for some rows alone, which are all eligible."""
    for group in range(len(peaks)):
        peak = np.float32(-np.inf)
        for at in range(group * GROUP, min(len(bounds), (group + 1) * GROUP)):
            _ask_for(leading, rows, at + AHEAD)
            _ask_for(lengths, rows, at + AHEAD)
            bounds[at] = _bound(leading, lengths, query, factors, rows[at])
            peak = max(peak, bounds[at])
        peaks[group] = peak
