"""`V` and `E` of a search over one commit: fields answered by the database, words by the index."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from holdstill.predicate import Predicate, Truth, split, to_sql
from holdstill.predicate.nodes import TextLeaf
from holdstill.query import Unit
from holdstill.stores.base import Generation, Mask, Requirement, Rows, Selection, count_units
from holdstill.stores.duckdb.lookup import Condition, Lookup
from holdstill.words import holding, in_unit, of_leaf, required

_KEPT = 16  #: how many permissions' `V`, and how many filters' answers, a snapshot keeps; each takes a byte a passage


class Visible(NamedTuple):
    """`V`, and what BM25 has to know of it."""

    mask: Mask
    passages: int
    terms: int


class Selector:
    """Answers constraints over one commit.

    Immutable but for what it keeps, which nobody's asking changes: `V` under its permission, where a filter is true or
    unknown, and where a field is null.
    """

    def __init__(self, lookup: Lookup, generation: Generation) -> None:
        self._documents = Documents(lookup)
        self._index = lookup.index
        self._generation = generation
        self._visible = lru_cache(_KEPT)(self._documents.visible)
        self._true = lru_cache(_KEPT)(self._documents.satisfying)
        self._undecided = lru_cache(_KEPT)(self._documents.unknown)
        self._null = lru_cache(None)(self._documents.null)

    def select(
        self, permission: Predicate | None, where: Predicate | None, requirements: Sequence[Requirement], by: Unit
    ) -> Selection:
        """See `holdstill.stores.base.Snapshot.select`."""
        visible = self._visible(permission)
        eligible, unknown = visible.mask, {}
        units = None if by == "passage" or self._index.single else self._index.contents
        if where is not None:
            truth = self._truth(where, units)
            eligible = eligible & truth.true
            unknown = {name: self._count(visible.mask & truth.unknown & self._null(name)) for name in where.fields()}
        if requirements:
            eligible = eligible & required(requirements, self._index.postings, units, self._index.rows)
        eligible.flags.writeable = False
        return Selection(visible.mask, eligible, units, unknown, visible.passages, visible.terms)

    def _truth(self, where: Predicate, units: Rows | None) -> Truth:
        """The answer for each passage, live or not."""
        plan = split(where)
        fields = [Truth(self._true(part), self._unknown(part)) for part in plan.fields]
        return plan.combine(fields, [self._holds(leaf, units) for leaf in plan.texts])

    def _unknown(self, part: Predicate) -> Mask:
        """Where a part without words is unknown: nowhere but where a field that it names is null."""
        if any(self._null(name).any() for name in part.fields()):
            return self._undecided(part)
        return np.zeros(self._index.rows, dtype=np.bool_)

    def _holds(self, leaf: TextLeaf, units: Rows | None) -> Mask:
        phrases = of_leaf(self._generation.words, leaf)
        masks = [in_unit(mask, units) for mask in holding(phrases, self._index.postings, self._index.rows)]
        met: Mask = np.logical_and.reduce(masks)
        return met

    def _count(self, mask: Mask) -> int:
        return count_units(mask, None if self._index.single else self._index.contents)


class Documents:
    """What the database says of documents live at one commit, as masks over their passages."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._index = lookup.index

    def visible(self, permission: Predicate | None) -> Visible:
        """What the permission admits."""
        if permission is None:
            mask = self._spread(np.flatnonzero(self._lookup.places >= 0))
        else:
            mask = self._where(self._lookup.permitted(permission))
        terms = np.sum(self._index.lengths, where=mask, dtype=np.int64)
        return Visible(mask, int(np.count_nonzero(mask)), int(terms))

    def satisfying(self, predicate: Predicate) -> Mask:
        """Where a predicate without words is true."""
        return self._where(self._lookup.satisfying(predicate))

    def unknown(self, predicate: Predicate) -> Mask:
        """Where a predicate without words is unknown."""
        live, bound = self._lookup.live
        sql, values = to_sql(predicate, self._lookup.columns.__getitem__)
        nulls = " OR ".join(f"{self._lookup.columns[name]} IS NULL" for name in predicate.fields())
        # What is null nowhere need not be evaluated.
        return self._where((f"{live} AND ({nulls}) AND ({sql}) IS NULL", [*bound, *values]))

    def null(self, name: str) -> Mask:
        """Where the field has no value."""
        live, bound = self._lookup.live
        return self._where((f"{live} AND {self._lookup.columns[name]} IS NULL", bound))

    def _where(self, condition: Condition) -> Mask:
        return self._spread(self._lookup.found(condition))

    def _spread(self, contents: Rows) -> Mask:
        mask = self._index.spread(contents)
        mask.flags.writeable = False  # kept, and given to many searches
        return mask
