"""Named embedders on the command line: how they are spelled, kept, and missed."""

from __future__ import annotations

import hashlib

import pytest

import holdstill as hs
from endpoints import URL
from holdstill.embedding.openai import PROBES
from holdstill.models import kept

ROWS = [{"id": "a", "text": "one text"}, {"id": "b", "text": "another"}]
OPENAI = ["--embedder", "openai:m", "--embedder-url", URL, "--query-prefix", "query: ", "--passage-prefix", "passage: "]


@pytest.fixture
def made(ask, write, tmp_path, fake):
    ask("add", tmp_path / "c.hs", write("rows.jsonl", ROWS), *OPENAI)
    return tmp_path / "c.hs"


def test_add_makes_a_collection_with_the_embedder(made, ask, fake):
    assert sorted(set(fake.texts) - set(PROBES)) == ["passage: another", "passage: one text"]
    about = ask("info", made)
    assert (about["embedder"], about["dimensions"]) == ("openai:m", 16)


def test_a_search_needs_no_word_of_the_embedder(made, ask, fake):
    kept.cache_clear()
    answer = ask("search", made, "one text", "--arm", "dense")
    assert {hit["document"] for hit in answer["hits"]} == {"a", "b"}
    assert "query: one text" in fake.texts


def test_init_keeps_the_settings(ask, tmp_path, fake, write):
    assert ask("init", tmp_path / "c.hs", *OPENAI)["embedder"] == "openai:m"
    kept.cache_clear()
    ask("add", tmp_path / "c.hs", write("rows.jsonl", ROWS))
    assert "passage: another" in fake.texts


def test_adding_with_the_same_options_agrees_and_with_others_does_not(made, ask, fault, write):
    more = write("more.jsonl", [{"id": "c", "text": "more"}])
    assert ask("add", made, more, *OPENAI)["added"] == 1
    assert ask("add", made, more, "--embedder", "openai:m")["unchanged"] == 1
    assert fault("add", made, more, *OPENAI[:-1], "other: ")["type"] == "ModelMismatch"
    error = fault("add", made, more, "--embedder", "openai:n")
    assert (error["type"], error["expected"]) == ("ModelMismatch", "--embedder openai:m")


def test_the_doctor_reports_the_named_embedder(made, ask, fake):
    detail = ask("doctor", made)["checks"][1]["detail"]
    assert detail.startswith("openai:m holds still")
    fake.noise = 1e-6
    assert "openai:m moves by" in ask("doctor", made, code=1)["checks"][1]["detail"]


def test_the_doctor_says_what_mends_a_model_that_changed(made, ask, run, fake):
    fake.seed = "trained further"
    kept.cache_clear()
    checks = ask("doctor", made, code=1)["checks"]
    assert [(check["check"], check["ok"]) for check in checks] == [
        ("collection", True),
        ("embedder", False),
        ("index", True),
    ]
    assert "`holdstill rebuild COLLECTION --embedder openai:m`" in checks[1]["detail"]
    assert "WRONG  embedder: the endpoint" in run("doctor", made).stdout


def test_a_model_that_changed_is_an_error_that_says_what_mends_it(made, ask, fault, fake):
    fake.seed = "trained further"
    kept.cache_clear()
    error = fault("search", made, "text")
    assert error["type"] == "ModelMismatch"
    assert "`holdstill rebuild COLLECTION --embedder openai:m`" in error["hint"]
    assert "Python" not in error["hint"]
    assert ask("search", made, "text", "--arm", "lexical")["hits"]


@pytest.mark.parametrize(
    ("options", "field", "message"),
    [
        (["--embedder", "openai:"], "embedder", "no embedder has this name"),
        (["--embedder", "bert"], "embedder", "no embedder has this name"),
        (["--embedder", "minilm", "--query-prefix", "q"], "query_prefix", "takes no --query-prefix"),
        (["--embedder", "sentence-transformers:m", "--embedder-url", URL], "embedder_url", "takes no url"),
        (["--embedder", "openai:m", "--embedder-url", "nowhere"], "embedder_url", "cannot be used"),
        (["--embedder-url", URL], "embedder", "--embedder-url says how an embedder is made"),
        (["--embedder", "none", "--query-prefix", "q"], "embedder", "--query-prefix says how an embedder is made"),
        (["--vector-model", "mine", "--embedder", "openai:m"], "embedder", "the documents bring vectors"),
    ],
)
def test_options_that_do_not_go_together_are_refused(fault, tmp_path, options, field, message):
    error = fault("init", tmp_path / "c.hs", *options)
    assert error["field"] == field
    assert message in error["message"]
    assert not (tmp_path / "c.hs").exists()


def test_an_endpoint_that_refuses_makes_no_collection(fault, tmp_path, fake):
    import httpx

    fake.first = [lambda _: httpx.Response(401)] * 3
    error = fault("init", tmp_path / "c.hs", *OPENAI, code=1)
    assert error["type"] == "EmbedderFailed"
    assert "OPENAI_API_KEY" in error["hint"]
    assert not (tmp_path / "c.hs").exists()


def test_a_prefixed_embedder_of_ones_own_stays_ones_own(ask, fault, tmp_path):
    from fakes import Hashed

    embedder = Hashed()
    embedder.query_prefix = "query: "
    hs.create(tmp_path / "c.hs", embedder=embedder).close()
    assert fault("search", tmp_path / "c.hs", "text")["type"] == "EmbedderRequired"


def test_a_rebuild_takes_the_weights_of_now_and_needs_no_word_of_the_embedder(made, ask, fake):
    fake.seed = "trained further"
    assert ask("rebuild", made)["generation"] == 2
    assert "passage: another" in fake.texts
    kept.cache_clear()
    assert ask("search", made, "one text", "--arm", "dense")["hits"]
    first, second = ask("generations", made)["generations"]
    assert first["embedder"] == second["embedder"] == "openai:m"
    assert first["model"] != second["model"]
    assert ask("doctor", made)["ok"] is True


def test_a_rebuild_with_another_embedder_is_searched_with_it(made, ask, fake):
    ask("rebuild", made, "--embedder", "openai:n", "--embedder-url", URL, "--query-prefix", "ask: ")
    kept.cache_clear()
    ask("search", made, "one text", "--arm", "dense")
    assert "ask: one text" in fake.texts
    assert ask("activate", made, 1)["generation"] == 1
    ask("search", made, "two texts", "--arm", "dense")
    assert "query: two texts" in fake.texts


def test_a_purge_forgets_the_vectors_that_are_kept_for_the_user(made, ask, fake):
    from holdstill.embedding import cache

    source = hashlib.sha256(b"passage: one text").digest()
    model = ask("info", made)["model"]
    assert cache.recall(model, [source])
    ask("purge", made, "a", "--yes")
    assert cache.recall(model, [source]) == {}
    assert cache.recall(model, [hashlib.sha256(b"passage: another").digest()])
