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
    [{"permission": "nothing ="}, {"permission": "other = 1"}, {"settings": {}}, {"k": 0},
     {"arms": [{"arm": "dense", "eligible": 1, "matched": 1}]}],
)  # fmt: skip
def test_a_record_that_cannot_be_understood(collection: hs.Collection, changed: dict[str, Any]) -> None:
    kept = collection.search("red").search_id or ""
    tampered(collection, **changed)
    assert collection.replay(kept).outcome == "not replayable"
    with pytest.raises((hs.InvalidInput, hs.EmbedderRequired)):
        collection.blame(kept)


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


# -- rebuilt, pruned, purged -------------------------------------------------------------------------


def test_another_generation_changes_no_old_answer(collection: hs.Collection) -> None:
    kept = collection.search("red").search_id or ""
    collection.add([hs.Document("d", "reds")])
    collection.rebuild(analyser="english")
    newer = collection.search("red").search_id or ""
    assert len(collection.search("red")) == 4
    assert [each.outcome for each in collection.replay_all()] == ["identical"] * 3
    collection.activate(1)
    assert collection.replay(newer).outcome == "identical"
    collection.drop_generation(2)
    found = collection.replay(newer)
    assert (found.outcome, found.reason) == ("not replayable", "commit 3 was pruned")
    assert collection.replay(kept).outcome == "identical"


def test_a_pruned_commit(collection: hs.Collection) -> None:
    kept = collection.search("red").search_id or ""
    collection.delete(["a"])
    newer = collection.search("red").search_id or ""
    collection.prune(keep_last=1)
    assert collection.replay(kept) == hs.Replay(kept, "not replayable", "commit 1 was pruned")
    assert collection.replay(newer).outcome == "identical"


def test_the_commit_that_was_the_newest_has_to_be_kept_where_a_permission_asks_for_it(ruled: hs.Collection) -> None:
    ruled.tag("first", operator=True)
    ruled.add([hs.Document("d", "red d", fields={"tenant": "acme"})], operator=True)
    principals = ruled.search("red", at=1, principal=ANA).search_id or ""
    operators = ruled.search("red", at=1, operator=True).search_id or ""
    ruled.delete(["d"], operator=True)
    ruled.prune(keep_last=1, operator=True)
    assert ruled.replay(principals, operator=True) == hs.Replay(principals, "not replayable", "commit 2 was pruned")
    assert ruled.replay(operators, operator=True).outcome == "identical"
    assert ruled.replay(principals, principal=ANA).outcome == "identical"


def test_a_purge_is_said_to_the_operator_alone(ruled: hs.Collection) -> None:
    ruled.update(["c"], fields={"tenant": "globex"}, operator=True)
    kept = ruled.search("red", principal=ANA).search_id or ""
    about = ruled.search("red b", principal=ANA).search_id or ""
    assert ruled.purge("b", operator=True).searches == 2
    for search_id in (kept, about):
        found = ruled.replay(search_id, operator=True)
        assert found.outcome == "not replayable"
        assert found.reason == "a document that was there at commit 2 was purged since"
        assert "purge" not in str(ruled.replay(search_id, principal=ANA).as_dict())
    assert ruled.replay(kept, principal=ANA).outcome == "permission changed"


def test_the_purge_of_what_a_principal_never_saw_changes_nothing_to_it(ruled: hs.Collection) -> None:
    ruled.update(["c"], fields={"tenant": "globex"}, operator=True)
    kept = ruled.search("red", principal=ANA).search_id or ""
    ruled.purge("c", operator=True)
    assert ruled.replay(kept, principal=ANA).outcome == "identical"
    assert ruled.replay(kept, operator=True).outcome == "not replayable"


