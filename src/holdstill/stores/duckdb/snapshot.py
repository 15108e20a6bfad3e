"""Reading one commit of a DuckDB collection."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdstill.frozen import FrozenDict
from holdstill.policy import Policy
from holdstill.predicate import Predicate
from holdstill.query import Unit
from holdstill.ranking.dense import Block
from holdstill.schema import Schema
from holdstill.stores.base import (
    Existing,
    Generation,
    Postings,
    PreparedDocument,
    Requirement,
    Rows,
    Selection,
    StoredDocument,
)
from holdstill.stores.duckdb import copying
from holdstill.stores.duckdb.connection import Connection
from holdstill.stores.duckdb.index import Index
from holdstill.stores.duckdb.lookup import Lookup
from holdstill.stores.duckdb.rows import from_column
from holdstill.stores.duckdb.selecting import Selector


@dataclass(frozen=True, eq=False)
class DuckDBSnapshot:
    """One commit: documents from the database at that commit; passages, terms and vectors from the index."""

    commit: int
    seen_at: int
    generation: Generation
    schema: Schema
    policy: Policy | None
    policy_version: int | None
    index: Index = field(repr=False)
    connection: Connection = field(repr=False)

    @cached_property
    def _lookup(self) -> Lookup:
        return Lookup(self.connection, self.index, self.schema, self.commit, self.seen_at)

    @cached_property
    def _selector(self) -> Selector:
        return Selector(self._lookup, self.generation)

    # -- constraints -----------------------------------------------------------------------------

    def select(
        self,
        permission: Predicate | None,
        where: Predicate | None = None,
        requirements: Sequence[Requirement] = (),
        by: Unit = "passage",
    ) -> Selection:
        """See `holdstill.stores.base.Snapshot.select`."""
        return self._selector.select(permission, where, requirements, by)

    # -- terms and vectors -----------------------------------------------------------------------

    def postings(self, term: str) -> Postings:
        """See `holdstill.stores.base.Snapshot.postings`."""
        return self.index.postings(term)

    def lengths(self) -> NDArray[np.int32]:
        """See `holdstill.stores.base.Snapshot.lengths`."""
        return self.index.lengths

    def vectors(self) -> Iterable[Block]:
        """See `holdstill.stores.base.Snapshot.vectors`."""
        return self.index.vectors()

    # -- rows ------------------------------------------------------------------------------------

    def keys(self, rows: Rows) -> list[tuple[str, int]]:
        """See `holdstill.stores.base.Snapshot.keys`."""
        contents = self.index.contents[rows]
        ids = self._lookup.documents(["d.id"], contents)
        ordinals = (rows - self.index.starts[contents]).tolist()
        return [(ids[content][0], ordinal) for content, ordinal in zip(contents.tolist(), ordinals, strict=True)]

    def ordered(self, rows: Rows, order_by: tuple[str, bool] | None) -> Rows:
        """See `holdstill.stores.base.Snapshot.ordered`."""
        first = ""
        if order_by is not None:
            first = f"{self._lookup.columns[order_by[0]]} {'DESC' if order_by[1] else 'ASC'} NULLS LAST, "
        live, values = self._lookup.live
        found = self._lookup.found((f"{live} ORDER BY {first}d.id", values))
        place = np.zeros(len(self.index.numbers), dtype=np.int64)
        place[found] = np.arange(len(found))
        return rows[np.lexsort((rows, place[self.index.contents[rows]]))]

    def ids(self, rows: Rows) -> list[str]:
        """See `holdstill.stores.base.Snapshot.ids`."""
        return sorted({id_ for id_, _ in self.keys(rows)})

    def fetch(self, rows: Rows) -> list[StoredDocument]:
        """See `holdstill.stores.base.Snapshot.fetch`."""
        contents = self.index.contents[rows]
        fields = self._lookup.columns
        documents = self._lookup.documents(["d.id", "d.metadata", "d.added", *fields.values()], contents)
        fetched = []
        for row, content in zip(rows.tolist(), contents.tolist(), strict=True):
            id_, metadata, added, *stored = documents[content]
            values = dict(zip(fields, map(from_column, stored), strict=True))
            title, passage = self.index.passage(row)
            fetched.append(StoredDocument(id_, title, values, _outside(metadata, fields), (passage,), added))
        return fetched

    def document(self, id: str, permission: Predicate | None) -> StoredDocument | None:  # noqa: A002
        """See `holdstill.stores.base.Snapshot.document`."""
        allowed, values = self._lookup.permitted(permission)
        found = self._lookup.found((f"{allowed} AND d.id = ?", [*values, id])).tolist()
        if not found:
            return None
        (content,) = found
        parts = self.fetch(np.arange(*self.index.starts[content : content + 2]))
        return replace(parts[0], passages=tuple(passage for part in parts for passage in part.passages))

    def seen(self, rows: Rows, ids: Sequence[str]) -> list[Mapping[str, Any] | None]:
        """See `holdstill.stores.base.Snapshot.seen`."""
        columns = self._lookup.columns
        found = self._lookup.later(list(columns.values()), ids, self.index.contents[rows])
        return [dict(zip(columns, map(from_column, found[id_]), strict=True)) if id_ in found else None for id_ in ids]

    # -- for writing -----------------------------------------------------------------------------

    def documents(self) -> Iterator[PreparedDocument]:
        """See `holdstill.stores.base.Snapshot.documents`."""
        return copying.documents(self._lookup, self.generation)

    def existing(self, ids: Sequence[str]) -> dict[str, Existing]:
        """See `holdstill.stores.base.Snapshot.existing`."""
        live, values = self._lookup.live
        selected = ", ".join(["d.id", "c.digest", "d.metadata", *self._lookup.columns.values()])
        rows = self.connection.rows(
            f"SELECT {selected} FROM documents d JOIN contents c USING (content) "
            f"WHERE {live} AND d.id IN (SELECT unnest(?::VARCHAR[]))",
            [*values, list(ids)],
        )
        return {
            id_: Existing(digest, tuple(from_column(value) for value in stored), metadata)
            for id_, digest, metadata, *stored in rows
        }

    def known_vectors(self, model: str, sources: Sequence[bytes]) -> dict[bytes, NDArray[np.int16]]:
        """See `holdstill.stores.base.Snapshot.known_vectors`."""
        rows = self.connection.rows(
            "SELECT source, min(vector) FROM passages WHERE source IN (SELECT unnest(?::BLOB[])) "
            "AND generation IN (SELECT generation FROM generations WHERE model = ?) GROUP BY source",
            [list(sources), model],
        )
        return {source: np.frombuffer(vector, dtype="<i2").astype(np.int16) for source, vector in rows}


def _outside(metadata: str, names: Container[str]) -> Mapping[str, Any]:
    """What was stored beside the fields; a key that has become a field since is the field's to answer."""
    stored: dict[str, Any] = json.loads(metadata)
    return FrozenDict({key: value for key, value in stored.items() if key not in names})
