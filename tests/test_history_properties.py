"""Random lives against the oracle: every commit answers by its own documents, less what may not be seen today."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import histories
import holdstill as hs
from engine_oracle import Engine, Question
from histories import IDS, Rule, budget
from holdstill.schema import FIELD_TYPES, Field, Schema
from test_engine import stated

Documents = Mapping[str, hs.Document]


# -- lives -------------------------------------------------------------------------------------------


class Unwritten:
    """A change that leaves the documents as they are."""

    def then(self, documents: Documents, schema: Schema) -> dict[str, hs.Document]:
        return dict(documents)


@dataclass(frozen=True)
class AddField(Unwritten):
    field: Field

    def do(self, collection: hs.Collection) -> None:
        collection.add_field(self.field.name, self.field.type)


@dataclass(frozen=True)
class Rebuild(Unwritten):
    analyser: str

    def do(self, collection: hs.Collection) -> None:
        collection.rebuild(analyser=self.analyser)


@dataclass(frozen=True)
class Activate(Unwritten):
    """Of the generations that are not active, the one at that place, if there is any."""

    place: int

    def do(self, collection: hs.Collection) -> None:
        others = [each.generation for each in collection.generations() if not each.active]
        if others:
            collection.activate(others[self.place % len(others)])


@dataclass(frozen=True)
class Life:
    """What happens to a collection; then a policy is set, and questions are asked by several."""

    history: histories.History
    rule: Rule
    principals: tuple[dict[str, Any], ...]


@st.composite
def lives(draw: st.DrawFn, *, questions: int = 3) -> Life:
    """A quarter of the changes concern the whole collection; a field that is added is written to from then on."""
    schema = draw(histories.schemas())
    dimensions = draw(st.none() | st.integers(1, 2))
    analyser = draw(st.sampled_from(("simple", "english")))
    first = draw(st.lists(histories.documents(schema, dimensions), min_size=1, max_size=6))
    made: list[Any] = [histories.Add(tuple(first))]
    now = schema
    for number in range(draw(st.integers(1, 7))):
        kind = draw(st.sampled_from(("documents",) * 6 + ("field", "rebuild", "activate")))
        if kind == "documents":
            made.append(draw(histories.changes(now, dimensions)))
        elif kind == "rebuild":
            made.append(Rebuild(draw(st.sampled_from(("simple", "english")))))
        elif kind == "activate":
            made.append(Activate(draw(st.integers(0, 3))))
        else:
            made.append(AddField(Field(f"late{number}", draw(st.sampled_from(FIELD_TYPES)))))
            now = Schema((*now.fields, made[-1].field))
    asked = tuple(draw(histories.asked(now, dimensions)) for _ in range(questions))
    history = histories.History(schema, analyser, dimensions, tuple(made), None, None, asked)
    principals = draw(st.lists(histories.principals(), min_size=1, max_size=2))
    return Life(history, draw(st.sampled_from(histories.RULES)), tuple(principals))


@dataclass(frozen=True)
class Then:
    """What there was at a commit."""

    documents: Documents
    analyser: str


@contextmanager
def lived(life: Life) -> Iterator[tuple[hs.Collection, dict[int, Then]]]:
    """A collection that this has happened to, and what there was at each of its commits."""
    history, log = life.history, hs.LogSettings(enabled=False)
    with (
        TemporaryDirectory() as folder,
        hs.create(Path(folder) / "lived.hs", **history.making(), log=log) as collection,
    ):
        documents: Documents = {}
        states = {0: Then({}, history.analyser)}
        for change in history.changes:
            change.do(collection)
            documents = change.then(documents, collection.schema)
            active = next(each for each in collection.generations() if each.active)
            states[collection.info().commit] = Then(documents, active.analyser.partition("-")[0])
        collection.set_policy(life.rule.text)
        assert sorted(states) == list(range(len(states)))
        yield collection, states


def visible(life: Life, schema: Schema, then: Then, now: Then, principal: Mapping[str, Any] | None) -> Documents:
    """What may be seen: by its fields then and today, and it has to be there still; the operator sees all."""
    if principal is None:
        return then.documents
    fields = Engine({}, schema).fields
    return {
        id_: document
        for id_, document in then.documents.items()
        if id_ in now.documents
        and life.rule.admits(principal, fields(document))
        and life.rule.admits(principal, fields(now.documents[id_]))
    }


def asking(principal: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"operator": True} if principal is None else {"principal": principal}


# -- what is promised --------------------------------------------------------------------------------


@budget(15)
@given(lives())
def test_every_commit_answers_by_its_own_documents(life: Life) -> None:
    """Hits, ranks, scores, completeness and what is unknown, for the operator and for each principal."""
    with lived(life) as (collection, states):
        now = states[max(states)]
        for commit, then in states.items():
            for principal in (None, *life.principals):
                seen = visible(life, collection.schema, then, now, principal)
                reference = Engine(seen, collection.schema, then.analyser)
                for question in life.history.questions:
                    answer = collection.search(**question.arguments(), **asking(principal), at=commit).as_dict()
                    assert answer["snapshot"]["commit"] == commit
                    assert stated(answer) == reference.search(question)


@budget(15)
@given(lives(questions=1))
def test_what_may_not_be_seen_today_is_seen_at_no_commit(life: Life) -> None:
    """Counted, shown, or told apart from what never was."""
    with lived(life) as (collection, states):
        now = states[max(states)]
        (question,) = life.history.questions
        for principal in life.principals:
            today = visible(life, collection.schema, now, now, principal)
            for commit, then in states.items():
                asked = asking(principal) | {"at": commit}
                seen = visible(life, collection.schema, then, now, principal)
                assert seen.keys() <= today.keys()
                check_counts(collection, seen, question, asked)
                for id_ in (*IDS, "nobody"):
                    if id_ in seen:
                        check_shown(collection, seen[id_], asked)
                    else:
                        check_hidden(collection, id_, asked)


def check_counts(collection: hs.Collection, seen: Documents, question: Question, asked: dict[str, Any]) -> None:
    info = collection.info(**asked)
    assert (info.documents, info.passages) == (len(seen), sum(len(each.passages) for each in seen.values()))
    assert collection.count(**asked) == len(seen)
    if question.where is not None:
        listed = Question(where=question.where, by="document", k=99)
        analyser = info.analyser.partition("-")[0]
        expected = Engine(seen, collection.schema, analyser).search(listed)
        assert collection.count(question.where, **asked) == expected["returned"]


def check_shown(collection: hs.Collection, document: hs.Document, asked: dict[str, Any]) -> None:
    shown = collection.get(document.id, **asked)
    assert (shown.title, shown.fields) == (document.title, Engine({}, collection.schema).fields(document))
    assert [each.text for each in shown.passages] == [each.text for each in document.passages]


def check_hidden(collection: hs.Collection, id_: str, asked: dict[str, Any]) -> None:
    with pytest.raises(hs.NotFound) as caught:
        collection.get(id_, **asked)
    with pytest.raises(hs.NotFound) as never:
        collection.get("never", **asked)
    assert caught.value.as_dict() | {"got": None} == never.value.as_dict() | {"got": None}


@budget(6)
@given(lives(questions=2), st.data())
def test_opened_again_every_commit_answers_as_it_did(life: Life, data: st.DataObject) -> None:
    with lived(life) as (collection, states):
        principal = data.draw(st.sampled_from((None, *life.principals)))
        asked = [
            question.arguments() | asking(principal) | {"at": commit}
            for commit in states
            for question in life.history.questions
        ]
        before = [collection.search(**arguments) for arguments in asked]
        collection.close()
        with hs.open(collection.path, log=hs.LogSettings(enabled=False)) as again:
            order = data.draw(st.permutations(range(len(asked))))
            assert {at: again.search(**asked[at]) for at in order} == dict(enumerate(before))
