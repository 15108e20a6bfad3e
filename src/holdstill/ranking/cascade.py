"""The first of all eligible vectors, without reading most of them: bounds that prune, then exact scores.

1. For every eligible row, an upper bound of its score from its codes.
2. The rows of the best bounds are scored exactly; the depth-th of those scores is a floor that the depth-th of all
   reaches.
3. The rows whose bounds reach the floor are scored exactly.

Whatever scores at least as high as the depth-th of all has a bound at or above the floor, so the result is that of
scoring every row, ties included. The bounds are Cauchy-Schwarz, with all rounding accounted for in docs/exactness.md.
The nearest work is "ADSampling" (arXiv 2303.09855) and "PDX" (arXiv 2503.04422); their bounds are probable, these
always hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdstill.ranking import compiled, dense
from holdstill.ranking.codes import STEPS, Codes, longest, no_less, project, projection_error
from holdstill.ranking.dense import Block
from holdstill.ranking.ranks import top

DIRECT = 3_000  #: eligible rows up to which all are scored exactly

_POOL = 4  # times the depth: how many of the best bounds are scored for the floor
_SCATTER = 2  # below one eligible row in so many, picking rows is quicker than reading all
_QUERY_STEPS = 2**15 - 1
_ROUNDING = 2.0**11  # float32 roundings in one bound, in units of the score

Rows = NDArray[np.int64]
Scores = NDArray[np.int64]


def nearest(
    blocks: Iterable[Block], query: NDArray[np.int16], eligible: NDArray[np.bool_], depth: int
) -> tuple[Rows, Scores]:
    """The first `depth` eligible rows by dot product, and whatever ties with the last of them.

    Args:
        blocks: every stretch of rows, in ascending order.
        query: a grid vector, shape (d,).
        eligible: which rows may be taken, shape (n,).
        depth: from 1.

    Returns:
        The rows, ascending, and their scores in 2^-30 units of cosine: those that `ranks.top` takes of `dense.scores`.

    Raises:
        holdstill.InvariantViolated: the blocks do not hold every eligible row exactly once, in order.
    """
    kernels = compiled.kernels(len(eligible))
    rows, scores, parts = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], []
    for block, allowed, count in dense.spans(blocks, eligible):
        if kernels is None or block.codes is None or count <= max(DIRECT, 2 * _POOL * depth):
            some = np.flatnonzero(allowed)
            rows.append(block.first + some)
            scores.append(dense.of_rows(block.vectors, query, some, kernels))
        else:
            picked = None if count * _SCATTER > len(allowed) else np.flatnonzero(allowed)
            parts.append(_Part(block, block.codes, allowed, picked))
    if parts:
        for part, some, scored in _pruned(parts, query, np.concatenate(scores), depth, kernels):
            rows.append(part.block.first + some)
            scores.append(scored)
    found, values = np.concatenate(rows), np.concatenate(scores)
    kept = top(values, depth)
    kept = kept[np.argsort(found[kept])]
    return found[kept], values[kept]


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """A block whose rows are to be pruned.

    Attributes:
        eligible: bool, the block's rows.
        rows: the eligible ones, counted from the block's first; None where they are so many that reading the codes
            in one stretch is quicker than picking them.
    """

    block: Block
    codes: Codes
    eligible: NDArray[np.bool_]
    rows: Rows | None

    def numbers(self, some: Rows) -> Rows:
        """Of some of the part's bounds, the rows."""
        return some if self.rows is None else self.rows[some]

    def scores(self, query: NDArray[np.int16], some: Rows, kernels: Any) -> Scores:
        """Of some of the part's bounds, the exact scores."""
        return dense.of_rows(self.block.vectors, query, self.numbers(some), kernels)


def _pruned(
    parts: Sequence[_Part], query: NDArray[np.int16], known: Scores, depth: int, kernels: Any
) -> Iterable[tuple[_Part, Rows, Scores]]:
    """For each part the rows that may be among the first `depth`, with their scores.

    Args:
        known: the scores of all other eligible rows.
    """
    bounds = [_bounds(part, query, kernels) for part in parts]
    pool = [
        part.scores(query, _best(each, peaks, _POOL * depth, kernels.GROUP), kernels)
        for part, (each, peaks) in zip(parts, bounds, strict=True)
    ]
    floor = _largest(np.concatenate([known, *pool]), depth)
    for part, (each, _) in zip(parts, bounds, strict=True):
        left = np.flatnonzero(each >= np.float32(floor))  # no float32 lies between the floor and its rounding
        yield part, part.numbers(left), part.scores(query, left, kernels)


def _bounds(part: _Part, query: NDArray[np.int16], kernels: Any) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """No eligible row's score is above its bound; and the highest bound of every group of rows."""
    count = len(part.eligible) if part.rows is None else len(part.rows)
    bounds, peaks = np.empty(count, np.float32), np.empty(-(-count // kernels.GROUP), np.float32)
    units, factors = _question(query, part.codes)
    if part.rows is None:
        kernels.bound_all(part.codes.leading, part.codes.lengths, units, factors, part.eligible, bounds, peaks)
    else:
        kernels.bound_rows(part.codes.leading, part.codes.lengths, units, factors, part.rows, bounds, peaks)
    return bounds, peaks


def _question(query: NDArray[np.int16], codes: Codes) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
    """The query as the codes see it: on their axes, times their steps, rounded to step * units + what is left.

    Returns:
        units: int16 (m,); no sum of their products with codes passes 2^31.
        factors: float32 (4,): the step; no less than the lengths of the query on the axes and of what it loses there;
            and what a bound allows for all rows alike.
    """
    dimensions, defect = len(query), float(codes.defect[0])
    (projected,), (lost,) = project(query[np.newaxis].astype(np.float64), codes.axes, defect)
    scaled = projected * codes.steps
    most = min(_QUERY_STEPS, (2**31 - 1) // (STEPS * len(scaled)))
    step = float(np.float32(np.abs(scaled).max() / most)) or 1.0
    units = np.clip(np.rint(scaled / step), -most, most)
    limit = (1 + defect) * longest(dimensions)
    left = STEPS * float(np.abs(scaled - step * units).sum())
    slack = left + projection_error(dimensions) * limit + 3 * defect * limit**2 + _ROUNDING
    factors = [step, no_less(np.linalg.norm(projected)), no_less(lost), no_less(slack)]
    return units.astype(np.int16), np.array(factors, np.float32)


def _best(bounds: NDArray[np.float32], peaks: NDArray[np.float32], count: int, size: int) -> Rows:
    """`count` or more of the best bounds, from the groups of the highest peaks, `size` bounds each.

    Groups without an eligible row have a peak of minus infinity, and are never opened.
    """
    opened = np.flatnonzero(peaks > -np.inf)
    least = np.float32(-np.inf)
    if len(opened) > count:
        least = _largest(peaks, count)
        opened = np.flatnonzero(peaks >= least)
    members = (opened[:, np.newaxis] * size + np.arange(size)).ravel()
    members = members[members < len(bounds)]
    values = bounds[members]
    kept = np.flatnonzero(values >= least) if least > -np.inf else np.argpartition(values, len(values) - count)[-count:]
    found: Rows = members[kept]
    return found


def _largest(values: NDArray[Any], place: int) -> Any:
    return np.partition(values, len(values) - place)[len(values) - place]
