"""Who asks decides what there is: in answers, statistics, counts, single documents and errors."""

from __future__ import annotations

from typing import Any

import pytest

import holdstill
from engine_oracle import Question
from holdstill import Collection, Document, Passage, Principal, Settings, f
from observing import everything

SCHEMA = {"tenant": "str", "acl": "str[]", "n": "int"}
POLICY = "tenant = principal.tenant and has_any(acl, principal.groups)"
ANA = {"id": "ana", "groups": ["staff"], "attributes": {"tenant": "acme"}}

QUESTIONS = (
    Question("red fish", [1.0, 0.5], k=50),
    Question("red fish", arms=["lexical"], by="document", k=3),
    Question(None, [0.0, 1.0], k=4, offset=2),
    Question("unheard", arms=["lexical"]),
    Question("secret", arms=["lexical"]),
    Question("red", [1.0, 1.0], settings=Settings(depth=3)),
    Question("red", [1.0, 1.0], where=f.n >= 1, must_not=["blue"]),
    Question(where=f.n.is_null() | (f.n < 2), order_by="n desc", k=4),
    Question(must=["red"], by="document"),
    Question("red", [1.0, 1.0], where=f.tenant == "bolt"),
    Question("red", arms=["lexical"], where=f.nothing == 1),
    Question("red", [1.0, 1.0, 1.0]),
    Question("!!", arms=["lexical"]),
)


def ours() -> list[Document]:
    return [
        Document(
            f"ours{i}",
            passages=[Passage("red " * (i % 4) + "fish", vector=[1.0, i % 3]), Passage("blue", vector=[-1.0, 0.5])],
            fields={"tenant": "acme", "acl": ["staff", "board"], "n": None if i % 4 == 0 else i},
        )
        for i in range(12)
    ]


def theirs(count: int) -> list[Document]:
    """Documents of another tenant, and of ours for other groups, that would move every statistic."""
    return [
        Document(
            f"{'ours' if i % 3 == 0 else 'other'}{i + 100}",
            "red secret fish " + "word " * (i % 7),
            title="red",
            fields={
                "tenant": "acme" if i % 2 else "bolt",
                "acl": ["board"] if i % 2 else ["staff", "board"],
                "n": i % 5 or None,
            },
            vector=[1.0, 0.5],
        )
        for i in range(count)
    ]


def guarded(make: Any) -> Collection:
    collection = make(schema=SCHEMA, vector_model="small")
    collection.add(ours())
    collection.set_policy(POLICY)
    return collection


IDS = ("ours0", "ours3", "ours100", "other101", "nobody", "")


def unchanged_by(make: Any, count: int) -> None:
    collection = guarded(make)
    before = everything(collection, ANA, QUESTIONS, IDS)
    assert len(before["answers"][0]["hits"]) == 24
    collection.add(theirs(count), operator=True)
    assert everything(collection, ANA, QUESTIONS, IDS) == before
    collection.update(where="tenant = 'bolt'", fields={"n": 1}, operator=True)
    collection.delete(where="acl is not null and not has(acl, 'staff')", operator=True)
    assert everything(collection, ANA, QUESTIONS, IDS) == before
    assert collection.count(operator=True) > 12


def test_what_others_wrote_changes_nothing_that_is_seen(make: Any) -> None:
    unchanged_by(make, 300)


@pytest.mark.heavy
def test_what_ten_thousand_others_wrote_changes_nothing_that_is_seen(make: Any) -> None:
    unchanged_by(make, 10_000)


def test_what_others_wrote_first_changes_nothing_either(make: Any) -> None:
    alone, among = guarded(make), make(schema=SCHEMA, vector_model="small")
    among.add(theirs(60))
    among.add([*theirs(70)[60:65], *ours(), *theirs(70)[65:]])
    among.set_policy(POLICY)
    assert everything(among, ANA, QUESTIONS, IDS) == everything(alone, ANA, QUESTIONS, IDS)


def test_the_statistics_are_of_what_is_visible(make: Any) -> None:
    """The fault this guards against: rare among ours, common among theirs, and scored as common."""
    collection = guarded(make)
    free = make(schema=SCHEMA, vector_model="small")
    free.add(ours())
    collection.add(theirs(50), operator=True)
    seen = collection.search("red", arms=["lexical"], principal=ANA)
    assert [dict(hit.scores) for hit in seen] == [dict(hit.scores) for hit in free.search("red", arms=["lexical"])]
    everyone = collection.search("red", arms=["lexical"], operator=True, where="tenant = 'acme'", k=50)
    moved = {hit.id: hit.scores["lexical"] for hit in everyone}
    assert all(moved[hit.id] != hit.scores["lexical"] for hit in seen)


def test_an_invisible_document_and_a_missing_one_are_one_error(make: Any) -> None:
    collection = guarded(make)
    collection.add(
        [Document("hidden", "red", fields={"tenant": "bolt", "acl": ["staff"]}, vector=[1, 0])], operator=True
    )
    errors = []
    for id_ in ("hidden", "absent"):
        with pytest.raises(holdstill.NotFound) as caught:
            collection.get(id_, principal=ANA)
        errors.append(str(caught.value).replace(id_, "_"))
    assert errors[0] == errors[1]
    assert collection.get("hidden", operator=True).id == "hidden"


