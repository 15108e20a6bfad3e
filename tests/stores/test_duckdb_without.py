"""A segment without some contents is the one that the others would have made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdstill.analysis import Term
from holdstill.ranking import codes
from holdstill.stores.duckdb import records, segment

WORDS = ("a", "b", "bb", "日本", "c++")
WIDTH = 3

Content = tuple[int, list[list[str]]]


def built(contents: list[Content], width: int = WIDTH) -> Any:
    """Each passage's vector comes from the number of its content and its place there."""
    passages = [words for _, content in contents for words in content]
    terms = [[Term(word, at, at, True) for at, word in enumerate(words)] for words in passages]
    shown = [records.encode(str(number), words, None, None, "") for number, each in contents for words in each]
    rows = [np.arange(width) * 7 + number * 31 + at for number, each in contents for at in range(len(each))]
    vectors = np.array(rows, dtype=np.int16).reshape(len(rows), width)
    starts = np.cumsum([0] + [len(each) for _, each in contents])
    return segment.build(terms, shown, np.array([number for number, _ in contents], dtype=np.int64), starts, vectors)


@st.composite
def corpora(draw: st.DrawFn) -> list[Content]:
    numbers = sorted(draw(st.sets(st.integers(0, 20), min_size=1, max_size=8)))
    passage = st.lists(st.sampled_from(WORDS), max_size=5)
    return [(number, draw(st.lists(passage, min_size=1, max_size=3))) for number in numbers]


def assert_equal(first: Any, second: Any) -> None:
    assert list(first) == list(second)
    for name in first:
        assert first[name].dtype == second[name].dtype, name
        assert first[name].tobytes() == second[name].tobytes(), name
        assert first[name].shape == second[name].shape, name


@settings(max_examples=150)
@given(corpora(), st.sets(st.integers(0, 20)), st.sampled_from([0, WIDTH]))
def test_it_is_what_the_others_would_have_made(corpus: list[Content], gone: set[int], width: int) -> None:
    kept = [content for content in corpus if content[0] not in gone]
    if kept:
        left = segment.without(built(corpus, width), np.array(sorted(gone), dtype=np.int64))
        assert_equal(left, built(kept, width))


def test_codes_are_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codes, "MIN_ROWS", 50)
    draws = np.random.default_rng(3)
    corpus = [(number, [["a"]]) for number in range(120)]
    vectors = np.rint(draws.normal(size=(120, 64)) / (1 + np.arange(64)) * 3000).astype(np.int16)
    starts = np.arange(121)

    def made(numbers: list[int]) -> Any:
        terms = [[Term("a", 0, 0, True)] for _ in numbers]
        shown = [records.encode("", [], None, None, str(number)) for number in numbers]
        return segment.build(terms, shown, np.array(numbers), starts[: len(numbers) + 1], vectors[numbers])

    gone = list(range(0, 120, 3))
    left = segment.without(made([number for number, _ in corpus]), np.array(gone))
    rest = made([number for number, _ in corpus if number not in gone])
    assert "codes.leading" in rest
    assert_equal(left, rest)
