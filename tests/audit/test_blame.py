"""Blame names the layer that moved an answer: each moved alone on purpose, two at once, and none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import holdstill as hs
from fakes import Hashed, vector
from holdstill.analysis import analyser
from holdstill.ranking import bm25

SCHEMA = {"tenant": "str", "n": "int"}
ANA = {"id": "ana", "attributes": {"tenant": "a", "level": 1}}
QUESTION = "running fish"
SIMPLE, ENGLISH = (analyser(name).identity for name in ("simple", "english"))


class Salted(Hashed):
    """Another model: the vectors of other texts."""

    def __init__(self, salt: str, dimensions: int = 16, window: int | None = None) -> None:
        super().__init__(dimensions, window, version=salt)
        self._salt = salt

    def embed(self, texts: Any) -> NDArray[np.floating[Any]]:
        return super().embed([self._salt + text for text in texts])


def documents(*names: str, tenant: str = "a") -> list[hs.Document]:
    texts = ("{} running fish", "{} fish runs", "{} red fish", "{} run", "{} runs far away")
    return [
        hs.Document(name, texts[at % len(texts)].format(name), fields={"tenant": tenant, "n": at})
        for at, name in enumerate(names)
    ]


def near(one: str, other: str) -> float:
    first, second = vector(one), vector(other)
    return float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))


@pytest.fixture
def words(tmp_path: Path) -> Iterator[hs.Collection]:
    with hs.create(tmp_path / "words.hs", schema=SCHEMA, embedder="none") as collection:
        collection.add(documents(*"abcdefgh"))
        yield collection


@pytest.fixture
def meanings(tmp_path: Path) -> Iterator[hs.Collection]:
    with hs.create(tmp_path / "meanings.hs", schema=SCHEMA, embedder=Salted("one")) as collection:
        collection.add(documents(*"abcdefgh"))
        yield collection


def asked(collection: hs.Collection, text: str = QUESTION, **more: Any) -> str:
    found = collection.search(text, **more).search_id
    assert found is not None
    return found


def layer(found: hs.Blame, name: str) -> hs.Layer:
    (one,) = (each for each in found.layers if each.layer == name)
    return one


# -- one layer alone ---------------------------------------------------------------------------------


def test_nothing_moved(words: hs.Collection) -> None:
    found = words.blame(asked(words))
    assert found.identical
    assert (found.moved, found.entered, found.left) == ((), (), ())
    assert not any(each.changed for each in found.layers)
    assert found.sentence == "Nothing moved: the answer is identical, and so is everything that it is made from."


def test_documents_that_were_added_removed_and_changed(words: hs.Collection) -> None:
    before = asked(words, k=5)
    first = words.search(QUESTION, k=5, arms=["lexical"])
    gone, changed = first[0].document, first[1].document
    words.add([hs.Document("new", "running running fish")])
    words.delete([gone])
    words.add([hs.Document(changed, "nothing of it")])
    found = words.blame(before)
    assert found.moved == ("corpus",)
    assert found.entered[0] == "new#0"
    assert set(found.left) >= {f"{gone}#0", f"{changed}#0"}
    assert {"new#0 entered: added since", f"{gone}#0 left: removed since"} <= set(layer(found, "corpus").evidence)
    assert any(line.startswith(f"{changed}#0 left: changed since: text") for line in layer(found, "corpus").evidence)
    assert found.sentence == (
        "The corpus moved: 1 of the 5 hits was added after that search, 1 of the 5 earlier hits was removed after that "
        "search, 1 of the 5 earlier hits was changed after that search; with the old corpus the answer is identical."
    )


def test_statistics_move_scores_without_moving_hits(words: hs.Collection) -> None:
    before = asked(words)
    words.add([hs.Document("other", "fish")])
    words.delete(["other"])
    assert words.blame(before).identical
    words.add([hs.Document("other", "of something else altogether")])
    found = words.blame(before)
    assert found.moved == ("corpus",)
    assert (found.entered, found.left) == ((), ())
    assert "the hits are the same, and their ranks or scores are not" in found.sentence


def test_a_change_that_moved_nothing_is_named_as_that(meanings: hs.Collection) -> None:
    before = asked(meanings, arms=["dense"], k=1)
    far = min((f"far {at}" for at in range(50)), key=lambda text: near("one" + text, "one" + QUESTION))
    meanings.add([hs.Document("z", far)])
    assert meanings.search(QUESTION, arms=["dense"], k=1)[0].document != "z"
    found = meanings.blame(before)
    assert found.identical
    assert layer(found, "corpus").changed
    assert found.sentence == "The answer is identical, although the corpus changed."


def test_the_policy(words: hs.Collection) -> None:
    words.add(documents("x", "y", tenant="b"))
    words.set_policy("tenant = principal.tenant")
    before = asked(words, principal=ANA)
    words.set_policy("tenant = principal.tenant and n >= principal.level", operator=True)
    found = words.blame(before, asker=ANA, operator=True)
    assert found.moved == ("policy",)
    assert layer(found, "policy").then == "version 1"
    assert found.sentence.startswith("The permission moved: what may be seen was: tenant = 'a'; and is: ")
    assert found.sentence.endswith("; with the old one the answer is identical.")
    unknown = words.blame(before, operator=True)
    assert layer(unknown, "policy").moved is None
    assert "name the principal" in layer(unknown, "policy").evidence[-1]
    with pytest.raises(hs.InvalidQuery, match="another principal") as caught:
        words.blame(before, asker=ANA | {"id": "bo"}, operator=True)
    assert caught.value.field == "asker"


def test_a_permission_that_was_withdrawn_from_an_earlier_commit(words: hs.Collection) -> None:
    words.set_policy("tenant = principal.tenant")
    words.add(documents("later"), operator=True)
    before = asked(words, at=1, principal=ANA)
    words.update(["a"], fields={"tenant": "b"}, operator=True)
    found = words.blame(before, operator=True)
    assert found.moved == ("policy",)
    assert found.left == ("a#0",)
    assert not layer(found, "corpus").changed


def test_the_analyser(words: hs.Collection) -> None:
    before = asked(words)
    words.rebuild(analyser="english")
    found = words.blame(before)
    assert found.moved == ("analyser",)
    assert found.sentence == (
        f"The analyser moved, from {SIMPLE} to {ENGLISH}; with the old one the answer is identical."
    )


@pytest.mark.parametrize("dimensions", [16, 24])
def test_the_embedding_model(meanings: hs.Collection, dimensions: int) -> None:
    before = asked(meanings)
    meanings.rebuild(embedder=Salted("two", dimensions))
    found = meanings.blame(before)
    assert found.moved == ("model",)
    told = "the cosine of the question's vector" if dimensions == 16 else "has 24 dimensions, and had 16"
    assert told in layer(found, "model").evidence[0]


def test_the_splitting_into_passages(tmp_path: Path) -> None:
    with hs.create(tmp_path / "split.hs", embedder=Hashed(window=64)) as collection:
        collection.add([hs.Document("long", "Running fish. " * 25), hs.Document("other", "red fish")])
        before = asked(collection)
        collection.rebuild(embedder=Hashed(window=16))
        found = collection.blame(before)
    assert found.moved == ("index",)


def test_the_settings_of_fusion(meanings: hs.Collection) -> None:
    first = asked(meanings)
    second = asked(meanings, settings=hs.Settings(rrf_k=1, weights={"dense": 7}))
    found = meanings.blame(first, second)
    assert found.moved == ("fusion",)
    assert layer(found, "fusion").now == "rrf_k 1, weights dense 7"
    back = meanings.blame(second, first)
    assert back.moved == ("fusion",)
    assert (back.entered, back.left) == (found.left, found.entered)


def test_the_engine(words: hs.Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    before = asked(words)
    scored = bm25.leaders

    def another(*args: Any) -> Any:
        matches = scored(*args)
        return type(matches)(matches.rows, matches.scores * 2, matches.known_terms, matches.count)

    monkeypatch.setattr(bm25, "leaders", another)
    found = words.blame(before)
    assert found.moved == ("engine",)
    assert "does not give the answer of then again" in found.sentence


def test_a_purge(words: hs.Collection) -> None:
    before = asked(words)
    words.purge(["a"])
    found = words.blame(before)
    assert found.moved == ("purge",)
    assert "1 documents that were visible then have been purged since" in layer(found, "purge").evidence


# -- two at once -------------------------------------------------------------------------------------


def test_the_corpus_and_the_analyser(words: hs.Collection) -> None:
    before = asked(words)
    words.add([hs.Document("new", "running running fish")])
    words.rebuild(analyser="english")
    words.add([hs.Document("newer", "running fish running")])
    found = words.blame(before)
    assert found.moved == ("corpus", "analyser")
    assert found.sentence == (
        "The corpus moved: 2 of the 10 hits were added after that search. "
        f"The analyser moved, from {SIMPLE} to {ENGLISH}."
    )


def test_the_analyser_and_the_model_in_one_rebuild_are_told_apart(meanings: hs.Collection) -> None:
    both, words_alone, dense_alone = asked(meanings), asked(meanings, "fish"), asked(meanings, arms=["dense"])
    meanings.rebuild(analyser="english", embedder=Salted("two"))
    assert meanings.blame(both).moved == ("analyser", "model")
    assert meanings.blame(words_alone).moved == ("model",), "no document has another form of that word"
    assert meanings.blame(dense_alone).moved == ("model",)


def test_the_policy_and_the_fusion(meanings: hs.Collection) -> None:
    meanings.set_policy("tenant = principal.tenant")
    first = asked(meanings, principal=ANA)
    meanings.set_policy("tenant = principal.tenant and n >= principal.level", operator=True)
    second = asked(meanings, principal=ANA, settings=hs.Settings(weights={"dense": 9}))
    assert meanings.blame(first, second, operator=True).moved == ("policy", "fusion")


def test_rolled_back_there_is_nothing_to_blame(words: hs.Collection) -> None:
    before = asked(words)
    words.rebuild(analyser="english")
    words.activate(1)
    found = words.blame(before)
    assert found.identical
    assert not found.moved
    words.add([hs.Document("new", "running running fish")])
    assert words.blame(before).moved == ("corpus",)


# -- what cannot be blamed ---------------------------------------------------------------------------


def test_what_cannot_be_asked(words: hs.Collection, tmp_path: Path) -> None:
    before = asked(words)
    with pytest.raises(hs.NotFound):
        words.blame("20260101T000000.000Z-00000000")
    with pytest.raises(hs.InvalidQuery, match="differ in k, text"):
        words.blame(before, asked(words, "another", k=3))
    with hs.open(words.path, log=hs.LogSettings(queries=False)) as quiet:
        nothing = asked(quiet)
    with pytest.raises(hs.InvalidQuery, match="was not kept"):
        words.blame(nothing)
    words.add(documents("new"))
    words.prune(keep_last=1)
    with pytest.raises(hs.SnapshotPruned):
        words.blame(before)
    words.set_policy("tenant = principal.tenant")
    with pytest.raises(hs.OperatorRequired):
        words.blame(before, principal=ANA)


def test_a_model_that_is_not_at_hand(meanings: hs.Collection) -> None:
    before = asked(meanings)
    meanings.rebuild(embedder=Salted("two"))
    with hs.open(meanings.path) as without, pytest.raises(hs.EmbedderRequired):
        without.blame(before)


def test_a_vector_is_never_compared_with_rows_of_another_model(meanings: hs.Collection) -> None:
    before = meanings.search(vector=vector("onerun")).search_id or ""
    meanings.rebuild(embedder=Salted("two"))
    with pytest.raises(hs.EmbedderRequired, match="the question was a vector"):
        meanings.blame(before)


def test_a_commit_on_the_way_that_was_pruned(words: hs.Collection) -> None:
    words.tag("kept")
    before = asked(words)
    words.add([hs.Document("new", "running running fish")])
    words.rebuild(analyser="english")
    words.prune(keep_last=1)
    found = words.blame(before)
    assert layer(found, "corpus").moved is None
    assert layer(found, "analyser").moved is None
    assert "could not be tried alone" in found.sentence


def test_a_generation_on_the_way_that_was_dropped(words: hs.Collection) -> None:
    before = asked(words)
    words.rebuild(analyser="english")
    words.rebuild(analyser="english")
    words.drop_generation(2)
    found = words.blame(before)
    assert layer(found, "analyser").moved is None
    assert "was dropped" in layer(found, "analyser").evidence[0]
    assert "could not be tried alone" in found.sentence


def test_with_two_layers_changed_nothing_is_claimed_of_putting_one_back(words: hs.Collection) -> None:
    words.set_policy("tenant = principal.tenant")
    first = asked(words, "run", principal=ANA, k=1)
    words.add([hs.Document("hidden", "nothing", fields={"tenant": "b"})], operator=True)
    words.set_policy("tenant = principal.tenant and n >= principal.level and n = 4", operator=True)
    found = words.blame(first, asker=ANA, operator=True)
    assert found.moved == ("policy",)
    assert layer(found, "corpus").changed
    assert "with the old one" not in found.sentence
