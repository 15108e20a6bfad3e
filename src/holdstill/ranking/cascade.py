"""The first of all eligible vectors, without reading most of them: a cascade of bounds that prunes, then exact scores.

A. For every eligible row, an upper bound from the leading components alone. The rows of the best bounds are scored
   exactly; the depth-th of those scores is a floor that the depth-th of all reaches. Bounds below it are dropped.
B. For what is left, tighter bounds on both sides from all components; their lower sides raise the floor.
C. For what is left then, the canonical integer dot product.

Whatever scores at least as high as the depth-th of all survives every stage, so the result is that of scoring every
row, ties included. The bounds are Cauchy-Schwarz, with all rounding accounted for in docs/exactness.md. The nearest
work is "ADSampling" (arXiv 2303.09855) and "PDX" (arXiv 2503.04422); their bounds are probable, these always hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdstill.ranking import compiled, dense
from holdstill.ranking.codes import STEPS, Codes, longest, no_less, rotation_error
from holdstill.ranking.dense import Block
from holdstill.ranking.ranks import top

DIRECT = 3_000  #: eligible rows up to which all are scored exactly

_POOL = 4  # times the depth: how many of the best bounds are scored for the floor
_SCATTER = 8  # below one eligible row in so many, picking rows is quicker than reading all
_MANY = 4  # with more than one row in so many left, tighter bounds cost more than scores
_QUERY_STEPS = 2**15 - 1
_ROUNDING = 2.0**11  # float32 roundings in one bound, in units of the score

Rows = NDArray[np.int64]
Scores = NDArray[np.int64]
Floats = NDArray[np.float64]


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
    blocks = list(blocks)
    kernels = compiled.kernels(len(eligible))
    parts: list[_Part] = []
    rest = eligible
    if kernels is not None:
        parts, rest = _divided(blocks, query, eligible, max(DIRECT, 2 * _POOL * depth))
    rows, scores = np.flatnonzero(rest), dense.scores(blocks, query, rest)
    if parts:
        found = _pruned(parts, query, scores, depth, kernels)
        rows, scores = np.append(rows, found[0]), np.append(scores, found[1])
        order = np.argsort(rows)
        rows, scores = rows[order], scores[order]
    kept, _ = top(scores, depth)
    return rows[kept], scores[kept]


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """The eligible rows of one block, and the query as its codes see it.

    Attributes:
        eligible: bool, the block's rows.
        rows: the eligible ones, counted from the block's first; None where they are so many that reading the codes
            in one stretch is quicker than picking them.
    """

    block: Block
    codes: Codes
    question: _Question
    eligible: NDArray[np.bool_]
    rows: Rows | None

    def numbers(self, some: Rows) -> Rows:
        """Of some entries of the part's bounds, the rows."""
        return some if self.rows is None else self.rows[some]


def _divided(
    blocks: Sequence[Block], query: NDArray[np.int16], eligible: NDArray[np.bool_], few: int
) -> tuple[list[_Part], NDArray[np.bool_]]:
    """The blocks worth pruning, and the eligible rows outside them."""
    parts, rest = [], eligible.copy()
    for first, vectors, codes in blocks:
        allowed = eligible[first : first + len(vectors)]
        count = np.count_nonzero(allowed)
        if codes is not None and count > few:
            rows = None if count * _SCATTER > len(allowed) else np.flatnonzero(allowed)
            parts.append(_Part(Block(first, vectors), codes, _question(query, codes), allowed, rows))
            rest[first : first + len(vectors)] = False
    return parts, rest


def _pruned(
    parts: Sequence[_Part], query: NDArray[np.int16], known: Scores, depth: int, kernels: Any
) -> tuple[Rows, Scores]:
    """The parts' rows that may be among the first `depth`, with their scores; `known` are those of all other rows."""
    bounds, peaks = zip(*(_bounds(part, kernels) for part in parts), strict=True)
    pool = [
        _exact(part, query, _best(each, high, _POOL * depth, kernels.GROUP), kernels)
        for part, each, high in zip(parts, bounds, peaks, strict=True)
    ]
    floor = float(_largest(np.concatenate([known, *pool]), depth))
    left = [np.flatnonzero(each >= floor) for each in bounds]
    ranges = [
        _range(part, query, some, each[some], kernels) for part, some, each in zip(parts, left, bounds, strict=True)
    ]
    floor = max(floor, float(_largest(np.concatenate([known, *(low for low, _ in ranges)]), depth)))
    left = [some[high >= floor] for some, (_, high) in zip(left, ranges, strict=True)]
    rows = [part.block.first + part.numbers(some) for part, some in zip(parts, left, strict=True)]
    scores = [_exact(part, query, some, kernels) for part, some in zip(parts, left, strict=True)]
    return np.concatenate(rows), np.concatenate(scores)


