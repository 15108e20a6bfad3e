"""From scores to ranks. A rank is 1 + the number of entries that score strictly higher, so equals share it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdstill.ranking import compiled

_BLOCK = 256  #: entries looked at or passed over together
_SPARING = 16  #: looking at no more than one block in so many is quicker than looking at all of them
_BUCKET_BITS = 16


def top(scores: NDArray[np.int64], depth: int) -> NDArray[np.intp]:
    """The first `depth` entries and whatever ties with the last of them.

    Args:
        scores: shape (n,), in any order.
        depth: from 1.

    Returns:
        Their indices, ascending. The best entry left out, if any is, ranks one below how many there are.
    """
    if depth >= len(scores):
        return np.arange(len(scores))
    near = _candidates(scores, depth)
    values = scores if near is None else scores[near]
    taken = np.flatnonzero(values >= _nth_largest(values, depth))
    return taken if near is None else near[taken]


def _candidates(scores: NDArray[np.int64], depth: int) -> NDArray[np.intp] | None:
    """Indices, ascending, that hold the first `depth` entries and their ties; None where that spares little.

    At least `depth` blocks hold an entry as high as the `depth`-th best of the blocks' highest entries, so no entry
    below that one is among the first.
    """
    blocks = len(scores) // _BLOCK
    if depth > blocks // _SPARING:
        return None
    highest = scores[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
    floor = _nth_largest(highest, depth)
    opened = np.flatnonzero(highest >= floor)
    if len(opened) > blocks // _SPARING:
        return None
    inside = (opened[:, np.newaxis] * _BLOCK + np.arange(_BLOCK)).ravel()
    near: NDArray[np.intp] = np.concatenate([inside, np.arange(blocks * _BLOCK, len(scores))])
    return near[scores[near] >= floor]


def _nth_largest(values: NDArray[np.int64], n: int) -> np.int64:
    at = len(values) - n
    nth: np.int64 = np.partition(values, at)[at]
    return nth


def count_ranks(scores: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rank among `scores`, shape (n,), of each score in `wanted`, shape (m,)."""
    kernels = compiled.kernels(len(scores))
    if kernels is not None and len(wanted):
        return _by_buckets(kernels, scores, wanted)
    # numpy sorts integers with vector instructions, so sorting them all takes a seventh of the time of searching the
    # wanted scores for each.
    return 1 + _count_above(np.sort(scores), wanted)


def _by_buckets(kernels: Any, scores: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """As a whole, a bucket without a wanted score lies above one or below; only what is in the others is sorted."""
    lowest, highest = int(wanted.min()), int(wanted.max())
    shift = max(0, (highest - lowest).bit_length() - _BUCKET_BITS)
    # Differences of up to 64 bits wrap around to the right unsigned number.
    buckets = ((wanted.view(np.uint64) - np.uint64(lowest % 2**64)) >> np.uint64(shift)).astype(np.intp)
    holds = np.zeros(2**_BUCKET_BITS + 1, np.bool_)
    if shift:  # else a bucket has equals only
        holds[buckets] = True
    counts, inside = np.zeros(len(holds), np.int64), np.empty(len(scores) + 1, np.int64)
    taken = kernels.sort_out(scores, lowest, highest, shift, holds, counts, inside)
    counts[holds] = 0
    higher = np.cumsum(counts[::-1])[::-1]
    return 1 + higher[buckets + 1] + _count_above(np.sort(inside[:taken]), wanted)


def _count_above(ordered: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    return (len(ordered) - np.searchsorted(ordered, wanted, side="right")).astype(np.int64)


def best_by_group(
    rows: NDArray[np.int64], scores: NDArray[np.int64], groups: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The best entry of each group: a document's best passage.

    Args:
        rows: ascending, shape (n,).
        scores: the rows' scores.
        groups: the rows' groups; the rows of one group stand together.

    Returns:
        The groups in order of appearance, the best score of each, and the first row that attains it.
    """
    opens = np.ones(len(groups), np.bool_)
    opens[1:] = groups[1:] != groups[:-1]
    starts = np.flatnonzero(opens)
    best = np.maximum.reduceat(scores, starts) if len(starts) else scores
    group_of_row = np.cumsum(opens) - 1
    attains = np.flatnonzero(scores == best[group_of_row])
    _, firsts = np.unique(group_of_row[attains], return_index=True)
    return groups[starts], best, rows[attains[firsts]]
