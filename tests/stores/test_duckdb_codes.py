"""Codes in segments: made when one is written, merged or mended; searched by, and never trusted beyond the vectors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import holdstill as hs
from holdstill.ranking import cascade, codes, compiled, kernels
from segment_reader import load

WIDTH, ROWS = 96, 400


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codes, "MIN_ROWS", ROWS)
    monkeypatch.setattr(cascade, "DIRECT", 0)
    monkeypatch.setattr(cascade, "_POOL", 1)


def documents(start: int, stop: int) -> Iterator[hs.Document]:
    draws = np.random.default_rng(7)
    vectors = draws.normal(size=(stop, WIDTH)) / (1 + np.arange(WIDTH))
    for at in range(start, stop):
        yield hs.Document(f"d{at}", passages=[hs.Passage(f"text {at}", vector=vectors[at].tolist())])


def coded(path: Path) -> list[bool]:
    """For each segment file, in order of its name, whether it holds codes."""
    held = []
    for file in sorted((path / "index").glob("*.seg")):
        commit = int(file.name.split("-")[0])
        held.append("codes.leading" in load(file, commit))
    return held


def answers(collection: hs.Collection, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Digests by the numpy path, which reads every vector, after making sure that pruning gives the same."""
    queries = [next(documents(at, at + 1)).passages[0].vector for at in (0, 5, 17)]
    asked = [(query, k, depth) for query in queries for k in (1, 10, 399) for depth in (None, 5)]
    both = []
    for serving in (None, kernels):
        monkeypatch.setattr(compiled, "kernels", lambda _rows, serving=serving: serving)
        both.append(
            [
                collection.search(vector=query, k=k, settings=hs.Settings(depth=depth)).digest
                for query, k, depth in asked
            ]
        )
    assert both[0] == both[1]
    return both[0]


def test_large_segments_have_codes_and_merging_makes_them_anew(tmp_path, monkeypatch):
    path = tmp_path / "coded.hs"
    with hs.create(path, vector_model="small") as collection:
        collection.add(documents(0, ROWS))
        assert coded(path) == [True]
        collection.add(documents(ROWS, ROWS + 50))
        assert coded(path) == [True, False]
        apart = answers(collection, monkeypatch)
        collection.add(documents(ROWS + 50, 2 * ROWS + 50))
        assert coded(path) == [True]
        collection.delete([f"d{at}" for at in range(ROWS + 50, 2 * ROWS + 50)])
        assert answers(collection, monkeypatch) == apart


def test_torn_codes_are_made_again(tmp_path, monkeypatch):
    path = tmp_path / "torn.hs"
    with hs.create(path, vector_model="small") as collection:
        collection.add(documents(0, ROWS))
        before = answers(collection, monkeypatch)
    (file,) = (path / "index").glob("*.seg")
    file.write_bytes(file.read_bytes()[: -ROWS * 4])
    with hs.open(path) as collection:
        assert answers(collection, monkeypatch) == before
        assert coded(path) == [True]


def test_a_segment_without_codes_is_read_as_it_is(tmp_path, monkeypatch):
    """As those are that an earlier version wrote."""
    path = tmp_path / "old.hs"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codes, "MIN_ROWS", 10**9)
        with hs.create(path, vector_model="small") as collection:
            collection.add(documents(0, ROWS))
    with hs.open(path) as collection:
        assert coded(path) == [False]
        old = answers(collection, monkeypatch)
    with hs.create(tmp_path / "new.hs", vector_model="small") as collection:
        collection.add(documents(0, ROWS))
        assert answers(collection, monkeypatch) == old


def test_adding_tells_that_vectors_are_coded(tmp_path):
    told: set[str] = set()
    with hs.create(tmp_path / "told.hs", vector_model="small") as collection:
        collection.add(documents(0, ROWS), progress=lambda what, _done, _total: told.add(what))
    assert "coding vectors" in told
