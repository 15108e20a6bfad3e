"""What a search answers: `Result`, `Hit`, `ArmReport`, `Completeness`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Any, Literal, Self

from holdstill.frozen import freeze, thaw


class Completeness(StrEnum):
    """What an answer proves; never more favourable than the truth.

    It speaks of the search, not of relevance: nonsense asked of a large collection is `complete`.
    """

    COMPLETE = "complete"  #: every position asked for is filled, proven to be that of the stated ranking
    EXHAUSTED = "exhausted"  #: fewer than asked, and proven that the ranking ends in or before this page
    APPROXIMATE = "approximate"  #: a full page, not proven
    TRUNCATED = "truncated"  #: fewer than asked, and eligible passages may remain that were not reached
    DEGRADED = "degraded"  #: an arm was left out, as the caller permitted


Stop = Literal["enough", "exhausted", "budget", "deadline"]


@dataclass(frozen=True, slots=True)
class ArmReport:
    """What one arm did.

    Attributes:
        arm: `lexical` or `dense`.
        strategy: `exact`: every eligible unit was scored.
        stop: why it went no deeper: `enough` (the bound proved the page), `exhausted` (all it matched was
            ranked), `budget` (a fixed depth), `deadline`.
        eligible: how many units satisfy every hard constraint.
        matched: how many of those this arm ranks.
        error: why the arm is missing, where it is.
    """

    arm: str
    strategy: str
    stop: Stop
    eligible: int
    matched: int
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One ranked passage or document.

    Attributes:
        rank: its position by score, from 1; equal scores share a rank.
        tied: whether any other eligible unit has the same score.
        id: the shown passage, `document#ordinal`.
        document: the document's id.
        score: the fused score, correctly rounded; it orders hits and measures nothing. None where nothing was ranked.
        ranks: its rank in every arm; None where the arm does not hold it.
        scores: its integer score in every arm: lexical in 2^-20 units, dense in 2^-30 units of cosine.
        title: the document's title.
        headings: the path of headings above the passage.
        pages: first and last page, or None.
        text: the passage.
        fields: the document's fields, and what else was stored with it.
        best: with `by="document"`, each arm's best passage.
    """

    rank: int
    tied: bool
    id: str
    document: str
    score: float | None
    ranks: Mapping[str, int | None]
    scores: Mapping[str, int | None]
    title: str
    headings: tuple[str, ...]
    pages: tuple[int, int] | None
    text: str
    fields: Mapping[str, Any]
    best: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        for name in ("ranks", "scores", "fields", "best"):
            object.__setattr__(self, name, freeze(getattr(self, name)))

    def as_dict(self) -> dict[str, Any]:
        """The hit as the `--json` output shows it; `best` only where documents were ranked."""
        shown = {
            "rank": self.rank,
            "tied": self.tied,
            "id": self.id,
            "document": self.document,
            "score": self.score,
            "ranks": dict(self.ranks),
            "scores": dict(self.scores),
            "title": self.title,
            "headings": list(self.headings),
            "pages": None if self.pages is None else list(self.pages),
            "text": self.text,
            "fields": {name: json_value(value) for name, value in self.fields.items()},
        }
        return shown if self.best is None else shown | {"best": dict(self.best)}


def json_value(value: object) -> object:
    """A field's value as JSON shows it: lists for tuples, ISO 8601 for dates, `Z` for UTC."""
    if isinstance(value, (tuple, list, Mapping)):
        return thaw(value)
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return value.isoformat() if isinstance(value, date) else value


@dataclass(frozen=True, slots=True)
class Result:
    """An answer that says what it is. Iterating gives the hits."""

    completeness: Completeness
    k: int
    offset: int
    hits: tuple[Hit, ...]
    ties_beyond: int
    understood: Mapping[str, Any]
    snapshot: Mapping[str, int]  #: its generation and commit, and `seen_at`, the newest commit then
    model: str | None
    ranking: Mapping[str, Any]
    arms: tuple[ArmReport, ...]
    unknown: Mapping[str, int]
    notes: tuple[str, ...]
    versions: Mapping[str, Any]
    search_id: str | None = field(default=None, compare=False)  #: its place in the search log, no part of the answer
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        for name in ("understood", "snapshot", "ranking", "unknown", "versions"):
            object.__setattr__(self, name, freeze(getattr(self, name)))
        object.__setattr__(self, "digest", _digest(self.hits))

    def recorded(self, search_id: str) -> Self:
        """This very result, with its id: for the log, before anyone else has seen it; to copy it would cost more."""
        object.__setattr__(self, "search_id", search_id)
        return self

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, index: int) -> Hit:
        return self.hits[index]

    def as_dict(self) -> dict[str, Any]:
        """The answer as the `--json` output shows it; nothing in it but what JSON can hold."""
        return {
            "search_id": self.search_id,
            "completeness": str(self.completeness),
            "k": self.k,
            "offset": self.offset,
            "returned": len(self.hits),
            "ties_beyond": self.ties_beyond,
            "understood": thaw(self.understood),
            "snapshot": thaw(self.snapshot),
            "model": self.model,
            "ranking": thaw(self.ranking),
            "arms": [asdict(arm) for arm in self.arms],
            "hits": [hit.as_dict() for hit in self.hits],
            "unknown": thaw(self.unknown),
            "notes": list(self.notes),
            "versions": thaw(self.versions),
            "digest": self.digest,
        }

    def explain(self) -> str:
        """In words: what was asked, what each arm did, what is proven, and where each hit's score comes from."""
        from holdstill.explain import explain

        return explain(self)


def _digest(hits: tuple[Hit, ...]) -> str:
    """SHA-256 over ids, ranks and integer scores: two answers with one digest are the same answer."""
    rows = [[hit.id, hit.rank, hit.tied, sorted(hit.ranks.items()), sorted(hit.scores.items())] for hit in hits]
    text = json.dumps(rows, ensure_ascii=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
