from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from histories import budget
from holdstill.ranking import codes
from holdstill.ranking.codes import Codes
from holdstill.ranking.grid import ONE, to_grid
from vectors import families, rotations


def squared(values) -> Fraction:
    return sum((value * value for value in values), Fraction(0))


def exact(values) -> list[Fraction]:
    return [Fraction(float(value)) for value in values]


def dot(left, right):
    return sum(a * b for a, b in zip(left, right, strict=True))


@budget(25)
@given(families(dimensions=st.sampled_from([3, 8, 17]), rows=st.integers(1, 6)), rotations())
def test_the_stored_lengths_bound_the_true_ones_in_exact_arithmetic(vectors, rotation):
    dimensions = vectors.shape[1]
    made = codes.code(vectors, rotation(dimensions)[: max(1, dimensions // 3)])
    axes, steps = [exact(axis) for axis in made.axes], exact(made.steps)
    slack = float(made.defect[0]) * 1.1 * 2**30 + 1  # what the remainder's square may be raised by
    for row, vector in enumerate(vectors.tolist()):
        projected = [dot(axis, vector) for axis in axes]
        back = [sum(axis[at] * value for axis, value in zip(axes, projected, strict=True)) for at in range(dimensions)]
        coded = [step * unit for step, unit in zip(steps, made.leading[row].tolist(), strict=True)]
        residual = squared(value - unit for value, unit in zip(projected, coded, strict=True))
        remainder = squared(value - there for value, there in zip(vector, back, strict=True))
        stored = made.lengths[row].tolist()
        assert stored[0] ** 2 >= residual
        assert stored[1] ** 2 >= remainder
        assert stored[0] <= float(residual) ** 0.5 * 1.00001 + 1.1
        assert stored[1] <= (float(remainder) + slack * 3) ** 0.5 * 1.00001 + 1.1


@budget(25)
@given(rotations(), st.integers(1, 12))
def test_the_defect_bounds_the_distance_from_orthonormal_axes(rotation, dimensions):
    axes = rotation(dimensions)[: (dimensions + 1) // 2]
    rows = [exact(row) for row in axes]
    distance = sum((dot(left, right) - (i == j)) ** 2 for i, left in enumerate(rows) for j, right in enumerate(rows))
    assert Fraction(codes.defect_of(axes)) ** 2 >= distance


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
    assert made.leading.nbytes + made.lengths.nbytes == 400 * (len(made.axes) + 4)


def test_a_vector_beyond_the_sample_is_cut_and_its_residual_says_so(monkeypatch):
    monkeypatch.setattr(codes, "_SAMPLE", 2)
    vectors = np.zeros((4, 8), np.int16)
    vectors[:, 1] = ONE
    vectors[1] = [ONE, *[0] * 7]  # the sample holds rows 0 and 2
    made = codes.code(vectors, np.eye(8)[:2])
    assert made.leading.tolist() == [[0, 127], [127, 0], [0, 127], [0, 127]]
    assert made.lengths[1, 0] >= ONE - 127
