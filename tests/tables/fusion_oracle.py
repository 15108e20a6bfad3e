"""Rank fusion of a table in plain Python: slow, and plainly right."""

from __future__ import annotations

import math
from fractions import Fraction


def ranked(values, ids, *, descending, ties):
    """The rank of each row, None where its value is None or NaN."""
    present = [row for row, value in enumerate(values) if value is not None and not math.isnan(value)]
    present.sort(key=lambda row: (-values[row] if descending else values[row], ids[row], row))
    ranks = [None] * len(values)
    for place, row in enumerate(present, 1):
        better = [r for r in present if (values[r] > values[row] if descending else values[r] < values[row])]
        ranks[row] = place if ties == "row-number" else 1 + len(better)
    return ranks


def fused(ids, lists, *, descending, weights=None, rrf_k=60, ties="row-number"):
    """(id, ranks, exact score, row) in order."""
    weights = weights or [Fraction(1)] * len(lists)
    ranks = [ranked(values, ids, descending=order, ties=ties) for values, order in zip(lists, descending, strict=True)]
    rows = []
    for row, own in enumerate(zip(*ranks, strict=True)):
        score = sum((w / (rrf_k + r) for w, r in zip(weights, own, strict=True) if r is not None), Fraction(0))
        if any(rank is not None for rank in own):
            rows.append((ids[row], own, score, row))
    return sorted(rows, key=lambda each: (-each[2], each[0], each[3]))


def listed(table):
    """What `fuse` gave, in the oracle's form."""
    columns = [[None if rank is None else int(rank) for rank in ranks.tolist()] for ranks in table.ranks.values()]
    ids = [id_ if isinstance(id_, str) else int(id_) for id_ in table.ids.tolist()]
    return list(zip(ids, zip(*columns, strict=True), table.scores.tolist(), strict=True))