def test_a_purge_that_could_not_rewrite_the_log_can_be_made_again(
    collection: hs.Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection.search("red")

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(collection._log, "redact", full)
    with pytest.raises(hs.NotWritable, match="No space left on device"):
        collection.purge("b")
    monkeypatch.undo()
    assert collection.purge("e").searches == 0  # never there, and in what was asked
    assert all(each.kept for each in collection.searches())
    again = collection.purge("b")
    assert (again.purged, again.searches) == (0, 1)
    assert '"b"' not in (collection.path / FILE).read_text()


_IDS = st.sampled_from("wxyz")  # in no question: a purge drops what was asked if an id occurs in it
_TENANTS = st.sampled_from(("acme", "globex"))
_STEPS = st.one_of(
    st.tuples(st.just("add"), _IDS, st.sampled_from(("red", "red runs", "running", "blue")), _TENANTS),
    st.tuples(st.just("update"), _IDS, _TENANTS),
    st.tuples(st.just("delete"), _IDS),
    st.tuples(st.just("rebuild"), st.sampled_from(("simple", "english"))),
    st.tuples(st.just("activate"), st.integers(1, 3)),
    st.tuples(st.just("drop"), st.integers(1, 3)),
    st.tuples(st.just("prune"), st.integers(1, 3)),
    st.tuples(st.just("purge"), _IDS),
    st.tuples(st.just("policy"), st.sampled_from(("tenant = principal.tenant", "true", "false"))),
)


def _take(collection: hs.Collection, step: tuple[Any, ...]) -> None:
    match step:
        case "add", id_, text, tenant:
            collection.add([hs.Document(id_, text, fields={"tenant": tenant})], operator=True)
        case "update", id_, tenant:
            collection.update([id_], fields={"tenant": tenant}, operator=True)
        case "delete", id_:
            collection.delete([id_], operator=True)
        case "rebuild", analyser:
            collection.rebuild(analyser=analyser, operator=True)
        case "activate" | "drop", number:
            call = collection.activate if step[0] == "activate" else collection.drop_generation
            generations = {each.generation: each.active for each in collection.generations(operator=True)}
            if generations.get(number) is False:
                call(number, operator=True)
        case "prune", kept:
            collection.prune(keep_last=kept, operator=True)
        case "purge", id_:
            collection.purge(id_, operator=True)
        case "policy", text:
            collection.set_policy(text, operator=True)


@budget(30)
@given(st.lists(_STEPS, min_size=3, max_size=9))
def test_an_answer_comes_again_until_its_snapshot_is_gone_or_a_document_in_it_purged(
    steps: list[tuple[Any, ...]],
) -> None:
    with (
        TemporaryDirectory() as folder,
        hs.create(Path(folder) / "a.hs", schema={"tenant": "str"}, embedder="none") as collection,
    ):
        searched: dict[str, tuple[int, int | None]] = {}  #: the commit, and the newest one then where it mattered
        seen: dict[int, set[str]] = {}
        purged: list[tuple[str, int]] = []
        for step in steps:
            before = collection.info(operator=True).commit
            if step[0] == "purge" and any(step[1] in documents for documents in seen.values()):
                purged.append((step[1], before))
            _take(collection, step)
            newest = collection.info(operator=True).commit
            seen[newest] = {hit.document for hit in collection.search(where="true", k=100, operator=True)}
            for asking in ({"operator": True}, {"principal": ANA}):
                found = collection.search("red running", **asking)
                held = None if asking.get("operator") or collection.policy(operator=True) is None else newest
                searched[found.search_id or ""] = newest, held
        pruned = {each.commit for each in collection.history(operator=True) if each.pruned}
        for each in collection.replay_all(operator=True):
            if each.search_id not in searched:
                continue
            commit, held = searched[each.search_id]
            if any(id_ in seen[commit] and commit <= before for id_, before in purged):
                assert (each.outcome, "purged" in str(each.reason)) == ("not replayable", True)
            elif commit in pruned or held in pruned:
                assert (each.outcome, "pruned" in str(each.reason)) == ("not replayable", True)
            else:
                assert each.outcome == "identical", each


@pytest.mark.parametrize("changed", [{"k": "x"}, {"arms": [{"arm": "dense"}]}, {"query": {}}, {"snapshot": {}}])
def test_a_record_that_is_none_is_not_there(collection: hs.Collection, changed: dict[str, Any]) -> None:
    kept = collection.search("red").search_id or ""
    tampered(collection, **changed)
    for read in (collection.replay, collection.blame):
        with pytest.raises(hs.NotFound):
            read(kept)
