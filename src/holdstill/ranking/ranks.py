"""From scores to ranks. A rank is 1 + the number of entries that score strictly higher, so equals share it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def top(scores: NDArray[np.int64], depth: int) -> tuple[NDArray[np.intp], int | None]:
    """The first `depth` entries and whatever ties with the last of them.

    Args:
        scores: shape (n,), in any order.
        depth: from 1.

    Returns:
        Their indices, ascending, and the rank of the best entry left out; None if none is.
    """
    if depth >= len(scores):
        return np.arange(len(scores)), None
    least = np.partition(scores, len(scores) - depth)[len(scores) - depth]
    taken = np.flatnonzero(scores >= least)
    return taken, len(taken) + 1 if len(taken) < len(scores) else None


def count_ranks(scores: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rank among `scores`, shape (n,), of each score in `wanted`, shape (m,).

    numpy sorts integers with vector instructions, so sorting them all takes a seventh of the time of searching the
    wanted scores for each.
    """
    ordered = np.sort(scores)
    return (len(scores) + 1 - np.searchsorted(ordered, wanted, side="right")).astype(np.int64)


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
