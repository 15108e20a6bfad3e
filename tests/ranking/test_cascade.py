from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from histories import budget
from holdstill.ranking import cascade, codes, compiled, dense, kernels
from holdstill.ranking.codes import Codes
from holdstill.ranking.dense import Block
from holdstill.ranking.grid import to_grid
from holdstill.ranking.ranks import top
from vectors import FAMILIES, families, family, rotations


@pytest.fixture(autouse=True, scope="module")
def always_pruned():
    """The compiled path for any number of rows, with nothing so small that it is scored at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "kernels", lambda _rows: kernels)
        patch.setattr(cascade, "DIRECT", 0)
        patch.setattr(cascade, "_POOL", 1)
        yield


def plain(vectors, query, eligible, depth) -> tuple[list[int], list[int]]:
    """Score everything in Python's integers; the first `depth` and their ties."""
    rows = np.flatnonzero(eligible).tolist()
    scores = {row: sum(a * b for a, b in zip(vectors[row].tolist(), query.tolist(), strict=True)) for row in rows}
    least = sorted(scores.values(), reverse=True)[min(depth, len(rows)) - 1] if rows else 0
    kept = [row for row in rows if scores[row] >= least]
    return kept, [scores[row] for row in kept]


def coded(vectors, axes) -> Codes | None:
    return codes.code(vectors, axes) if len(vectors) else None


def parts(blocks, eligible) -> Iterator[cascade._Part]:
    """The coded blocks, once to be read in one stretch and once row by row."""
    for block, allowed, _ in dense.spans(blocks, eligible):
        if block.codes is not None:
            yield cascade._Part(block, block.codes, allowed, None)
            yield cascade._Part(block, block.codes, allowed, np.flatnonzero(allowed))


