"""Ids that stand on several rows: how many, and the refusal of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdstill.errors import DuplicateId
from holdstill.tables.ordering import Ids
from holdstill.tables.request import Request

_SPARSE = 8  # a table of marks pays as long as there is an id for one mark in so many


def count_duplicates(ids: Ids, codes: NDArray[Any]) -> tuple[int, int]:
    """How many ids stand on more than one row, and on how many rows these stand.

    Args:
        ids: of all rows.
        codes: an integer for each row; equal for equal ids, and for others by chance only.
    """
    if not len(codes) or _all_differ(codes):
        return 0, 0
    ordered = np.sort(codes)
    repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    suspects = ids.values[np.isin(codes, repeated)]
    _, counts = np.unique(suspects, return_counts=True)
    counts = counts[counts > 1]
    return len(counts), int(counts.sum())


def refuse(ids: Ids, request: Request, count: int, rows: int) -> DuplicateId:
    """The error that says so."""
    ordered = ids.values[ids.order]
    first = ordered[1:][ordered[1:] == ordered[:-1]][0]
    return DuplicateId(
        f"{count} {'id stands' if count == 1 else 'ids stand'} on several rows, {rows} in all",
        field=request.id,
        expected="each id once",
        got=first if isinstance(first, str) else int(first),
        hint="Duplicates may be kept apart by position (keep), or joined by id as SQL does, each with each (join)",
    )


def _all_differ(codes: NDArray[Any]) -> bool:
    least, most = int(codes.min()), int(codes.max())
    if most - least < _SPARSE * len(codes):
        marks = np.zeros(most - least + 1, np.bool_)
        marks[codes - codes.dtype.type(least)] = True
        return bool(np.count_nonzero(marks) == len(codes))
    ordered = np.sort(codes)
    return not (ordered[1:] == ordered[:-1]).any()
