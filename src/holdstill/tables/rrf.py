"""Fused scores of many rows, each correctly rounded, and what equal floats hide.

score = sum over lists of weight / (K + rank)     Cormack, Clarke, Buettcher, SIGIR 2009, section 2

Rounding keeps order: of two different fractions the greater never has the smaller float. So floats order the rows
wherever they differ, and only rows with equal floats and unlike ranks are left to compare exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import lcm

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ranks = NDArray[np.int32]  #: of one list, from 1; 0 where the row is absent

_BLOCK = 8192  # rows whose intermediate numbers stay in the processor's cache
_SPLIT = float(2**27 + 1)  # times a float, cuts it into two halves of 26 bits
_HALF = 2.0**26
_SLACK = 2.0**-96


@dataclass(frozen=True, slots=True)
class Formula:
    """Reciprocal rank fusion.

    Args:
        weights: one for each of at most 64 lists; above 0, numerators up to 10^12 and denominators up to 10^6, so that
            weight / (K + rank) is a quotient of two whole numbers that floats hold exactly.
        rrf_k: K, from 1 to 2^31 - 1.
    """

    weights: tuple[Fraction, ...]
    rrf_k: int

    def exact(self, ranks: Sequence[int]) -> Fraction:
        """The score of a row with these ranks."""
        terms = zip(self.weights, ranks, strict=True)
        return sum((weight / (self.rrf_k + rank) for weight, rank in terms if rank), Fraction(0))

    def scores(self, ranks: Sequence[Ranks]) -> Floats:
        """The correctly rounded scores of rows with these ranks, shape (lists, n)."""
        scores = np.empty(len(ranks[0]))
        for start in range(0, len(scores), _BLOCK):
            block = slice(start, start + _BLOCK)
            scores[block] = self._rounded([each[block] for each in ranks])
        return scores

    def as_sql_rounds(self, ranks: Sequence[Ranks], decimals: int) -> Floats:
        """`round(w1 / (K + rank1) + w2 / (K + rank2) + ..., decimals)` in floats, halves away from zero."""
        total = np.zeros(len(ranks[0]))
        for weight, each in zip(self.weights, ranks, strict=True):
            total += np.where(each > 0, float(weight) / (float(self.rrf_k) + each), 0.0)
        scaled = total * 10.0**decimals
        whole = np.floor(scaled)
        return np.asarray((whole + (scaled - whole >= 0.5)) / 10.0**decimals)

    def levels(self, ranks: Sequence[Ranks]) -> NDArray[np.int64]:
        """For each row, how many distinct exact scores among these rows are higher.

        Scores are computed in whole units of 2^-precision, cut off, so each sum is short by less than one unit a
        list. Two different scores are fractions whose denominators divide the product of all K + rank and of the
        weights' own: they differ by more than that, and equal ones by less.
        """
        lists = len(self.weights)
        common = lcm(*(weight.denominator for weight in self.weights))
        widest = (self.rrf_k + max(int(each.max()) for each in ranks)).bit_length()
        precision = 2 * (common.bit_length() + lists * widest) + (2 * lists).bit_length()
        units = [int(weight * common) << precision for weight in self.weights]
        rows = zip(*(each.tolist() for each in ranks), strict=True)
        sums = [sum(unit // (self.rrf_k + rank) for unit, rank in zip(units, row, strict=True) if rank) for row in rows]
        descending = sorted(range(len(sums)), key=sums.__getitem__, reverse=True)
        levels = np.zeros(len(sums), np.int64)
        level = 0
        for before, at in pairwise(descending):
            level += sums[before] - sums[at] > lists
            levels[at] = level
        return levels

    def alike(self, ranks: Sequence[Ranks], one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether rows `one` and `other` have the same ranks, but for an exchange between lists of equal weight."""
        alike = np.ones(len(one), np.bool_)
        for weight in set(self.weights):
            lists = [each for each, its in zip(ranks, self.weights, strict=True) if its == weight]
            pairs = (np.sort([each[rows] for each in lists], axis=0) for rows in (one, other))
            alike &= np.equal(*pairs).all(axis=0)
        return alike

    def _rounded(self, ranks: Sequence[Ranks]) -> Floats:
        """Sums carried as two floats, the second holding what the first loses; then rounded once.

        What the second loses in turn is below 2^-103 of the score for each list, 2^-97 in all. Where so little could
        change the rounding, the fraction decides.
        """
        (high, low), *others = map(self._quotient, self.weights, ranks)
        for quotient, rest in others:
            high, lost = _two_sum(high, quotient)
            low = low + (lost + rest)
        slack = high * _SLACK
        scores = np.asarray(high + low)
        for row in np.flatnonzero((high + (low - slack)) != (high + (low + slack))).tolist():
            scores[row] = float(self.exact([int(each[row]) for each in ranks]))
        return scores

    def _quotient(self, weight: Fraction, ranks: Ranks) -> tuple[Floats, Floats]:
        """weight / (K + rank) as a float and what it lacks; zeros where the rank is 0."""
        over, under = float(weight.numerator), ranks + np.float64(self.rrf_k)
        if weight.denominator > 1:
            under *= weight.denominator
        quotient = over / under
        rest = _remainder(over, quotient, under)
        rest /= under
        absent = ranks == 0
        if absent.any():
            quotient[absent] = rest[absent] = 0.0
        return quotient, rest


def _two_sum(one: Floats, other: Floats) -> tuple[Floats, Floats]:
    """The rounded sum and what it lacks, exactly (Knuth, *The Art of Computer Programming* 2, section 4.2.2)."""
    total = one + other
    virtual = total - one
    return total, (one - (total - virtual)) + (other - virtual)


def _remainder(over: float, quotient: Floats, under: Floats) -> Floats:
    """over - quotient * under, exactly, by products of halves (Dekker, *Numerische Mathematik* 18, 1971)."""
    high, low = _halves(quotient)
    if under.max() < _HALF:
        return (over - high * under) - low * under
    u_high, u_low = _halves(under)
    return (((over - high * u_high) - high * u_low) - low * u_high) - low * u_low


def _halves(values: Floats) -> tuple[Floats, Floats]:
    scaled = values * _SPLIT
    high = scaled - (scaled - values)
    return high, values - high
