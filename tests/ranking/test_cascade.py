from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from histories import budget
from holdstill.ranking import cascade, codes, compiled, dense, kernels
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


@st.composite
def cases(draw: st.DrawFn):
    vectors = draw(families(dimensions=st.sampled_from([3, 8, 40]), rows=st.integers(1, 120)))
    cuts = [0, *sorted(draw(st.lists(st.integers(0, len(vectors)), max_size=3))), len(vectors)]
    rotation = draw(rotations())
    blocks = [
        Block(start, vectors[start:stop], made if draw(st.integers(0, 3)) else None)
        for start, stop in pairwise(cuts)
        for made in [codes.code(vectors[start:stop], rotation(vectors.shape[1]), vectors.shape[1] // 3)]
    ]
    seed = draw(st.integers(0, 2**32 - 1))
    draws = np.random.default_rng(seed)
    eligible = draws.random(len(vectors)) < draw(st.sampled_from([0.0, 0.05, 0.3, 1.0]))
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
def test_every_stage_keeps_what_may_be_among_the_first(case):
    vectors, blocks, query, eligible, _ = case
    parts, _ = cascade._divided(blocks, query, eligible, 0)
    for part in parts:
        inside = np.arange(len(part.eligible)) if part.rows is None else part.rows
        true = vectors[part.block.first :][inside].astype(np.int64) @ query.astype(np.int64)
        bounds, peaks = cascade._bounds(part, kernels)
        allowed = part.eligible[inside]
        assert (bounds[allowed] >= true[allowed]).all()
        assert np.isneginf(bounds[~allowed]).all()
        assert peaks.tolist() == [bounds[at : at + kernels.GROUP].max() for at in range(0, len(bounds), kernels.GROUP)]
        some = np.flatnonzero(allowed)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cascade, "_MANY", 0)
            low, high = cascade._range(part, query, some, bounds[some], kernels)
        assert (low <= true[some]).all()
        assert (true[some] <= high).all()


@budget(40)
@given(cases())
def test_the_allowance_for_float32_covers_every_rounding(case):
    """The bound in exact arithmetic, without that allowance, is never above the one computed."""
    _, blocks, query, eligible, _ = case
    for part in cascade._divided(blocks, query, eligible, 0)[0]:
        bounds, _ = cascade._bounds(part, kernels)
        step, leading, trailing, slack = (Fraction(float(factor)) for factor in part.question.factors)
        units = part.question.leading.units.astype(np.int64)
        for at in np.flatnonzero(np.isfinite(bounds)).tolist()[:20]:
            row = at if part.rows is None else int(part.rows[at])
            made = part.codes
            exact = (
                step * Fraction(float(made.leading_step[row])) * int(made.leading[row].astype(np.int64) @ units)
                + leading * Fraction(float(made.leading_residual[row]))
                + trailing * Fraction(float(made.remainder[row]))
                + slack
            )
            assert abs(Fraction(float(bounds[at])) - exact) <= Fraction(cascade._ROUNDING)


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
                kept = np.flatnonzero(eligible)[top(everything, depth)[0]]
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
    assert sum(scored) < 5 * 300


def test_without_kernels_or_codes_everything_is_scored(monkeypatch):
    vectors = family("steep", 300, 40, np.random.default_rng(6))
    coded = Block(0, vectors, codes.code(vectors, np.eye(40), 10))
    expected = plain(vectors, vectors[0], np.ones(300, bool), 7)
    for blocks, serving in (([coded], None), ([Block(0, vectors)], kernels), ([coded], kernels)):
        monkeypatch.setattr(compiled, "kernels", lambda _rows, serving=serving: serving)
        rows, scores = cascade.nearest(blocks, vectors[0], np.ones(300, bool), 7)
        assert (rows.tolist(), scores.tolist()) == expected
