import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from holdstill.ranking.ranks import best_by_group, count_ranks, top

pytestmark = pytest.mark.usefixtures("path")

extremes = st.sampled_from([-(2**63), -(2**40), -1, 0, 1, 2, 3, 2**63 - 1])
score_lists = st.lists(st.one_of(st.integers(0, 5), extremes), max_size=40)


def array(values):
    return np.array(values, np.int64)


@given(score_lists, st.integers(1, 50))
def test_top_keeps_tie_groups_whole(scores, depth):
    taken = top(array(scores), depth)
    by_unit = dict(enumerate(scores))
    assert taken.tolist() == sorted(oracle.first(by_unit, depth))
    left = [rank for unit, rank in oracle.ranks(by_unit).items() if unit not in set(taken.tolist())]
    assert not left or min(left) == len(taken) + 1


@pytest.mark.parametrize(
    ("scores", "depth", "taken"),
    [
        ([5, 1, 5, 3], 1, [0, 2]),
        ([5, 1, 5, 3], 3, [0, 2, 3]),
        ([7, 7, 7], 1, [0, 1, 2]),
        ([1, 2], 2**40, [0, 1]),
        ([], 1, []),
    ],
)
def test_top_by_example(scores, depth, taken):
    assert top(array(scores), depth).tolist() == taken


@given(score_lists, score_lists)
def test_ranks_count_what_is_strictly_higher(scores, wanted):
    got = count_ranks(array(scores), array(wanted))
    assert got.dtype == np.int64
    assert got.tolist() == [1 + sum(score > each for score in scores) for each in wanted]


@st.composite
def many(draw):
    """Thousands of scores, from all alike to all different, in no order or ascending."""
    size, distinct = draw(st.integers(4000, 40_000)), draw(st.sampled_from([1, 2, 50, 5000, 10**9]))
    places = np.arange(size, dtype=np.int64)
    scores = places * 0x9E3779B1 % 2**32 % distinct if draw(st.booleans()) else places % distinct
    return scores * draw(st.sampled_from([1, 2**31])) - draw(st.sampled_from([0, 2**40]))


@settings(deadline=None)
@given(many(), st.integers(1, 12))
def test_top_of_many(scores, depth):
    least = np.sort(scores)[-depth]
    assert top(scores, depth).tolist() == np.flatnonzero(scores >= least).tolist()


@settings(deadline=None)
@given(many(), st.lists(st.integers(0, 3999), max_size=30), score_lists)
def test_ranks_among_many(scores, places, others):
    wanted = np.concatenate([scores[places], array(others)])
    got = count_ranks(scores, wanted)
    assert got.tolist() == [1 + int((scores > each).sum()) for each in wanted]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=40))
def test_best_by_group(entries):
    entries.sort(key=lambda entry: entry[0])
    groups, scores = [group for group, _ in entries], [score for _, score in entries]
    rows = [10 + 2 * index for index in range(len(entries))]
    got = best_by_group(array(rows), array(scores), array(groups))
    expected = []
    for group in sorted(set(groups)):
        held = [(score, row) for row, (other, score) in zip(rows, entries, strict=True) if other == group]
        best = max(score for score, _ in held)
        expected.append((group, best, min(row for score, row in held if score == best)))
    assert list(zip(*(column.tolist() for column in got), strict=True)) == expected


def test_groups_need_only_stand_together():
    groups, best, firsts = best_by_group(array([3, 5, 9]), array([1, 4, 4]), array([8, 2, 2]))
    assert (groups.tolist(), best.tolist(), firsts.tolist()) == ([8, 2], [1, 4], [3, 5])
