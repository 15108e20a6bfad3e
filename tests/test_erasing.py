"""Whatever was done to a collection, each commit that is kept answers by the documents of then, less those purged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdstill as hs
from engine_oracle import Engine, Question
from histories import budget

WORDS = ("alpha", "beta", "running", "runs", "v2.14.1", "null", "pointer")
IDS = tuple(f"d{number}" for number in range(5))
SCHEMA = {"n": "int"}
UNLOGGED = hs.LogSettings(enabled=False)

passages = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join), min_size=1, max_size=2)
ids = st.sampled_from(IDS)
small = st.integers(0, 3)
steps = st.one_of(
    st.tuples(st.just("add"), ids, passages, small),
    st.tuples(st.just("add"), ids, passages, small),
    st.tuples(st.just("delete"), ids),
    st.tuples(st.just("update"), ids, small),
    st.tuples(st.just("rebuild"), st.sampled_from(["simple", "english"])),
    st.tuples(st.just("activate"), small),
    st.tuples(st.just("tag"), st.sampled_from(["one", "two"]), small),
    st.tuples(st.just("untag"), st.sampled_from(["one", "two"])),
    st.tuples(st.just("prune"), st.integers(1, 4)),
    st.tuples(st.just("purge"), ids),
    st.tuples(st.just("drop"), small),
    st.tuples(st.just("reopen")),
)


@dataclass
class Model:
    """What the collection ought to be: the documents of every commit, and by which analyser they are read."""

    path: Path
    collection: hs.Collection = field(init=False)
    documents: Mapping[str, hs.Document] = field(default_factory=dict)
    states: dict[int, tuple[Mapping[str, hs.Document], str]] = field(default_factory=lambda: {0: ({}, "simple")})
    generations: dict[int, str] = field(default_factory=lambda: {1: "simple"})
    active: int = 1
    pruned: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.collection = hs.create(self.path, schema=SCHEMA, vector_model="small", log=UNLOGGED)

    def take(self, step: tuple[Any, ...], question: Question) -> None:
        """Do one step to both. What is erased changes no answer but those that saw it."""
        name, *arguments = step
        erases = name in ("prune", "purge", "drop", "reopen")
        before = self._digests(question) if erases else {}
        saw = {
            commit for commit, (documents, _) in self.states.items() if name == "purge" and arguments[0] in documents
        }
        getattr(self, name)(*arguments)
        if erases:
            after = self._digests(question)
            assert after.items() >= {at: each for at, each in before.items() if at not in self.pruned | saw}.items()
        log = self.collection.history()
        assert [each.commit for each in log] == list(range(1, len(log) + 1))
        assert {each.commit for each in log if each.pruned} == self.pruned
        assert not any(each.pruned for each in log if each.tags or each == log[-1])
        self.states[len(log)] = (self.documents, self.generations[self.active])

    def _digests(self, question: Question) -> dict[int, str]:
        kept = [0, *(each.commit for each in self.collection.history() if not each.pruned)]
        return {at: self.collection.search(**question.arguments(), at=at).digest for at in kept}

    def add(self, id_: str, texts: list[str], n: int) -> None:
        passages = [hs.Passage(text, vector=[len(text), n - text.count("r"), 1.0]) for text in texts]
        document = hs.Document(id_, passages=passages, fields={"n": n})
        self.collection.add([document])
        self.documents = {**self.documents, id_: document}

    def delete(self, id_: str) -> None:
        self.collection.delete([id_])
        self.documents = {other: document for other, document in self.documents.items() if other != id_}

    def update(self, id_: str, n: int) -> None:
        self.collection.update([id_], fields={"n": n})
        if id_ in self.documents:
            changed = hs.Document(id_, passages=self.documents[id_].passages, fields={"n": n})
            self.documents = {**self.documents, id_: changed}

    def rebuild(self, analyser: str) -> None:
        self.active = self.collection.rebuild(analyser=analyser).generation
        self.generations[self.active] = analyser

    def activate(self, at: int) -> None:
        number = sorted(self.generations)[at % len(self.generations)]
        if number != self.active:
            self.collection.activate(number)
            self.active = number

    def tag(self, name: str, at: int) -> None:
        kept = [each.commit for each in self.collection.history() if not each.pruned]
        if kept:
            self.collection.tag(name, kept[at % len(kept)])

    def untag(self, name: str) -> None:
        if any(name in each.tags for each in self.collection.history()):
            self.collection.untag(name)

    def prune(self, keep: int) -> None:
        self.pruned |= {each.commit for each in self.collection.history()[:-keep] if not each.tags}
        self.collection.prune(keep_last=keep)

    def purge(self, id_: str) -> None:
        self.collection.purge([id_])
        self.documents = {other: document for other, document in self.documents.items() if other != id_}
        for commit, (documents, words) in self.states.items():
            self.states[commit] = ({other: each for other, each in documents.items() if other != id_}, words)

    def drop(self, at: int) -> None:
        number = sorted(self.generations)[at % len(self.generations)]
        of_it = [each for each in self.collection.history() if each.generation == number]
        if number != self.active and not any(each.tags for each in of_it):
            self.collection.drop_generation(number)
            del self.generations[number]
            self.pruned |= {each.commit for each in of_it}

    def reopen(self) -> None:
        self.collection.close()
        self.collection = hs.open(self.path, log=UNLOGGED)

    def check(self, question: Question) -> None:
        """Every commit is as it was, or is not to be had; and nothing is left that nobody can see."""
        for commit, (documents, words) in self.states.items():
            if commit in self.pruned:
                with pytest.raises(hs.SnapshotPruned):
                    self.collection.search(**question.arguments(), at=commit)
            else:
                expected = Engine(documents, self.collection.schema, words=words).search(question)
                found = self.collection.search(**question.arguments(), at=commit).as_dict()
                assert {name: found[name] for name in ("hits", "completeness", "ties_beyond", "unknown")} == {
                    name: expected[name] for name in ("hits", "completeness", "ties_beyond", "unknown")
                }
        assert self.collection.check() == []
        assert self._orphans() == [(0,)] * 4

    def _orphans(self) -> list[Any]:
        count = "SELECT count(*) FROM "
        statements = (
            "contents WHERE content NOT IN (SELECT content FROM documents)",
            "passages WHERE content NOT IN (SELECT content FROM contents)",
            "passages WHERE generation NOT IN (SELECT generation FROM generations)",
            "segments WHERE generation NOT IN (SELECT generation FROM generations)",
        )
        rows = self.collection._store._connection.rows  # type: ignore[attr-defined]
        return [row for statement in statements for row in rows(count + statement, [])]


questions = st.builds(
    Question,
    text=st.lists(st.sampled_from(WORDS), min_size=1, max_size=2).map(" ".join),
    vector=st.sampled_from([None, (3.0, 1.0, 2.0)]),
    k=st.sampled_from([2, 50]),
    by=st.sampled_from(["passage", "document"]),
    where=st.sampled_from([None, hs.f.n >= 2]),
).map(lambda asked: replace(asked, arms=("lexical", "dense") if asked.vector else ("lexical",)))


@budget(25)
@given(history=st.lists(steps, min_size=2, max_size=12), question=questions)
def test_what_is_kept_answers_as_it_did(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[Any, ...]], question: Question
) -> None:
    model = Model(tmp_path_factory.mktemp("erasing") / "made.hs")
    for step in history:
        model.take(step, question)
    model.check(question)
    model.reopen()
    model.check(question)
    model.collection.close()
