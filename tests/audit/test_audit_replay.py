"""Replay: the answer comes again whatever happened since, or it is said what differs, what changed, or what is gone."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdstill as hs
from fakes import Hashed
from histories import Question, budget, changes, histories
from holdstill.audit.log import FILE

ANA = {"id": "ana", "groups": ["staff"], "attributes": {"tenant": "acme"}}
BO = {"id": "bo", "groups": ["staff"], "attributes": {"tenant": "acme"}}


# -- whatever happened since -------------------------------------------------------------------------


@budget(40)
@given(st.data())
def test_every_answer_comes_again(data: st.DataObject) -> None:
    history = data.draw(histories(max_changes=4, questions=3))
    later = data.draw(st.lists(changes(history.schema, history.dimensions), max_size=3))
    with TemporaryDirectory() as folder, hs.create(Path(folder) / "a.hs", **history.making()) as collection:
        if history.rule is not None:
            collection.set_policy(history.rule.text)
        made = [_make(collection, change, history, data) for change in history.changes]
        for change in later:
            change.do(_Operating(collection))  # type: ignore[arg-type]
        if history.rule is not None and data.draw(st.booleans()):
            collection.set_policy("false", operator=True)
        collection.close()
        with hs.open(collection.path) as again:
            replayed = list(again.replay_all(operator=True))
            assert [each.search_id for each in replayed] == [one for some in made for one in some]
            assert {each.outcome for each in replayed} <= {"identical"}, replayed


def _make(collection: hs.Collection, change: Any, history: Any, data: st.DataObject) -> list[str | None]:
    """One change, then every question; some of an earlier commit."""
    change.do(_Operating(collection))
    newest = collection.info(operator=True).commit

    def ask(question: Question) -> str | None:
        at = data.draw(st.none() | st.integers(0, newest))
        return collection.search(**question.arguments(), **history.asking(), at=at).search_id

    return [ask(question) for question in history.questions]


class _Operating:
    """A collection whose writes are the operator's."""

    def __init__(self, collection: hs.Collection) -> None:
        self._collection = collection

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **more: getattr(self._collection, name)(*args, **more, operator=True)


def test_a_question_that_was_embedded_needs_no_embedder(tmp_path: Path) -> None:
    with hs.create(tmp_path / "a.hs", embedder=Hashed()) as collection:
        collection.add([hs.Document(f"d{number}", f"text {number}") for number in range(20)])
        kept = collection.search("text 7").search_id or ""
    with hs.open(tmp_path / "a.hs") as collection:
        with pytest.raises(hs.EmbedderRequired):
            collection.search("text 7")
        assert collection.replay(kept).outcome == "identical"


def test_web_syntax_is_read_once(tmp_path: Path) -> None:
    with hs.create(tmp_path / "a.hs", embedder="none") as collection:
        collection.add([hs.Document("a", "red fox"), hs.Document("b", "red dog"), hs.Document("c", "fox")])
        settings = hs.Settings(syntax="web")
        for text in ('"red" fox', "red -dog", '"red"', "red - dog", '"fox"'):
            found = collection.search(text, settings=settings)
            assert found.understood["must"] or found.understood["must_not"] or "- " in text
        assert [each.outcome for each in collection.replay_all()] == ["identical"] * 5


def test_since(tmp_path: Path) -> None:
    with hs.create(tmp_path / "a.hs", embedder="none") as collection:
        collection.add([hs.Document("a", "red")])
        for _ in range(3):
            collection.search("red")
        first, second, third = collection.searches()
        assert [each.search_id for each in collection.searches(since=third.time) if each.time > second.time] == (
            [third.search_id] if third.time > second.time else []
        )
        assert len(list(collection.replay_all(since="2000-01-01"))) == 3
        assert list(collection.replay_all(since="2999-01-01")) == []
        assert first.text == "red"
        with pytest.raises(hs.InvalidQuery):
            collection.replay_all(since="yesterday")


# -- what differs ------------------------------------------------------------------------------------


@pytest.fixture
def collection(tmp_path: Path) -> Any:
    fields = {"tenant": "str"}
    with hs.create(tmp_path / "a.hs", schema=fields, embedder="none") as made:
        made.add([hs.Document(name, f"red {name}", fields={"tenant": "acme"}) for name in ("a", "b", "c")])
        yield made


def tampered(collection: hs.Collection, **changed: Any) -> None:
    """Change what was recorded of the only search."""
    path = collection.path / FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | changed) + "\n")


def recorded(collection: hs.Collection) -> Any:
    (record,) = collection.searches(operator=True)
    return record.as_dict()


def test_the_first_hit_that_differs(collection: hs.Collection) -> None:
    kept = collection.search("red", offset=1).search_id or ""
    hits = recorded(collection)["hits"]
    was = hits[1] | {"rank": 9}
    tampered(collection, hits=[hits[0], was])
    found = collection.replay(kept)
    assert (found.outcome, found.reason) == ("different", None)
    assert found.differences == (hs.Difference("hit", 3, was, hits[1]),)


@pytest.mark.parametrize("cut", [1, -1])
def test_a_page_of_another_length(collection: hs.Collection, cut: int) -> None:
    kept = collection.search("red").search_id or ""
    hits = recorded(collection)["hits"]
    tampered(collection, hits=hits[:-1] if cut > 0 else [*hits, hits[0]])
    (difference,) = collection.replay(kept).differences
    assert (difference.position, difference.recorded is None, difference.now is None) == (
        (3, True, False) if cut > 0 else (4, False, True)
    )


