"""What every store must do alike: each test of this folder runs once on each store.

A store that cannot pass a test has a gap, which is to be declared here with its reason and expected to fail strictly.
None has one today.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import holdstill
from holdstill import Collection

STORES = ("duckdb",)

Make = Callable[..., Collection]


@pytest.fixture(scope="module", params=STORES)
def make(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Make]:
    """Makes an empty collection of words, or, with `vector_model`, of vectors that the documents bring."""
    folder: Path = tmp_path_factory.mktemp(request.param)
    with ExitStack() as opened:
        made = 0

        def create(**arguments: Any) -> Collection:
            nonlocal made
            made += 1
            embedder = {} if "vector_model" in arguments or "embedder" in arguments else {"embedder": "none"}
            return opened.enter_context(holdstill.create(folder / f"{made}.hs", **embedder, **arguments))

        yield create
