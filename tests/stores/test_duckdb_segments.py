"""Segments: merged, rebuilt and built at once they are the same arrays; a small commit leaves the large ones alone."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdstill as hs
import segment_reader
from fakes import Hashed, vector
from holdstill.analysis import Term
from holdstill.stores.base import PreparedPassage, Rebuilt
from holdstill.stores.duckdb import arrays, records, segment, segments
from holdstill.stores.duckdb.index import Index
from holdstill.stores.duckdb.segments import Entry

WORDS = ("a", "b", "ab", "aa", "ß", "日本", "\U0001f600", "zebra", "c++")
WIDTH = 3


@st.composite
def corpora(draw: st.DrawFn, max_contents: int = 8) -> list[list[list[str]]]:
    """Contents, each a list of passages, each a list of words; a passage may have none."""
    passage = st.lists(st.sampled_from(WORDS), max_size=6)
    return draw(st.lists(st.lists(passage, min_size=1, max_size=3), min_size=1, max_size=max_contents))


def record(words: list[str]) -> bytes:
    return records.encode("title", words[:1], None, None, "\n".join(words))


def built(corpus: list[list[list[str]]], first: int = 0, content: int = 0) -> Any:
    passages = [[Term(word, at, at, True) for at, word in enumerate(words)] for content in corpus for words in content]
    shown = [record(words) for content in corpus for words in content]
    starts = np.cumsum([0] + [len(content) for content in corpus])
    vectors = np.arange(first * WIDTH, (first + len(passages)) * WIDTH, dtype=np.int16).reshape(-1, WIDTH)
    return segment.build(passages, shown, content + np.arange(len(corpus)), starts, vectors)


def assert_equal(first: Any, second: Any) -> None:
    assert list(first) == list(second)
    for name in first:
        assert first[name].dtype == second[name].dtype, name
        assert np.array_equal(first[name], second[name]), name


@settings(deadline=None, max_examples=60)
@given(corpora(), st.lists(st.integers(0, 8), max_size=3))
def test_merged_segments_are_the_arrays_built_at_once(corpus: list[list[list[str]]], cuts: list[int]) -> None:
    edges = sorted({0, len(corpus), *(cut for cut in cuts if cut < len(corpus))})
    parts, row = [], 0
    for begin, end in itertools.pairwise(edges):
        parts.append(built(corpus[begin:end], row, begin))
        row += sum(len(content) for content in corpus[begin:end])
    assert_equal(segment.merge(parts), built(corpus))
    if len(parts) > 2:
        assert_equal(segment.merge([segment.merge(parts[:2]), *parts[2:]]), built(corpus))


@settings(deadline=None, max_examples=60)
@given(corpora())
def test_a_segment_holds_every_occurrence_and_nothing_else(corpus: list[list[list[str]]]) -> None:
    passages = [words for content in corpus for words in content]
    expected: dict[str, dict[int, list[int]]] = defaultdict(dict)
    for row, words in enumerate(passages):
        for at, word in enumerate(words):
            expected[word].setdefault(row, []).append(at)
    arrays_ = built(corpus)
    assert segment.terms_of(arrays_) == sorted(word.encode() for word in expected)
    assert arrays_["lengths"].tolist() == [len(words) for words in passages]
    assert [segment.record(arrays_, row) for row in range(len(passages))] == [record(words) for words in passages]
    index = Index((arrays_,))
    for word in WORDS:
        found = index.postings(word)
        positions = iter(found.positions.tolist())
        read = {
            row: list(itertools.islice(positions, frequency))
            for row, frequency in zip(found.rows.tolist(), found.frequencies.tolist(), strict=True)
        }
        assert read == expected.get(word, {})
        assert list(read) == sorted(read)
        assert np.shares_memory(found.rows, arrays_["rows"]) == (word in expected)


@settings(deadline=None, max_examples=30)
@given(corpora(), corpora())
def test_segments_end_to_end_read_as_one(first: list[list[list[str]]], second: list[list[list[str]]]) -> None:
    rows = sum(len(content) for content in first)
    apart, whole = Index((built(first), built(second, rows, len(first)))), Index((built([*first, *second]),))
    assert apart.rows == whole.rows
    assert np.array_equal(apart.starts, whole.starts)
    assert np.array_equal(apart.numbers, whole.numbers)
    assert np.array_equal(apart.contents, whole.contents)
    assert np.array_equal(apart.lengths, whole.lengths)
    shown = [whole.passage(row) for row in range(whole.rows)]
    assert [apart.passage(row) for row in range(whole.rows)] == shown
    assert [passage.ordinal for _, passage in shown] == [at for each in [*first, *second] for at in range(len(each))]
    for word in WORDS:
        for name in ("rows", "frequencies", "positions"):
            one, other = getattr(apart.postings(word), name), getattr(whole.postings(word), name)
            assert one.dtype == other.dtype
            assert np.array_equal(one, other)


@settings(deadline=None, max_examples=30)
@given(corpus=corpora())
def test_what_is_written_is_what_is_read(
    tmp_path_factory: pytest.TempPathFactory, corpus: list[list[list[str]]]
) -> None:
    path = tmp_path_factory.mktemp("arrays") / "one.seg"
    contents = built(corpus)
    length, checksum = arrays.write(path, contents, commit=5)
    assert path.stat().st_size == length
    assert segment_reader.checksum(path) == checksum
    assert_equal(arrays.load(path, commit=5, length=length, checksum=checksum), contents)
    arrays.verify(path, commit=5, length=length, checksum=checksum)
    with pytest.raises(arrays.TornFile, match="not the one that the database lists"):
        arrays.load(path, commit=5, length=length, checksum="0" * 64)
    with pytest.raises(FileExistsError):
        arrays.write(path, contents, commit=5)
    assert_equal(arrays.load(path, commit=5, length=length, checksum=checksum), contents)


def test_a_file_that_cannot_be_written_whole_is_not_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        arrays.write(tmp_path / "one.seg", built([[["a"]]]), commit=1)
    assert list(tmp_path.iterdir()) == []


# -- which segments a new one takes in ---------------------------------------------------------------


def grown(sizes: list[int]) -> tuple[list[Entry], Counter[int]]:
    """The segments after adds of those sizes, and how often each passage was written."""
    listed: list[Entry] = []
    written: Counter[int] = Counter()
    rows = 0
    for number, size in enumerate(sizes):
        taken = segments.absorbed(listed, size)
        assert taken == listed[len(listed) - len(taken) :]
        first = taken[0].first_content if taken else rows
        rows += size
        written.update(range(first, rows))
        listed = [
            *listed[: len(listed) - len(taken)],
            Entry(1, f"{number}", first, rows - 1, rows - first, number, 0, ""),
        ]
    return listed, written


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=60))
def test_few_segments_each_larger_than_the_next_and_few_rewrites(sizes: list[int]) -> None:
    listed, written = grown(sizes)
    total = sum(sizes)
    assert [entry.first_content for entry in listed] == [
        0,
        *np.cumsum([entry.passages for entry in listed])[:-1].tolist(),
    ]
    assert all(large.passages > small.passages for large, small in itertools.pairwise(listed))
    assert max(written.values()) <= 1 + np.log2(total)


def test_two_hundred_adds_of_one_leave_a_handful() -> None:
    assert max(len(grown([1] * adds)[0]) for adds in range(1, 201)) == 7
    assert len(grown([100_000, 1_000])[0]) == 2


def one_by_one(path: Path, count: int) -> None:
    with hs.create(path, embedder="none") as collection:
        for number in range(count):
            collection.add([hs.Document(f"d{number}", f"common only{number}")])
            assert len(files(collection)) == (number + 1).bit_count()
        assert len(collection.search("common", k=count + 1)) == collection.count() == count
        assert collection.search("only37")[0].document == "d37"
        assert collection.check() == []


def test_forty_documents_one_by_one(tmp_path: Path) -> None:
    one_by_one(tmp_path / "singles.hs", 40)


@pytest.mark.heavy
def test_a_thousand_documents_one_by_one(tmp_path: Path) -> None:
    one_by_one(tmp_path / "singles.hs", 1_000)


def files(collection: hs.Collection) -> dict[str, tuple[int, int]]:
    """The segment files: size and time of the last change."""
    stats = {file.name: file.stat() for file in (collection.path / "index").iterdir()}
    return {name: (stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()}


def large_then_small(path: Path, large: int, small: int) -> None:
    with hs.create(path, schema={"n": "int"}, embedder="none") as collection:
        collection.add(hs.Document(f"old{number}", f"common old{number}") for number in range(large))
        before = files(collection)
        assert len(before) == 1
        collection.add(hs.Document(f"new{number}", f"common new{number}") for number in range(small))
        after = files(collection)
        assert before.items() <= after.items(), "the large segment was written again"
        new = sum(size for name, (size, _) in after.items() if name not in before)
        assert new * large < 4 * small * sum(size for size, _ in before.values())
        assert collection.search("common", k=large + small + 1).arms[0].matched == large + small
        collection.update(where=hs.f.n.is_null(), fields={"n": 1})
        collection.delete([f"new{number}" for number in range(small)])
        assert files(collection) == after, "a change of fields or a delete wrote segments"


def test_a_small_add_does_not_write_the_large_segment_again(tmp_path: Path) -> None:
    large_then_small(tmp_path / "small.hs", 5_000, 50)


@pytest.mark.heavy
def test_a_thousand_more_than_a_hundred_thousand(tmp_path: Path) -> None:
    large_then_small(tmp_path / "large.hs", 100_000, 1_000)


# -- from the database -------------------------------------------------------------------------------


@pytest.mark.parametrize("embedder", [Hashed(), Hashed(dimensions=1), "none"], ids=["vectors", "one", "words"])
@pytest.mark.parametrize("analyser", ["simple", "english"])
def test_rebuilt_from_the_database_they_are_the_same(tmp_path: Path, embedder: Any, analyser: str) -> None:
    hostile = "NUL \x00 surrogate \ud800 \ufeff 日本語 C++ v2.14.1 running İ ß"
    with hs.create(tmp_path / "made.hs", embedder=embedder, analyser=analyser) as collection:
        collection.add([hs.Document("one", hostile, title=hostile), hs.Document("two", title="title alone")])
        parts = [hs.Passage(f"word{n}\n running", headings=["H", hostile], pages=(n + 1, 9)) for n in range(9)]
        collection.add([hs.Document("many", passages=parts)])
        collection.add([hs.Document("one", "another text"), hs.Document("symbols", "!!! ???", title="...")])
        collection.delete(["two"])
        store = collection._store
        listed, index = store._loader.index(1)  # type: ignore[attr-defined]
        for entry, original in zip(listed, index.segments, strict=True):
            with store._connection.reading() as cursor:  # type: ignore[attr-defined]
                analysed = segments.rebuild(cursor, entry, hs.analysis.analyser(analyser))
            assert_equal(analysed, original)


def test_the_vectors_of_a_segment_are_those_of_its_passages() -> None:
    grids = [np.rint(vector(name, WIDTH) / 4).astype(np.int16) for name in "abc"]
    passages = tuple(PreparedPassage((), None, "text", b"", grid) for grid in grids)
    made = segments.build([Rebuilt(7, "", passages)], hs.analysis.analyser("simple"), None)
    assert np.array_equal(made["vectors"], np.stack(grids))
    assert made["starts"].tolist() == [0, 3]
    assert made["contents"].tolist() == [7]