@pytest.mark.parametrize(
    ("name", "value"), [("completeness", "complete"), ("ties_beyond", 4), ("unknown", {"tenant": 1})]
)
def test_what_an_answer_proves_is_compared_too(collection: hs.Collection, name: str, value: Any) -> None:
    kept = collection.search("red").search_id or ""
    now = recorded(collection)[name]
    tampered(collection, **{name: value})
    assert collection.replay(kept).differences == (hs.Difference(name, None, value, now),)


@pytest.mark.parametrize("name", ["eligible", "matched"])
def test_so_are_the_counts_of_an_arm(collection: hs.Collection, name: str) -> None:
    kept = collection.search("red").search_id or ""
    (arm,) = recorded(collection)["arms"]
    tampered(collection, arms=[arm | {name: 7}])
    assert collection.replay(kept).differences == (hs.Difference(f"lexical {name}", None, 7, 3),)


# -- what is gone ------------------------------------------------------------------------------------


def test_what_was_asked_was_not_kept(tmp_path: Path) -> None:
    with hs.create(tmp_path / "a.hs", embedder="none", log=hs.LogSettings(queries=False)) as collection:
        collection.add([hs.Document("a", "red")])
        kept = collection.search("red").search_id or ""
        assert collection.replay(kept) == hs.Replay(kept, "not replayable", "what was asked was not kept")


@pytest.mark.parametrize(
    "changed",
    [{"permission": "nothing ="}, {"permission": "other = 1"}, {"settings": {}}, {"k": 0}, {"k": "x"},
     {"arms": [{"arm": "dense"}]}, {"query": {}}],
)  # fmt: skip
def test_a_record_that_cannot_be_understood(collection: hs.Collection, changed: dict[str, Any]) -> None:
    kept = collection.search("red").search_id or ""
    tampered(collection, **changed)
    assert collection.replay(kept).outcome == "not replayable"


def test_a_commit_that_is_not_there(collection: hs.Collection) -> None:
    kept = collection.search("red").search_id or ""
    tampered(collection, snapshot={"generation": 1, "commit": 99})
    found = collection.replay(kept)
    assert (found.outcome, found.reason) == ("not replayable", "there is no commit 99")


@pytest.mark.parametrize("search_id", ["nothing", "", '"', "id\n"])
def test_a_search_that_is_not_there(collection: hs.Collection, search_id: str) -> None:
    collection.search("red")
    with pytest.raises(hs.NotFound):
        collection.replay(search_id)


# -- who may replay what -----------------------------------------------------------------------------


@pytest.fixture
def ruled(collection: hs.Collection) -> hs.Collection:
    collection.set_policy("tenant = principal.tenant")
    return collection


def test_a_principal_replays_its_own_search_alone(ruled: hs.Collection) -> None:
    kept = ruled.search("red", principal=ANA).search_id or ""
    operators = ruled.search("red", operator=True).search_id or ""
    assert ruled.replay(kept, principal=ANA).outcome == "identical"
    assert ruled.replay(kept, operator=True).outcome == "identical"
    told = set()
    for sought in (kept, operators, "nothing"):
        with pytest.raises(hs.NotFound) as caught:
            ruled.replay(sought, principal=BO)
        told.add(str(caught.value).replace(sought, "..."))
    assert len(told) == 1
    with pytest.raises(hs.NotFound):
        ruled.replay(operators, principal=ANA)


def test_lists_are_the_operators(ruled: hs.Collection) -> None:
    for call in (ruled.searches, ruled.replay_all):
        with pytest.raises(hs.OperatorRequired):
            call(principal=ANA)
    with pytest.raises(hs.PrincipalRequired):
        ruled.replay("any")


def test_a_revocation_is_a_permission_that_changed(ruled: hs.Collection) -> None:
    kept = ruled.search("red", principal=ANA).search_id or ""
    ruled.update(["b"], fields={"tenant": "globex"}, operator=True)
    found = ruled.replay(kept, principal=ANA)
    assert (found.outcome, found.differences) == ("permission changed", ())
    assert ruled.replay(kept, operator=True).outcome == "identical"


def test_so_is_another_policy(ruled: hs.Collection) -> None:
    kept = ruled.search("red", principal=ANA).search_id or ""
    ruled.set_policy("false", operator=True)
    assert ruled.replay(kept, principal=ANA).outcome == "permission changed"
    assert ruled.replay(kept, operator=True).outcome == "identical"


def test_another_policy_that_admits_the_same_changes_nothing(ruled: hs.Collection) -> None:
    kept = ruled.search("red", principal=ANA).search_id or ""
    ruled.set_policy("tenant in principal.groups or tenant = 'acme'", operator=True)
    assert ruled.replay(kept, principal=ANA).outcome == "identical"


def test_a_permission_is_not_blamed_for_what_it_did_not_do(ruled: hs.Collection) -> None:
    kept = ruled.search("red", principal=ANA).search_id or ""
    tampered(ruled, ties_beyond=4)
    found = ruled.replay(kept, principal=ANA)
    assert (found.outcome, len(found.differences)) == ("different", 1)
    ruled.update(["b"], fields={"tenant": "globex"}, operator=True)
    assert ruled.replay(kept, principal=ANA).outcome == "different"


def test_a_document_added_since_is_not_in_an_old_answer(ruled: hs.Collection) -> None:
    kept = ruled.search("red", principal=ANA).search_id or ""
    ruled.add([hs.Document("d", "red red", fields={"tenant": "acme"})], operator=True)
    assert ruled.replay(kept, principal=ANA).outcome == "identical"
