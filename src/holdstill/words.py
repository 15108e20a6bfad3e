"""Requirements on words: which passages hold a term or a phrase, decided on postings and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce

import numpy as np

from holdstill.analysis import Analyser, requirement, requirements
from holdstill.errors import InvalidPredicate
from holdstill.predicate.nodes import TextLeaf
from holdstill.stores.base import Mask, Phrase, Postings, Requirement, Rows

_ROW_SHIFT = 32


def of_words(analyser: Analyser, words: str, *, wanted: bool) -> Requirement:
    """A `must` or `must_not`: its words as one phrase.

    Raises:
        holdstill.InvalidPredicate: nothing is left of the words after analysis.
    """
    try:
        return Requirement((tuple(requirement(analyser, words)),), wanted)
    except InvalidPredicate as error:
        error.field = "must" if wanted else "must_not"
        raise


def of_leaf(analyser: Analyser, leaf: TextLeaf) -> tuple[Phrase, ...]:
    """What a `contains` or `phrase` of the filter language asks: every word anywhere, or all of them in a row.

    Raises:
        holdstill.InvalidPredicate: nothing is left of the words after analysis.
    """
    if leaf.kind == "phrase":
        return (tuple(requirement(analyser, leaf.words)),)
    return tuple(tuple(each) for each in requirements(analyser, leaf.words))


def holding(phrases: Iterable[Phrase], postings: Callable[[str], Postings], rows: int) -> list[Mask]:
    """For each phrase, which of the passages hold it; bool (rows,) each."""
    masks = []
    for run in phrases:
        mask = np.zeros(rows, dtype=np.bool_)
        mask[_rows_of(run, postings)] = True
        masks.append(mask)
    return masks


def _rows_of(run: Phrase, postings: Callable[[str], Postings]) -> Rows:
    if len(run) == 1:
        return postings(run[0][0]).rows
    found: list[Rows] = []
    for term, distance in run:
        places = postings(term)
        if not len(places.rows):
            return places.rows
        rows = np.repeat(places.rows, places.frequencies)
        found.append((rows << _ROW_SHIFT) + places.positions - distance)
    return np.unique(reduce(np.intersect1d, sorted(found, key=len)) >> _ROW_SHIFT)


def in_unit(mask: Mask, units: Rows | None) -> Mask:
    """A mask over passages that is true for every passage of a unit where it was true for one.

    Args:
        mask: bool (rows,).
        units: as in `Selection`.
    """
    if units is None or not len(mask):
        return mask
    first = np.flatnonzero(np.diff(units, prepend=units[0] - 1))
    return np.repeat(np.logical_or.reduceat(mask, first), np.diff(np.append(first, len(mask))))


def required(
    demands: Sequence[Requirement], postings: Callable[[str], Postings], units: Rows | None, rows: int
) -> Mask:
    """Which passages belong to units that meet every requirement."""
    allowed = np.ones(rows, dtype=np.bool_)
    for each in demands:
        masks = [in_unit(mask, units) for mask in holding(each.phrases, postings, rows)]
        met = np.logical_and.reduce(masks)
        allowed &= met if each.wanted else ~met
    return allowed
