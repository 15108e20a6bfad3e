"""Vectors that make bounds work hard, and matrices that are nearly rotations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from holdstill.ranking.grid import ONE, to_grid

Grid = NDArray[np.int16]
FAMILIES = ("steep", "flat", "equal", "nearly equal", "one-hot", "on an axis", "half a step", "as long as can be")


@st.composite
def families(draw: st.DrawFn, dimensions: st.SearchStrategy[int], rows: st.SearchStrategy[int]) -> Grid:
    """Grid vectors, shape (n, d), of one family or two mixed."""
    width, count, seed = draw(dimensions), draw(rows), draw(st.integers(0, 2**32 - 1))
    chosen = draw(st.lists(st.sampled_from(FAMILIES), min_size=1, max_size=2, unique=True))
    made = np.concatenate([family(name, count, width, np.random.default_rng(seed)) for name in chosen])
    return made[np.random.default_rng(seed).permutation(len(made))[:count]]


def family(name: str, count: int, width: int, draws: np.random.Generator) -> Grid:
    decay = 1 / (1 + np.arange(width))
    steep = to_grid(draws.normal(size=(count, width)) * decay + 1e-9)
    if name == "flat":
        return to_grid(draws.normal(size=(count, width)) + 1e-9)
    if name == "equal":
        return np.repeat(steep[:1], count, axis=0)
    if name == "nearly equal":  # apart by one unit in one component
        close = np.repeat(steep[:1], count, axis=0)
        close[np.arange(count), draws.integers(0, width, count)] += draws.integers(-1, 2, count).astype(np.int16)
        return np.clip(close, -ONE, ONE)
    if name == "one-hot":
        hot = np.zeros((count, width), np.int16)
        hot[np.arange(count), draws.integers(0, width, count)] = draws.choice([-ONE, ONE], count)
        return hot
    if name == "on an axis":  # all but nothing outside the first component
        lone = np.zeros((count, width), np.int16)
        lone[:, 0], lone[:, -1] = ONE, draws.integers(-1, 2, count)
        return lone
    if name == "half a step":  # components halfway between two codes
        steps = draws.integers(-126, 127, (count, width)) + 0.5
        steps[:, 0] = 127
        return to_grid(steps)
    if name == "as long as can be":  # every component rounded away from zero
        return np.full((count, width), np.ceil(2**15 / width**0.5), np.int64).clip(-ONE, ONE).astype(np.int16) * (
            draws.choice([-1, 1], (count, width)).astype(np.int16)
        )
    return steep


@st.composite
def rotations(draw: st.DrawFn) -> Callable[[int], NDArray[np.float64]]:
    """What makes a matrix of some size: the identity, a rotation, or one that is a little off."""
    kind, seed = draw(st.sampled_from(["identity", "random", "off"])), draw(st.integers(0, 2**32 - 1))

    def made(width: int) -> NDArray[np.float64]:
        draws = np.random.default_rng(seed)
        if kind == "identity":
            return np.eye(width)
        if kind == "off":
            return np.eye(width) * draws.choice([1 - 4e-4, 1 + 4e-4])
        return np.ascontiguousarray(np.linalg.qr(draws.normal(size=(width, width)))[0])

    return made
