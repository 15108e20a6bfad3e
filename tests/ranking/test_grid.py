import hashlib
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import oracle
from holdstill.errors import InvalidVector
from holdstill.ranking import grid
from holdstill.ranking.grid import MAX_DIMENSIONS, to_grid

anything = st.floats(allow_nan=False, allow_infinity=False)
vectors = st.lists(anything, min_size=1, max_size=40).filter(any)


@given(vectors)
def test_is_the_definition(vector):
    assert to_grid([vector]).tolist() == [oracle.grid(vector)]


@given(vectors)
def test_is_the_true_unit_vector_to_half_a_unit(vector):
    with localcontext() as context:
        context.prec = 60
        norm = sum((Decimal(x) ** 2 for x in vector), Decimal(0)).sqrt()
        for got, x in zip(to_grid([vector])[0].tolist(), vector, strict=True):
            exact = Decimal(x) / norm * 32768
            assert abs(got - max(min(exact, 32767), -32767)) <= Decimal("0.500001")


@given(st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=40).filter(any), st.integers(-800, 800))
def test_a_power_of_two_changes_nothing(vector, power):
    scaled = np.ldexp(np.array(vector), power)
    assert (to_grid([vector]) == to_grid([scaled])).all()


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40), st.floats(1e-3, 1e3))
def test_any_other_factor_changes_a_component_by_one_at_most(vector, factor):
    assume(max(map(abs, vector)) > 1e-6)
    apart = to_grid([vector]).astype(int) - to_grid([[x * factor for x in vector]])
    assert np.abs(apart).max() <= 1


@settings(deadline=None)
@given(st.lists(st.lists(anything, min_size=3, max_size=3).filter(any), min_size=1, max_size=9), st.integers(1, 30))
def test_a_row_does_not_depend_on_its_neighbours(rows, chunk):
    whole = to_grid(rows)
    assert (whole == np.concatenate([to_grid([row]) for row in rows])).all()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grid, "_CHUNK", chunk)
        assert (to_grid(np.array(rows)) == whole).all()


@pytest.mark.parametrize("scale", [5e-324, 1e-320, 1e-160, 1.0, 1e160, 1e300, 1.7976931348623157e308])
def test_neither_small_nor_large_vectors_lose_their_direction(scale):
    assert to_grid([[scale, -scale, 0.0]]).tolist() == [[23170, -23170, 0]]


def test_a_lone_component_becomes_one():
    for sign in (1, -1):
        one_hot = np.zeros(MAX_DIMENSIONS)
        one_hot[7] = sign * 0.3
        assert to_grid([one_hot])[0].tolist() == [0] * 7 + [sign * grid.ONE] + [0] * (MAX_DIMENSIONS - 8)


def test_the_longest_vector_cannot_overflow_32_bits():
    # All components just above a rounding boundary: the grid vector is as much too long as it can be.
    unit = np.full(MAX_DIMENSIONS, 510.5 / 32768)
    unit[0] = np.sqrt(1 - (MAX_DIMENSIONS - 1) * unit[1] ** 2)
    rows = to_grid([unit, np.ones(MAX_DIMENSIONS)]).astype(np.int64)
    assert (rows @ rows.T).max() <= (32768 + 32) ** 2 < 2**31


def test_the_bits_stay_the_same_from_release_to_release():
    numbers = [(48271 * i * i + 11 * i) % 65537 - 32768 for i in range(50 * 384)]
    rows = to_grid(np.array(numbers, np.float64).reshape(50, 384) / 3)
    assert rows.dtype == np.int16
    digest = hashlib.sha256(rows.astype("<i2").tobytes()).hexdigest()
    assert digest == "891c1dabefe672647f59311a94403b72b9be0db59395d2e33c229e2dbec70364"


