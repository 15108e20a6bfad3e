"""Models of sentence-transformers, with one made here: two small layers, random weights, a vocabulary of letters."""

from __future__ import annotations

import json
import shutil
import string
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdstill as hs
from holdstill.embedding import check, load
from holdstill.embedding.base import check_shape
from holdstill.embedding.sentence_transformers import SentenceTransformerEmbedder
from holdstill.models import chosen, kept, matching, settings_of
from holdstill.splitting import PROFILE
from holdstill.stores.base import Generation

DIMENSIONS = 384
TEXTS = ["a text", "", "another, rather longer text", "b", "text " * 20]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model."""
    pytest.importorskip("sentence_transformers", reason="pip install 'holdstill[sentence-transformers]'")
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder = tmp_path_factory.mktemp("model")
    letters = [*string.ascii_lowercase, *string.digits, *string.punctuation]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    (folder / "vocab.txt").write_text("\n".join(pieces), encoding="utf-8")
    torch.manual_seed(7)
    config = BertConfig(
        vocab_size=len(pieces),
        hidden_size=DIMENSIONS,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=4 * DIMENSIONS,  # so wide that sums are shared out to the threads there are
        max_position_embeddings=128,
    )
    BertModel(config).save_pretrained(folder / "bert")
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder / "bert")
    transformer = Transformer(str(folder / "bert"), max_seq_length=96)
    model = SentenceTransformer(modules=[transformer, Pooling(DIMENSIONS), Normalize()], device="cpu")
    model.save(str(folder / "saved"))
    return folder / "saved"


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy of the model that the test may change."""
    return Path(shutil.copytree(made, tmp_path / "model"))


def bits(rows: Any) -> list[bytes]:
    return [row.tobytes() for row in rows]


def test_what_it_says_of_itself(made: Path) -> None:
    embedder = hs.SentenceTransformerEmbedder(made)
    check_shape(embedder)
    assert embedder.name == f"sentence-transformers:{made}"
    assert (embedder.dimensions, embedder.window) == (DIMENSIONS, 96)
    assert embedder.count_tokens("") == 2
    assert embedder.count_tokens("abc d") == 6
    assert embedder.count_tokens("a" * 99 + " b") == 102
    assert embedder.runtime.startswith("sentence-transformers ")


def test_vectors_are_those_of_the_library_alone_and_in_company(made: Path) -> None:
    from sentence_transformers import SentenceTransformer

    texts = [text for text in TEXTS if len(text) < 90]
    rows = hs.SentenceTransformerEmbedder(made).embed(texts)
    assert rows.dtype == np.float32
    theirs = SentenceTransformer(str(made), device="cpu").encode(texts)
    assert np.abs(rows - theirs).max() < 1e-5
    assert hs.SentenceTransformerEmbedder(made).embed([]).shape == (0, DIMENSIONS)


def test_a_text_has_the_same_bits_in_any_company_and_with_any_number_of_threads(made: Path) -> None:
    import torch

    embedder = hs.SentenceTransformerEmbedder(made)
    assert check(embedder).invariant
    alone = [bits(embedder.embed([text]))[0] for text in TEXTS]
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 3, 8):
            torch.set_num_threads(threads)
            assert bits(embedder.embed(TEXTS)) == alone
            assert bits(embedder.embed(TEXTS[::-1])) == alone[::-1]
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


def test_loading_prints_nothing(made: Path, capfd: pytest.CaptureFixture[str]) -> None:
    hs.SentenceTransformerEmbedder(made).embed(["a"])
    assert capfd.readouterr() == ("", "")


def test_threads_share_one(made: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    embedder = hs.SentenceTransformerEmbedder(made)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: bits(embedder.embed(TEXTS)), range(8)))
    assert answers == [answers[0]] * 8


def test_a_text_longer_than_the_window_is_refused(made: Path) -> None:
    with pytest.raises(hs.InvalidInput, match=r"text 1 is longer than the window.*at most 96 tokens.*got 97"):
        hs.SentenceTransformerEmbedder(made).embed(["a", "a" * 95])


def _weights(folder: Path) -> None:
    file = folder / "model.safetensors"
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)


def _pooling(folder: Path) -> None:
    (file,) = folder.glob("*_Pooling/config.json")
    file.write_text(file.read_text(encoding="utf-8") + " ", encoding="utf-8")


def _normalised(folder: Path) -> None:
    modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
    (folder / "modules.json").write_text(json.dumps(modules[:2]), encoding="utf-8")


def _tokenizer(folder: Path) -> None:
    file = folder / "tokenizer.json"
    file.write_text(file.read_text(encoding="utf-8").replace('"lowercase": true', '"lowercase": false'), "utf-8")


@pytest.mark.parametrize("change", [_weights, _pooling, _normalised, _tokenizer])
def test_what_moves_a_vector_is_in_the_digest(folder: Path, change: Callable[[Path], None]) -> None:
    embedder = hs.SentenceTransformerEmbedder(folder)
    before = embedder.digest
    assert hs.SentenceTransformerEmbedder(folder).digest == before
    change(folder)
    assert hs.SentenceTransformerEmbedder(folder).digest != before
    assert embedder.digest == before  # what it has loaded is what it was


