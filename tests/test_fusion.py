from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from holdstill.fusion import Ranking, fuse

WEIGHTS = [Fraction(1), Fraction(2), Fraction(1, 10), Fraction(7, 3), Fraction(10**6), Fraction(1, 10**9)]


def key(unit):
    """A printed order that is not the order of the numbers, as document ids are not."""
    return f"{unit % 7}/{unit}"


def order(units):
    return np.array(sorted(units.tolist(), key=key), np.int64)


def ranking(arm):
    units = sorted(arm.scores)
    return Ranking(arm.name, np.array(units, np.int64), np.array([arm.scores[u] for u in units], np.int64), arm.weight)


def run(arms, *, rrf_k=60, k=10, offset=0, depth=None):
    return fuse([ranking(arm) for arm in arms], rrf_k=rrf_k, k=k, offset=offset, depth=depth, order=order)


def listed(name, *units, weight=Fraction(1)):
    """An arm that ranks these units in this order."""
    return oracle.Arm(name, {unit: -place for place, unit in enumerate(units)}, weight)


def check(arms, rrf_k, k, offset, depth):
    got = run(arms, rrf_k=rrf_k, k=k, offset=offset, depth=depth)
    expected = oracle.fuse(arms, rrf_k, k, offset, depth, key)
    assert [
        oracle.Place(place.unit, place.rank, place.tied, place.score, dict(place.ranks), dict(place.scores))
        for place in got.places
    ] == expected.places
    assert got.ties_beyond == expected.ties_beyond
    assert got.completeness == expected.completeness
    return got


@st.composite
def arm_lists(draw, most=40):
    """One to three arms over few units; scores spread widely, or crowded into ties."""
    size = draw(st.integers(0, most))
    arms = []
    for name in ("lexical", "dense", "third")[: draw(st.integers(1, 3))]:
        held = draw(st.sets(st.integers(0, max(0, size - 1)), max_size=size))
        span = draw(st.sampled_from([0, 2, 5, 10**6]))
        scores = {unit: draw(st.integers(0, span)) for unit in sorted(held)}
        arms.append(oracle.Arm(name, scores, draw(st.sampled_from(WEIGHTS))))
    return arms


pages = {
    "rrf_k": st.sampled_from([1, 2, 3, 60, 2**31 - 1]),
    "k": st.sampled_from([1, 2, 3, 10, 100, 2**31 - 1]),
    "offset": st.sampled_from([0, 0, 1, 5, 30, 2**31 - 1]),
}


@settings(deadline=None, max_examples=300)
@given(arm_lists(), *pages.values(), st.none())
def test_a_page_is_that_of_the_whole_list(arms, rrf_k, k, offset, depth):
    check(arms, rrf_k, k, offset, depth)


@settings(deadline=None)
@given(arm_lists(), *pages.values(), st.integers(1, 50))
def test_a_page_at_a_fixed_depth_is_that_of_the_lists_cut_there(arms, rrf_k, k, offset, depth):
    check(arms, rrf_k, k, offset, depth)


@pytest.mark.parametrize("rrf_k", [1, 2, 5, 60, 2**31 - 1])
@pytest.mark.parametrize("seed", range(3))
def test_permutations_too_long_to_be_taken_whole(rrf_k, seed):
    # A small K gives sums that are equal as fractions and unequal as floats; the largest K gives the contrary.
    shuffle = np.random.default_rng(seed).permutation
    arms = [listed(name, *shuffle(250).tolist()) for name in ("lexical", "dense")]
    for k, offset in [(1, 0), (10, 0), (7, 11), (250, 0)]:
        check(arms, rrf_k, k, offset, None)
    assert set(run(arms, rrf_k=1, k=1).stops.values()) == {"enough"}


@settings(deadline=None)
@given(arm_lists(), pages["rrf_k"], st.one_of(st.none(), st.integers(1, 20)), st.sampled_from([1, 3, 7]))
def test_pages_concatenate(arms, rrf_k, depth, size):
    whole = run(arms, rrf_k=rrf_k, k=1000, depth=depth)
    joined = []
    while page := run(arms, rrf_k=rrf_k, k=size, offset=len(joined), depth=depth).places:
        joined += page
    assert tuple(joined) == whole.places
    assert len(joined) == whole.total


def test_sums_equal_as_fractions_tie_though_floats_differ():
    assert 1 / 61 + 1 / 549 != 1 / 63 + 1 / 427
    dense = list(range(1000, 1600))
    dense[488], dense[366] = 1, 2
    arms = [listed("lexical", 2_000, 3, 2_001)._replace(scores={1: 9, 3: 8, 2: 7}), listed("dense", *dense)]
    first, second, third = run(arms, k=3).places
    assert {first.unit, second.unit} == {1, 2}
    assert first.score == second.score == Fraction(1, 61) + Fraction(1, 549)
    assert (first.rank, second.rank, third.rank) == (1, 1, 3)
    assert (first.tied, second.tied) == (True, True)
    assert run(arms, k=1).ties_beyond == 1


