"""A model behind an endpoint: known again by its probes, asked once for each text, and refused when it changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fakes
import holdstill as hs
from endpoints import URL, FakeEndpoint
from holdstill.embedding import cache, check, load
from holdstill.embedding.base import check_shape
from holdstill.embedding.openai import PROBES
from holdstill.models import chosen, matching, settings_of
from holdstill.splitting import PROFILE
from holdstill.stores.base import Generation


def embedder_of(**settings: Any) -> hs.OpenAIEmbedder:
    return hs.OpenAIEmbedder("m", url=URL, **settings)


def generation_of(embedder: hs.OpenAIEmbedder) -> Generation:
    return Generation(
        1, "simple", embedder.name, False, embedder.digest, embedder.dimensions, PROFILE, "x", settings_of(embedder)
    )


def test_making_one_asks_nothing(fake: FakeEndpoint) -> None:
    embedder = embedder_of()
    assert (embedder.name, embedder.window) == ("openai:m", 512)
    assert repr(embedder) == f"OpenAIEmbedder('m', url='{URL}')"
    assert hs.OpenAIEmbedder("text-embedding-3-small").window == 8191
    assert fake.requests == []
    assert embedder.dimensions == 16
    check_shape(embedder)
    assert sorted(fake.texts) == sorted(PROBES)


def test_the_texts_are_sent_as_they_are_and_each_once(fake: FakeEndpoint) -> None:
    embedder = embedder_of(query_prefix="query: ")
    rows = embedder.embed(["one", "two", "one"])
    assert np.array_equal(rows, np.array([fakes.vector(text) for text in ("one", "two", "one")], dtype=np.float32))
    assert rows.dtype == np.float32
    assert sorted(fake.texts) == sorted([*PROBES, "one", "two"])
    assert embedder.embed([]).shape == (0, 16)
    again = embedder_of(query_prefix="query: ").embed(["two", "three"])
    assert again[0].tobytes() == rows[1].tobytes()
    assert fake.texts.count("two") == 1


def test_without_the_cache_every_text_is_sent(fake: FakeEndpoint) -> None:
    embedder = embedder_of(cache=False)
    embedder.embed(["one"])
    embedder.embed(["one"])
    assert fake.texts.count("one") == 2
    assert not cache.file().exists()


def test_a_damaged_cache_costs_nothing_but_the_asking(fake: FakeEndpoint) -> None:
    rows = embedder_of().embed(["one"])
    cache.file().write_bytes(b"no database")
    assert embedder_of().embed(["one"]).tobytes() == rows.tobytes()
    assert fake.texts.count("one") == 2


def test_one_text_a_request_unless_more_are_asked_for(fake: FakeEndpoint) -> None:
    texts = [str(number) for number in range(10)]
    embedder_of().embed(texts)
    assert {len(body["input"]) for body in fake.bodies} == {1}
    fake.requests.clear()
    embedder_of(batch=4, passage_prefix="other: ").embed(texts)
    assert [len(body["input"]) for body in fake.bodies[:4]] == [1, 1, 1, 3]  # the probes, alone and together
    assert sorted(len(body["input"]) for body in fake.bodies[4:]) == [2, 4, 4]


def test_where_neighbours_move_a_vector_each_text_is_sent_alone(fake: FakeEndpoint) -> None:
    fake.moved_by_neighbours = True
    embedder = embedder_of(batch=4)
    assert json.loads(embedder.settings)["batch"] == 1
    fake.requests.clear()
    embedder.embed(["a", "b", "c"])
    assert [len(body["input"]) for body in fake.bodies] == [1, 1, 1]
    assert check(embedder).invariant


def test_the_check_of_invariance_asks_anew(fake: FakeEndpoint) -> None:
    fake.noise = 1e-6
    embedder = embedder_of(window=2048)
    assert embedder.embed(["a"]).tobytes() == embedder.embed(["a"]).tobytes()
    report = check(embedder)
    assert "again" in report.moved
    assert report.digest == embedder.digest


def test_a_text_longer_than_the_window_is_not_sent(fake: FakeEndpoint) -> None:
    embedder = embedder_of(window=16)
    assert embedder.count_tokens("12345678") == 16
    with pytest.raises(hs.InvalidInput, match=r"text 1 is longer than the window of the model 'openai:m'.*got 17"):
        embedder.embed(["1", "123456789"])
    assert "1" not in fake.texts


@given(st.text(), st.text())
def test_more_text_is_never_fewer_tokens(first: str, second: str) -> None:
    count = hs.OpenAIEmbedder("m").count_tokens
    assert count(first + second) >= count(first)
    assert count(first) >= len(first)


def test_the_digest_covers_name_url_prefixes_and_probes(fake: FakeEndpoint) -> None:
    digests = {
        embedder_of().digest,
        embedder_of(query_prefix="query: ").digest,
        embedder_of(passage_prefix="query: ").digest,
        hs.OpenAIEmbedder("n", url=URL).digest,
        hs.OpenAIEmbedder("m", url=URL + "/other").digest,
    }
    assert len(digests) == 5
    assert embedder_of(batch=9, window=99, timeout=9, cache=False, key_variable="K").digest in digests
    fake.seed = "trained further"
    assert embedder_of().digest not in digests


def test_the_settings_make_it_again_and_hold_no_key(fake: FakeEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret")
    made = embedder_of(key_variable="MY_KEY", query_prefix="q ", batch=3, timeout=9)
    assert "sk-secret" not in made.settings
    again = load(made.name, made.settings)
    asked = len(fake.requests)
    assert (again.digest, again.dimensions, again.query_prefix) == (made.digest, 16, "q ")
    assert settings_of(again) == made.settings
    assert len(fake.requests) == asked
    again.embed(["a"])
    assert len(fake.requests) == asked + len(PROBES) + 1


def test_a_generation_made_with_it_is_opened_without_it(fake: FakeEndpoint) -> None:
    generation = generation_of(embedder_of())
    embedder = matching(generation, None)
    assert embedder is not None
    assert embedder is matching(generation, None)
    assert embedder.digest == generation.model
    assert embedder.embed(["a"]).shape == (1, 16)


def test_other_weights_under_the_same_name_are_noticed(fake: FakeEndpoint) -> None:
    generation = generation_of(embedder_of())
    embedder_of().embed(["kept in the cache"])
    fake.seed = "trained further"
    for at_hand in (matching(generation, None), matching(generation, embedder_of(timeout=5))):
        assert at_hand is not None
        with pytest.raises(hs.ModelMismatch, match=r"another model under the name 'm'.*--embedder openai:m`"):
            at_hand.embed(["kept in the cache"])


def test_vectors_of_another_length_are_another_model(fake: FakeEndpoint) -> None:
    generation = generation_of(embedder_of())
    fake.dimensions = 8
    embedder = matching(generation, None)
    assert embedder is not None
    with pytest.raises(hs.ModelMismatch, match="another model"):
        embedder.embed(["a"])


def test_noise_of_the_arithmetic_is_not_another_model(fake: FakeEndpoint) -> None:
    fake.noise = 1e-4
    generation = generation_of(embedder_of())
    embedder = matching(generation, embedder_of())  # its own probes would have another digest
    assert embedder is not None
    assert embedder.digest == generation.model
    embedder.embed(["a"])


def test_an_endpoint_may_move(fake: FakeEndpoint) -> None:
    generation = generation_of(embedder_of())
    moved = hs.OpenAIEmbedder("m", url="http://elsewhere.test/v1")
    embedder = matching(generation, moved)
    assert embedder is not None
    assert embedder is matching(generation, moved)
    embedder.embed(["a"])
    assert embedder.digest == generation.model
    assert {str(request.url.host) for request in fake.requests[-4:]} == {"elsewhere.test"}


@pytest.mark.parametrize("other", [{"query_prefix": "q "}, {"passage_prefix": "p "}])
def test_other_settings_that_move_a_vector_are_another_model(fake: FakeEndpoint, other: dict[str, Any]) -> None:
    generation = generation_of(embedder_of())
    with pytest.raises(hs.ModelMismatch, match="rebuild COLLECTION --embedder openai:m"):
        matching(generation, embedder_of(**other))


def test_it_is_taken_for_a_new_collection_as_it_is(fake: FakeEndpoint, tmp_path: Path) -> None:
    embedder = embedder_of(passage_prefix="passage: ", query_prefix="query: ")
    renewed = chosen(embedder, None)
    assert renewed is not None
    assert renewed.digest == embedder.digest
    with hs.create(tmp_path / "c.hs", embedder=embedder) as collection:
        collection.add([hs.Document("a", "some text", title="Title")])
        assert collection.search("some question", arms=["dense"])[0].document == "a"
    assert sorted(set(fake.texts) - set(PROBES)) == ["passage: Title\nsome text", "query: some question"]


def test_a_rebuild_in_the_same_process_takes_the_weights_of_now(fake: FakeEndpoint, tmp_path: Path) -> None:
    embedder = embedder_of()
    with hs.create(tmp_path / "c.hs", embedder=embedder) as collection:
        collection.add([hs.Document("a", "some text")])
        before = collection.info().model
        fake.seed = "trained further"
        for given in (None, embedder):
            collection.rebuild(embedder=given)
            assert collection.info().model != before
            assert collection.search(vector=fakes.vector(fake.seed + "some text"))[0].scores["dense"] > 0.99 * 2**30
            assert collection.embedder is not None
            assert collection.embedder.digest == collection.info().model


def test_the_embedder_given_wins_over_the_one_that_is_kept(fake: FakeEndpoint, tmp_path: Path) -> None:
    with hs.create(tmp_path / "c.hs", embedder=embedder_of()) as collection:
        collection.add([hs.Document("a", "some text")])
    with hs.open(tmp_path / "c.hs", embedder=hs.OpenAIEmbedder("m", url="http://elsewhere.test/v1")) as collection:
        collection.search("some question")
        assert fake.requests[-1].url.host == "elsewhere.test"
        collection.rebuild()
        assert fake.requests[-1].url.host == "elsewhere.test"


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"model": " "}, "model"),
        ({"key_variable": ""}, "key_variable"),
        ({"window": 15}, "window"),
        ({"window": True}, "window"),
        ({"dimensions": 0}, "dimensions"),
        ({"dimensions": 4097}, "dimensions"),
        ({"batch": 0}, "batch"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
        ({"cache": "no"}, "cache"),
        ({"query_prefix": None}, "query_prefix"),
        ({"passage_prefix": "a\0"}, "passage_prefix"),
        ({"url": "nowhere"}, "embedder_url"),
    ],
)
def test_settings_that_cannot_be_used_are_named(settings: dict[str, Any], field: str) -> None:
    with pytest.raises(hs.InvalidInput) as caught:
        hs.OpenAIEmbedder(**({"model": "m"} | settings))
    assert caught.value.field == field


def test_names_and_settings_that_mean_nothing_are_refused() -> None:
    with pytest.raises(hs.InvalidInput, match="no embedder has this name"):
        load("openai:")
    with pytest.raises(hs.InvalidInput, match="the embedder 'minilm' takes no url") as caught:
        load("minilm", '{"url":"http://a/v1"}')
    assert caught.value.field == "embedder_url"
    with pytest.raises(hs.InvalidInput, match="the embedder 'openai' takes no colour"):
        load("openai:m", '{"colour":"red"}')
