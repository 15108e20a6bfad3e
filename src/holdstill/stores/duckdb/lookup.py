"""Documents of one commit: which are live, which a principal may see, and what their columns hold.

A column of numbers has no index: to find ten of a million, DuckDB reads the whole column. By row id it reads next to
nothing. A row id is no promise, though: DuckDB may move rows when it writes its file anew. So it is a guess, and what
is found by it counts only where it is the row that was asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from holdstill.errors import InvariantViolated
from holdstill.predicate import Predicate, to_sql
from holdstill.schema import Schema
from holdstill.stores.base import Rows
from holdstill.stores.duckdb.connection import Connection
from holdstill.stores.duckdb.database import columns
from holdstill.stores.duckdb.index import Index

LIVE = "d.added <= ? AND (d.removed IS NULL OR d.removed > ?)"

Condition = tuple[str, list[object]]  #: an SQL condition on documents `d`, and the values of its question marks


@dataclass(frozen=True, eq=False)
class Lookup:
    """The live documents of one commit; a content goes by its place in the index.

    Attributes:
        connection: the database.
        index: of the commit's generation.
        schema: the fields.
        commit: documents are looked up as of it.
        seen_at: the commit whose fields decide too what a principal may see.
    """

    connection: Connection = field(repr=False)
    index: Index = field(repr=False)
    schema: Schema
    commit: int
    seen_at: int

    @cached_property
    def columns(self) -> dict[str, str]:
        """The column of each field of documents `d`."""
        return columns(self.schema)

    @property
    def live(self) -> Condition:
        """The documents of the commit."""
        return LIVE, [self.commit, self.commit]

    def satisfying(self, predicate: Predicate) -> Condition:
        """Those of them for which a predicate without words is true."""
        sql, values = to_sql(predicate, self.columns.__getitem__)
        return f"{LIVE} AND ({sql})", [self.commit, self.commit, *values]

    def permitted(self, permission: Predicate | None) -> Condition:
        """Those of them that a permission admits, by their fields at the commit and at `seen_at`."""
        if permission is None:
            return self.live
        then, values = self.satisfying(permission)
        if self.seen_at == self.commit:
            return then, values
        now, more = to_sql(permission, self.columns.__getitem__)
        return (
            f"{then} AND d.id IN (SELECT d.id FROM documents d WHERE {LIVE} AND ({now}))",
            [*values, self.seen_at, self.seen_at, *more],
        )

    def found(self, condition: Condition) -> Rows:
        """The contents of the documents for which a condition is true, in no order."""
        sql, values = condition
        found = self.connection.arrays(f"SELECT d.content FROM documents d WHERE {sql}", values)
        return self.index.places(found["content"])

    @cached_property
    def places(self) -> Rows:
        """The row id of each content's live document; -1 where it has none; shape (contents,)."""
        sql, values = self.live
        found = self.connection.arrays(f"SELECT d.content, d.rowid AS place FROM documents d WHERE {sql}", values)
        places = np.full(len(self.index.numbers), -1, dtype=np.int64)
        places[self.index.places(found["content"])] = found["place"]
        return places

    @cached_property
    def later_places(self) -> Rows:
        """The row id, at `seen_at`, of the document that each content is of; -1 where it is not there; as `places`."""
        found = self.connection.arrays(
            f"SELECT d.content, n.place FROM documents d JOIN (SELECT d.id, d.rowid AS place FROM documents d "
            f"WHERE {LIVE}) n ON n.id = d.id WHERE {LIVE}",
            [self.seen_at, self.seen_at, self.commit, self.commit],
        )
        places = np.full(len(self.index.numbers), -1, dtype=np.int64)
        places[self.index.places(found["content"])] = found["place"]
        return places

    def later(self, selected: Sequence[str], ids: Sequence[str], contents: Rows) -> dict[str, tuple[Any, ...]]:
        """Columns of documents `d` at `seen_at`, by id: of those that are there then."""
        select = f"SELECT {', '.join(['d.id', *selected])} FROM documents d WHERE {LIVE} AND d."
        live = [self.seen_at, self.seen_at]
        places = self.later_places[contents].tolist()
        rows = self.connection.rows(f"{select}rowid IN (SELECT unnest(?::BIGINT[]))", [*live, places])
        found = {row[0]: row[1:] for row in rows}
        if not found.keys() >= set(ids):
            rows = self.connection.rows(f"{select}id IN (SELECT unnest(?::VARCHAR[]))", [*live, list(ids)])
            found = {row[0]: row[1:] for row in rows}
        return found

    def documents(self, selected: Sequence[str], contents: Rows) -> dict[int, tuple[Any, ...]]:
        """Columns of the live documents `d` of these contents, by content."""
        numbers = dict(zip(self.index.numbers[contents].tolist(), contents.tolist(), strict=True))
        live, values = self.live
        select = f"SELECT {', '.join(['d.content', *selected])} FROM documents d WHERE {live} AND d."
        for column, sought in (("rowid", self.places[contents].tolist()), ("content", list(numbers))):
            rows = self.connection.rows(f"{select}{column} IN (SELECT unnest(?::BIGINT[]))", [*values, sought])
            found = {numbers[row[0]]: row[1:] for row in rows if row[0] in numbers}
            if len(found) == len(numbers):
                return found
        raise InvariantViolated(
            "the index holds a content that no live document of the database has",
            field="content",
            got=min(number for number, content in numbers.items() if content not in found),
            hint="`holdstill doctor` compares the two",
        )
