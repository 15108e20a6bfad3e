"""The fusion of a table, from the source to the result: `fuse`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdstill.errors import InvalidInput
from holdstill.tables.duplication import count_duplicates, refuse
from holdstill.tables.leaders import leaders
from holdstill.tables.lists import Ranked, Scored, joined, joined_length, numbered
from holdstill.tables.ordering import Ids, Rows, best_first, order
from holdstill.tables.request import Duplicates, Request, Ties
from holdstill.tables.result import FusedTable
from holdstill.tables.rrf import Floats, Formula, Ranks
from holdstill.tables.stages import Stage, Watch

if TYPE_CHECKING:
    import os

_MOST = 2**31 - 1  # rows; ranks are kept in 32 bits


def fuse(
    source: str | os.PathLike[str] | Any,
    *,
    id: str,  # noqa: A002 - the name of the option
    ranks: Sequence[str] | Mapping[str, str],
    table: str | None = None,
    rrf_k: int = 60,
    weights: Sequence[int | float | Fraction] | None = None,
    top: int | None = None,
    carry: Sequence[str] = (),
    ties: Ties = "row-number",
    round: int | None = None,  # noqa: A002 - the name of the option
    duplicates: Duplicates = "refuse",
) -> FusedTable:
    """Rank the rows of a table by several expressions, and fuse the ranks.

    score = sum over lists of weight / (K + rank)     Cormack, Clarke, Buettcher, SIGIR 2009, section 2

    A row whose value is null or NaN is absent from that list: its rank is null and adds nothing. A row that is absent
    from all of them is left out. Scores compare as exact fractions; rows of equal score are in the order of their ids.

    Args:
        source: a Parquet, CSV or DuckDB file; a DuckDB connection; an Arrow table, a DataFrame, or a mapping of numpy
            arrays.
        id: the column that names the rows: integers, text or UUIDs, none null.
        ranks: 1 to 64 lists, `"NAME=EXPRESSION desc"` or `asc`, or a mapping from NAME to the rest. DuckDB evaluates
            the expressions: they are SQL, and not for strangers to write.
        table: the table of a database; may be left out if there is just one.
        rrf_k: K, from 1.
        weights: a positive number for each list, in order; 1 if not said. 0.1 is one tenth.
        top: only the first so many rows; all of them if not said.
        carry: columns of the table to hand on.
        ties: `row-number` gives rows of equal value ranks by id; `rank` gives them one rank.
        round: round scores to so many decimals before they order the rows, as some SQL does.
        duplicates: `refuse` ids that stand on several rows, `keep` these rows apart by position, or `join` the lists
            by id as SQL does: an id on 2 rows gives 4.

    Raises:
        holdstill.InvalidQuery: an argument is out of range, or an expression cannot be evaluated.
        holdstill.UnknownField: a column is not there.
        holdstill.DuplicateId: an id stands on several rows.
        holdstill.MalformedInput: a file cannot be read as what its name says.
        holdstill.InvalidInput: no such table, ids that are null or of another type, or what is no table at all.
    """
    from holdstill.tables.source import open_source

    request = Request.of(
        id, ranks, weights, carry, rrf_k=rrf_k, top=top, ties=ties, decimals=round, duplicates=duplicates
    )
    stages: list[Stage] = []
    watch = Watch(stages)
    opened = open_source(source, table)
    with watch.stage("read") as seen:
        values, codes, columns = opened.fetch(request)
        _saw(seen, values, *columns)
    if len(values) > _MOST:
        raise InvalidInput("the table is too long", field="source", expected=f"up to {_MOST} rows", got=len(values))
    fusing = _Fusing(request, Ids(values), codes, watch)
    rows, listed, scores = fusing.run(columns)
    names = [ranked.name for ranked in request.ranks]
    with watch.stage("gather") as seen:
        ids = values[rows]
        masked = {name: _masked(each) for name, each in zip(names, listed, strict=True)}
        _saw(seen, ids, rows, *listed)
    return FusedTable(ids, masked, scores, fusing.total, tuple(fusing.notes), stages, rows, opened, request)


class _Fusing:
    """The steps of one fusion, each measured, and what there is to note."""

    def __init__(self, request: Request, ids: Ids, codes: NDArray[Any], watch: Watch) -> None:
        self._request = request
        self._ids = ids
        self._codes = codes
        self._watch = watch
        self._formula = Formula(request.weights, request.rrf_k)
        self.notes: list[str] = []
        self.total = 0

    def run(self, columns: Sequence[NDArray[Any]]) -> tuple[Rows, list[Ranks], Floats]:
        """The rows in order, their ranks in each list, and their scores."""
        request = self._request
        repeated = self._check_ids()
        lists = [
            Scored.of(column, descending=ranked.descending)
            for column, ranked in zip(columns, request.ranks, strict=True)
        ]
        self._count(lists)
        found = None
        if request.top is not None and request.decimals is None and not repeated:
            with self._watch.stage("leaders") as seen:
                found = leaders(lists, self._formula, self._ids, top=request.top, ties=request.ties)
                seen.rows = 0 if found is None else len(found[0])
        rows, ranks = found or self._rank(lists, repeated=repeated)
        with self._watch.stage("score") as seen:
            scores = self._scores(ranks)
            _saw(seen, scores)
        with self._watch.stage("order") as seen:
            places, scores = self._in_order(rows, ranks, scores)
            places, scores = places[: request.top], scores[: request.top]
            ranks, rows = [each[places] for each in ranks], rows[places]
            _saw(seen, scores, rows, *ranks)
        return rows, ranks, scores

    def _check_ids(self) -> bool:
        """Whether the lists have to be joined because ids stand on several rows."""
        with self._watch.stage("ids") as seen:
            ids, rows = count_duplicates(self._ids, self._codes)
            seen.rows = len(self._ids)
        if not ids:
            return False
        if self._request.duplicates == "refuse":
            raise refuse(self._ids, self._request, ids, rows)
        self.notes.append(f"{ids} {'id stands' if ids == 1 else 'ids stand'} on {rows} rows in all")
        return self._request.duplicates == "join"

    def _count(self, lists: Sequence[Scored]) -> None:
        total = len(self._ids)
        if all(scored.present is not None for scored in lists):
            masks = [scored.present for scored in lists if scored.present is not None]
            total = int(np.count_nonzero(np.logical_or.reduce(masks)))
        missing = len(self._ids) - total
        if missing:
            self.notes.append(
                "1 row has a value in no list, and is left out"
                if missing == 1
                else f"{missing} rows have a value in no list, and are left out"
            )
        self.total = total

    def _rank(self, lists: Sequence[Scored], *, repeated: bool) -> tuple[Rows, list[Ranks]]:
        ranked = []
        for scored, spec in zip(lists, self._request.ranks, strict=True):
            with self._watch.stage(f"rank {spec.name}") as seen:
                ranked.append(scored.rank(self._ids, self._request.ties))
                _saw(seen, ranked[-1].rows, ranked[-1].ranks)
        with self._watch.stage("join") as seen:
            if repeated:
                rows, ranks = self._joined(ranked)
            else:
                rows, ranks = numbered(ranked, len(self._ids))
            _saw(seen, rows, *ranks)
        return rows, ranks

    def _joined(self, ranked: list[Ranked]) -> tuple[Rows, list[Ranks]]:
        groups = np.unique(self._ids.values, return_inverse=True)[1].astype(np.int64)
        length = joined_length(ranked, groups)
        if length > _MOST:
            raise InvalidInput(
                f"joined by id the rows would be {length:.0f}",
                field="duplicates",
                expected=f"up to {_MOST} rows",
                hint="`keep` keeps the rows apart",
            )
        rows, ranks = joined(ranked, groups, len(self._ids))
        self.notes.append(f"joined by id, as SQL does: {self.total} rows became {len(rows)}")
        self.total = len(rows)
        return rows, ranks

    def _scores(self, ranks: Sequence[Ranks]) -> Floats:
        decimals = self._request.decimals
        return self._formula.scores(ranks) if decimals is None else self._formula.as_sql_rounds(ranks, decimals)

    def _in_order(self, rows: Rows, ranks: Sequence[Ranks], scores: Floats) -> tuple[Rows, Floats]:
        """The places of these rows by score, then by id, then by position; and the scores there."""
        if not len(scores):
            return np.empty(0, np.int64), scores
        places = order(best_first(scores), rows, self._ids)
        scores = scores[places]
        if self._request.decimals is None:
            _settle(places, scores, ranks, self._formula)
        return places, scores


def _settle(places: Rows, scores: Floats, ranks: Sequence[Ranks], formula: Formula) -> None:
    """Put rows whose scores differ by less than floats can tell into their exact order, in place.

    Equal scores are in the order of ids, and stay so.
    """
    equal = np.flatnonzero(scores[1:] == scores[:-1])
    unlike = equal[~formula.alike(ranks, places[equal], places[equal + 1])]
    if not len(unlike):
        return
    members = np.flatnonzero(np.isin(scores, scores[unlike]))
    among = places[members]
    levels = formula.levels([each[among] for each in ranks])
    places[members] = among[np.argsort(levels, kind="stable")]


def _masked(ranks: Ranks) -> np.ma.MaskedArray[Any, np.dtype[np.int32]]:
    absent = ranks == 0
    return np.ma.MaskedArray(ranks, mask=absent if absent.any() else np.ma.nomask)


def _saw(stage: Stage, *arrays: NDArray[Any]) -> None:
    stage.rows = len(arrays[0])
    stage.bytes = sum(array.nbytes for array in arrays)
