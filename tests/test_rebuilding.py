"""A generation built anew: by another analyser or model, from texts as given; cut off, carried on, rolled back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import holdstill as hs
from fakes import Hashed, whole_answer
from holdstill import rebuilding

LONG = " ".join(f"Sentence {number} has seven words in it." for number in range(12))
BATCH = 4


class Other(Hashed):
    """A model of its own, which fails once it has embedded so many texts, if that was said."""

    def __init__(self, version: str = "other", dimensions: int = 8, window: int | None = None) -> None:
        super().__init__(dimensions, window, version)
        self.name = version
        self.left: int | None = None

    def embed(self, texts: Sequence[str]) -> Any:
        if self.left is not None and not any("shared" in text for text in texts):
            return super().embed(texts)  # the texts that it is tried with
        if self.left is not None and len(texts) > self.left:
            raise RuntimeError("out of memory")
        if self.left is not None:
            self.left -= len(texts)
        return super().embed(texts)

    def shared(self) -> list[str]:
        """Those of the texts that it embedded that are of the collection."""
        return [text for text in self.texts if "shared" in text or "Sentence" in text]


def filler(*numbers: int, text: str = "shared running") -> list[hs.Document]:
    return [hs.Document(f"d{number}", f"{text} number{number}") for number in numbers]


def brought(*numbers: int) -> list[hs.Document]:
    return [hs.Document(f"d{number}", f"shared number{number}", vector=[number + 1, 1]) for number in numbers]


def answers(collection: hs.Collection, **asked: Any) -> Any:
    questions = ("shared", "runs number3", "number7", "Sentence 3")
    return whole_answer(collection, *questions, **asked)


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuilding, "_BATCH", BATCH)
    monkeypatch.setattr(rebuilding, "_BATCH_OF_WORDS", BATCH)


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[hs.Collection]:
    with hs.create(tmp_path / "embedded.hs", embedder=Hashed()) as collection:
        collection.add(filler(*range(10)))
        yield collection


@pytest.fixture
def own(tmp_path: Path) -> Iterator[hs.Collection]:
    """A collection of vectors that the documents bring."""
    with hs.create(tmp_path / "own.hs", vector_model="small", embedder="none") as collection:
        collection.add(brought(*range(6)))
        yield collection


def fresh(path: Path, documents: Sequence[hs.Document], **making: Any) -> Any:
    with hs.create(path, **making) as made:
        made.add(documents)
        return answers(made)


# -- with what it is built ---------------------------------------------------------------------------


def test_with_another_analyser_nothing_is_embedded(embedded: hs.Collection, tmp_path: Path) -> None:
    model: Any = embedded.embedder
    before = [text for text in model.texts if "shared" in text]
    report = embedded.rebuild(analyser="english")
    assert (report.generation, report.documents, report.passages, report.resumed) == (2, 10, 10, False)
    assert [text for text in model.texts if "shared" in text] == before
    assert answers(embedded) == fresh(tmp_path / "fresh.hs", filler(*range(10)), analyser="english", embedder=Hashed())


def test_with_another_model_every_text_is_embedded_once(embedded: hs.Collection, tmp_path: Path) -> None:
    twice = filler(20, 21)
    embedded.add([*twice, hs.Document("same", twice[0].passages[0].text)])
    model = Other()
    embedded.rebuild(embedder=model)
    assert sorted(model.shared()) == sorted(set(model.shared()))
    assert len(model.shared()) == 12
    documents = [*filler(*range(10)), *twice, hs.Document("same", twice[0].passages[0].text)]
    assert answers(embedded) == fresh(tmp_path / "fresh.hs", documents, embedder=Other())
    info = embedded.info()
    assert (info.embedder, info.model, info.dimensions) == ("other", model.digest, 8)
    embedded.activate(1)
    asked = len(model.shared())
    embedded.rebuild(analyser="english", embedder=model)
    assert len(model.shared()) == asked, "its vectors were stored"


def test_each_commit_is_asked_with_the_model_of_its_generation(embedded: hs.Collection) -> None:
    before = answers(embedded)
    embedded.rebuild(embedder=Other())
    after = answers(embedded)
    assert answers(embedded, at=1) == before
    embedded.activate(1)
    assert answers(embedded) == before
    assert answers(embedded, at=2) == after
    embedded.close()
    with hs.open(embedded.path, embedder=Hashed()) as again:
        assert answers(again) == answers(again, at=1) == before
        with pytest.raises(hs.ModelMismatch):
            again.search("shared", at=2)
        assert len(again.search("shared", arms=["lexical"], k=99, at=2)) == 10


def test_to_words_and_back(embedded: hs.Collection, tmp_path: Path) -> None:
    before = answers(embedded)
    embedded.rebuild(embedder="none")
    assert answers(embedded) == fresh(tmp_path / "words.hs", filler(*range(10)), embedder="none")
    assert (embedded.info().embedder, embedded.embedder) == ("none", None)
    embedded.add(filler(10))
    embedded.rebuild(embedder=Hashed())
    assert answers(embedded) == fresh(tmp_path / "back.hs", filler(*range(11)), embedder=Hashed())
    assert answers(embedded, at=1) == before


def test_from_vectors_that_were_brought_to_embedded_ones_and_back(own: hs.Collection, tmp_path: Path) -> None:
    vector = {"vector": [3.0, 1.0]}
    before = answers(own, **vector)
    texts = [hs.Document(each.id, each.passages[0].text) for each in brought(*range(6))]
    assert own.rebuild(embedder=Other()).documents == 6
    assert answers(own) == fresh(tmp_path / "fresh.hs", texts, embedder=Other())
    assert own.info().brought is False
    assert own.activate(1).documents == 0
    assert answers(own, **vector) == before
    own.add(brought(6))
    assert own.search("shared", **vector, k=99).arms[1].matched == 7


def test_a_rebuild_of_brought_vectors_keeps_them(own: hs.Collection) -> None:
    own.add(brought(3, 9))
    before = own.search("shared", vector=[3.0, 1.0], k=99)
    own.rebuild(analyser="english")
    after = own.search("shared", vector=[3.0, 1.0], k=99)
    assert after.digest == before.digest
    assert own.info().brought
    own.add(brought(10))
    own.activate(1)
    assert own.search(vector=[3.0, 1.0], k=99).digest == own.search(vector=[3.0, 1.0], k=99, at=4).digest


def test_brought_vectors_are_left_for_words_alone_where_that_is_asked(own: hs.Collection, tmp_path: Path) -> None:
    own.rebuild(embedder="none")
    assert (own.info().embedder, own.info().model, own.info().brought) == ("none", None, False)
    texts = [hs.Document(each.id, each.passages[0].text) for each in brought(*range(6))]
    assert answers(own) == fresh(tmp_path / "words.hs", texts, embedder="none")
    own.add(filler(7))
    with pytest.raises(hs.EmbedderRequired, match=r"'d7' has no vectors of 'small'.*generation 1"):
        own.activate(1)
    own.delete(["d7"])
    own.activate(1)
    assert own.search(vector=[3.0, 1.0], k=99).arms[0].matched == 6


def test_a_long_text_is_split_anew_from_the_text_as_it_was_given(tmp_path: Path) -> None:
    document = hs.Document("long", passages=[hs.Passage(LONG, headings=["H"], pages=(1, 2)), hs.Passage("short")])
    with hs.create(tmp_path / "split.hs", embedder=Hashed(window=24)) as collection:
        collection.add([document])
        narrow = [each.text for each in collection.get("long").passages]
        for window in (48, 16, None):
            collection.rebuild(embedder=Other(f"w{window}", window=window))
            with hs.create(tmp_path / f"{window}.hs", embedder=Other(f"w{window}", window=window)) as made:
                made.add([document])
                assert collection.get("long").passages == made.get("long").passages
                assert answers(collection) == answers(made)
        assert [each.text for each in collection.get("long").passages] == [LONG, "short"]
        assert [each.text for each in collection.get("long", at=1).passages] == narrow
        assert len(narrow) > 3
        collection.add([document])
        assert collection.info().commit == 4, "what was given is what it was"


# -- what cannot be built ----------------------------------------------------------------------------


def failing(collection: hs.Collection, texts: int, **making: Any) -> Other:
    """A rebuild whose model fails once it has embedded so many texts."""
    model = Other(**making)
    model.left = texts
    with pytest.raises(hs.EmbedderFailed):
        collection.rebuild(embedder=model)
    return model


def test_what_was_built_before_a_failure_is_not_built_again(embedded: hs.Collection, tmp_path: Path) -> None:
    before = answers(embedded)
    assert len(failing(embedded, 9).shared()) == 2 * BATCH
    assert answers(embedded) == before
    assert [(each.active, each.complete, each.missing) for each in embedded.generations()] == [
        (True, True, 0), (False, False, 2),
    ]  # fmt: skip
    embedded.add(filler(10))
    embedded.delete(["d1"])
    model, steps = Other(), []
    report = embedded.rebuild(embedder=model, progress=lambda *step: steps.append(step))
    assert (report.generation, report.resumed, report.documents) == (2, True, 3)
    assert len(model.shared()) == 3
    assert [step[1:] for step in steps if step[0] == "rebuilding"] == [(0, 3), (3, 3)]
    left = [each for each in filler(*range(11)) if each.id != "d1"]
    assert answers(embedded) == fresh(tmp_path / "fresh.hs", left, embedder=Other())
    assert len(embedded.generations()) == 2


def test_another_making_begins_anew(embedded: hs.Collection) -> None:
    failing(embedded, 4)
    assert embedded.rebuild(embedder=Other("third")).resumed is False
    assert embedded.rebuild(analyser="english", embedder=Other()).resumed is False
    assert [(each.embedder, each.complete) for each in embedded.generations()] == [
        ("hashed", True), ("other", False), ("third", True), ("other", True),
    ]  # fmt: skip
    assert embedded.activate(2).documents == 6
    assert embedded.rebuild(embedder=Other()).resumed is False, "there is none left to carry on"


def test_while_a_rebuild_is_cut_off_the_active_one_is_written_to(embedded: hs.Collection, tmp_path: Path) -> None:
    failing(embedded, 4)
    embedded.add(filler(10))
    assert answers(embedded) == fresh(tmp_path / "fresh.hs", filler(*range(11)), embedder=Hashed())


def test_and_so_it_is_where_vectors_are_brought(own: hs.Collection) -> None:
    """The model that failed is no model of theirs, and none is needed."""
    failing(own, 4)
    own.add(brought(6))
    assert own.search(vector=[3.0, 1.0], k=99).arms[0].matched == 7
    own.rebuild(analyser="english")
    assert own.search(vector=[3.0, 1.0], k=99).arms[0].matched == 7


def test_what_cannot_be_asked_changes_nothing(embedded: hs.Collection) -> None:
    before = answers(embedded), embedded.history(), embedded.generations()
    wrong: tuple[tuple[type[Exception], dict[str, Any]], ...] = (
        (hs.InvalidInput, {"analyser": "german"}), (hs.InvalidInput, {"embedder": "unheard"}),
        (hs.InvalidInput, {"embedder": 5}), (hs.InvalidInput, {"analyser": 5}),
    )  # fmt: skip
    for error, arguments in wrong:
        with pytest.raises(error):
            embedded.rebuild(**arguments)
    for number in (2, 99):
        with pytest.raises(hs.GenerationNotFound):
            embedded.activate(number)
    for nonsense in (0, -1, 10**30, True, 1.0, "1", None):
        with pytest.raises(hs.InvalidInput):
            embedded.activate(nonsense)  # type: ignore[arg-type]
    assert (answers(embedded), embedded.history(), embedded.generations()) == before


def test_a_model_that_is_not_at_hand(embedded: hs.Collection) -> None:
    embedded.close()
    with hs.open(embedded.path) as again:
        with pytest.raises(hs.EmbedderRequired, match=r"'hashed'.*not at hand"):
            again.rebuild(analyser="english")
        assert len(again.generations()) == 1
        again.rebuild(embedder=Hashed(), analyser="english")
        assert again.info().generation == 2


def test_a_model_that_is_not_at_hand_is_not_needed_where_nothing_is_missing(embedded: hs.Collection) -> None:
    embedded.rebuild(embedder="none")
    embedded.close()
    with hs.open(embedded.path) as again:
        assert again.activate(1).documents == 0
        again.activate(2)
        again.add(filler(10))
        with pytest.raises(hs.EmbedderRequired):
            again.activate(1)
        assert (again.info().generation, again.count()) == (2, 11)


def test_an_empty_collection_is_rebuilt(tmp_path: Path) -> None:
    with hs.create(tmp_path / "empty.hs", embedder=Hashed()) as collection:
        report = collection.rebuild(embedder=Other(), analyser="english")
        assert (report.generation, report.commit, report.documents) == (2, 1, 0)
        assert len(collection.search("shared")) == 0
        collection.add(filler(1))
        assert collection.activate(1).documents == 1
        assert len(collection.search("shared")) == 1


# -- while it is built -------------------------------------------------------------------------------


def test_what_is_written_between_two_batches_is_in_both(embedded: hs.Collection, tmp_path: Path) -> None:
    def write(what: str, done: int, total: int) -> None:
        if (what, done) == ("rebuilding", BATCH):
            embedded.add(filler(10, 11))
            embedded.add(filler(1, 9, text="shared anew"))
            embedded.delete(["d0", "d8", "d10"])

    before = answers(embedded)
    report = embedded.rebuild(embedder=Other(), progress=write)
    left = [*filler(2, 3, 4, 5, 6, 7, 11), *filler(1, 9, text="shared anew")]
    assert report.documents == 10 + 3 - 2, "d8 and d10 were never built, nor were old texts that were not built yet"
    assert answers(embedded) == fresh(tmp_path / "new.hs", left, embedder=Other())
    embedded.activate(1)
    assert answers(embedded) == fresh(tmp_path / "old.hs", left, embedder=Hashed())
    assert answers(embedded, at=1) == before


def test_commits_made_while_it_is_built_belong_to_the_old_one(embedded: hs.Collection) -> None:
    def write(what: str, done: int, total: int) -> None:
        if (what, done) == ("rebuilding", BATCH):
            embedded.add(filler(10))

    embedded.rebuild(embedder=Other(), progress=write)
    assert [(each.kind, each.generation) for each in embedded.history()] == [("add", 1), ("add", 1), ("rebuild", 2)]
    assert len(embedded.search("shared", k=99, at=2)) == 11


def test_a_document_without_words_can_only_keep_its_vectors(tmp_path: Path) -> None:
    with hs.create(tmp_path / "mute.hs", vector_model="small") as collection:
        collection.add([hs.Document("mute", passages=[hs.Passage("", vector=[1.0, 2.0])])])
        for embedder in ("none", Hashed()):
            with pytest.raises(hs.InvalidDocument, match=r"'mute' has vectors and no words.*Keep the vectors"):
                collection.rebuild(embedder=embedder)
        assert collection.search(vector=[1.0, 2.0])[0].document == "mute"
        assert collection.rebuild(analyser="english").documents == 1
        assert collection.search(vector=[1.0, 2.0])[0].document == "mute"
