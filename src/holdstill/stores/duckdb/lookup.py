"""Documents by content number: looked for where they were stored, and, should one not be there, everywhere.

A column of numbers has no index: to find ten of a million, DuckDB reads the whole column. By row id it reads next to
nothing. A row id is no promise, though: DuckDB may move rows when it writes its file anew. So it is a guess, and what
is found by it counts only where it is the row that was asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from holdstill.errors import InvariantViolated
from holdstill.stores.base import Rows
from holdstill.stores.duckdb.connection import Connection

LIVE = "d.added <= ? AND (d.removed IS NULL OR d.removed > ?)"


@dataclass(frozen=True, eq=False)
class Lookup:
    """The live documents of one commit.

    Attributes:
        connection: the database.
        commit: documents are looked up as of it.
        contents: how many contents the commit's index knows.
    """

    connection: Connection = field(repr=False)
    commit: int
    contents: int

    @cached_property
    def places(self) -> Rows:
        """The row id of each content's live document; -1 where it has none; shape (contents,)."""
        found = self.connection.arrays(f"SELECT d.content, d.rowid AS place FROM documents d WHERE {LIVE}", self.live)
        places = np.full(self.contents, -1, dtype=np.int64)
        places[found["content"]] = found["place"]
        return places

    @property
    def live(self) -> list[object]:
        """The values of `LIVE`."""
        return [self.commit, self.commit]

    def documents(self, columns: str, contents: Rows) -> dict[int, tuple[Any, ...]]:
        """Columns of the live documents `d` of these contents, by content."""
        places = dict(zip(contents.tolist(), self.places[contents].tolist(), strict=True))
        select = f"SELECT d.content, {columns} FROM documents d WHERE {LIVE} AND d."
        for column, sought in (("rowid", list(places.values())), ("content", list(places))):
            rows = self.connection.rows(f"{select}{column} IN (SELECT unnest(?::BIGINT[]))", [*self.live, sought])
            found = {row[0]: row[1:] for row in rows if row[0] in places}
            if len(found) == len(places):
                return found
        raise InvariantViolated(
            "the index holds a content that no live document of the database has",
            field="content",
            got=min(places.keys() - found.keys()),
            hint="`holdstill doctor` compares the two",
        )