def _bounds(part: _Part, kernels: Any) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Stage A: no eligible row's score is above its bound; and the highest bound of every group of rows."""
    codes, rows = part.codes, part.rows
    count = len(part.eligible) if rows is None else len(rows)
    bounds, peaks = np.empty(count, np.float32), np.empty(-(-count // kernels.GROUP), np.float32)
    arrays = codes.leading, codes.leading_step, codes.leading_residual, codes.remainder
    query = part.question.leading.units, part.question.factors
    if rows is None:
        kernels.bound_all(*arrays, *query, part.eligible, bounds, peaks)
    else:
        kernels.bound_rows(*arrays, *query, rows, bounds, peaks)
    return bounds, peaks


def _range(
    part: _Part, query: NDArray[np.int16], some: Rows, bounds: NDArray[np.float32], kernels: Any
) -> tuple[Floats, Floats]:
    """Stage B: what the scores of some of the part's rows cannot fall below, and cannot exceed."""
    if len(some) * _MANY > len(part.eligible):
        scores = _exact(part, query, some, kernels).astype(np.float64)
        return scores, scores
    codes, question, rows = part.codes, part.question, part.numbers(some)
    leading, trailing, slack = question.factors[1:].astype(np.float64)
    spread = leading * codes.leading_residual[rows]
    # The product of the leading codes, out of the bound that it went into.
    products = bounds - spread - trailing * codes.remainder[rows] - slack
    rest = np.empty(len(rows))
    side = question.trailing
    kernels.code_products(codes.trailing, codes.trailing_step, rows, side.units, side.step, rest)
    margins = spread + side.length * codes.trailing_residual[rows] + (slack + side.lost + _ROUNDING)
    return products + rest - margins, products + rest + margins


def _exact(part: _Part, query: NDArray[np.int16], some: Rows, kernels: Any) -> Scores:
    """Stage C: the canonical scores of some of the part's rows."""
    return dense.of_rows(part.block.vectors, query, part.numbers(some), kernels)


def _best(bounds: NDArray[np.float32], peaks: NDArray[np.float32], count: int, size: int) -> Rows:
    """`count` or more of the best bounds, from the groups of the highest peaks, `size` bounds each."""
    if len(peaks) < count:
        return np.argpartition(bounds, len(bounds) - count)[len(bounds) - count :]
    least = _largest(peaks, count)
    members = (np.flatnonzero(peaks >= least)[:, np.newaxis] * size + np.arange(size)).ravel()
    members = members[members < len(bounds)]
    found: Rows = members[bounds[members] >= least]
    return found


def _largest(values: NDArray[Any], place: int) -> Any:
    return np.partition(values, len(values) - place)[len(values) - place]


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """One half of the rotated query, rounded: step * units + a residual.

    Attributes:
        units: int16 (m,); no sum of their products with codes passes 2^31.
        step: above 0, a float32.
        length: no less than |step * units|.
        lost: no less than the residual's product with any rotated vector.
        whole: no less than the length of this half of the rotated query.
    """

    units: NDArray[np.int16]
    step: float
    length: float
    lost: float
    whole: float


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    """The query as one block's codes see it.

    Attributes:
        leading, trailing: its halves.
        factors: float32 (4,), what the leading bound is made with: the leading half's step, what a row's residual and
            remainder may add for each unit of length, and what may be added for all rows alike.
    """

    leading: _Side
    trailing: _Side
    factors: NDArray[np.float32]


def _question(query: NDArray[np.int16], codes: Codes) -> _Question:
    rotated, limit, defect = codes.rotation @ query.astype(np.float64), longest(len(query)), float(codes.defect[0])
    error, most = rotation_error(len(query)), limit * (1 + defect)
    leading, trailing = (_side(half, error, most) for half in np.split(rotated, [codes.leading.shape[1]]))
    slack = no_less(leading.lost + defect * limit**2 + _ROUNDING, 0)
    factors = np.array([leading.step, leading.length, trailing.whole, slack], np.float32)
    return _Question(leading, trailing, factors)


def _side(values: Floats, error: float, longest_row: float) -> _Side:
    most = min(_QUERY_STEPS, (2**31 - 1) // (STEPS * len(values)))
    step = float(np.float32(np.abs(values).max() / most)) or 1.0
    units = np.clip(np.rint(values / step), -most, most)
    length, residual, whole = (
        float(no_less(np.linalg.norm(each), error)) for each in (step * units, values - step * units, values)
    )
    return _Side(units.astype(np.int16), step, length, residual * longest_row, whole)
