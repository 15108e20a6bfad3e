"""BM25 in fixed point: one logarithm per query term in decimal, all else in integers.

The formula is that of Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009),
section 3, with k1 = 6/5 and b = 3/4 and the idf that cannot be negative. N passages of total length T are visible:

    idf          = ln(1 + (N - df + 1/2) / (df + 1/2)) = ln((2N + 2) / (2df + 1))       rounded to 2^-20
    norm         = k1 (1 - b + b L N / T) = (3T + 9LN) / 10T                              cut to 2^-16
    saturation   = tf (k1 + 1) / (tf + norm) = 11 tf / 5 (tf + norm)                      cut to 2^-20
    contribution = idf * saturation                                                       cut to 2^-20

A passage's score is the sum over the distinct terms of the query. Integers add to the same sum in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

K1, B = Fraction(6, 5), Fraction(3, 4)
SCORE_BITS = 20  #: a score counts units of 2^-20
NORM_BITS = 16

Posting = tuple[NDArray[np.int32], NDArray[np.int32]]


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """What holds at least one term of the query.

    Attributes:
        rows: the matching rows, ascending.
        scores: their scores in 2^-20 units; 0 is possible, since a match is holding the term.
        known_terms: how many of the query's terms occur in a visible passage, eligible or not.
    """

    rows: NDArray[np.int64]
    scores: NDArray[np.int64]
    known_terms: int


def scores(
    postings: Sequence[Posting],
    lengths: NDArray[np.int32],
    visible: NDArray[np.bool_],
    eligible: NDArray[np.bool_],
) -> Matches:
    """Score every eligible passage that holds a term; statistics are over the visible ones.

    Args:
        postings: for each distinct term of the query, the rows that hold it, ascending, and how often each holds it,
            from 1.
        lengths: each passage's number of terms, shape (n,).
        visible: which passages the principal may see, shape (n,): N, df and T count these only.
        eligible: which of the visible passages satisfy every constraint, shape (n,).
    """
    totals = np.zeros(len(lengths), np.int64)
    matched = np.zeros(len(lengths), np.bool_)
    seen = [int(np.count_nonzero(visible[rows])) for rows, _ in postings]
    if any(seen):
        count, total = int(np.count_nonzero(visible)), int(lengths[visible].sum(dtype=np.int64))
        for (rows, frequencies), df in zip(postings, seen, strict=True):
            kept = eligible[rows]
            held = rows[kept]
            totals[held] += (idf(count, df) * saturation(frequencies[kept], lengths[held], count, total)) >> SCORE_BITS
            matched[held] = True
    found = np.flatnonzero(matched)
    return Matches(found, totals[found], sum(df > 0 for df in seen))


def idf(count: int, df: int) -> int:
    """ln((2 count + 2) / (2 df + 1)) in 2^-20 units, rounded half to even; 0 or more for df up to count.

    `decimal` rounds a logarithm correctly, which `math.log` leaves to each machine's library.
    """
    exact = Context(prec=50, rounding=ROUND_HALF_EVEN, traps=[])
    logarithm = exact.ln(exact.divide(Decimal(2 * count + 2), Decimal(2 * df + 1)))
    return int(exact.to_integral_value(exact.multiply(logarithm, Decimal(2**SCORE_BITS))))


def saturation(frequencies: NDArray[np.int32], lengths: NDArray[np.int32], count: int, total: int) -> NDArray[np.int64]:
    """tf (k1 + 1) / (tf + norm) for each passage, in 2^-20 units; from 0 to 11/5.

    Args:
        frequencies: how often each passage holds the term, from 1.
        lengths: the same passages' lengths.
        count: N, how many passages are visible.
        total: T, the sum of their lengths, from 1.
    """
    longest, most = int(lengths.max(initial=0)), int(frequencies.max(initial=0))
    shift = NORM_BITS + SCORE_BITS
    # The two numerators are the largest numbers below; beyond 64 bits Python's integers are slower, and as exact.
    largest = max((9 * count * longest + 3 * total) << NORM_BITS, 11 * most << shift)
    dtype: Any = np.int64 if largest < 2**63 else object
    tf, length = frequencies.astype(dtype), lengths.astype(dtype)
    norm = ((9 * count * length + 3 * total) << NORM_BITS) // (10 * total)
    units: NDArray[np.int64] = ((11 * tf << shift) // (5 * ((tf << NORM_BITS) + norm))).astype(np.int64)
    return units
