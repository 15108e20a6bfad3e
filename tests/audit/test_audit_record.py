"""What is logged of a search: all that its answer depends on, and no word of a document."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import histories
import holdstill as hs
import strategies
from fakes import Hashed, vector
from holdstill.audit.log import FILE
from holdstill.audit.record import new_id, pseudonym, timestamp
from holdstill.policy import Principal
from holdstill.predicate import parse

SECRET = b"s" * 32
ANA = {"id": "ana", "groups": ["staff"], "attributes": {"tenant": "acme"}}


@pytest.fixture
def collection(tmp_path: Path) -> Any:
    with hs.create(tmp_path / "a.hs", schema={"tenant": "str"}, embedder=Hashed()) as made:
        made.add(
            [
                hs.Document(
                    "a", "alpha marker-text", title="marker-title", fields={"tenant": "acme", "other": "marker"}
                ),
                hs.Document("b", passages=[hs.Passage("alpha beta", headings=["marker-heading"])]),
            ]
        )
        yield made


def only(collection: hs.Collection) -> dict[str, Any]:
    (record,) = collection.searches(operator=True)
    return record.as_dict()


def test_all_that_an_answer_depends_on(collection: hs.Collection) -> None:
    settings = hs.Settings(rrf_k=7, weights={"dense": 0.1}, depth=5, syntax="web")
    found = collection.search(
        'alpha "beta"', where="tenant = 'acme' or tenant is null", k=3, offset=0, by="document", settings=settings
    )
    record = only(collection)
    kept = record.pop("query")
    assert record == {
        "search_id": found.search_id,
        "time": record["time"],
        "principal": None,
        "operator": False,
        "permission": None,
        "seen_at": 1,
        "snapshot": {"generation": 1, "commit": 1},
        "k": 3,
        "offset": 0,
        "by": "document",
        "order_by": None,
        "settings": {"rrf_k": 7, "weights": {"dense": "1/10"}, "depth": 5, "syntax": "web"},
        "versions": dict(found.versions),
        "model": Hashed().digest,
        "arms": [
            {"arm": arm.arm, "strategy": arm.strategy, "stop": arm.stop, "eligible": 1, "matched": 1}
            for arm in found.arms
        ],
        "completeness": "exhausted",
        "ties_beyond": 0,
        "unknown": dict(found.unknown),
        "hits": [
            {
                "id": "b#0",
                "document": "b",
                "rank": 1,
                "tied": False,
                "ranks": {"lexical": 1, "dense": 1},
                "scores": dict(found[0].scores),
            }
        ],
        "digest": found.digest,
    }
    assert kept.pop("vector") is not None
    assert kept == {
        "text": "alpha beta",
        "must": ["beta"],
        "must_not": [],
        "where": "tenant = 'acme' or tenant is null",
        "terms": ["alpha", "beta"],
    }


def test_no_word_of_a_document(collection: hs.Collection) -> None:
    found = collection.search("alpha", vector=vector("alpha"))
    assert {"marker-text", "marker-title", "marker-heading"} <= set(str(found.as_dict()).replace("'", " ").split())
    assert b"marker" not in (collection.path / FILE).read_bytes()


def test_a_listing(collection: hs.Collection) -> None:
    collection.search(where="tenant is null", order_by="tenant desc")
    record = only(collection)
    assert (record["order_by"], record["arms"], record["query"]["terms"]) == (["tenant", True], [], [])


def test_what_was_asked_is_kept_together_or_not_at_all(tmp_path: Path) -> None:
    with hs.create(tmp_path / "a.hs", embedder=Hashed(), log=hs.LogSettings(queries=False)) as collection:
        collection.add([hs.Document("a", "alpha")])
        collection.search("alpha secret", must=["alpha"], vector=vector("alpha"))
        assert only(collection)["query"] is None
        assert b"secret" not in (collection.path / FILE).read_bytes()


def test_a_log_that_is_off(tmp_path: Path) -> None:
    with hs.create(tmp_path / "a.hs", embedder="none", log=hs.LogSettings(enabled=False)) as collection:
        collection.add([hs.Document("a", "alpha")])
        found = collection.search("alpha")
        assert (found.search_id, found.notes) == (None, ())
        assert not (collection.path / FILE).exists()
        assert list(collection.searches()) == []


def test_a_search_that_fails_is_not_logged(collection: hs.Collection) -> None:
    with pytest.raises(hs.UnknownField):
        collection.search("alpha", where="nothing = 1")
    assert list(collection.searches()) == []


# -- who asked ---------------------------------------------------------------------------------------


def test_a_principal_is_not_named(collection: hs.Collection) -> None:
    collection.set_policy("tenant = principal.tenant")
    collection.search("alpha", principal=ANA)
    record = only(collection)
    assert (record["operator"], record["permission"]) == (False, "tenant = 'acme'")
    assert re.fullmatch("[0-9a-f]{64}", record["principal"])
    assert record["principal"] != pseudonym(Principal.from_dict(ANA), SECRET)
    assert b'"ana"' not in (collection.path / FILE).read_bytes()


def test_the_operator(collection: hs.Collection) -> None:
    collection.set_policy("tenant = principal.tenant")
    collection.search("alpha", operator=True)
    record = only(collection)
    assert (record["operator"], record["principal"], record["permission"]) == (True, None, None)


def test_a_pseudonym_tells_principals_apart_and_nothing_else() -> None:
    def of(**who: Any) -> str:
        return pseudonym(Principal.from_dict({"id": "ana", "groups": ["x", "y"], "attributes": {"n": 1}} | who), SECRET)

    assert of() == of(groups=["y", "x", "y"]) == of(attributes={"n": 1, "m": None})
    others = [
        of(),
        of(id="bo"),
        of(groups=["x"]),
        of(attributes={}),
        of(attributes={"n": 2}),
        of(attributes={"n": "1"}),
    ]
    assert len(set(others)) == len(others)


def test_an_id_sorts_by_time() -> None:
    time = timestamp(datetime(2026, 12, 1, 0, 51, 48, 123_456, tzinfo=UTC))
    assert time == "2026-12-01T00:51:48.123Z"
    assert re.fullmatch(r"20261201T005148\.123Z-[0-9a-f]{8}", new_id(time))
    assert len({new_id(time) for _ in range(100)}) == 100


# -- predicates come back as they were ---------------------------------------------------------------


@given(st.data())
def test_a_predicate_survives_its_text(data: st.DataObject) -> None:
    schema = data.draw(strategies.schemas())
    checked = data.draw(strategies.predicates(schema, text=True)).check(schema)
    assert parse(str(checked)).check(schema) == checked


@pytest.mark.parametrize("text", ["true", "false", "false and x = 1", "true or x = 1", "(false or y = 2) and x = 1"])
def test_constants_survive_too(text: str) -> None:
    assert str(parse(text)) == text


@given(st.data())
def test_what_a_policy_admits_survives_its_text(data: st.DataObject) -> None:
    schema = data.draw(histories.schemas())
    policy = hs.Policy.parse(data.draw(st.sampled_from(histories.RULES)).text, schema)
    allowed = policy.permission(Principal.from_dict(data.draw(histories.principals())))
    assert parse(str(allowed)).check(schema) == allowed
