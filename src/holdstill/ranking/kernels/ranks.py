"""Counting how many scores lie above others, without sorting them all."""

from __future__ import annotations

from typing import Any

import numpy as np

from holdstill.ranking.kernels.jit import BOOL, INT64, compiled, reads, writes


@compiled(INT64, reads(INT64), INT64, INT64, INT64, reads(BOOL), writes(INT64), writes(INT64))
def sort_out(scores: Any, lowest: int, highest: int, shift: int, wanted: Any, counts: Any, inside: Any) -> int:
    """Sort scores into buckets of 2^shift from `lowest` on: count them all, and take out those of wanted buckets.

    Args:
        scores: shape (n,).
        lowest: what is not above it is passed over.
        highest: what is above it counts in a bucket of its own, the last.
        shift: from 0 to 63.
        wanted: which buckets are, shape (buckets + 1,).
        counts: of the same shape; added to.
        inside: filled; shape (n + 1,).

    Returns:
        How many scores were taken out.
    """
    taken = 0
    for score in scores:
        if score <= lowest:
            continue
        bucket = np.uint64(len(wanted) - 1)
        if score <= highest:
            bucket = (np.uint64(score) - np.uint64(lowest)) >> np.uint64(shift)  # right however large the difference
        counts[bucket] += 1
        inside[np.uint64(taken)] = score  # overwritten unless wanted, which no branch has to foresee
        taken += wanted[bucket]
    return taken
