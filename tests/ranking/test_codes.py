from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from histories import budget
from holdstill.ranking import codes
from holdstill.ranking.codes import Codes
from holdstill.ranking.grid import to_grid
from vectors import families, rotations

UP_TO = Fraction(1, 2**18)  # how much a stored length may exceed the true one, relatively


def squared(values) -> Fraction:
    return sum((value * value for value in values), Fraction(0))


def exact(values) -> list[Fraction]:
    return [Fraction(float(value)) for value in values]


@budget(25)
@given(families(dimensions=st.sampled_from([3, 8, 17]), rows=st.integers(1, 6)), rotations())
def test_the_stored_lengths_bound_the_true_ones_in_exact_arithmetic(vectors, rotation):
    dimensions = vectors.shape[1]
    leading = max(1, dimensions // 3)
    made = codes.code(vectors, rotation(dimensions), leading)
    axes = [exact(axis) for axis in made.rotation]
    for row, vector in enumerate(vectors.tolist()):
        rotated = [sum(a * x for a, x in zip(axis, vector, strict=True)) for axis in axes]
        left = [
            value - Fraction(float(made.leading_step[row])) * unit
            for value, unit in zip(rotated[:leading], made.leading[row].tolist(), strict=True)
        ]
        right = [
            value - Fraction(float(made.trailing_step[row])) * unit
            for value, unit in zip(rotated[leading:], made.trailing[row].tolist(), strict=True)
        ]
        for stored, true in (
            (made.leading_residual[row], squared(left)),
            (made.remainder[row], squared(rotated[leading:])),
            (made.trailing_residual[row], squared(right)),
        ):
            assert Fraction(float(stored)) ** 2 >= true
            assert float(stored) <= float(true) ** 0.5 * (1 + UP_TO) + 1e-4


@budget(25)
@given(rotations(), st.integers(1, 12))
def test_the_defect_bounds_the_distance_from_a_rotation(rotation, dimensions):
    matrix = rotation(dimensions)
    rows = [exact(row) for row in matrix.T]  # R^T R is the product of R's columns
    distance = sum(
        ((sum(a * b for a, b in zip(left, right, strict=True)) - (i == j)) ** 2)
        for i, left in enumerate(rows)
        for j, right in enumerate(rows)
    )
    assert Fraction(codes.defect_of(matrix)) ** 2 >= distance


def test_the_axes_are_orthonormal_and_in_order_of_length():
    draws = np.random.default_rng(5)
    vectors = to_grid(draws.normal(size=(500, 80)) / (1 + np.arange(80)))
    axes, energy = codes.principal_axes(vectors)
    assert codes.defect_of(axes) < 1e-10
    assert (np.diff(energy) <= 0).all()
    assert energy.sum() == pytest.approx((vectors.astype(np.float64) ** 2).sum())


@pytest.mark.parametrize(
    ("energy", "leading"),
    [
        ([1.0] + [0.0] * 95, 32),
        ([3.0] * 32 + [1.0] * 64, 64),
        ([1.0] * 96, None),  # nothing leads
    ],
)
def test_as_many_dimensions_lead_as_hold_three_quarters_of_the_length(energy, leading):
    assert codes.leading_dimensions(np.array(energy)) == leading


def test_codes_are_made_for_many_vectors_with_a_spectrum_and_for_no_others(monkeypatch):
    draws = np.random.default_rng(1)
    steep, flat = to_grid(draws.normal(size=(300, 96)) / (1 + np.arange(96))), to_grid(draws.normal(size=(3000, 96)))
    assert codes.encode(steep) is None  # few
    monkeypatch.setattr(codes, "MIN_ROWS", 300)
    assert codes.encode(steep) is not None
    assert codes.encode(flat) is None
    assert codes.encode(steep[:, :63].copy()) is None


def test_codes_are_the_same_when_made_again_and_go_through_a_segment(monkeypatch):
    monkeypatch.setattr(codes, "MIN_ROWS", 1)
    vectors = to_grid(np.random.default_rng(2).normal(size=(400, 96)) / (1 + np.arange(96)))
    steps: list[tuple[str, int, int]] = []
    made = codes.encode(vectors, lambda *step: steps.append(step))
    again = Codes.of(codes.encode(vectors).arrays())
    assert steps[0] == ("coding vectors", 0, 400)
    for name, array in made.arrays().items():
        assert array.tobytes() == again.arrays()[name].tobytes(), name
    assert Codes.of({"vectors": vectors}) is None
    assert sum(a.nbytes for n, a in made.arrays().items() if n not in ("codes.rotation", "codes.defect")) == 400 * (
        96 + 20
    )
