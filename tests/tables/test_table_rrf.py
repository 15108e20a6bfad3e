"""Fused scores are correctly rounded, and what floats cannot tell apart is compared exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdstill.tables.fusing import _settle
from holdstill.tables.rrf import Formula

RANK = st.one_of(st.integers(0, 20), st.integers(0, 10**6), st.integers(0, 2**31 - 1))
WEIGHT = st.fractions(min_value=Fraction(1, 10**6), max_value=10**6, max_denominator=10**6)


@st.composite
def cases(draw):
    lists = draw(st.integers(1, 5))
    formula = Formula(tuple(draw(WEIGHT) for _ in range(lists)), draw(st.integers(1, 2**31 - 1)))
    rows = draw(st.integers(1, 8))
    return formula, [np.array([draw(RANK) for _ in range(rows)], np.int32) for _ in range(lists)]


@given(cases())
def test_scores_are_correctly_rounded(case):
    formula, ranks = case
    wanted = [float(formula.exact(own)) for own in zip(*(each.tolist() for each in ranks), strict=True)]
    assert formula.scores(ranks).tolist() == wanted


def test_scores_of_a_long_table_are_correctly_rounded():
    draws = np.random.default_rng(5)
    formula = Formula((Fraction(1), Fraction(1), Fraction(3, 10)), 60)
    ranks = [draws.permutation(20_000).astype(np.int32) for _ in range(3)]
    wanted = [float(formula.exact(own)) for own in zip(*(each.tolist() for each in ranks), strict=True)]
    assert formula.scores(ranks).tolist() == wanted


def test_a_sum_half_way_between_two_floats_rounds_to_even():
    formula = Formula((Fraction(1), Fraction(1)), 1)
    ranks = [np.array([1], np.int32), np.array([2**31 - 1], np.int32)]
    assert formula.scores(ranks).tolist() == [float(Fraction(1, 2) + Fraction(1, 2**31))]


@given(cases())
def test_levels_count_the_higher_scores(case):
    formula, ranks = case
    exact = [formula.exact(own) for own in zip(*(each.tolist() for each in ranks), strict=True)]
    assert formula.levels(ranks).tolist() == [len({other for other in exact if other > own}) for own in exact]


@pytest.mark.parametrize("swap", [False, True])
def test_scores_that_floats_hold_equal_are_put_in_their_exact_order(swap):
    # 1 / (x - t) + 1 / (x + t) grows with t by so little that no float shows it.
    middle = 10**9
    low, high = (middle - 1, middle + 1), (middle - 2, middle + 2)
    pairs = [high, low] if swap else [low, high]
    formula = Formula((Fraction(1), Fraction(1)), 60)
    assert formula.exact(low) < formula.exact(high)
    ranks = [np.array(column, np.int32) for column in zip(*pairs, strict=True)]
    scores = formula.scores(ranks)
    assert scores[0] == scores[1]
    places = np.arange(2)
    _settle(places, scores, ranks, formula)
    assert [pairs[at] for at in places] == [high, low]
