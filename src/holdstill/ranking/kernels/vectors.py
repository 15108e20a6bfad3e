"""Integer dot products of grid vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from holdstill.ranking.kernels.jit import INT16, INT64, VOID, compiled, reads, writes


@compiled(VOID, reads(INT16, 2), reads(INT16), reads(INT64), writes(INT64))
def dot_rows(vectors: Any, query: Any, rows: Any, scores: Any) -> None:
    """The dot product of the query with each of the rows.

    A partial sum may wrap around; the whole one fits int32, and wrapping addition gets it right.
    """
    for at in range(len(rows)):
        row, total = rows[at], np.int32(0)
        for component in range(len(query)):
            total = np.int32(total + np.int32(vectors[row, component]) * np.int32(query[component]))
        scores[at] = total
