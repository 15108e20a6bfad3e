"""A model that does not hold still is caught, named and refused."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from holdstill.embedding import check, check_shape, embed_rows, require_invariant
from holdstill.embedding.base import fits, token_count
from holdstill.errors import EmbedderFailed, InvalidInput

DOCS = Path(__file__).parents[2] / "docs" / "embedders.md"


class Still:
    """Each text's vector comes from its bytes and nothing else."""

    name: Any = "still"
    dimensions: Any = 8
    window: Any = None
    digest: Any = "sha256:still"

    def count_tokens(self, text: str) -> int:
        return len(text.split()) + 2

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        return np.array([self.one(text) for text in texts])

    def one(self, text: str) -> NDArray[np.float64]:
        seed = hashlib.sha256(text.encode()).digest()[: self.dimensions]
        return np.frombuffer(seed, dtype=np.uint8).astype(np.float64) + 1.0


class ScaledByTheBatch(Still):
    """As dynamic quantisation does: the scale comes from the largest value of the batch."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        rows = super().embed(texts)
        scale = np.abs(rows).max() / 127
        return np.round(rows / scale) * scale


class CountsItsCalls(Still):
    calls = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        self.calls += 1
        return super().embed(texts) + self.calls * 1e-12


class KnowsThePlace(Still):
    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        return super().embed(texts) + np.arange(len(texts))[:, None] * 1e-9


class KnowsTheThread(Still):
    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        return super().embed(texts) + (threading.current_thread() is not threading.main_thread())


def test_an_embedder_that_holds_still_passes() -> None:
    report = require_invariant(Still())
    assert report.invariant
    assert report.as_dict() == {
        "embedder": "still",
        "digest": "sha256:still",
        "texts": 12,
        "moved": [],
        "largest_difference": 0.0,
        "invariant": True,
    }


@pytest.mark.parametrize(
    ("embedder", "moved"),
    [
        (ScaledByTheBatch(), ("in a batch", "in reverse order", "on another thread")),
        (CountsItsCalls(), ("again", "in a batch", "in reverse order", "on another thread")),
        (KnowsThePlace(), ("in a batch", "in reverse order", "on another thread")),
        (KnowsTheThread(), ("on another thread",)),
    ],
)
def test_one_that_moves_is_caught_and_refused(embedder: Still, moved: tuple[str, ...]) -> None:
    report = check(embedder)
    assert report.moved == moved
    assert not report.invariant
    assert report.largest_difference > 0
    with pytest.raises(EmbedderFailed, match=r"'still' do not hold still; they move when embedded .*thread"):
        require_invariant(embedder)


def test_texts_beyond_a_small_window_are_left_out_of_the_check() -> None:
    small = Still()
    small.window = 16
    assert 0 < check(small).texts < 12


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.ones((1, 7)), r"wrong shape; expected \(1, 8\); got \(1, 7\)"),
        (np.ones(8), "wrong shape"),
        (np.zeros((1, 8)), "zero, NaN or infinite vector for text 0; got 'word'"),
        (np.full((1, 8), np.nan), "zero, NaN or infinite"),
        (np.full((1, 8), np.inf), "zero, NaN or infinite"),
        (np.array([["a"] * 8]), "raised ValueError"),
    ],
)
def test_unusable_rows_are_refused(rows: NDArray[Any], message: str) -> None:
    embedder = Still()
    embedder.embed = lambda texts: rows  # type: ignore[method-assign]
    with pytest.raises(EmbedderFailed, match=message):
        embed_rows(embedder, ["word"])


def test_no_texts_give_no_rows() -> None:
    embedder = Still()
    embedder.embed = lambda texts: np.empty((0, 8))  # type: ignore[method-assign]
    assert embed_rows(embedder, []).shape == (0, 8)


def test_an_error_of_anothers_code_becomes_ours_and_keeps_its_cause() -> None:
    class Offline(Still):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
            raise ConnectionError("no route")

        def count_tokens(self, text: str) -> int:
            raise KeyError(text)

    with pytest.raises(EmbedderFailed, match="'still' raised ConnectionError: no route") as caught:
        embed_rows(Offline(), ["word"])
    assert isinstance(caught.value.__cause__, ConnectionError)
    with pytest.raises(EmbedderFailed, match="raised KeyError"):
        token_count(Offline(), "word")


def test_our_own_errors_pass_unchanged() -> None:
    class Short(Still):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
            raise InvalidInput("too long", field="texts")

        def count_tokens(self, text: str) -> int:
            raise InvalidInput("not text", field="texts")

    with pytest.raises(InvalidInput, match="too long"):
        embed_rows(Short(), ["word"])
    with pytest.raises(InvalidInput, match="not text"):
        token_count(Short(), "word")


@pytest.mark.parametrize("count", [-1, 2.5, None, True])
def test_a_count_that_is_no_count_is_refused(count: Any) -> None:
    embedder = Still()
    embedder.count_tokens = lambda text: count  # type: ignore[method-assign]
    with pytest.raises(EmbedderFailed, match="did not count tokens"):
        token_count(embedder, "word")


def test_what_fits_the_window() -> None:
    embedder = Still()
    assert fits(embedder, "word " * 1000)
    embedder.window = 16
    assert fits(embedder, "word " * 14)
    assert not fits(embedder, "word " * 15)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", None),
        ("digest", " "),
        ("dimensions", 0),
        ("dimensions", 4097),
        ("dimensions", True),
        ("dimensions", 3.0),
        ("window", 15),
        ("window", "256"),
    ],
)
def test_a_description_that_cannot_be_right_is_refused(field: str, value: Any) -> None:
    embedder = Still()
    check_shape(embedder)
    setattr(embedder, field, value)
    with pytest.raises(InvalidInput, match=f"the embedder's {field} cannot be used") as caught:
        check(embedder)
    assert caught.value.field == f"embedder.{field}"


def test_the_example_of_the_documentation_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(example, str(DOCS), "exec"), {})
    assert capsys.readouterr().out == "True 0.0\n"
