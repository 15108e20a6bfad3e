"""The first few rows of a fused table, without putting the others in order.

Each list's first entries are taken. A row that none of them has stands no higher than the first rank left out of each,
so its score has a bound; the lists are cut deeper until that bound is strictly below the score of the last row wanted.
Ranks that were cut off are counted, for those rows alone that may yet be among the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdstill.tables.lists import Scored
from holdstill.tables.ordering import Ids, Rows, best_first, order, shared_ranks
from holdstill.tables.request import Ties
from holdstill.tables.rrf import Formula, Ranks

# Any depth is right. At this one the rows whose ranks must be counted are few, and finding the entries is cheap.
_DEPTH = 4096
_DEEPER = 8
# Float bounds are within a relative error of (lists + 2) * 2^-53, lists being 64 at most.
_NEAR = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class _Cut:
    """The first entries of one list, and whatever ties with the last of them."""

    rows: Rows  #: ascending
    ranks: Ranks  #: of these rows
    following: int | None  #: the best rank left out; None if none is

    def of(self, rows: Rows) -> Ranks:
        """The ranks of these rows, 0 where the entries do not have them."""
        if not len(self.rows):
            return np.zeros(len(rows), np.int32)
        at = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return np.where(self.rows[at] == rows, self.ranks[at], 0).astype(np.int32)


def leaders(
    lists: Sequence[Scored], formula: Formula, ids: Ids, *, top: int, ties: Ties
) -> tuple[Rows, list[Ranks]] | None:
    """The first `top` rows, or more, with their ranks in every list.

    Returns:
        Rows in no order, such that every other row has a lower score than `top` of them; None where all of them have
        to be put in order for it, or nearly.
    """
    depth = max(_DEPTH, _DEEPER * top)
    while depth <= len(ids) // _DEEPER:
        cuts = [_cut(scored, depth, ids, ties) for scored in lists]
        if any(len(cut.rows) > len(ids) // _DEEPER for cut in cuts):
            return None
        candidates = np.unique(np.concatenate([cut.rows for cut in cuts]))
        ranks = [cut.of(candidates) for cut in cuts]
        least = _sum(formula, ranks)
        unseen = [0 if cut.following is None else cut.following for cut in cuts]
        most = _sum(formula, [np.where(own > 0, own, rest) for own, rest in zip(ranks, unseen, strict=True)])
        bound = float(formula.exact(unseen))
        if len(candidates) >= top:
            needed = np.partition(least, len(least) - top)[len(least) - top] * (1 - _NEAR)
            if bound < needed:
                chosen = most >= needed
                rows = candidates[chosen]
                return rows, [
                    _counted(scored, rows, own[chosen], ids, ties) if cut.following else own[chosen]
                    for scored, cut, own in zip(lists, cuts, ranks, strict=True)
                ]
        depth *= _DEEPER
    return None


def _cut(scored: Scored, depth: int, ids: Ids, ties: Ties) -> _Cut:
    values, present = scored.values, scored.present
    count = len(values) if present is None else int(np.count_nonzero(present))
    if count <= depth:
        rows = np.arange(len(values)) if present is None else np.flatnonzero(present)
    else:
        # Absent rows have the least value: where that is as good as the last one taken, they are taken out again.
        least = np.partition(values, len(values) - depth)[len(values) - depth]
        rows = np.flatnonzero(values >= least)
        rows = rows if present is None else rows[present[rows]]
    ranks = np.empty(len(rows), np.int32)
    if len(rows):
        keys = best_first(values[rows])
        places = order(keys, rows, ids)
        ranks[places] = shared_ranks(keys[places]) if ties == "rank" else np.arange(1, len(rows) + 1)
    return _Cut(rows, ranks, len(rows) + 1 if len(rows) < count else None)


def _sum(formula: Formula, ranks: Sequence[Ranks]) -> NDArray[np.float64]:
    total = np.zeros(len(ranks[0]))
    for weight, each in zip(formula.weights, ranks, strict=True):
        total += np.where(each > 0, float(weight) / (formula.rrf_k + each.astype(np.float64)), 0.0)
    return total


def _counted(scored: Scored, rows: Rows, ranks: Ranks, ids: Ids, ties: Ties) -> Ranks:
    """The ranks with those filled in that the cut left out."""
    filled = ranks.copy()
    for at in np.flatnonzero(ranks == 0).tolist():
        row = int(rows[at])
        if scored.present is None or scored.present[row]:
            better = np.count_nonzero(scored.values > scored.values[row])
            filled[at] = better + 1
            if ties == "row-number" and np.count_nonzero(scored.values >= scored.values[row]) > better + 1:
                filled[at] += _tied_before(scored, row, ids)
    return filled


def _tied_before(scored: Scored, row: int, ids: Ids) -> int:
    """How many rows of equal value come before this one, by id and then by position."""
    tied = np.flatnonzero(scored.values == scored.values[row])
    if scored.present is not None:
        tied = tied[scored.present[tied]]
    mine = ids.values[row]
    before, equal = ids.values[tied] < mine, ids.values[tied] == mine
    return int(np.count_nonzero(before | (equal & (tied < row))))