@st.composite
def cases(draw: st.DrawFn):
    vectors = draw(families(dimensions=st.sampled_from([3, 8, 40]), rows=st.integers(1, 120)))
    cuts = [0, *sorted(draw(st.lists(st.integers(0, len(vectors)), max_size=3))), len(vectors)]
    rotation = draw(rotations())
    blocks = [
        Block(start, vectors[start:stop], made if draw(st.integers(0, 3)) else None)
        for start, stop in pairwise(cuts)
        for made in [coded(vectors[start:stop], rotation(vectors.shape[1])[: vectors.shape[1] // 3])]
    ]
    seed = draw(st.integers(0, 2**32 - 1))
    draws = np.random.default_rng(seed)
    share = draw(st.sampled_from([0.0, 0.05, 0.3, 0.6, 1.0]))
    eligible = draws.random(len(vectors)) < share
    if draw(st.booleans()):  # in one stretch, as documents of one kind are that were added together
        eligible = np.roll(np.arange(len(vectors)) < share * len(vectors), draw(st.integers(0, len(vectors))))
    name = draw(st.sampled_from(["row", "opposite", *FAMILIES]))
    if name in ("row", "opposite"):
        query = vectors[draws.integers(len(vectors))] * np.int16(1 if name == "row" else -1)
    else:
        query = family(name, 1, vectors.shape[1], draws)[0]
    return vectors, blocks, query, eligible, draw(st.integers(1, 20))


@budget(150)
@given(cases())
def test_the_first_are_those_of_scoring_everything(case):
    vectors, blocks, query, eligible, depth = case
    rows, scores = cascade.nearest(blocks, query, eligible, depth)
    assert (rows.tolist(), scores.tolist()) == plain(vectors, query, eligible, depth)


@budget(60)
@given(cases())
def test_no_score_is_above_its_bound(case):
    vectors, blocks, query, eligible, _ = case
    for part in parts(blocks, eligible):
        inside = np.arange(len(part.eligible)) if part.rows is None else part.rows
        true = vectors[part.block.first :][inside].astype(np.int64) @ query.astype(np.int64)
        bounds, peaks = cascade._bounds(part, query, kernels)
        allowed = part.eligible[inside]
        assert (bounds[allowed] >= true[allowed]).all()
        assert np.isneginf(bounds[~allowed]).all()
        assert peaks.tolist() == [bounds[at : at + kernels.GROUP].max() for at in range(0, len(bounds), kernels.GROUP)]


@budget(40)
@given(cases())
def test_the_allowance_for_float32_covers_every_rounding(case):
    """The bound in exact arithmetic is never further from the one computed than what it allows for that."""
    _, blocks, query, eligible, _ = case
    for part in parts(blocks, eligible):
        bounds, _ = cascade._bounds(part, query, kernels)
        units, factors = cascade._question(query, part.codes)
        step, on_axes, lost, slack = (Fraction(float(factor)) for factor in factors)
        for at in np.flatnonzero(np.isfinite(bounds)).tolist()[:20]:
            row = at if part.rows is None else int(part.rows[at])
            product = int(part.codes.leading[row].astype(np.int64) @ units.astype(np.int64))
            residual, remainder = part.codes.lengths[row].tolist()
            exact = step * product + on_axes * residual + lost * remainder + slack
            assert abs(Fraction(float(bounds[at])) - exact) <= Fraction(cascade._ROUNDING)


@budget(40)
@given(cases())
def test_what_is_allowed_for_all_rows_covers_the_rounded_query_and_the_axes(case):
    _, blocks, query, eligible, _ = case
    for part in parts(blocks, eligible):
        units, factors = cascade._question(query, part.codes)
        step, on_axes, lost, slack = (Fraction(float(factor)) for factor in factors)
        axes = [[Fraction(value) for value in axis] for axis in part.codes.axes.tolist()]
        projected = [sum(a * q for a, q in zip(axis, query.tolist(), strict=True)) for axis in axes]
        scaled = [value * Fraction(width) for value, width in zip(projected, part.codes.steps.tolist(), strict=True)]
        # Codes at their largest, each of the sign that hurts most.
        left = 127 * sum(abs(value - step * unit) for value, unit in zip(scaled, units.tolist(), strict=True))
        assert slack >= left + 3 * Fraction(float(part.codes.defect[0])) * 2**30 + Fraction(cascade._ROUNDING)
        assert on_axes**2 >= sum(value * value for value in projected)
        there = [sum(axis[at] * value for axis, value in zip(axes, projected, strict=True)) for at in range(len(query))]
        assert lost**2 >= sum((q - value) ** 2 for q, value in zip(query.tolist(), there, strict=True))


@pytest.mark.parametrize("pool", [1, 4])
def test_eligible_rows_that_stand_together_set_the_floor_alone(pool, monkeypatch):
    """Whole groups hold no eligible row, and what is in them scores higher than all that is eligible."""
    monkeypatch.setattr(cascade, "_POOL", pool)
    vectors = to_grid(np.random.default_rng(8).normal(size=(5000, 48)) / (1 + np.arange(48)))
    query = to_grid([[1.0, *[0.01] * 47]])[0]
    vectors = vectors[np.argsort(vectors.astype(np.int64) @ query.astype(np.int64))]  # the best last
    block = Block(0, vectors, codes.code(vectors, np.eye(48)[:16]))
    for eligible in (np.arange(5000) < 2600, np.arange(5000) % 2500 < 1300, np.abs(np.arange(5000) - 2500) < 1280):
        for depth in (1, 2, 3, 4, 5, 9, 10, 11, 12, 13, 19, 20, 21, 24, 25, 100):
            rows, scores = cascade.nearest([block], query, eligible, depth)
            assert (rows.tolist(), scores.tolist()) == plain(vectors, query, eligible, depth)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_thousand_rows_of_every_kind(name, monkeypatch):
    """Where the groups and the pool matter, at a width that models have."""
    monkeypatch.setattr(codes, "MIN_ROWS", 1)
    monkeypatch.setattr(codes, "leading_dimensions", lambda _energy: 128)
    draws = np.random.default_rng(3)
    vectors = family(name, 3000, 384, draws)
    block = Block(0, vectors, codes.encode(vectors))
    for eligible in (np.ones(3000, bool), draws.random(3000) < 0.5, draws.random(3000) < 0.05):
        for query in (vectors[7], -vectors[8], family("steep", 1, 384, draws)[0]):
            everything = dense.scores([Block(0, vectors)], query, eligible)
            for depth in (1, 10, 400):
                rows, scores = cascade.nearest([block], query, eligible, depth)
                kept = np.flatnonzero(eligible)[top(everything, depth)]
                assert rows.tolist() == kept.tolist()
                assert scores.tolist() == (vectors[rows].astype(np.int64) @ query.astype(np.int64)).tolist()


def test_most_rows_are_never_scored(monkeypatch):
    draws = np.random.default_rng(4)
    vectors = to_grid(draws.normal(size=(30_000, 128)) / (1 + np.arange(128)))
    block = Block(0, vectors, codes.encode(vectors))
    scored: list[int] = []
    of_rows = dense.of_rows

    def counted(vectors, query, rows, kernels):
        scored.append(len(rows))
        return of_rows(vectors, query, rows, kernels)

    monkeypatch.setattr(dense, "of_rows", counted)
    for query in to_grid(draws.normal(size=(5, 128)) / (1 + np.arange(128))):
        cascade.nearest([block], query, np.ones(30_000, bool), 10)
    assert sum(scored) < 5 * 600


def test_without_kernels_or_codes_everything_is_scored(monkeypatch):
    vectors = family("steep", 300, 40, np.random.default_rng(6))
    with_codes = Block(0, vectors, codes.code(vectors, np.eye(40)[:10]))
    expected = plain(vectors, vectors[0], np.ones(300, bool), 7)
    for blocks, serving in (([with_codes], None), ([Block(0, vectors)], kernels), ([with_codes], kernels)):
        monkeypatch.setattr(compiled, "kernels", lambda _rows, serving=serving: serving)
        rows, scores = cascade.nearest(blocks, vectors[0], np.ones(300, bool), 7)
        assert (rows.tolist(), scores.tolist()) == expected