def test_what_moves_no_vector_is_not(folder: Path, tmp_path: Path) -> None:
    before = hs.SentenceTransformerEmbedder(folder).digest
    (folder / "README.md").write_text("Other words.", encoding="utf-8")
    (folder / "onnx").mkdir()
    (folder / "onnx" / "config.json").write_text("{}", encoding="utf-8")
    (folder / "pytorch_model.bin").write_bytes(b"not read: there are safetensors")
    assert hs.SentenceTransformerEmbedder(folder).digest == before
    folder.rename(tmp_path / "elsewhere")
    assert hs.SentenceTransformerEmbedder(tmp_path / "elsewhere").digest == before


def test_prefixes_and_versions_are_in_the_digest(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digests = {
        hs.SentenceTransformerEmbedder(made).digest,
        hs.SentenceTransformerEmbedder(made, query_prefix="query: ").digest,
        hs.SentenceTransformerEmbedder(made, passage_prefix="query: ").digest,
    }
    assert len(digests) == 3
    monkeypatch.setattr("holdstill.embedding.sentence_transformers.metadata.version", lambda package: "0.0.1")
    assert hs.SentenceTransformerEmbedder(made).digest not in digests


def test_the_prompts_of_the_model_are_its_prefixes_unless_others_are_given(folder: Path) -> None:
    from sentence_transformers import SentenceTransformer

    file = folder / "config_sentence_transformers.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    config |= {"prompts": {"query": "ask: ", "document": "", "passage": "read: "}, "default_prompt_name": "query"}
    file.write_text(json.dumps(config), encoding="utf-8")
    own = hs.SentenceTransformerEmbedder(folder)
    assert (own.query_prefix, own.passage_prefix) == ("ask: ", "read: ")
    given = hs.SentenceTransformerEmbedder(folder, query_prefix="", passage_prefix="p ")
    assert (given.query_prefix, given.passage_prefix) == ("", "p ")
    # The library puts its default prompt before a text of its own accord; here what is given is what is embedded.
    theirs = SentenceTransformer(str(folder), device="cpu").encode(["a"])
    assert np.abs(own.embed(["ask: a"]) - theirs).max() < 1e-5 < np.abs(own.embed(["a"]) - theirs).max()


def test_it_is_opened_by_its_name_until_its_bytes_change(folder: Path) -> None:
    embedder = chosen(hs.SentenceTransformerEmbedder(folder, query_prefix="q "), None)
    assert embedder is not None
    generation = Generation(
        1, "simple", embedder.name, False, embedder.digest, DIMENSIONS, PROFILE, "then", settings_of(embedder)
    )
    again = matching(generation, None)
    assert isinstance(again, SentenceTransformerEmbedder)
    assert (again.digest, again.query_prefix) == (embedder.digest, "q ")
    kept.cache_clear()
    _weights(folder)
    with pytest.raises(hs.ModelMismatch, match=r"as made with then.*rebuild COLLECTION --embedder sentence-trans"):
        matching(generation, None)


def test_a_folder_is_the_same_by_every_path_to_it(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made.parent)
    assert load("sentence-transformers:saved").name == load(f"sentence-transformers:{made}").name


def test_the_digest_and_the_prefixes_load_no_torch(made: Path) -> None:
    import subprocess

    code = (
        "import sys; from holdstill import SentenceTransformerEmbedder; "
        "e = SentenceTransformerEmbedder(sys.argv[1]); e.digest, e.settings, e.name; print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(made)], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_model_of_the_hub_is_fetched_without_what_is_not_read(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, Any]] = []

    def snapshot_download(repository: str, *, allow_patterns: list[str], ignore_patterns: list[str]) -> str:
        asked.append((repository, allow_patterns))
        return str(made)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    assert hs.SentenceTransformerEmbedder("tiny").embed(["a"]).shape == (1, DIMENSIONS)
    assert hs.SentenceTransformerEmbedder("me/tiny").digest == hs.SentenceTransformerEmbedder(made).digest
    assert [repository for repository, _ in asked] == ["sentence-transformers/tiny", "me/tiny"]
    assert "*.bin" not in asked[0][1]


def test_a_model_that_cannot_be_had_is_our_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sentence_transformers")

    def snapshot_download(*_: Any, **__: Any) -> str:
        raise OSError("no network")

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    with pytest.raises(hs.EmbedderFailed, match="'me/none' is no folder here, and cannot be fetched: OSError"):
        _ = hs.SentenceTransformerEmbedder("me/none").digest
    with pytest.raises(hs.EmbedderFailed, match="the folder holds no model"):
        _ = hs.SentenceTransformerEmbedder(tmp_path).digest
    (tmp_path / "modules.json").write_text("[]", encoding="utf-8")
    with pytest.raises(hs.EmbedderFailed, match="the model cannot be loaded"):
        hs.SentenceTransformerEmbedder(tmp_path).count_tokens("a")


def test_without_the_library_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(hs.EmbedderFailed, match=r"pip install 'holdstill\[sentence-transformers\]'"):
        hs.SentenceTransformerEmbedder(tmp_path).count_tokens("a")


@pytest.mark.parametrize("model", ["", " ", "a\0", b"bytes"])
def test_a_model_without_a_name_is_refused(model: Any) -> None:
    with pytest.raises(hs.InvalidInput, match="the model needs a name"):
        hs.SentenceTransformerEmbedder(model)