def test_the_norm_is_summed_from_left_to_right():
    # Odd numbers whose squares sum to 2^32: a component lies just between two steps of the grid, and the last
    # bit of the norm decides which it takes.
    odd = [17295, 19, 26923, 5903, 4635, 11903, 25485, 21305, 14759, 25895, 2487, 2615, 16979, 27609, 1635, 3871]
    assert sum(x * x for x in odd) == 2**32
    rows = np.outer([1 / n for n in range(3, 200)], odd)
    assert to_grid(rows).tolist() == [oracle.grid(row) for row in rows.tolist()]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.int64, np.uint16, ">f4"])
def test_takes_every_type_of_number(dtype):
    assert to_grid(np.array([[3, 4]], dtype)).tolist() == [[19661, 26214]]


def test_does_not_change_what_it_is_given():
    rows = np.array([[3.0, 4.0]])
    to_grid(rows)
    assert rows.tolist() == [[3.0, 4.0]]


def test_no_rows():
    assert to_grid([], dimensions=5).shape == (0, 5)
    assert to_grid(np.empty((0, 5))).shape == (0, 5)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1, 2], [0, 0]], "vector 1 (b) is zero and has no direction; expected finite numbers, not all zero; got 0.0"),
        ([[1, 2], [0.0, -0.0]], "vector 1 (b) is zero"),
        ([[1, 2], [1, float("nan")]], "vector 1 (b) is not finite at component 1; expected finite numbers"),
        ([[float("inf"), 1], [0, 0]], "vector 0 (a) is not finite at component 0"),
        ([[1, 2], [1, -float("inf")]], "got -inf (float)"),
        ([[1, 2], [1, 2, 3]], "vector 1 (b) has the wrong length; expected 2 dimensions; got 3 (int)"),
        ([[], [1]], "vector 0 (a) has the wrong length; expected 1 to 4096 dimensions; got 0"),
        ([[0.5] * 4097], "vector 0 (a) has the wrong length; expected 1 to 4096 dimensions; got 4097"),
        (np.ones((1, 4097)), "expected 1 to 4096 dimensions; got 4097"),
        ([[1, 2], ["1", "2"]], "vector 1 (b) is not a list of numbers; expected a flat list"),
        ([[1, 2], [True, False]], "vector 1 (b) is not a list of numbers"),
        ([[1, 2], [1, None]], "got [1, None] (list)"),
        ([[1, 2], [1, 10**400]], "vector 1 (b) is not a list of numbers"),
        ([[1, 2], [[1], [2, 3]]], "vector 1 (b) is not a list of numbers"),
        ([[1, 2], None], "vector 1 (b) is not a list of numbers"),
        ([[1, 2], [1j, 2]], "vector 1 (b) is not a list of numbers"),
        (["text"], "vector 0 (a) is not a list of numbers; expected a flat list of numbers"),
        ([0.5, 0.5], "vector 0 (a) is not a list of numbers"),
        (np.array([["1", "2"]]), "vector 0 (a) is not a list of numbers"),
        (np.ones((1, 2, 2)), "vector 0 (a) is not a list of numbers"),
        (5, "vectors must be rows; expected rows of numbers; got 5 (int)"),
    ],
)
def test_refuses_and_names_the_row(rows, message):
    with pytest.raises(InvalidVector) as caught:
        to_grid(rows, labels=["a", "b"])
    assert message in str(caught.value)
    assert caught.value.field == "vector"


@pytest.mark.parametrize("rows", [[[1, 2]], np.array([[1, 2]])])
def test_refuses_other_dimensions_than_those_asked_for(rows):
    with pytest.raises(InvalidVector, match="vector 0 has the wrong length; expected 3 dimensions; got 2"):
        to_grid(rows, dimensions=3)


def test_holds_its_peace_when_numpy_is_told_to_raise():
    with np.errstate(all="raise"):
        assert to_grid([[1e-300, 1.0]]).tolist() == [[0, 32767]]


def test_names_the_row_of_a_later_chunk():
    rows = np.ones((3000, 384))
    rows[2999] = 0
    with pytest.raises(InvalidVector, match="vector 2999 is zero"):
        to_grid(rows)
