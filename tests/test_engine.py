"""The engine against its oracle: random collections, lives, principals and questions; every field of the answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdstill
from engine_oracle import Engine, Question
from histories import Add, History, budget, histories
from holdstill import Collection
from holdstill.ranking import cascade, codes, compiled, kernels

#: What the oracle does not say: it names the collection, or how the answer was found.
NAMING = ("search_id", "snapshot", "model", "ranking", "versions", "digest")


@contextmanager
def lived(history: History) -> Iterator[Collection]:
    """A collection that this has happened to."""
    with (
        TemporaryDirectory() as folder,
        holdstill.create(Path(folder) / "lived.hs", **history.making()) as collection,
    ):
        for change in history.changes:
            change.do(collection)
        if history.rule is not None:
            collection.set_policy(history.rule.text)
        yield collection


def stated(answer: dict[str, Any]) -> dict[str, Any]:
    """The part of an answer that the oracle states."""
    arms = [{name: arm[name] for name in ("arm", "eligible", "matched")} for arm in answer["arms"]]
    return {name: value for name, value in answer.items() if name not in NAMING} | {"arms": arms}


@budget(40)
@given(histories())
def test_every_answer_is_the_oracles(history: History) -> None:
    check_answers(history)


@pytest.fixture(scope="module")
def pruned() -> Iterator[None]:
    """Codes for every segment that has vectors, and the compiled path, however few the rows are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "kernels", lambda _rows: kernels)
        patch.setattr(codes, "MIN_ROWS", 1)
        patch.setattr(codes, "MIN_DIMENSIONS", 1)
        patch.setattr(codes, "leading_dimensions", lambda _energy: 1)
        patch.setattr(cascade, "DIRECT", 0)
        patch.setattr(cascade, "_POOL", 1)
        yield


@budget(40)
@given(histories())
def test_every_answer_of_the_compiled_engine_is_the_oracles(pruned: None, history: History) -> None:
    check_answers(history)


def check_answers(history: History) -> None:
    reference = Engine(history.left(), history.schema, history.analyser, history.allows)
    with lived(history) as collection:
        for question in history.questions:
            answer = collection.search(**question.arguments(), **history.asking()).as_dict()
            assert stated(answer) == reference.search(question)
            check_arms(answer)


def check_arms(answer: dict[str, Any]) -> None:
    """An arm says that the depth cut it where it did, and never that there was more where the answer ran out."""
    depth = answer["ranking"]["depth"]
    for arm in answer["arms"]:
        assert (arm["strategy"], arm["error"]) == ("exact", None)
        if depth is None:
            assert arm["stop"] in (("exhausted",) if answer["completeness"] == "exhausted" else ("enough", "exhausted"))
        elif arm["matched"] <= depth:
            assert arm["stop"] != "budget"
    assert answer["ranking"]["proof"] == ("exhaustive" if depth is None else "depth")


@budget(12)
@given(histories(max_changes=3, questions=0))
def test_show_and_count_see_what_a_search_may_find(history: History) -> None:
    left = history.left()
    reference = Engine(left, history.schema, history.analyser, history.allows)
    visible = {id_ for id_, document in left.items() if history.allows(reference.fields(document))}
    with lived(history) as collection:
        assert collection.count(**history.asking()) == len(visible)
        info = collection.info(**history.asking())
        assert (info.documents, info.passages) == (len(visible), sum(len(left[id_].passages) for id_ in visible))
        for id_ in {*left, "nobody"}:
            if id_ not in visible:
                with pytest.raises(holdstill.NotFound):
                    collection.get(id_, **history.asking())
                continue
            shown = collection.get(id_, **history.asking())
            assert (shown.id, shown.title, shown.fields) == (id_, left[id_].title, reference.fields(left[id_]))
            assert [(each.ordinal, each.text, each.headings, each.pages) for each in shown.passages] == [
                (ordinal, each.text, each.headings, each.pages) for ordinal, each in enumerate(left[id_].passages)
            ]


@budget(12)
@given(histories(max_changes=3, questions=4), st.randoms(use_true_random=False))
def test_one_corpus_gives_one_answer_however_it_was_written(history: History, random: Any) -> None:
    documents = list(history.left().values())
    random.shuffle(documents)
    cuts = sorted(random.randint(0, len(documents)) for _ in range(2))
    batches = [documents[: cuts[0]], documents[cuts[0] : cuts[1]], documents[cuts[1] :]]
    anew = History(**vars(history) | {"changes": tuple(Add(tuple(batch)) for batch in batches if batch)})
    with lived(history) as one, lived(anew) as other:
        for question in history.questions:
            first, second = (
                collection.search(**question.arguments(), **history.asking()).as_dict() for collection in (one, other)
            )
            assert first.pop("search_id") != second.pop("search_id")
            assert first.pop("snapshot")["generation"] == second.pop("snapshot")["generation"]
            assert first == second


@budget(8)
@given(histories(max_changes=2, questions=1))
def test_reopening_changes_nothing(history: History) -> None:
    (question,) = history.questions
    with lived(history) as collection:
        before = collection.search(**question.arguments(), **history.asking())
        collection.close()
        with holdstill.open(collection.path) as again:
            after = again.search(**question.arguments(), **history.asking())
            assert after.as_dict() | {"search_id": before.search_id} == before.as_dict()


def test_the_oracle_can_tell_a_wrong_answer_from_a_right_one() -> None:
    """The oracle itself, on a case small enough to work out by hand."""
    documents = {
        "a": holdstill.Document("a", "red fox", fields={"n": 1}, vector=[1, 0]),
        "b": holdstill.Document("b", "red red", fields={"n": 2}, vector=[0, 1]),
        "c": holdstill.Document("c", "blue", fields={"n": None}, vector=[1, 0]),
    }
    schema = holdstill.Schema.of({"n": "int"})
    answer = Engine(documents, schema).search(
        Question("fox red", [1.0, 0.0], where=holdstill.f.n >= 1, by="passage", k=5)
    )
    assert [(hit["id"], hit["rank"], hit["ranks"]) for hit in answer["hits"]] == [
        ("a#0", 1, {"lexical": 1, "dense": 1}),
        ("b#0", 2, {"lexical": 2, "dense": 2}),
    ]
    assert answer["hits"][0]["scores"]["dense"] == 32767 * 32767
    assert answer["hits"][0]["score"] == 2 / 61
    assert (answer["unknown"], answer["completeness"]) == ({"n": 1}, "exhausted")
