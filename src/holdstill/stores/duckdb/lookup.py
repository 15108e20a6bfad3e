"""Rows of the database by number: looked for where they were stored, and, should one not be there, everywhere.

A column of numbers has no index: to find ten of a million, DuckDB reads the whole column. By row id it reads next to
nothing. A row id is no promise, though: DuckDB may move rows when it writes its file anew. So it is a guess, and what
is found by it counts only where it is the row that was asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    """The rows of one commit, by number.

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
        return self._find(select, "content", places, self.live)

    def titles(self, contents: Rows) -> dict[int, str]:
        """The title of each content."""
        found = self._find("SELECT c.content, c.title FROM contents c WHERE c.", "content", _appended(contents))
        return {content: title for content, (title,) in found.items()}

    def passages(self, columns: str, rows: Rows) -> dict[int, tuple[Any, ...]]:
        """Columns of the passages `p`, by passage row."""
        return self._find(f"SELECT p.passage, {columns} FROM passages p WHERE p.", "passage", _appended(rows))

    def _find(
        self, select: str, number: str, places: Mapping[int, int], values: Sequence[object] = ()
    ) -> dict[int, tuple[Any, ...]]:
        """What the statement, which ends before a column's name, selects of each number; `places` has their row ids."""
        for column, sought in (("rowid", list(places.values())), (number, list(places))):
            rows = self.connection.rows(f"{select}{column} IN (SELECT unnest(?::BIGINT[]))", [*values, sought])
            found = {row[0]: row[1:] for row in rows if row[0] in places}
            if len(found) == len(places):
                return found
        raise InvariantViolated(
            f"the index holds a {number} that the database lacks",
            field=number,
            got=min(places.keys() - found.keys()),
            hint="`holdstill doctor` compares the two",
        )


def _appended(numbers: Rows) -> dict[int, int]:
    """The row ids of what is numbered as it was appended, and never removed."""
    return {number: number for number in numbers.tolist()}