def test_mirrored_lists_tie_in_pairs():
    units = list(range(101))
    fused = run([listed("lexical", *units), listed("dense", *reversed(units))], k=101)
    assert [place.rank for place in fused.places] == [1 + i // 2 * 2 for i in range(100)] + [101]
    assert [place.tied for place in fused.places] == [True] * 100 + [False]


def test_an_absent_rank_is_null_and_adds_nothing():
    x, a, y, b, c = range(5)
    fused = run([listed("lexical", x, a, y), listed("dense", b, c, y)])
    first = fused.places[0]
    assert first.unit == y
    assert first.ranks == {"lexical": 3, "dense": 3}
    assert first.score == Fraction(2, 63)
    assert {place.unit: place.ranks for place in fused.places}[x] == {"lexical": 1, "dense": None}
    assert {place.unit: place.scores for place in fused.places}[x] == {"lexical": 0, "dense": None}


def test_two_hundred_alike_share_the_first_rank():
    arms = [oracle.Arm(name, dict.fromkeys(range(200), 5)) for name in ("lexical", "dense")]
    fused = run(arms, k=10, offset=20)
    assert [place.unit for place in fused.places] == sorted(range(200), key=key)[20:30]
    assert {(place.rank, place.tied) for place in fused.places} == {(1, True)}
    assert fused.ties_beyond == 170
    assert all(run(arms, k=10, offset=20) == fused for _ in range(50))


def test_only_ties_on_the_page_are_put_in_order():
    asked = []

    def watching(units):
        asked.append(units.tolist())
        return order(units)

    arm = oracle.Arm("lexical", {0: 9, 1: 8, 2: 8, 3: 7, 4: 6, 5: 6, 6: 5})
    fuse([ranking(arm)], rrf_k=60, k=3, offset=1, order=watching)
    assert asked == [[1, 2]]


@given(st.lists(st.integers(0, 4), max_size=60), st.integers(1, 20), st.sampled_from(WEIGHTS))
def test_one_arm_alone_keeps_its_order(scores, k, weight):
    arm = oracle.Arm("dense", dict(enumerate(scores)), weight)
    fused = check([arm], 60, k, 0, None)
    assert [place.rank for place in fused.places] == [place.ranks["dense"] for place in fused.places]


def test_the_printed_score_is_the_correctly_rounded_one():
    arms = [listed("lexical", 0, weight=Fraction(1, 10)), listed("dense", 1, 2, 0)]
    score = next(place.score for place in run(arms).places if place.unit == 0)
    assert score == Fraction(1, 610) + Fraction(1, 63)
    assert float(score) == (610 + 63) / (610 * 63)


@pytest.mark.parametrize("rrf_k", [2, 10])
def test_the_bound_enlarges_the_first_depth_until_it_proves(rrf_k):
    # The heaviest arm ranks less than a page. Unit 9 is fourth in both others, which is below their first depth of 3;
    # with K = 2 it ties with the second place, with K = 10 it takes it.
    heavy = listed("lexical", 0, weight=Fraction(10**6))
    arms = [heavy, listed("dense", 1, 2, 3, 9, *range(20, 60)), listed("third", 4, 5, 6, 9, *range(60, 100))]
    fused = check(arms, rrf_k, 2, 0, None)
    assert (fused.ties_beyond, fused.places[1].unit) == ((2, 1) if rrf_k == 2 else (0, 9))
    assert fused.stops == {"lexical": "exhausted", "dense": "enough", "third": "enough"}


@pytest.mark.parametrize(
    ("k", "offset", "depth", "completeness", "stops", "total"),
    [
        (1, 0, None, "complete", {"lexical": "exhausted", "dense": "enough"}, None),
        (100, 0, None, "complete", {"lexical": "exhausted", "dense": "exhausted"}, 100),
        (101, 0, None, "exhausted", {"lexical": "exhausted", "dense": "exhausted"}, 100),
        (10, 95, None, "exhausted", {"lexical": "exhausted", "dense": "exhausted"}, 100),
        (10, 500, None, "exhausted", {"lexical": "exhausted", "dense": "exhausted"}, 100),
        (2, 0, 3, "complete", {"lexical": "exhausted", "dense": "budget"}, 5),
        (6, 0, 3, "truncated", {"lexical": "exhausted", "dense": "budget"}, 5),
        (6, 100, 3, "truncated", {"lexical": "exhausted", "dense": "budget"}, 5),
        (101, 0, 99, "truncated", {"lexical": "exhausted", "dense": "budget"}, 99),
        (101, 0, 100, "exhausted", {"lexical": "exhausted", "dense": "exhausted"}, 100),
    ],
)
def test_completeness_and_stops(k, offset, depth, completeness, stops, total):
    arms = [listed("lexical", 50, 51), listed("dense", *range(100))]
    fused = check(arms, 1, k, offset, depth)
    assert (fused.completeness, fused.stops, fused.total) == (completeness, stops, total)
    assert fused.proof == ("exhaustive" if depth is None else "depth")


def test_a_depth_that_leaves_out_nothing_that_another_arm_has_not_is_not_truncated():
    arms = [listed("lexical", 1, 2, 3), listed("dense", 3, 2, 1)]
    assert run(arms, depth=2, k=10).completeness == "exhausted"
    assert run(arms, depth=1, k=10).completeness == "truncated"


@pytest.mark.parametrize("depth", [None, 5])
def test_nothing_matched(depth):
    fused = run([oracle.Arm("lexical", {}), oracle.Arm("dense", {})], depth=depth)
    assert (fused.places, fused.ties_beyond, fused.completeness, fused.total) == ((), 0, "exhausted", 0)
    assert fused.stops == {"lexical": "exhausted", "dense": "exhausted"}


def test_what_is_given_is_not_changed():
    arms = [listed("lexical", 3, 1, 2), listed("dense", 2, 3)]
    given_ = [ranking(arm) for arm in arms]
    for each in given_:
        each.units.flags.writeable = each.scores.flags.writeable = False
    fuse(given_, rrf_k=60, k=2, depth=1, order=order)
    fuse(given_, rrf_k=60, k=2, order=order)