@pytest.mark.parametrize(
    ("attributes", "groups"),
    [({}, ["staff"]), ({"tenant": None}, ["staff"]), ({"tenant": "acme"}, []), ({"tenant": "ACME"}, ["staff"]),
     ({"tenant": "acme"}, ["Staff", "staff "]), ({"tenant": ""}, ["staff"]), ({"tenant": "' or 1=1 --"}, ["staff"])],
)  # fmt: skip
def test_a_principal_that_the_policy_does_not_admit_sees_nothing(
    make: Any, attributes: dict[str, Any], groups: list[str]
) -> None:
    collection = guarded(make)
    nobody = {"id": "x", "groups": groups, "attributes": attributes}
    seen = everything(collection, nobody, QUESTIONS[:9], IDS)
    assert [answer["hits"] for answer in seen["answers"]] == [[]] * 9
    assert {answer["completeness"] for answer in seen["answers"]} == {"exhausted"}
    assert all(answer["unknown"] in ({}, {"n": 0}) for answer in seen["answers"])
    assert {arm["eligible"] for answer in seen["answers"] for arm in answer["arms"]} == {0}
    assert set(seen["counts"]) == {0}
    assert (seen["info"]["documents"], seen["info"]["passages"]) == (0, 0)
    assert {shown["type"] for shown in seen["shown"].values()} == {"NotFound"}


def test_nobody_is_not_everyone(make: Any) -> None:
    collection = guarded(make)
    asks: tuple[Any, ...] = (
        lambda **who: collection.search("red", arms=["lexical"], **who),
        lambda **who: collection.search(where="true", **who),
        lambda **who: collection.get("ours0", **who),
        lambda **who: collection.get("nobody", **who),
        lambda **who: collection.count(**who),
        lambda **who: collection.info(**who),
    )
    for ask in asks:
        with pytest.raises(holdstill.PrincipalRequired):
            ask()
        for malformed in ("ana", {}, {"id": "ana", "tenant": "acme"}, {"id": 5}, {"id": "ana", "groups": "staff"}):
            with pytest.raises(holdstill.InvalidPrincipal):
                ask(principal=malformed)
        with pytest.raises(holdstill.InvalidPrincipal):
            ask(principal=ANA, operator=True)


def test_only_the_operator_writes_and_ids_are_not_looked_up_for_others(make: Any) -> None:
    collection = guarded(make)
    writes: tuple[Any, ...] = (
        lambda id_, **who: collection.add([Document(id_, "red", vector=[1, 0])], **who),
        lambda id_, **who: collection.delete([id_], **who),
        lambda id_, **who: collection.delete(where=f.tenant == id_, **who),
        lambda id_, **who: collection.update(id_, fields={"n": 1}, **who),
        lambda id_, **who: collection.add_field(id_, "int", **who),
        lambda id_, **who: collection.set_policy("true", **who),
        lambda id_, **who: collection.policy(**who),
    )
    commit = collection.info(operator=True).commit
    for write in writes:
        refusals = set()
        for id_ in ("ours0", "nobody", "n"):
            for who in ({}, {"principal": ANA}, {"principal": Principal("operator")}):
                with pytest.raises(holdstill.OperatorRequired) as caught:
                    write(id_, **who)
                refusals.add(str(caught.value))
        assert len(refusals) == 1
    assert (collection.info(operator=True).commit, collection.count(operator=True)) == (commit, 12)


def test_a_new_policy_holds_at_once_and_has_a_new_version(make: Any) -> None:
    collection = guarded(make)
    assert collection.search("red", arms=["lexical"], principal=ANA).versions["policy"] == 1
    assert collection.set_policy("tenant = principal.id", operator=True) == 2
    result = collection.search("red", arms=["lexical"], principal=ANA)
    assert (len(result), result.versions["policy"]) == (0, 2)
    assert collection.count(principal={"id": "acme"}) == 12
    assert collection.policy(operator=True) == "tenant = principal.id"


def test_a_field_changed_is_a_permission_changed(make: Any) -> None:
    collection = guarded(make)
    collection.update("ours1", fields={"acl": ["board"]}, operator=True)
    assert collection.count(principal=ANA) == 11
    with pytest.raises(holdstill.NotFound):
        collection.get("ours1", principal=ANA)
    hits = collection.search("red fish", vector=[1.0, 0.5], k=50, principal=ANA)
    assert "ours1" not in {hit.document for hit in hits}
    collection.update("ours1", fields={"acl": ["staff"]}, operator=True)
    assert collection.count(principal=ANA) == 12


def test_a_policy_asks_of_fields_that_exist_and_not_of_the_text(make: Any) -> None:
    collection = guarded(make)
    for wrong in (
        "contains(text, 'red')",
        "nothing = principal.id",
        "n = principal.id",
        "acl = principal.groups",
        "tenant =",
    ):
        with pytest.raises(holdstill.InvalidPredicate):
            collection.set_policy(wrong, operator=True)
    assert (
        collection.policy(operator=True)
        == holdstill.policy.Policy.parse(POLICY, collection.schema).predicate.canonical()
    )


def test_the_last_barrier_knows_what_was_withdrawn_since(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were a store to select a document of an earlier commit that may not be seen today, nothing would be returned."""
    collection = make(schema={"tenant": "str"})
    collection.add([Document("a", "shared", fields={"tenant": "x"})])
    collection.set_policy("tenant = principal.tenant")
    who = {"id": "ana", "attributes": {"tenant": "x"}}
    assert len(collection.search("shared", at=1, principal=who)) == 1
    collection.update(["a"], fields={"tenant": "y"}, operator=True)
    assert len(collection.search("shared", at=1, principal=who)) == 0
    snapshot = collection._store.snapshot(1)
    everything_selected = snapshot.select(None)
    monkeypatch.setattr(type(snapshot), "select", lambda *_: everything_selected)
    with pytest.raises(holdstill.InvariantViolated):
        collection.search("shared", at=1, principal=who)
