"""The conductor: authorise -> constrain -> arms -> fuse -> prove -> result. It alone knows stores and arms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from holdstill.access import Asking, permission
from holdstill.answering import Arm, fused, listing
from holdstill.embedding import Embedding
from holdstill.fusion import Ranking, fuse
from holdstill.query import Query
from holdstill.ranking import bm25, cascade, dense
from holdstill.ranking.ranks import best_by_group
from holdstill.result import Result
from holdstill.stores.base import Rows, Selection, Snapshot, count_units
from holdstill.understanding import Asked, understand

Scores = NDArray[np.int64]


def search(
    snapshot: Snapshot, query: Query, embedding: Embedding, *, principal: Asking = None, operator: bool = False
) -> Result:
    """Answer one query from one snapshot.

    Args:
        snapshot: what to search.
        query: what is asked.
        embedding: gives the embedder, where the collection has vectors and the query brings none.
        principal: who asks; needed where the collection has a policy.
        operator: whether the operator asks, who sees everything.

    Raises:
        holdstill.AccessDenied: a policy is in force and nobody was named.
        holdstill.InvalidInput: the query does not fit the collection.
    """
    allowed = permission(snapshot, principal, operator=operator)
    asked = understand(snapshot, query, embedding, allowed)
    selection = snapshot.select(asked.permission, asked.where, asked.requirements, query.by)
    if not asked.query.ranked:
        return listing(snapshot, asked, selection)
    arms, notes = _run(snapshot, asked, selection)
    fusion = fuse(
        [arm.ranking for arm in arms.values()],
        rrf_k=query.settings.rrf_k,
        k=query.k,
        offset=query.offset,
        depth=query.settings.depth,
        order=lambda units: _printed_order(snapshot, selection, units),
    )
    return fused(snapshot, asked, selection, arms, fusion, asked.notes + notes)


def _run(snapshot: Snapshot, asked: Asked, selection: Selection) -> tuple[dict[str, Arm], tuple[str, ...]]:
    arms: dict[str, Arm] = {}
    notes: tuple[str, ...] = ()
    for name in asked.arms:
        if name == "lexical":
            rows, scores, notes = _lexical(snapshot, asked.terms, selection)
            units, best, passages = _by_unit(rows, scores, selection.units)
            total = None
        else:
            units, best, passages, total = _dense(snapshot, asked, selection)
        arms[name] = Arm(Ranking(name, units, best, asked.query.settings.weight(name), total), passages)
    return arms, notes


def _dense(snapshot: Snapshot, asked: Asked, selection: Selection) -> tuple[Rows, Scores, Rows, int | None]:
    """The units, the best score of each, the passage that has it; and how many units there are, if these are not all.

    Fusion over complete rankings needs the scores of all. An arm alone, or cut at a depth, needs the first of them.
    """
    assert asked.vector is not None  # noqa: S101 - made with the arm
    query, eligible = asked.query, selection.eligible
    wanted = query.settings.depth or (query.offset + query.k if len(asked.arms) == 1 else None)
    if wanted is None:
        rows, scores = np.flatnonzero(eligible), dense.scores(snapshot.vectors(), asked.vector, eligible)
        return *_by_unit(rows, scores, selection.units), None
    passages, every = wanted, np.count_nonzero(eligible)
    while True:
        rows, scores = cascade.nearest(snapshot.vectors(), asked.vector, eligible, passages)
        found = _by_unit(rows, scores, selection.units)
        if len(found[0]) >= wanted or len(rows) == every:
            return *found, count_units(eligible, selection.units)
        passages *= 2  # several of them are of one document


def _lexical(snapshot: Snapshot, terms: tuple[str, ...], selection: Selection) -> tuple[Rows, Scores, tuple[str, ...]]:
    found = [snapshot.postings(term) for term in terms]
    postings = [(each.rows, each.frequencies) for each in found]
    matches = bm25.scores(postings, snapshot.lengths(), selection.visible, selection.eligible)
    note = () if matches.known_terms else ("no word of the question occurs in what may be searched",)
    return matches.rows, matches.scores, note


def _by_unit(rows: Rows, scores: Scores, units: Rows | None) -> tuple[Rows, Scores, Rows]:
    """The units of the rows, the best score of each, and the passage that has it."""
    return (rows, scores, rows) if units is None else best_by_group(rows, scores, units[rows])


def _printed_order(snapshot: Snapshot, selection: Selection, units: Rows) -> Rows:
    """Units of equal score by document id in bytes, then ordinal."""
    rows = units if selection.units is None else np.searchsorted(selection.units, units)
    keys = snapshot.keys(rows)
    return units[sorted(range(len(units)), key=keys.__getitem__)]
