"""`search`: every option reaches the engine, and the answer is the contract's object."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

import holdstill as hs
from holdstill.cli.searching import _joined_order, _weights
from holdstill.result import Completeness

KEYS = [
    *("search_id", "completeness", "k", "offset", "returned", "ties_beyond", "understood", "snapshot", "model"),
    *("ranking", "arms", "hits", "unknown", "notes", "versions", "digest"),
]
HIT = ["rank", "tied", "id", "document", "score", "ranks", "scores", "title", "headings", "pages", "text", "fields"]


def documents(answer):
    return [hit["document"] for hit in answer["hits"]]


@pytest.fixture
def vectors(ask, tmp_path, write):
    """A collection whose documents bring vectors of two dimensions."""
    rows = [{"id": f"d{at}", "text": f"word {at}", "vector": [1, at]} for at in range(4)]
    ask("add", tmp_path / "v.hs", write("v.jsonl", rows), "--vector-model", "mine")
    return tmp_path / "v.hs"


def test_the_object_is_the_contracts(ask, people):
    answer = ask("search", people, "fintech backend", "--where", "years_exp >= 3")
    assert list(answer) == KEYS
    assert all(list(hit) == HIT for hit in answer["hits"])
    assert answer["understood"] == {"text": "fintech backend", "must": [], "must_not": [], "where": "years_exp >= 3"}
    assert answer["unknown"] == {"years_exp": 1}
    assert [list(arm) for arm in answer["arms"]] == [["arm", "strategy", "stop", "eligible", "matched", "error"]]
    assert documents(answer) == ["ana", "bo", "di"]


def unlogged(answer):
    """The answer but for the id of its record, which every search has its own of."""
    return {name: value for name, value in answer.items() if name != "search_id"}


def test_the_command_line_gives_what_python_gives(ask, people):
    words = ["--must", "backend", "--must-not", "python", "--where", "location = 'Berlin'", "--k", "3", "--offset", "0"]
    answer = ask("search", people, "engineer backend", *words, "--rrf-k", "7", "--depth", "2", "--by", "document")
    with hs.open(people) as collection:
        result = collection.search(
            "engineer backend",
            must=["backend"],
            must_not=["python"],
            where="location = 'Berlin'",
            k=3,
            by="document",
            settings=hs.Settings(rrf_k=7, depth=2),
        )
    assert unlogged(answer) == unlogged(json.loads(json.dumps(result.as_dict())))
    assert documents(answer) == ["cy"]


def test_pages(ask, people):
    whole = documents(ask("search", people, "fintech backend engineer"))
    pages = [documents(ask("search", people, "fintech backend engineer", "--k", 1, "--offset", at)) for at in range(4)]
    assert [id_ for page in pages for id_ in page] == whole


@pytest.mark.parametrize(
    ("words", "order"),
    [
        ([], ["ana", "bo", "di"]),
        (["--order-by", "years_exp"], ["bo", "ana", "di"]),
        (["--order-by", "years_exp", "desc"], ["di", "ana", "bo"]),
        (["--order-by", "years_exp", "DESC", "--k", "3"], ["di", "ana", "bo"]),
        (["--order-by", "years_exp", "asc"], ["bo", "ana", "di"]),
        (["--order-by=years_exp", "desc"], ["di", "ana", "bo"]),
        (["--order-by", "years_exp desc"], ["di", "ana", "bo"]),
        (["--order-by=years_exp desc"], ["di", "ana", "bo"]),
    ],
)
def test_without_text_the_answer_is_everything_in_order(ask, people, words, order):
    answer = ask("search", people, "--where", "years_exp > 0", *words)
    assert documents(answer) == order
    assert all(hit["score"] is None for hit in answer["hits"])
    assert answer["arms"] == []


def test_order_by_takes_one_word_where_the_next_is_no_direction():
    assert _joined_order(["c", "--order-by", "n", "text"]) == ["c", "--order-by", "n", "text"]
    assert _joined_order(["c", "--order-by", "n"]) == ["c", "--order-by", "n"]
    assert _joined_order(["--order-by", "n", "desc", "c"]) == ["--order-by", "n desc", "c"]


def test_weights_are_exact(ask, people):
    assert _weights("lexical=0.1, dense=2") == {"lexical": Fraction(1, 10), "dense": Fraction(2)}
    assert _weights(None) == {}
    assert ask("search", people, "fintech", "--weights", "lexical=2.5")["ranking"]["weights"] == {"lexical": 2.5}


@pytest.mark.parametrize(
    "spec", ["", "lexical", "lexical=", "lexical=a", "lexical=-1", "lexical=1,lexical=1", "lexical=1e9"]
)
def test_weights_that_cannot_be_read(fault, people, spec):
    error = fault("search", people, "x", "--weights", spec)
    assert (error["type"], error["field"], error["got"]) == ("InvalidQuery", "weights", f"{spec!r} (str)")


@pytest.mark.parametrize("spec", ["fuzzy=1", "lexical=0", "lexical=1000001"])
def test_weights_that_the_engine_refuses(fault, people, spec):
    error = fault("search", people, "x", "--weights", spec)
    assert (error["type"], error["field"]) == ("InvalidQuery", "weights")


@pytest.mark.parametrize(
    ("name", "content"),
    [("v.json", b"[0, 1]"), ("v.json", b'{"model": "mine", "vector": [0, 1]}'), ("v.npy", None)],
)
def test_a_vector_from_a_file(ask, vectors, tmp_path, name, content):
    path = tmp_path / name
    if content is None:
        np.save(path, np.array([0, 1], dtype=np.float32))
    else:
        path.write_bytes(content)
    assert documents(ask("search", vectors, "--vector", path)) == ["d3", "d2", "d1", "d0"]


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("v.json", b"[0, NaN]", "MalformedInput"),
        ("v.json", b"[0, 1", "MalformedInput"),
        ("v.json", b'"x"', "InvalidVector"),
        ("v.json", b"[0, 0]", "InvalidVector"),
        ("v.json", b"[1]", "InvalidVector"),
        ("v.json", b'["a", "b"]', "InvalidVector"),
        ("v.json", b'{"vector": [0, 1]}', "InvalidVector"),
        ("v.json", b'{"model": "other", "vector": [0, 1]}', "ModelMismatch"),
        ("v.npy", b"not numpy", "InvalidVector"),
        ("v.npy", b"", "InvalidVector"),
        ("none.json", None, "MalformedInput"),
        ("none.npy", None, "InvalidVector"),
    ],
)
def test_a_vector_that_cannot_be_used(fault, vectors, tmp_path, name, content, kind):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert fault("search", vectors, "--vector", tmp_path / name)["type"] == kind


def test_pickles_are_never_loaded(fault, vectors, tmp_path):
    np.save(tmp_path / "v.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    assert "allow_pickle" in fault("search", vectors, "--vector", tmp_path / "v.npy")["message"]


def test_text_asked_of_brought_vectors_names_both_remedies(ask, fault, vectors):
    error = fault("search", vectors, "1")
    assert error["type"] == "EmbedderRequired"
    assert "--vector FILE" in error["hint"]
    assert "--arm lexical" in error["hint"]
    assert documents(ask("search", vectors, "1", "--arm", "lexical")) == ["d1"]


def test_web_syntax_only_where_it_is_asked_for(ask, people):
    question = '"backend engineer" -logistics fintech'
    plain = ask("search", people, question)
    assert plain["understood"]["must"] == []
    assert ask("search", people, question, "--syntax", "web")["understood"] == {
        "text": plain["understood"]["text"].replace('"', "").replace("-logistics", " "),
        "must": ["backend engineer"],
        "must_not": ["logistics"],
        "where": None,
    }


@pytest.mark.parametrize(
    ("words", "kind", "field"),
    [
        ([], "EmptyQuery", "text"),
        ([""], "EmptyQuery", "text"),
        (["", "--where", "years_exp > 1"], "EmptyQuery", "text"),
        (["\u200b"], "EmptyQuery", "text"),
        (["?!"], "EmptyQuery", "text"),
        (["x", "--k", 0], "InvalidQuery", "k"),
        (["x", "--k", -1], "InvalidQuery", "k"),
        (["x", "--k", 2**31], "InvalidQuery", "k"),
        (["x", "--offset", -1], "InvalidQuery", "offset"),
        (["x", "--rrf-k", 0], "InvalidQuery", "rrf_k"),
        (["x", "--depth", 0], "InvalidQuery", "depth"),
        (["x", "--arm", "dense"], "InvalidQuery", "arms"),
        (["x", "--min-score", "0.5"], "FusedScoreThreshold", "min_score"),
        (["x", "--order-by", "years_exp"], "InvalidQuery", "order_by"),
        (["--where", "true", "--order-by", "years exp down"], "InvalidQuery", "order_by"),
        (["--where", "true", "--order-by", "skills"], "InvalidQuery", "order_by"),
        (["--where", "salary > 3"], "UnknownField", "salary"),
        (["--where", "years_exp = '5'"], "TypeMismatch", "years_exp"),
        (["--where", ""], "PredicateSyntax", "where"),
        (["--where", "x; drop table documents"], "PredicateSyntax", "where"),
        (["--must", "?"], "InvalidPredicate", "must"),
        (["--must", ""], "InvalidPredicate", "must"),
        (["x", "--must-not", " "], "InvalidPredicate", "must_not"),
    ],
)
def test_bad_input_is_typed(fault, people, words, kind, field):
    error = fault("search", people, *words)
    assert (error["type"], error["field"]) == (kind, field)


def test_an_arm_named_twice_is_that_arm(ask, people):
    once, twice = (ask("search", people, "backend", *["--arm", "lexical"] * times) for times in (1, 2))
    assert unlogged(once) == unlogged(twice)


def test_the_weight_of_an_arm_that_takes_no_part_is_noted(run, ask, people):
    answer = ask("search", people, "backend", "--weights", "lexical=1,dense=2")
    assert answer["notes"] == ["the weight of dense changes nothing: that arm did not take part"]
    assert answer["digest"] == ask("search", people, "backend")["digest"]
    assert "note: the weight of dense" in run("search", people, "backend", "--weights", "dense=2").stdout
    assert ask("search", people, "backend", "--weights", "lexical=2")["notes"] == []


def test_paths_that_are_no_collections(fault, tmp_path):
    assert fault("search", tmp_path / "none.hs", "x")["type"] == "CollectionNotFound"
    assert "The collection comes first" in fault("search", "payments")["hint"]
    assert fault("search", tmp_path, "x")["type"] == "NotACollection"
    assert not (tmp_path / "none.hs").exists()


def test_require_complete_prints_the_answer_and_exits_with_3(run, ask, people):
    assert ask("search", people, "backend", "--require", "complete")["completeness"] == Completeness.EXHAUSTED
    assert ask("search", people, "backend", "--k", 1, "--require", "complete")["completeness"] == Completeness.COMPLETE
    words = ["search", people, "backend", "--k", 9, "--depth", 1]
    cut = ask(*words, "--require", "complete", code=3)
    assert cut["completeness"] == Completeness.TRUNCATED
    assert cut["hits"]
    assert unlogged(ask(*words)) == unlogged(cut)
    result = run(*words, "--require", "complete")
    assert result.exit_code == 3
    assert result.stdout.startswith("truncated: ")
    assert result.stderr == "the answer is truncated, and --require complete was asked\n"


def test_who_asks_decides_what_is_seen(ask, fault, people, principal, tmp_path):
    rule = tmp_path / "rule"
    rule.write_text("location = principal.place\n", encoding="utf-8")
    ask("policy", "set", people, rule)
    assert fault("search", people, "backend")["type"] == "PrincipalRequired"
    assert documents(ask("search", people, "backend", "--as", principal(place="Lagos"))) == ["di"]
    assert documents(ask("search", people, "backend", "--as", principal())) == []
    assert len(documents(ask("search", people, "backend", "--operator"))) == 3
