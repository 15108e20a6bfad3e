"""Equal scores share a rank, stay where they are, and are reported; a fused score is an order and no measure."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

import holdstill
from holdstill import Document, Passage, Result, Settings
from observing import said


def ids(result: Result) -> list[str]:
    return [hit.document for hit in result]


def test_two_hundred_equal_passages_never_change_places(make: Any) -> None:
    collection = make(vector_model="small")
    names = [f"{i:03d}" for i in range(200)]
    collection.add([Document(name, "same words", vector=[1, 2]) for name in reversed(names)])
    for asked in ({"text": "same"}, {"text": "same", "by": "document"}, {"text": None}):
        answers = {json.dumps(said(collection.search(vector=[1.0, 0.0], k=37, offset=11, **asked))) for _ in range(50)}
        assert len(answers) == 1
        result = collection.search(vector=[1.0, 0.0], k=37, offset=11, **asked)
        assert ids(result) == names[11:48]
        assert {(hit.rank, hit.tied) for hit in result} == {(1, True)}
        assert result.ties_beyond == 200 - 48


def test_equals_are_printed_by_the_bytes_of_their_id_then_by_ordinal(make: Any) -> None:
    collection = make()
    names = ["a", "B", "10", "9", "é", "\U0001f600", "\uffee", "a#0", "日"]
    collection.add([Document(name, passages=[Passage("same"), Passage("same")]) for name in names])
    expected = [f"{name}#{ordinal}" for name in sorted(names, key=str.encode) for ordinal in (0, 1)]
    assert [hit.id for hit in collection.search("same", k=50)] == expected
    assert [hit.id for hit in collection.search(where="true", k=50)] == expected


def test_an_absent_rank_is_null_and_earns_nothing(make: Any) -> None:
    """Lexical order X, a, Y and dense order b, c, Y: only Y stands in both, and comes first."""
    collection = make(vector_model="small")
    collection.add(
        [
            Document("X", "red red red", vector=[-1.0, 0.0]),
            Document("a", "red red blue", vector=[-1.0, 0.0]),
            Document("Y", "red blue blue", vector=[0.5, 1.0]),
            Document("b", "none", vector=[1.0, 0.0]),
            Document("c", "none", vector=[1.0, 0.5]),
        ]
    )
    result = collection.search("red", vector=[1.0, 0.0], settings=Settings(depth=3))
    assert ids(result)[0] == "Y"
    assert [(hit.document, dict(hit.ranks)) for hit in result] == [
        ("Y", {"lexical": 3, "dense": 3}),
        ("X", {"lexical": 1, "dense": None}),
        ("b", {"lexical": None, "dense": 1}),
        ("a", {"lexical": 2, "dense": None}),
        ("c", {"lexical": None, "dense": 2}),
    ]
    assert all((hit.ranks[arm] is None) == (hit.scores[arm] is None) for hit in result for arm in hit.ranks)
    assert result.hits[0].score == float(Fraction(1, 63) + Fraction(1, 63))


def test_a_tie_is_found_among_exact_scores(make: Any) -> None:
    """1/61 + 1/549 equals 1/63 + 1/427, and the sums of floats say otherwise."""
    assert Fraction(1, 61) + Fraction(1, 549) == Fraction(1, 63) + Fraction(1, 427)
    assert 1 / 61 + 1 / 549 != 1 / 63 + 1 / 427
    collection = make(vector_model="small")
    # Three documents hold the word, more often each; where they stand among the vectors is theirs to choose.
    distance = list(range(500))
    distance[0], distance[488] = distance[488], distance[0]
    distance[2], distance[366] = distance[366], distance[2]
    collection.add(
        [
            Document(f"{i:03d}", "red " * (3 - i) + "blue " * (i + 1), vector=[1.0, distance[i] / 100])
            for i in range(500)
        ]
    )
    hits = {hit.document: hit for hit in collection.search("red", vector=[1.0, 0.0], k=500)}
    first, second = hits["000"], hits["002"]
    assert (dict(first.ranks), dict(second.ranks)) == ({"lexical": 1, "dense": 489}, {"lexical": 3, "dense": 367})
    assert (first.rank, first.tied, second.tied, first.score) == (second.rank, True, True, second.score)


def test_a_fixed_depth_keeps_groups_of_equals_whole(make: Any) -> None:
    collection = make(vector_model="small")
    collection.add(
        [Document(str(i), "red", vector=[1.0, 0.0]) for i in range(5)]
        + [Document("far", "red blue", vector=[0.0, 1.0])]
    )
    result = collection.search("red", vector=[1.0, 0.0], k=10, settings=Settings(depth=2))
    assert (ids(result), result.completeness) == (["0", "1", "2", "3", "4"], "truncated")
    assert [arm.stop for arm in result.arms] == ["budget", "budget"]
    assert (result.ranking["proof"], result.ranking["depth"]) == ("depth", 2)
    assert collection.search("red", vector=[1.0, 0.0], k=10, settings=Settings(depth=6)).completeness == "exhausted"
    full = collection.search("red", vector=[1.0, 0.0], k=5, settings=Settings(depth=2))
    assert (full.completeness, full.ranking["proof"]) == ("complete", "depth")


def test_weights_are_read_as_written(make: Any) -> None:
    collection = make(vector_model="small")
    collection.add([Document("words", "red", vector=[0.0, 1.0]), Document("vector", "blue", vector=[1.0, 0.0])])
    for weights, first in (({"lexical": 2}, "words"), ({"dense": 2}, "vector"), ({"lexical": 0.1}, "vector")):
        result = collection.search("red", vector=[1.0, 0.0], settings=Settings(weights=weights, depth=1))
        assert ids(result)[0] == first
        assert result.ranking["weights"] == {"lexical": 1, "dense": 1} | weights
    tenth = collection.search("red", arms=["lexical"], settings=Settings(weights={"lexical": 0.1}))
    assert tenth.hits[0].score == float(Fraction(1, 610))


def test_equal_text_in_two_documents_is_two_hits_each_with_its_own_fields(make: Any) -> None:
    collection = make(schema={"owner": "str"}, vector_model="small")
    for owner in ("ana", "bo"):
        collection.add([Document(owner, "the same text", title="same", fields={"owner": owner}, vector=[1.0, 1.0])])
    result = collection.search("same", vector=[1.0, 1.0])
    assert [(hit.document, hit.fields["owner"], hit.rank, hit.tied) for hit in result] == [
        ("ana", "ana", 1, True),
        ("bo", "bo", 1, True),
    ]
    assert [hit.document for hit in collection.search("same", vector=[1.0, 1.0], where="owner = 'bo'")] == ["bo"]
    collection.set_policy("owner = principal.id")
    for owner in ("ana", "bo"):
        seen = collection.search("same", vector=[1.0, 1.0], principal={"id": owner})
        assert [(hit.document, hit.fields["owner"], hit.tied) for hit in seen] == [(owner, owner, False)]
    collection.delete(["ana"], operator=True)
    assert [hit.document for hit in collection.search("same", vector=[1.0, 1.0], operator=True)] == ["bo"]


@pytest.mark.parametrize("threshold", [0, 0.5, -1])
def test_a_threshold_on_a_fused_score_is_refused(make: Any, threshold: float) -> None:
    collection = make()
    collection.add([Document("a", "red")])
    with pytest.raises(holdstill.FusedScoreThreshold):
        Settings(min_score=threshold)  # type: ignore[arg-type]
    for where in (f"score > {threshold}", f"rrf_score >= {threshold}", holdstill.f.score > threshold):
        with pytest.raises(holdstill.FusedScoreThreshold):
            collection.search("red", where=where)


def test_a_first_place_has_one_score_whatever_the_match(make: Any) -> None:
    collection = make(vector_model="small")
    collection.add([Document("a", "red", vector=[1.0, 0.0])])
    far, near = (collection.search("red", vector=vector) for vector in ([-1.0, 0.1], [1.0, 0.0]))
    assert far.hits[0].score == near.hits[0].score == 2 / 61
    assert far.hits[0].scores["dense"] < 0 < near.hits[0].scores["dense"]
    assert not any("similar" in key or "cosine" in key for key in far.as_dict()["hits"][0])


def test_scores_that_floats_cannot_tell_apart_are_no_tie(make: Any) -> None:
    collection = make(vector_model="small")
    collection.add([Document(str(i), "red", vector=[1.0, float(i)]) for i in range(6)])
    settings = Settings(weights={"lexical": 1_000_000, "dense": 1e-9})
    result = collection.search("red", vector=[0.0, 1.0], settings=settings)
    assert len({hit.score for hit in result}) == 1
    assert [(hit.document, hit.rank, hit.tied) for hit in result] == [(str(5 - i), i + 1, False) for i in range(6)]
