"""Vectors without a direction, of another length or of another model never meet the rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import holdstill
from holdstill import Document, Passage

NAN, INF = math.nan, math.inf
USELESS = ([0.0, 0.0], [-0.0, 0.0], [NAN, 1.0], [1.0, INF], [-INF, 1.0], [1.0], [1.0, 0.0, 0.0], [])


class Lengths:
    """An embedder of the declared name: a text's vector tells its length."""

    name, digest, dimensions, window = "small", "sha256:lengths", 2, None

    def __init__(self) -> None:
        self.asked: list[str] = []

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        self.asked += texts
        return np.array([[len(text), 1.0] for text in texts])


class Broken(Lengths):
    """An embedder that has failed and does not say so."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        return np.array([[NAN if "bad" in text else 1.0, 1.0] for text in texts])


@pytest.mark.parametrize("vector", USELESS)
def test_a_vector_without_a_direction_is_refused_at_ingest_and_counted(make: Any, vector: list[float]) -> None:
    collection = make(vector_model="small")
    report = collection.add(
        [
            Document("before", "red", vector=[1.0, 0.0]),
            Document("bad", passages=[Passage("red", vector=[1.0, 1.0]), Passage("red", vector=vector)]),
            Document("after", "red", vector=[0.0, 1.0]),
        ]
    )
    assert (report.added, [(row.row, row.field) for row in report.refused]) == (2, [(2, "vector")])
    assert {hit.document for hit in collection.search(vector=[1.0, 0.0])} == {"before", "after"}
    with pytest.raises(holdstill.NotFound):
        collection.get("bad")


def test_a_refused_vector_does_not_decide_the_length(make: Any) -> None:
    collection = make(vector_model="small")
    report = collection.add(
        [Document("bad", "red", vector=[NAN, 1.0, 2.0]), Document("good", "red", vector=[1.0, 0.0])]
    )
    assert (report.added, [row.row for row in report.refused]) == (1, [1])
    assert collection.info().dimensions == 2


@pytest.mark.parametrize("vector", [*USELESS, ["1", "0"], [None, 1.0], [[1.0, 0.0]], 3.0, "ab", [1j, 0.0]])
def test_a_question_without_a_direction_is_refused(make: Any, vector: Any) -> None:
    collection = make(vector_model="small")
    collection.add([Document("a", "red", vector=[1.0, 0.0])])
    for asked in ({}, {"text": "red"}, {"arms": ["dense"]}):
        with pytest.raises(holdstill.InvalidVector) as caught:
            collection.search(vector=vector, **asked)
        assert caught.value.field == "vector"


def test_an_embedder_that_fails_for_a_text_fails_loudly_and_writes_nothing(make: Any) -> None:
    collection = make(vector_model="small", embedder=Broken())
    collection.add([Document("good", "red")])
    with pytest.raises(holdstill.EmbedderFailed):
        collection.add([Document("bad", "bad red"), Document("other", "blue")])
    with pytest.raises(holdstill.EmbedderFailed):
        collection.search("bad")
    assert collection.count() == 1
    assert [hit.document for hit in collection.search("red")] == ["good"]


def test_vectors_of_two_models_are_never_compared(make: Any) -> None:
    collection = make(vector_model="small")
    collection.add([Document("a", "red", vector=[1.0, 0.0])])
    with pytest.raises(holdstill.ModelMismatch) as caught:
        collection.search(vector={"model": "other", "vector": [1.0, 0.0]})
    assert caught.value.expected == "small"
    assert len(collection.search(vector={"model": "small", "vector": [1.0, 0.0]})) == 1

    class Other(Lengths):
        name = "other"

    collection.close()
    with pytest.raises(holdstill.ModelMismatch):
        holdstill.open(collection.path, embedder=Other())
    with holdstill.open(collection.path) as again:
        with pytest.raises(holdstill.EmbedderRequired) as required:
            again.search("red")
        assert "vector" in str(required.value)
        assert "lexical" in str(required.value)
        assert [hit.document for hit in again.search("red", arms=["lexical"])] == ["a"]
        with pytest.raises(holdstill.BatchRefused) as refused:
            again.add([Document("b", "red", vector=[1.0, 0.0]), Document("c", "no vector")], strict=True)
        assert [row.row for row in refused.value.refused] == [2]
        assert again.count() == 1


def test_a_collection_of_words_takes_no_vectors(make: Any) -> None:
    collection = make()
    report = collection.add([Document("a", "red"), Document("b", "red", vector=[1.0])])
    assert (report.added, [row.row for row in report.refused]) == (1, [2])
    with pytest.raises(holdstill.InvalidQuery):
        collection.search("red", vector=[1.0])
    with pytest.raises(holdstill.InvalidQuery):
        collection.search("red", arms=["dense"])


def test_a_brought_vector_is_not_taken_for_the_embedders(make: Any) -> None:
    """Two documents of one text: one brings a vector, the other gets the embedder's, in whichever order."""
    answers = []
    for order in (("brought", "made"), ("made", "brought")):
        collection = make(vector_model="small", embedder=Lengths())
        vectors = {"brought": [-1.0, 0.0], "made": None}
        for name in order:
            collection.add([Document(name, "same text", vector=vectors[name])])
        answers.append([(hit.id, dict(hit.scores)) for hit in collection.search("same text", arms=["dense"])])
    assert answers[0] == answers[1]
    assert [id_ for id_, _ in answers[0]] == ["made#0", "brought#0"]
    assert answers[0][1][1]["dense"] < 0


def test_a_text_is_embedded_once(make: Any) -> None:
    embedder = Lengths()
    collection = make(vector_model="small", embedder=embedder, schema={"n": "int"})
    embedder.asked.clear()
    collection.add([Document("a", "red"), Document("b", "red"), Document("c", "blue")])
    assert sorted(embedder.asked) == ["blue", "red"]
    collection.add([Document("a", "red", fields={"n": 1}), Document("d", "blue")])
    collection.update("a", fields={"n": 2})
    collection.delete("b")
    collection.add([Document("b", "red")])
    assert sorted(embedder.asked) == ["blue", "red"]
    collection.add([Document("a", "green")])
    assert sorted(embedder.asked) == ["blue", "green", "red"]


def test_the_length_of_a_vector_means_nothing(make: Any) -> None:
    collection = make(vector_model="small")
    scales = [1e-300, 5e-324, 1.0, 3.0, 1e300, 1.7e308]
    collection.add([Document(str(i), "red", vector=[scale, 0.0]) for i, scale in enumerate(scales)])
    for scale in scales:
        result = collection.search(vector=[scale, 0.0])
        assert {(hit.rank, hit.scores["dense"]) for hit in result} == {(1, 32767 * 32767)}
