"""One search under stated conditions: what was asked, and the state of every layer that may move its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdstill.errors import EmbedderRequired
from holdstill.fusion import Ranking, fuse
from holdstill.predicate import Predicate
from holdstill.query import Query
from holdstill.result import Result
from holdstill.search import answer, arms_of
from holdstill.stores.base import Snapshot, Store
from holdstill.understanding import Asked, understand

Vector = NDArray[np.int16]
Unit = tuple[str, int]  #: a document's id and the passage's ordinal; of a whole document 0


@dataclass(frozen=True, slots=True, eq=False)
class Conditions:
    """What a search depends on.

    Attributes:
        query: what is asked, with the settings of fusion.
        vectors: the question's grid vector, by the digest of its model.
        commit: which documents there are.
        seen_at: the commit whose fields decide too what may be seen.
        permission: what may be seen; None is everything.
    """

    query: Query
    vectors: Mapping[str, Vector]
    commit: int
    seen_at: int
    permission: Predicate | None


@dataclass(frozen=True, slots=True)
class Row:
    """One hit, as a digest covers it; a hit that is a document goes by the document's id."""

    id: str
    rank: int
    tied: bool
    ranks: Mapping[str, int | None]
    scores: Mapping[str, int | None]


Page = tuple[Row, ...]


def page_of(result: Result, by: str) -> Page:
    """The hits of a result."""
    return tuple(
        Row(hit.document if by == "document" else hit.id, hit.rank, hit.tied, dict(hit.ranks), dict(hit.scores))
        for hit in result.hits
    )


def run(store: Store, conditions: Conditions) -> Page:
    """The page that the conditions give; raises as `answered`."""
    return page_of(answered(store, conditions), conditions.query.by)


def answered(store: Store, conditions: Conditions) -> Result:
    """The answer that the conditions give; it is not recorded.

    Raises:
        holdstill.SnapshotPruned: the snapshot is not kept.
        holdstill.EmbedderRequired: the question has no vector of the snapshot's model.
    """
    return answer(*_asked(store, conditions))


def crossed(store: Store, words: Conditions, meanings: Conditions) -> Page:
    """The page whose lexical arm is that of one snapshot, and whose dense arm that of another one.

    Both must hold the same documents, split alike. Where one arm answers alone, the page is that of its snapshot.
    Raises as `run`.
    """
    query, arms = words.query, _asked(store, words)[1].arms
    if "dense" not in arms:
        return run(store, words)
    if "lexical" not in arms:
        return run(store, meanings)
    scores = {"lexical": _scores(store, words, "lexical"), "dense": _scores(store, meanings, "dense")}
    units = sorted({unit for arm in scores.values() for unit in arm}, key=lambda unit: (unit[0].encode(), unit[1]))
    number = {unit: at for at, unit in enumerate(units)}  # in printed order, so that equals stand as they are numbered
    fusion = fuse(
        [_ranking(name, {number[unit]: score for unit, score in arm.items()}, query) for name, arm in scores.items()],
        rrf_k=query.settings.rrf_k,
        k=query.k,
        offset=query.offset,
        depth=query.settings.depth,
        order=np.sort,
    )
    return tuple(
        Row(_id(units[place.unit], query.by), place.rank, place.tied, dict(place.ranks), dict(place.scores))
        for place in fusion.places
    )


def _asked(store: Store, conditions: Conditions) -> tuple[Snapshot, Asked]:
    snapshot = store.snapshot(conditions.commit, conditions.seen_at)
    vector = conditions.vectors.get(snapshot.generation.model or "")
    if vector is None and conditions.query.vector is not None:  # which is of the model of then
        raise EmbedderRequired(
            f"the question was a vector, and none is known of {snapshot.generation.embedder!r}",
            field="vector",
            hint="Vectors of two models are never compared",
        )
    return snapshot, understand(snapshot, conditions.query, lambda: None, conditions.permission, vector=vector)


def _scores(store: Store, conditions: Conditions, arm: str) -> dict[Unit, int]:
    """All that an arm ranks, with its scores."""
    snapshot, asked = _asked(store, conditions)
    selection = snapshot.select(asked.permission, asked.where, asked.requirements, asked.query.by)
    found = arms_of(snapshot, asked, selection)[0][arm]
    keys = snapshot.keys(found.passages)
    whole = asked.query.by == "document"
    scores = found.ranking.scores.tolist()
    return {(id_, 0 if whole else ordinal): score for (id_, ordinal), score in zip(keys, scores, strict=True)}


def _ranking(name: str, scores: Mapping[int, int], query: Query) -> Ranking:
    units = np.array(sorted(scores), dtype=np.int64)
    of_units = np.array([scores[unit] for unit in units.tolist()], dtype=np.int64)
    return Ranking(name, units, of_units, query.settings.weight(name))


def _id(unit: Unit, by: str) -> str:
    return unit[0] if by == "document" else f"{unit[0]}#{unit[1]}"
