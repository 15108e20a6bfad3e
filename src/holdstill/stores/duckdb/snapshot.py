"""Reading one commit of a DuckDB collection."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdstill.analysis import analyser
from holdstill.frozen import FrozenDict
from holdstill.policy import Policy
from holdstill.predicate import Predicate, Truth, split, to_sql
from holdstill.query import Unit
from holdstill.ranking.dense import Block
from holdstill.schema import Schema
from holdstill.stores.base import (
    Existing,
    Generation,
    Mask,
    Postings,
    Requirement,
    Rows,
    Selection,
    StoredDocument,
    StoredPassage,
)
from holdstill.stores.duckdb.connection import Connection
from holdstill.stores.duckdb.database import column
from holdstill.stores.duckdb.index import Index
from holdstill.stores.duckdb.rows import from_column
from holdstill.words import holding, in_unit, of_leaf, required

_LIVE = "d.added <= ? AND (d.removed IS NULL OR d.removed > ?)"


@dataclass(frozen=True, eq=False)
class DuckDBSnapshot:
    """One commit: rows from the database at that commit, terms and vectors from the index."""

    commit: int
    generation: Generation
    schema: Schema
    policy: Policy | None
    policy_version: int | None
    index: Index = field(repr=False)
    connection: Connection = field(repr=False)

    # -- constraints -----------------------------------------------------------------------------

    def select(
        self,
        permission: Predicate | None,
        where: Predicate | None = None,
        requirements: Sequence[Requirement] = (),
        by: Unit = "passage",
    ) -> Selection:
        """See `holdstill.stores.base.Snapshot.select`."""
        units = self.index.contents if by == "document" else np.arange(self.index.rows)
        named = where.fields() if where is not None else ()
        plan = split(where) if where is not None else None
        compiled = [to_sql(part, self._column) for part in (plan.fields if plan else ())]
        nulls = [f"{self._column(name)} IS NULL" for name in named]
        contents, answers = self._contents(permission, [*compiled, *((null, []) for null in nulls)])
        visible_contents = np.zeros(len(self.index.starts) - 1, dtype=np.bool_)
        visible_contents[contents] = True
        visible = visible_contents[self.index.contents]
        if plan is None:
            truth = Truth(visible, np.zeros_like(visible))
        else:
            fields = [self._spread(contents, answer) for answer in answers[: len(compiled)]]
            texts = [self._holds(leaf, units) for leaf in plan.texts]
            truth = plan.combine(fields, texts)
        unknown = {
            name: self._unknown(visible & truth.unknown, self._spread(contents, null).true)
            for name, null in zip(named, answers[len(compiled) :], strict=True)
        }
        eligible = visible & truth.true & required(requirements, self.index.postings, units, self.index.rows)
        return Selection(visible, eligible, units, unknown)

    def _contents(
        self, permission: Predicate | None, expressions: Sequence[tuple[str, Sequence[object]]]
    ) -> tuple[Rows, list[np.ma.MaskedArray[Any, Any]]]:
        """The contents of the documents that may be seen, and each three-valued expression over them."""
        allowed, allowed_values = ("true", []) if permission is None else to_sql(permission, self._column)
        selected = "".join(f", ({sql}) AS e{number}" for number, (sql, _) in enumerate(expressions))
        values = [value for _, each in expressions for value in each]
        found = self._numpy(
            f"SELECT d.content{selected} FROM documents d WHERE {_LIVE} AND ({allowed})",
            [*values, self.commit, self.commit, *allowed_values],
        )
        answers = [np.ma.asarray(found[f"e{number}"]) for number in range(len(expressions))]
        return np.asarray(found["content"], dtype=np.int64), answers

    def _spread(self, contents: Rows, answer: np.ma.MaskedArray[Any, Any]) -> Truth:
        """A three-valued answer per content, over passages."""
        true = np.zeros(len(self.index.starts) - 1, dtype=np.bool_)
        unknown = np.zeros_like(true)
        known = ~np.ma.getmaskarray(answer)
        true[contents] = known & np.asarray(answer.filled(False), dtype=np.bool_)
        unknown[contents] = ~known
        return Truth(true[self.index.contents], unknown[self.index.contents])

    def _holds(self, leaf: Any, units: Rows) -> Mask:
        phrases = of_leaf(analyser(self.generation.analyser), leaf)
        masks = [in_unit(mask, units) for mask in holding(phrases, self.index.postings, self.index.rows)]
        met: Mask = np.logical_and.reduce(masks)
        return met

    def _unknown(self, unknown: Mask, null: Mask) -> int:
        return len(np.unique(self.index.contents[unknown & null]))

    def _column(self, name: str) -> str:
        return "d." + column(list(self.schema.types()).index(name))

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
        ids = dict(
            self._rows(
                f"SELECT d.content, d.id FROM documents d WHERE {_LIVE} AND d.content IN (SELECT unnest(?::BIGINT[]))",
                [self.commit, self.commit, np.unique(contents).tolist()],
            )
        )
        ordinals = rows - self.index.starts[contents]
        return [(ids[content], ordinal) for content, ordinal in zip(contents.tolist(), ordinals.tolist(), strict=True)]

    def ordered(self, rows: Rows, order_by: tuple[str, bool] | None) -> Rows:
        """See `holdstill.stores.base.Snapshot.ordered`."""
        first = ""
        if order_by is not None:
            first = f"{self._column(order_by[0])} {'DESC' if order_by[1] else 'ASC'} NULLS LAST, "
        found = self._numpy(
            f"SELECT d.content FROM documents d WHERE {_LIVE} ORDER BY {first}d.id",
            [self.commit, self.commit],
        )
        place = np.zeros(len(self.index.starts) - 1, dtype=np.int64)
        contents = np.asarray(found["content"], dtype=np.int64)
        place[contents] = np.arange(len(contents))
        return rows[np.lexsort((rows, place[self.index.contents[rows]]))]

    def ids(self, rows: Rows) -> list[str]:
        """See `holdstill.stores.base.Snapshot.ids`."""
        starts = self.index.starts[np.unique(self.index.contents[rows])]
        return sorted(id_ for id_, _ in self.keys(starts))

    def fetch(self, rows: Rows) -> list[StoredDocument]:
        """See `holdstill.stores.base.Snapshot.fetch`."""
        by_row = dict(self._documents("p.passage IN (SELECT unnest(?::BIGINT[]))", [rows.tolist()]))
        return [by_row[row] for row in rows.tolist()]

    def document(self, id: str, permission: Predicate | None) -> StoredDocument | None:  # noqa: A002
        """See `holdstill.stores.base.Snapshot.document`."""
        allowed, values = ("true", []) if permission is None else to_sql(permission, self._column)
        found = [document for _, document in self._documents(f"d.id = ? AND ({allowed})", [id, *values])]
        if not found:
            return None
        first = found[0]
        passages = tuple(passage for document in found for passage in document.passages)
        return StoredDocument(first.id, first.title, first.fields, first.metadata, passages, first.added)

    def _documents(self, condition: str, values: Sequence[object]) -> list[tuple[int, StoredDocument]]:
        """For each passage row that fits the condition, in order, its document with that passage alone."""
        names = list(self.schema.types())
        columns = "".join(f", d.{column(position)}" for position in range(len(names)))
        rows = self._rows(
            "SELECT d.id, c.title, d.metadata, d.added, p.passage, p.ordinal, p.headings, p.first_page, p.last_page, "
            f"p.text{columns} FROM documents d JOIN contents c USING (content) JOIN passages p USING (content) "
            f"WHERE {_LIVE} AND {condition} ORDER BY p.passage",
            [self.commit, self.commit, *values],
        )
        documents = []
        for id_, title, metadata, added, row, ordinal, headings, first, last, text, *stored in rows:
            fields = {name: from_column(value) for name, value in zip(names, stored, strict=True)}
            pages = None if first is None else (first, last)
            passage = StoredPassage(ordinal, tuple(headings), pages, text)
            documents.append((row, StoredDocument(id_, title, fields, _outside(metadata, names), (passage,), added)))
        return documents

    # -- for writing -----------------------------------------------------------------------------

    def existing(self, ids: Sequence[str]) -> dict[str, Existing]:
        """See `holdstill.stores.base.Snapshot.existing`."""
        columns = "".join(f", d.{column(position)}" for position in range(len(self.schema)))
        rows = self._rows(
            f"SELECT d.id, c.digest, d.metadata{columns} FROM documents d JOIN contents c USING (content) "
            f"WHERE {_LIVE} AND d.id IN (SELECT unnest(?::VARCHAR[]))",
            [self.commit, self.commit, list(ids)],
        )
        return {
            id_: Existing(digest, tuple(from_column(value) for value in values), metadata)
            for id_, digest, metadata, *values in rows
        }

    def known_vectors(self, sources: Sequence[bytes]) -> dict[bytes, NDArray[np.int16]]:
        """See `holdstill.stores.base.Snapshot.known_vectors`."""
        rows = self._rows(
            "SELECT source, min(vector) FROM passages WHERE model = ? AND source IN (SELECT unnest(?::BLOB[])) "
            "GROUP BY source",
            [self.generation.model, list(sources)],
        )
        return {source: np.frombuffer(vector, dtype="<i2").astype(np.int16) for source, vector in rows}

    def _rows(self, sql: str, values: Sequence[object]) -> list[Any]:
        with self.connection.reading() as cursor:
            return cursor.execute(sql, values).fetchall()

    def _numpy(self, sql: str, values: Sequence[object]) -> dict[str, Any]:
        with self.connection.reading() as cursor:
            return cursor.execute(sql, values).fetchnumpy()


def _outside(metadata: str, names: Sequence[str]) -> Mapping[str, Any]:
    """What was stored beside the fields; a key that has become a field since is the field's to answer."""
    stored: dict[str, Any] = json.loads(metadata)
    return FrozenDict({key: value for key, value in stored.items() if key not in names})
