"""From the values of a column to the ranks of a list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdstill.tables.ordering import Ids, Rows, best_first, order, shared_ranks
from holdstill.tables.request import Ties
from holdstill.tables.rrf import Ranks


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """What one list ranks its rows by.

    Attributes:
        values: shape (n,), higher is better; the least possible value where the row is absent.
        present: whether the list has the row; None where it has all of them.
    """

    values: NDArray[Any]
    present: NDArray[np.bool_] | None

    @classmethod
    def of(cls, column: NDArray[Any], *, descending: bool) -> Scored:
        """A column as the database gives it: masked where it is null. Rows with null and with NaN are absent."""
        absent = np.ma.getmaskarray(column) if isinstance(column, np.ma.MaskedArray) else None
        values = np.ma.getdata(column)
        if values.dtype == np.bool_:
            values = values.view(np.int8)
        floats = values.dtype.kind == "f"
        if floats and np.isnan(values.min(initial=np.inf)):  # a minimum is NaN if anything is
            absent = np.isnan(values) if absent is None else absent | np.isnan(values)
        if not descending:
            values = -values if floats else ~values  # ~ turns the order of integers round, signed or not
        if absent is None or not absent.any():
            return cls(values, None)
        least = -np.inf if floats else np.iinfo(values.dtype).min
        return cls(np.where(absent, values.dtype.type(least), values), ~absent)

    def rank(self, ids: Ids, ties: Ties) -> Ranked:
        """Rank all rows that are present."""
        rows = None if self.present is None else np.flatnonzero(self.present)
        values = self.values if rows is None else self.values[rows]
        if not len(values):
            return Ranked(np.empty(0, np.int64), np.empty(0, np.int32))
        keys = best_first(values)
        places = order(keys, rows, ids)
        ranks = shared_ranks(keys[places]) if ties == "rank" else np.arange(1, len(places) + 1, dtype=np.int32)
        return Ranked(places if rows is None else rows[places], ranks)


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """One list in order.

    Attributes:
        rows: best first, shape (m,).
        ranks: of these rows, ascending from 1.
    """

    rows: Rows
    ranks: Ranks

    def by_row(self, count: int) -> Ranks:
        """The rank of each of `count` rows, 0 for those that are absent."""
        ranks = np.zeros(count, np.int32)
        ranks[self.rows] = self.ranks
        return ranks


def numbered(lists: list[Ranked], count: int) -> tuple[Rows, list[Ranks]]:
    """The rows that some list has, those of the first list first, and their ranks in every list.

    In that order the first list's ranks are there already, and need neither be scattered nor gathered.
    """
    first, *others = lists
    scattered = [each.by_row(count) for each in others]
    if len(first.rows) == count:
        return first.rows, [first.ranks, *(ranks[first.rows] for ranks in scattered)]
    found = np.zeros(count, np.bool_)
    for ranks in scattered:
        found |= ranks > 0
    found[first.rows] = False
    rest = np.flatnonzero(found)
    rows = np.concatenate([first.rows, rest])
    own = np.concatenate([first.ranks, np.zeros(len(rest), np.int32)])
    return rows, [own, *(ranks[rows] for ranks in scattered)]


def joined(lists: list[Ranked], groups: Rows, count: int) -> tuple[Rows, list[Ranks]]:
    """What SQL's full outer join of the lists by id gives: an id's entries in one list, each with each in the others.

    Args:
        lists: in order.
        groups: the number of each row's id, from 0, shape (count,).
        count: of rows in the table.

    Returns:
        For each row of the join the table's row that its first list took it from, and the ranks in every list.
    """
    ids = int(groups.max(initial=-1)) + 1
    by_group = [each.rows[np.lexsort((each.rows, groups[each.rows]))] for each in lists]
    counts = [np.bincount(groups[rows], minlength=ids) for rows in by_group]
    fan = np.prod([np.maximum(number, 1) for number in counts], axis=0) * np.any(counts, axis=0)
    group = np.repeat(np.arange(ids), fan)
    turn = np.arange(len(group)) - np.repeat(np.cumsum(fan) - fan, fan)  # the combinations of a group, from 0
    sources = np.full(len(group), -1)
    ranks = []
    for each, rows, number in zip(lists, by_group, counts, strict=True):
        has = np.flatnonzero(number[group])
        begins = np.cumsum(number) - number
        member = rows[begins[group[has]] + turn[has] % number[group[has]]]
        own = np.zeros(len(group), np.int32)
        own[has] = each.by_row(count)[member]
        ranks.append(own)
        turn //= np.maximum(number, 1)[group]
        sources[has] = np.where(sources[has] < 0, member, sources[has])
    return sources, ranks


def joined_length(lists: list[Ranked], groups: Rows) -> float:
    """How many rows that join has: a float, since it can be any number."""
    ids = int(groups.max(initial=-1)) + 1
    counts = [np.bincount(groups[each.rows], minlength=ids).astype(np.float64) for each in lists]
    return float(np.sum(np.prod([np.maximum(number, 1) for number in counts], axis=0) * np.any(counts, axis=0)))
