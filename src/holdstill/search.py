"""The conductor: authorise -> constrain -> arms -> fuse -> prove -> record. It alone knows stores and arms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from holdstill.access import Asking, caller_of, permission
from holdstill.answering import Arm, fused, listing
from holdstill.audit.recording import Recorder
from holdstill.embedding import Embedding
from holdstill.fusion import Ranking, fuse
from holdstill.query import Query
from holdstill.ranking import bm25, cascade, dense
from holdstill.ranking.ranks import best_by_group
from holdstill.result import Result
from holdstill.stores.base import Rows, Selection, Snapshot, count_units
from holdstill.understanding import Asked, understand

Scores = NDArray[np.int64]
Found = tuple[Rows, Scores, Rows]  #: units, the best score of each, and the passage that has it


def search(
    snapshot: Snapshot,
    query: Query,
    embedding: Embedding,
    recorder: Recorder,
    *,
    principal: Asking = None,
    operator: bool = False,
) -> Result:
    """Answer one query from one snapshot, and record it.

    Args:
        snapshot: what to search.
        query: what is asked.
        embedding: gives the embedder, where the collection has vectors and the query brings none.
        recorder: writes the search into the log.
        principal: who asks; needed where the collection has a policy.
        operator: whether the operator asks, who sees everything.

    Raises:
        holdstill.AccessDenied: a policy is in force and nobody was named.
        holdstill.InvalidInput: the query does not fit the collection.
    """
    caller = caller_of(principal, operator=operator)
    asked = understand(snapshot, query, embedding, permission(snapshot, caller, operator=operator))
    result = answer(snapshot, asked)
    return recorder.record(asked, result, seen_at=snapshot.seen_at, principal=caller, operator=operator)


def answer(snapshot: Snapshot, asked: Asked) -> Result:
    """Answer a query as it was understood."""
    query = asked.query
    selection = snapshot.select(asked.permission, asked.where, asked.requirements, query.by)
    if not query.ranked:
        return listing(snapshot, asked, selection)
    arms, notes = arms_of(snapshot, asked, selection)
    fusion = fuse(
        [arm.ranking for arm in arms.values()],
        rrf_k=query.settings.rrf_k,
        k=query.k,
        offset=query.offset,
        depth=query.settings.depth,
        order=lambda units: _printed_order(snapshot, selection, units),
    )
    return fused(snapshot, asked, selection, arms, fusion, asked.notes + notes)


def arms_of(snapshot: Snapshot, asked: Asked, selection: Selection) -> tuple[dict[str, Arm], tuple[str, ...]]:
    """What each arm that is asked ranks, and notes on it."""
    arms: dict[str, Arm] = {}
    notes: tuple[str, ...] = ()
    for name in asked.arms:
        if name == "lexical":
            found, total, notes = _lexical(snapshot, asked, selection)
        else:
            found, total = _dense(snapshot, asked, selection)
        units, best, passages = found
        arms[name] = Arm(Ranking(name, units, best, asked.query.settings.weight(name), total), passages)
    return arms, notes


def _wanted(asked: Asked) -> int | None:
    """How many units of an arm fusion needs: the first, of one that is alone or cut at a depth; else None, for all."""
    query = asked.query
    return query.settings.depth or (query.offset + query.k if len(asked.arms) == 1 else None)


def _lexical(snapshot: Snapshot, asked: Asked, selection: Selection) -> tuple[Found, int | None, tuple[str, ...]]:
    wanted = _wanted(asked) if selection.units is None else None  # else matching units would not be counted
    found = [snapshot.postings(term) for term in asked.terms]
    postings = [(each.rows, each.frequencies) for each in found]
    corpus = postings, snapshot.lengths(), selection.visible, selection.eligible
    totals = bm25.Totals(selection.passages, selection.terms)
    matches = bm25.scores(*corpus, totals) if wanted is None else bm25.leaders(*corpus, wanted, totals)
    note = () if matches.known_terms else ("no word of the question occurs in what may be searched",)
    return _by_unit(matches.rows, matches.scores, selection.units), None if wanted is None else matches.count, note


def _dense(snapshot: Snapshot, asked: Asked, selection: Selection) -> tuple[Found, int | None]:
    assert asked.vector is not None  # noqa: S101 - made with the arm
    wanted, eligible = _wanted(asked), selection.eligible
    if wanted is None:
        rows, scores = np.flatnonzero(eligible), dense.scores(snapshot.vectors(), asked.vector, eligible)
        return _by_unit(rows, scores, selection.units), None
    passages, every = wanted, np.count_nonzero(eligible)
    while True:
        rows, scores = cascade.nearest(snapshot.vectors(), asked.vector, eligible, passages)
        found = _by_unit(rows, scores, selection.units)
        if len(found[0]) >= wanted or len(rows) == every:
            return found, count_units(eligible, selection.units)
        passages *= 2  # several of them are of one document


def _by_unit(rows: Rows, scores: Scores, units: Rows | None) -> Found:
    """The units of the rows, the best score of each, and the passage that has it."""
    return (rows, scores, rows) if units is None else best_by_group(rows, scores, units[rows])


def _printed_order(snapshot: Snapshot, selection: Selection, units: Rows) -> Rows:
    """Units of equal score by document id in bytes, then ordinal."""
    rows = units if selection.units is None else np.searchsorted(selection.units, units)
    keys = snapshot.keys(rows)
    return units[sorted(range(len(units)), key=keys.__getitem__)]
