"""Every commit stays searchable, with the statistics of then; what was withdrawn since is not."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import holdstill
from fakes import whole_answer
from holdstill import Collection, Document

ANA = {"id": "ana", "attributes": {"tenant": "acme"}}
POLICY = "tenant = principal.tenant"
VECTORS = {"a": [1, 0], "b": [0, 1], "c": [1, 1]}


def document(id_: str, text: str, **fields: Any) -> Document:
    return Document(id_, text, fields=fields, vector=VECTORS[id_])


def found(collection: Collection, text: str = "red", **asked: Any) -> list[str]:
    return [hit.document for hit in collection.search(text, arms=["lexical"], k=100, **asked)]


def answers(collection: Collection, **asked: Any) -> Any:
    by_words = whole_answer(collection, "red", "blue running", arms=["lexical"], **asked)
    return by_words, whole_answer(collection, "red runs", vector=[2.0, 1.0], where="n >= 1", **asked)


def test_a_search_of_a_commit_is_that_of_a_collection_that_ended_there(make: Any) -> None:
    states = (
        [document("a", "red fish", n=1), document("b", "red red blue", n=2)],
        [document("a", "red fish", n=1), document("b", "red red blue", n=2), document("c", "red", n=3)],
        [document("a", "blue runs", n=1), document("b", "red red blue", n=2), document("c", "red", n=3)],
        [document("a", "blue runs", n=1), document("b", "red red blue", n=0), document("c", "red", n=3)],
        [document("a", "blue runs", n=1), document("c", "red", n=3)],
    )
    collection = make(schema={"n": "int"}, vector_model="small")
    collection.add(states[0])
    collection.add([states[1][2]])
    collection.add([states[2][0]])
    collection.update("b", fields={"n": 0})
    collection.delete(["b"])
    for commit, state in enumerate(states, start=1):
        fresh = make(schema={"n": "int"}, vector_model="small")
        fresh.add(state)
        assert answers(collection, at=commit) == answers(fresh)
        assert (collection.count(at=commit), collection.info(at=commit).passages) == (len(state), len(state))
        assert collection.count("n >= 2", at=commit) == fresh.count("n >= 2")
        for each in state:
            shown = collection.get(each.id, at=commit)
            assert (shown.passages[0].text, shown.fields["n"]) == (each.passages[0].text, each.fields["n"])
    assert answers(collection) == answers(collection, at=5)
    with pytest.raises(holdstill.NotFound):
        collection.get("c", at=1)


def test_a_commit_is_named_by_its_number_a_tag_or_a_time(make: Any) -> None:
    collection = make()
    collection.add([Document("a", "red")])
    assert collection.tag("first") == 1
    collection.add([Document("b", "red")])
    made = [each.committed for each in collection.history()]
    for at in (1, "1", "first"):
        assert found(collection, at=at) == ["a"]
    for at in (None, 2, "2", made[1], made[1].isoformat()):
        assert found(collection, at=at) == ["a", "b"]
    for at in (0, made[0] - timedelta(microseconds=1)):
        assert found(collection, at=at) == []
    assert collection.search("red", at="first").snapshot == {"generation": 1, "commit": 1, "seen_at": 2}
    for at in (3, -1, "second", "2999-01-01T00:00:00Z"):
        with pytest.raises(holdstill.SnapshotNotFound):
            found(collection, at=at)
    for nonsense in (True, 1.0, "", "2024-11-01T00:00:00"):
        with pytest.raises(holdstill.InvalidQuery):
            found(collection, at=nonsense)


def test_a_tag_moves_and_is_taken_away(make: Any) -> None:
    collection = make()
    for id_ in "abc":
        collection.add([Document(id_, "red")])
    assert (collection.tag("v1", 1), collection.tag("v1", 2), collection.tag("v2", "v1")) == (1, 2, 2)
    assert [each.tags for each in collection.history()] == [(), ("v1", "v2"), ()]
    assert (found(collection, at="v1"), collection.untag("v1")) == (["a", "b"], 2)
    assert [each.tags for each in collection.history()] == [(), ("v2",), ()]
    with pytest.raises(holdstill.SnapshotNotFound):
        found(collection, at="v1")


def test_a_diff_says_what_entered_left_and_changed(make: Any) -> None:
    collection = make(schema={"n": "int"})
    collection.add([Document("a", "red", fields={"n": 1}), Document("b", "red"), Document("c", "red")])
    collection.add([Document("a", "red", fields={"n": 2}), Document("b", "blue"), Document("d", "red")])
    collection.delete(["c"])
    found = collection.diff(1)
    assert (found.added, found.removed) == (("d",), ("c",))
    assert [(each.id, each.text, each.fields, each.metadata) for each in found.changed] == [
        ("a", False, ("n",), False), ("b", True, (), False),
    ]  # fmt: skip
    back = collection.diff(3, 1)
    assert (back.added, back.removed, back.changed) == (found.removed, found.added, found.changed)


# -- permission --------------------------------------------------------------------------------------


@pytest.fixture
def tenants(make: Any) -> Collection:
    """Of four documents that ana could see at commit 1, each was withdrawn from her in another way, or not at all."""
    collection: Collection = make(schema={"tenant": "str", "n": "int"})
    collection.set_policy(POLICY)
    ids = ("kept", "moved", "gone", "rewritten")
    collection.add([Document(id_, "red old", fields={"tenant": "acme"}) for id_ in ids], operator=True)
    collection.add([Document("given", "red old", fields={"tenant": "bolt"})], operator=True)
    collection.update("given", fields={"tenant": "acme"}, operator=True)
    collection.delete(["gone"], operator=True)
    collection.add([Document("rewritten", "red new", fields={"tenant": "bolt"})], operator=True)
    collection.update("moved", fields={"tenant": None}, operator=True)
    return collection


def test_a_revocation_is_not_undone_by_looking_back(tenants: Collection) -> None:
    for at in range(1, 7):
        assert found(tenants, at=at, principal=ANA) == (["kept"] if at < 3 else ["given", "kept"])
        assert tenants.count(at=at, principal=ANA) == (1 if at < 3 else 2)
        for id_ in ("moved", "gone", "rewritten"):
            with pytest.raises(holdstill.NotFound):
                tenants.get(id_, at=at, principal=ANA)
    assert found(tenants, "new", at=5, principal=ANA) == []
    assert found(tenants, at=1, operator=True) == ["gone", "kept", "moved", "rewritten"]
    assert tenants.get("gone", at=3, operator=True).fields["tenant"] == "acme"


def test_what_is_given_later_is_not_seen_before(tenants: Collection) -> None:
    with pytest.raises(holdstill.NotFound):
        tenants.get("given", at=2, principal=ANA)
    assert tenants.get("given", at=3, principal=ANA).id == "given"


def test_the_statistics_of_a_commit_are_over_what_may_be_seen_of_it(make: Any, tenants: Collection) -> None:
    fresh = make(schema={"tenant": "str", "n": "int"})
    fresh.add([Document(id_, "red old", fields={"tenant": "acme"}) for id_ in ("kept", "given")])
    fresh.set_policy(POLICY)
    questions = ("red", "old new", "unheard")
    assert whole_answer(tenants, *questions, at=3, principal=ANA) == whole_answer(fresh, *questions, principal=ANA)
    assert tenants.search("red", where="n = 1", at=3, principal=ANA).unknown == {"n": 2}


def test_a_principal_who_lost_everything_finds_nothing_at_any_commit(tenants: Collection) -> None:
    tenants.set_policy("tenant = principal.other", operator=True)
    for at in range(7):
        result = tenants.search("red", at=at, principal=ANA)
        assert (len(result), result.arms[0].eligible, tenants.count(at=at, principal=ANA)) == (0, 0, 0)


def test_history_is_for_the_operator(tenants: Collection) -> None:
    calls: tuple[Any, ...] = (
        lambda **who: tenants.history(**who), lambda **who: tenants.tag("x", **who),
        lambda **who: tenants.untag("x", **who), lambda **who: tenants.diff(1, 2, **who),
        lambda **who: tenants.generations(**who), lambda **who: tenants.rebuild(**who),
        lambda **who: tenants.activate(1, **who),
    )  # fmt: skip
    for call in calls:
        for who in ({}, {"principal": ANA}):
            with pytest.raises(holdstill.OperatorRequired):
                call(**who)
    assert tenants.info(operator=True).commit == 6
    with pytest.raises(holdstill.PrincipalRequired):
        tenants.search("red", at=1)


# -- generations -------------------------------------------------------------------------------------


def test_a_commit_opens_in_its_generation(make: Any) -> None:
    collection = make()
    collection.add([Document("a", "running"), Document("b", "runs")])
    collection.tag("before")
    report = collection.rebuild(analyser="english")
    assert (report.generation, report.commit, report.documents, report.resumed) == (2, 2, 2, False)
    collection.add([Document("c", "run")])
    assert found(collection, "running") == ["a", "b", "c"]
    assert found(collection, "running", at=2) == ["a", "b"]
    assert found(collection, "running", at="before") == ["a"]
    back = collection.activate(1)
    assert (back.generation, back.commit, back.documents) == (1, 4, 1)
    assert (found(collection, "running"), found(collection, "run")) == (["a"], ["c"])
    assert found(collection, "running", at=3) == ["a", "b", "c"]
    assert [(each.kind, each.generation) for each in collection.history()] == [
        ("add", 1), ("rebuild", 2), ("add", 2), ("activate", 1),
    ]  # fmt: skip
    listed = [(each.generation, each.active, each.complete, each.missing) for each in collection.generations()]
    assert listed == [(1, True, True, 0), (2, False, True, 0)]
    with pytest.raises(holdstill.GenerationNotFound, match="no generation 3"):
        collection.activate(3)
    with pytest.raises(holdstill.InvalidQuery, match="active already"):
        collection.activate(1)


def test_a_generation_lacks_what_came_and_went_while_another_was_active(make: Any) -> None:
    collection = make()
    collection.add([Document("a", "red")])
    collection.rebuild(analyser="english")
    collection.add([Document("b", "red"), Document("c", "red"), Document("a", "blue")])
    collection.delete(["b"])
    assert [each.missing for each in collection.generations()] == [2, 0]
    assert collection.activate(1).documents == 2
    assert (found(collection), found(collection, "blue"), collection.count()) == (["c"], ["a"], 2)
    assert found(collection, at=3) == ["b", "c"]
    assert found(collection, at=1) == ["a"]
