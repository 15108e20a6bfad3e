"""From ranked units to an answer: passages fetched, checked once more, and described."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from holdstill._version import __version__
from holdstill.errors import InvariantViolated
from holdstill.fusion import Fusion, Place, Ranking
from holdstill.predicate import evaluate, fields_only
from holdstill.query import Query
from holdstill.result import ArmReport, Completeness, Hit, Result
from holdstill.stores.base import FORMAT, Rows, Selection, Snapshot, StoredDocument, count_units, first_rows
from holdstill.understanding import Asked


@dataclass(frozen=True, slots=True, eq=False)
class Arm:
    """What one arm found: its ranking of units, and the passage of each unit that scored best."""

    ranking: Ranking
    passages: Rows

    def passage(self, unit: int) -> int:
        """The best passage of a unit that the arm ranks; of equals, the first."""
        return int(self.passages[np.searchsorted(self.ranking.units, unit)])


def fused(
    snapshot: Snapshot,
    asked: Asked,
    selection: Selection,
    arms: Mapping[str, Arm],
    fusion: Fusion,
    notes: tuple[str, ...],
) -> Result:
    """The answer that the arms give together."""
    eligible = count_units(selection.eligible, selection.units)
    return _result(
        snapshot,
        asked,
        selection,
        completeness=fusion.completeness,
        hits=_hits(snapshot, asked, arms, fusion),
        ties_beyond=fusion.ties_beyond,
        ranking=_described(asked.query, fusion, arms),
        arms=tuple(
            ArmReport(name, "exact", fusion.stops[name], eligible, arm.ranking.count) for name, arm in arms.items()
        ),
        notes=notes,
    )


def listing(snapshot: Snapshot, asked: Asked, selection: Selection) -> Result:
    """All of `E`, unranked: in order of a field or of ids."""
    query = asked.query
    ordered = snapshot.ordered(first_rows(selection.eligible, selection.units), query.order_by)
    page = ordered[query.offset : query.offset + query.k]
    hits = tuple(
        _hit(document, rank=query.offset + position, tied=False, score=None, ranks={}, scores={})
        for position, document in enumerate(_fetch(snapshot, asked, page), start=1)
    )
    name, descending = query.order_by or ("id", False)
    return _result(
        snapshot,
        asked,
        selection,
        completeness=Completeness.COMPLETE if len(hits) == query.k else Completeness.EXHAUSTED,
        hits=hits,
        ties_beyond=0,
        ranking={
            "fusion": None,
            "rrf_k": None,
            "depth": None,
            "proof": "exhaustive",
            "weights": {},
            "order_by": f"{name} desc" if descending else name,
        },
        arms=(),
        notes=asked.notes,
    )


def _hits(snapshot: Snapshot, asked: Asked, arms: Mapping[str, Arm], fusion: Fusion) -> tuple[Hit, ...]:
    settings = asked.query.settings
    shown = [_shown(place, arms, settings.rrf_k) for place in fusion.places]
    documents = _fetch(snapshot, asked, np.array([row for row, _ in shown], dtype=np.int64))
    by_document = asked.query.by == "document"
    return tuple(
        _hit(
            document,
            rank=place.rank,
            tied=place.tied,
            score=float(place.score),
            ranks=place.ranks,
            scores=place.scores,
            best=_best(document, row, best) if by_document else None,
        )
        for place, document, (row, best) in zip(fusion.places, documents, shown, strict=True)
    )


def _shown(place: Place, arms: Mapping[str, Arm], rrf_k: int) -> tuple[int, dict[str, int]]:
    """The passage to show: that of the arm contributing most, then of the arm named first; and each arm's best."""
    best = {name: arm.passage(place.unit) for name, arm in arms.items() if place.ranks[name] is not None}

    def contribution(name: str) -> Fraction:
        rank = place.ranks[name]
        return Fraction(0) if rank is None else arms[name].ranking.weight / (rrf_k + rank)

    return best[max(best, key=contribution)], best


def _best(document: StoredDocument, row: int, best: Mapping[str, int]) -> dict[str, str]:
    """Each arm's best passage as an id; a document's passages are numbered as their rows are."""
    first = row - document.passages[0].ordinal
    return {name: f"{document.id}#{each - first}" for name, each in best.items()}


def _hit(document: StoredDocument, **ranked: Any) -> Hit:
    (passage,) = document.passages
    return Hit(
        id=f"{document.id}#{passage.ordinal}",
        document=document.id,
        title=document.title,
        headings=passage.headings,
        pages=passage.pages,
        text=passage.text,
        fields=dict(document.metadata) | dict(document.fields),
        **ranked,
    )


def _fetch(snapshot: Snapshot, asked: Asked, rows: Rows) -> list[StoredDocument]:
    """The passages to show, each checked once more against what must hold: the last barrier.

    Raises:
        holdstill.InvariantViolated: one does not satisfy the permission or the filter.
    """
    documents = snapshot.fetch(rows)
    barriers = [part for each in (asked.permission, asked.where) if each is not None for part in fields_only(each)]
    holds = all(evaluate(barrier, document.fields) is True for document in documents for barrier in barriers)
    if not holds or not _may_be_seen(snapshot, asked, rows, documents):
        raise InvariantViolated(
            "a hit does not satisfy the predicates it was selected by; nothing is returned",
            hint="This is a bug in holdstill: please report it with the versions from `holdstill doctor`",
        )
    return documents


def _may_be_seen(snapshot: Snapshot, asked: Asked, rows: Rows, documents: Sequence[StoredDocument]) -> bool:
    """Whether the documents of an earlier commit are there today too, and permitted by their fields of today."""
    if asked.permission is None or snapshot.seen_at == snapshot.commit:
        return True
    fields = snapshot.seen(rows, [document.id for document in documents])
    return all(seen is not None and evaluate(asked.permission, seen) is True for seen in fields)


def _described(query: Query, fusion: Fusion, arms: Mapping[str, Arm]) -> dict[str, Any]:
    weights = {name: arm.ranking.weight for name, arm in arms.items()}
    return {
        "fusion": "rrf",
        "rrf_k": query.settings.rrf_k,
        "depth": query.settings.depth,
        "proof": fusion.proof,
        "weights": {name: int(w) if w.denominator == 1 else float(w) for name, w in weights.items()},
    }


def _result(
    snapshot: Snapshot,
    asked: Asked,
    selection: Selection,
    *,
    completeness: Completeness,
    hits: tuple[Hit, ...],
    ties_beyond: int,
    ranking: Mapping[str, Any],
    arms: tuple[ArmReport, ...],
    notes: tuple[str, ...],
) -> Result:
    query = asked.query
    return Result(
        completeness=completeness,
        k=query.k,
        offset=query.offset,
        hits=hits,
        ties_beyond=ties_beyond,
        understood={
            "text": query.text,
            "must": list(query.must),
            "must_not": list(query.must_not),
            "where": None if asked.where is None else str(asked.where),
        },
        snapshot={
            "generation": snapshot.generation.number,
            "commit": snapshot.commit,
            "seen_at": snapshot.seen_at,
        },
        model=snapshot.generation.model,
        ranking=ranking,
        arms=arms,
        unknown=selection.unknown,
        notes=notes,
        versions={
            "engine": __version__,
            "format": FORMAT,
            "analyser": snapshot.generation.analysis,
            "policy": snapshot.policy_version,
        },
    )
