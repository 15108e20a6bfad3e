"""BM25 in fixed point: one logarithm per query term, rounded the same everywhere, and all else in integers.

The formula is that of Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009),
section 3, with k1 = 6/5 and b = 3/4 and the idf that cannot be negative. N passages of total length T are visible:

    idf          = ln(1 + (N - df + 1/2) / (df + 1/2)) = ln((2N + 2) / (2df + 1))       rounded to 2^-20
    norm         = k1 (1 - b + b L N / T) = (3T + 9LN) / 10T                              cut to 2^-16
    saturation   = tf (k1 + 1) / (tf + norm) = 11 tf / 5 (tf + norm)                      cut to 2^-20
    contribution = idf * saturation                                                       cut to 2^-20

A passage's score is the sum over the distinct terms of the query. Integers add to the same sum in any order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdstill.ranking import compiled
from holdstill.ranking.ranks import top

K1, B = Fraction(6, 5), Fraction(3, 4)
SCORE_BITS = 20  #: a score counts units of 2^-20
NORM_BITS = 16
_INT64 = 2**63 - 1
_IN_DOUBT = 2**-10  #: of a unit: how near to a half a logarithm in floating point may come and still be rounded

Posting = tuple[NDArray[np.int32], NDArray[np.int32]]


class Totals(NamedTuple):
    """What the visible passages add up to.

    Attributes:
        passages: N, how many there are.
        length: T, the sum of their lengths.
    """

    passages: int
    length: int

    @classmethod
    def of(cls, lengths: NDArray[np.int32], visible: NDArray[np.bool_]) -> Totals:
        """They change with what is visible and not with the query, so that a store may keep them."""
        kernels = compiled.kernels(len(lengths))
        if kernels is not None:
            return cls(*kernels.total_length(lengths, visible))
        return cls(int(np.count_nonzero(visible)), int(lengths[visible].sum(dtype=np.int64)))


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """What holds at least one term of the query.

    Attributes:
        rows: the matching rows, or the leaders among them, ascending.
        scores: their scores in 2^-20 units; 0 is possible, since a match is holding the term.
        count: how many rows match, leaders or not.
        known_terms: how many of the query's terms occur in a visible passage, eligible or not.
    """

    rows: NDArray[np.int64]
    scores: NDArray[np.int64]
    count: int
    known_terms: int


def scores(
    postings: Sequence[Posting],
    lengths: NDArray[np.int32],
    visible: NDArray[np.bool_],
    eligible: NDArray[np.bool_],
    totals: Totals | None = None,
) -> Matches:
    """Score every eligible passage that holds a term; statistics are over the visible ones.

    Args:
        postings: for each distinct term of the query, the rows that hold it, ascending, and how often each holds it,
            from 1.
        lengths: each passage's number of terms, shape (n,).
        visible: which passages the principal may see, shape (n,): N, df and T count these only.
        eligible: which of the visible passages satisfy every constraint, shape (n,).
        totals: `Totals.of(lengths, visible)`, where it is known already.
    """
    return _matches(postings, lengths, visible, eligible, totals, len(lengths))


def leaders(
    postings: Sequence[Posting],
    lengths: NDArray[np.int32],
    visible: NDArray[np.bool_],
    eligible: NDArray[np.bool_],
    depth: int,
    totals: Totals | None = None,
) -> Matches:
    """The first `depth` of the matches and whatever ties with the last of them: `scores`, then `ranks.top`.

    Args:
        postings, lengths, visible, eligible, totals: as of `scores`.
        depth: from 1.
    """
    found = _matches(postings, lengths, visible, eligible, totals, depth)
    kept = top(found.scores, depth)
    return Matches(found.rows[kept], found.scores[kept], found.count, found.known_terms)


def _matches(
    postings: Sequence[Posting],
    lengths: NDArray[np.int32],
    visible: NDArray[np.bool_],
    eligible: NDArray[np.bool_],
    totals: Totals | None,
    depth: int,
) -> Matches:
    """All matches, or some of them with the first `depth` and their ties among them."""
    totals = Totals.of(lengths, visible) if totals is None else totals
    kernels = compiled.kernels(len(lengths))
    if kernels is not None and totals.length:
        found = _by_kernel(kernels, postings, lengths, visible, eligible, totals, depth)
        if found is not None:
            return found
    return _by_numpy(postings, lengths, visible, eligible, totals)


def _by_numpy(
    postings: Sequence[Posting],
    lengths: NDArray[np.int32],
    visible: NDArray[np.bool_],
    eligible: NDArray[np.bool_],
    totals: Totals,
) -> Matches:
    sums = np.zeros(len(lengths), np.int64)
    matched = np.zeros(len(lengths), np.bool_)
    seen = [int(np.count_nonzero(visible[rows])) for rows, _ in postings]
    for (rows, frequencies), df in zip(postings, seen, strict=True):
        kept = eligible[rows]
        held = rows[kept]
        if len(held):
            units = saturation(frequencies[kept], lengths[held], *totals)
            sums[held] += (idf(totals.passages, df) * units) >> SCORE_BITS
            matched[held] = True
    found = np.flatnonzero(matched)
    return Matches(found, sums[found], len(found), sum(df > 0 for df in seen))


def _by_kernel(
    kernels: Any,
    postings: Sequence[Posting],
    lengths: NDArray[np.int32],
    visible: NDArray[np.bool_],
    eligible: NDArray[np.bool_],
    totals: Totals,
    depth: int,
) -> Matches | None:
    """As `_by_numpy`, but possibly without what is not among the first `depth`; None where 64 bits are too few."""
    address = kernels.address
    terms = np.array([(address(rows), address(held), len(rows), 0) for rows, held in postings], np.int64).reshape(-1, 4)
    seen = terms[:, 2].copy()
    if totals.passages < len(lengths):
        kernels.count_visible(terms, visible, seen)
    terms[:, 3] = [idf(totals.passages, df) for df in seen.tolist()]
    if not eligible.all():
        room = np.empty((2, int(terms[:, 2].sum()) + 1), np.int32)
        kernels.keep_eligible(terms, eligible, *room)
    most = min(len(lengths), int(terms[:, 2].sum()))
    best = np.full(depth if depth < most else 0, kernels.MATCH)
    rows, sums = np.empty((2, most + 1), np.int64)
    kept, count = kernels.best_matches(terms, lengths, _table(*totals), _limits(*totals), best, rows, sums)
    return Matches(rows[:kept], sums[:kept], count, int(np.count_nonzero(seen))) if kept >= 0 else None


@lru_cache(maxsize=32)  # one for each N and T; principals that see the same share it
def _table(count: int, total: int) -> NDArray[np.int32]:
    """The saturation for each frequency and length of all but unusual passages."""
    frequencies, lengths = np.arange(16, dtype=np.int32), np.arange(512, dtype=np.int32)
    return saturation(frequencies[:, np.newaxis], lengths, count, total).astype(np.int32)


def _limits(count: int, total: int) -> NDArray[np.int64]:
    """N, T, and the largest frequency and length for which `saturation` needs 64 bits only."""
    most = _INT64 // (11 << NORM_BITS + SCORE_BITS)
    longest = ((_INT64 >> NORM_BITS) - 3 * total) // (9 * count)
    return np.array([count, total, most, longest])


def idf(count: int, df: int) -> int:
    """ln((2 count + 2) / (2 df + 1)) in 2^-20 units, rounded half to even; 0 or more for df up to count.

    `math.log` differs between machines in its last bits, some 2^-28 of a unit. Where that might decide how to round,
    `decimal` does, which gives the right logarithm on all of them and takes forty times as long.
    """
    units: float = math.log((2 * count + 2) / (2 * df + 1)) * 2**SCORE_BITS
    if abs(units - math.floor(units) - 0.5) > _IN_DOUBT:
        return round(units)
    exact = Context(prec=50, rounding=ROUND_HALF_EVEN, traps=[])
    logarithm = exact.ln(exact.divide(Decimal(2 * count + 2), Decimal(2 * df + 1)))
    return int(exact.to_integral_value(exact.multiply(logarithm, Decimal(2**SCORE_BITS))))


def saturation(frequencies: NDArray[np.int32], lengths: NDArray[np.int32], count: int, total: int) -> NDArray[np.int64]:
    """tf (k1 + 1) / (tf + norm) for each passage, in 2^-20 units; from 0 to 11/5.

    Args:
        frequencies: how often each passage holds the term.
        lengths: the same passages' lengths; the two broadcast.
        count: N, how many passages are visible.
        total: T, the sum of their lengths, from 1.
    """
    longest, most = int(lengths.max(initial=0)), int(frequencies.max(initial=0))
    shift = NORM_BITS + SCORE_BITS
    # The two numerators are the largest numbers below; beyond 64 bits Python's integers are slower, and as exact.
    largest = max((9 * count * longest + 3 * total) << NORM_BITS, 11 * most << shift)
    dtype: Any = np.int64 if largest <= _INT64 else object
    tf, length = frequencies.astype(dtype), lengths.astype(dtype)
    norm = ((9 * count * length + 3 * total) << NORM_BITS) // (10 * total)
    units: NDArray[np.int64] = ((11 * tf << shift) // (5 * ((tf << NORM_BITS) + norm))).astype(np.int64)
    return units
