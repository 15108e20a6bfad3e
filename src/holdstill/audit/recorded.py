"""A search as the log has it: what it tells a reader, and what is needed to make its answer again."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any

import numpy as np

from holdstill.audit.conditions import Conditions, Vector
from holdstill.audit.log import Records
from holdstill.frozen import freeze, thaw
from holdstill.predicate import Predicate, parse
from holdstill.query import Query, Settings
from holdstill.schema import Schema


@dataclass(frozen=True, slots=True)
class RecordedSearch:
    """A search as the log has it.

    Attributes:
        record: all that was kept, by name; docs/log.md says what each is.
    """

    record: Mapping[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "record", freeze(self.record))

    @property
    def search_id(self) -> str:
        """Its id."""
        return str(self.record["search_id"])

    @property
    def time(self) -> datetime:
        """When it was made, UTC."""
        return datetime.fromisoformat(self.record["time"])

    @property
    def commit(self) -> int:
        """The commit that was searched."""
        return int(self.record["snapshot"]["commit"])

    @property
    def kept(self) -> bool:
        """Whether it is known what was asked."""
        return self.record["query"] is not None

    @property
    def text(self) -> str | None:
        """The question; None where it had no text, or what was asked was not kept."""
        return self.record["query"]["text"] if self.kept else None

    @property
    def hits(self) -> int:
        """How many hits were returned."""
        return len(self.record["hits"])

    @property
    def purged(self) -> bool:
        """Whether a document was purged that was among its hits."""
        return any(hit.get("purged") for hit in self.record["hits"])

    def as_dict(self) -> dict[str, Any]:
        """All that was kept, as the `--json` output shows it."""
        return dict(thaw(self.record))


class RecordedSearches:
    """The searches of a log, the oldest first; read from its files while they are gone through."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def __iter__(self) -> Iterator[RecordedSearch]:
        return map(RecordedSearch, self._records)

    @property
    def damaged(self) -> int:
        """How many lines could not be read so far; a process that was killed may leave one."""
        return self._records.damaged


def conditions_of(search: RecordedSearch, schema: Schema) -> Conditions:
    """What the search depended on, so that it can be made again; what was asked must have been kept.

    Args:
        search: as recorded.
        schema: the newest one, which has every field that there ever was.

    Raises:
        holdstill.InvalidInput: a predicate or setting in it cannot be read.
        ValueError, KeyError, TypeError: the record is damaged.
    """
    record = search.record
    vector = _vector(record["query"]["vector"])
    return Conditions(
        query=_query(record, vector),
        vectors={} if vector is None else {record["model"]: vector},
        commit=search.commit,
        seen_at=record["seen_at"],
        permission=_predicate(record["permission"], schema),
    )


def _query(record: Mapping[str, Any], vector: Vector | None) -> Query:
    """The query as it was understood: what its syntax said was read then, and is plain now."""
    asked, settings = record["query"], record["settings"]
    return Query(
        text=asked["text"],
        # It makes an answer without a text a ranked one; what is compared is the grid vector itself.
        vector=vector.astype(np.float64) if vector is not None and asked["text"] is None else None,
        where=None if asked["where"] is None else parse(asked["where"]),
        must=asked["must"],
        must_not=asked["must_not"],
        k=record["k"],
        offset=record["offset"],
        arms=tuple(arm["arm"] for arm in record["arms"]) or None,
        by=record["by"],
        order_by=None if record["order_by"] is None else tuple(record["order_by"]),
        settings=Settings(
            rrf_k=settings["rrf_k"],
            weights={arm: Fraction(weight) for arm, weight in settings["weights"].items()},
            depth=settings["depth"],
        ),
    )


def _predicate(text: str | None, schema: Schema) -> Predicate | None:
    return None if text is None else parse(text).check(schema)


def _vector(encoded: str | None) -> Vector | None:
    return None if encoded is None else np.frombuffer(base64.b64decode(encoded), dtype="<i2").astype(np.int16)
