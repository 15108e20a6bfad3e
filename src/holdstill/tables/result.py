"""What a fusion gives: `FusedTable`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdstill.tables.ordering import Rows
from holdstill.tables.request import SCORE, Request
from holdstill.tables.stages import Stage, Watch

if TYPE_CHECKING:
    import duckdb

    from holdstill.tables.source import Source


@dataclass(frozen=True, slots=True, eq=False)
class FusedTable:
    """The fused rows, best first: by score descending, then by id ascending.

    Attributes:
        ids: shape (n,); integers, or Python strings.
        ranks: for each list its ranks, from 1, shape (n,), masked where a row is absent from the list.
        scores: shape (n,), float64: each the float nearest to the exact score, or rounded as was asked.
        total: how many rows the whole result has, of which these are the first.
        notes: what else the reader should know: rows that no list ranks, ids that stand on several rows.
        stages: what each stage took; they say nothing about the result.
    """

    ids: NDArray[Any]
    ranks: Mapping[str, np.ma.MaskedArray[Any, np.dtype[np.int32]]]
    scores: NDArray[np.float64]
    total: int
    notes: tuple[str, ...]
    stages: list[Stage]
    _rows: Rows = field(repr=False)
    _source: Source = field(repr=False)
    _request: Request = field(repr=False)

    def __len__(self) -> int:
        return len(self.ids)

    def relation(self, limit: int | None = None) -> duckdb.DuckDBPyRelation:
        """The rows, or the first of them, as a DuckDB relation: id, carried columns, ranks, score, in order.

        It converts to a DataFrame or an Arrow table by `.df()`, `.pl()`, `.to_arrow_table()`. Carried columns are
        fetched here, for these rows alone.

        Raises:
            holdstill.InvalidInput: the table gives its rows in another order each time it is read, and ids that stand
                on several rows were to be kept apart by position.
        """
        first = slice(limit)
        columns: dict[str, NDArray[Any]] = {
            f"rank_{at}": np.ma.filled(ranks[first], 0) for at, ranks in enumerate(self.ranks.values())
        }
        columns |= {"id": self.ids[first], "position": self._rows[first], "score": self.scores[first]}
        unique = self._request.duplicates == "refuse"
        return self._source.relation(columns, self._request, unique=unique)

    def rows(self, limit: int | None = None) -> list[dict[str, Any]]:
        """The rows, or the first of them, as dictionaries; an absent rank is None."""
        relation = self.relation(limit)
        return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of `relation` and `rows`."""
        return (self._request.id, *self._request.carry, *self.ranks, SCORE)

    def write(self, path: str | Path) -> None:
        """Write all rows to a `.parquet` or `.csv` file, whole or not at all.

        Raises:
            holdstill.InvalidInput: another kind of file, or the one that was read.
            holdstill.NotWritable: it cannot be written.
        """
        from holdstill.tables.source import write

        with Watch(self.stages).stage("write") as seen:
            seen.bytes = write(self.relation(), Path(path), self._source)
            seen.rows = len(self)
