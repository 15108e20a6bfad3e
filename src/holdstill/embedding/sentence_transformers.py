"""Models of the library sentence-transformers, on the processor.

Reimers and Gurevych, "Sentence-BERT", EMNLP 2019; https://sbert.net. Every text is a run of its own, in float32 and on
one thread, so that its vector depends on nothing else.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib import metadata
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from holdstill.canonical import canonical_json
from holdstill.embedding.base import Embedder, NamedEmbedder, checked_prefix, require_window
from holdstill.errors import EmbedderFailed, InvalidInput
from holdstill.text import clean

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

KIND = "sentence-transformers"
_RUNTIME = ("sentence-transformers", "transformers", "tokenizers", "torch")
#: What the library reads of a model's folder: configurations, tokenizers, weights.
_READ = ("*.json", "*.txt", "*.model", "*.safetensors")
_OLD_WEIGHTS = "*.bin"  # read where there are no others
_OTHER_RUNTIMES = ("onnx", "openvino")


class SentenceTransformerEmbedder(NamedEmbedder):
    """A sentence-transformers model as an `Embedder`. It loads when it is first used; threads may share it.

    Args:
        model: a folder, or a name on the Hugging Face Hub, from where it is fetched unless it was before.
        query_prefix: put before every question, as in `"query: "`; if None, the model's own prompt for queries.
        passage_prefix: put before every passage, as in `"passage: "`; if None, the model's own prompt for documents.
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        query_prefix: str | None = None,
        passage_prefix: str | None = None,
    ) -> None:
        given = os.fspath(model)
        if not isinstance(given, str) or not given.strip() or clean(given) != given:
            raise InvalidInput("the model needs a name", field="model", expected="a folder, or a name", got=model)
        self.model = str(Path(given).absolute()) if Path(given).is_dir() else given
        self._given = {
            field: None if prefix is None else checked_prefix(field, prefix)
            for field, prefix in (("query_prefix", query_prefix), ("passage_prefix", passage_prefix))
        }
        self._lock = RLock()
        self._loaded: SentenceTransformer | None = None

    def __repr__(self) -> str:
        return f"SentenceTransformerEmbedder({self.model!r})"

    @property
    def name(self) -> str:
        """`sentence-transformers:` and the model's name."""
        return f"{KIND}:{self.model}"

    @cached_property
    def query_prefix(self) -> str:
        """What is put before every question."""
        return self._prefix("query_prefix", ("query",))

    @cached_property
    def passage_prefix(self) -> str:
        """What is put before every passage."""
        return self._prefix("passage_prefix", ("document", "passage", "corpus"))

    @cached_property
    def dimensions(self) -> int:
        """The length of its vectors.

        Raises:
            holdstill.EmbedderFailed: the model cannot be loaded.
        """
        return len(self._vectors(["a"])[0])

    @cached_property
    def window(self) -> int | None:
        """The longest text it reads, in tokens, as the model says."""
        limit = self._model().max_seq_length
        return None if limit is None or not math.isfinite(limit) else int(limit)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the bytes of the model's files, the prefixes, and the versions of what runs it.

        Nothing is loaded for it, but the files are read, once.

        Raises:
            holdstill.EmbedderFailed: a package or a file of the model is missing.
        """
        parts = {
            "files": {path.relative_to(self.folder).as_posix(): _sha256(path) for path in _files(self.folder)},
            "query_prefix": self.query_prefix,
            "passage_prefix": self.passage_prefix,
            "runtime": self.runtime,
            "run": "float32, cpu, one text, one thread",
        }
        return "sha256:" + hashlib.sha256(canonical_json(parts).encode()).hexdigest()

    @property
    def settings(self) -> str:
        """The prefixes, as canonical JSON."""
        return canonical_json({"query_prefix": self.query_prefix, "passage_prefix": self.passage_prefix})

    @property
    def runtime(self) -> str:
        """The versions of sentence-transformers and of what it stands on."""
        return ", ".join(f"{package} {_version(package)}" for package in _RUNTIME)

    def recalled(self, settings: str) -> Embedder:
        """This embedder: its digest goes by the bytes, so nothing else has to be compared."""
        return self

    def renewed(self) -> Embedder:
        """An embedder that reads the model's files again."""
        return SentenceTransformerEmbedder(self.model, **self._given)

    def uncached(self) -> Embedder:
        """This embedder: it keeps no vector."""
        return self

    def count_tokens(self, text: str) -> int:
        """The number of tokens, with those that open and close every text; of characters where there is no window.

        Raises:
            holdstill.EmbedderFailed: the model cannot be loaded.
        """
        if self.window is None:
            return len(text)
        with self._lock:  # a tokenizer cannot be used by two threads at once
            return len(self._model().tokenizer(clean(text), truncation=False, verbose=False)["input_ids"])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text, `(len(texts), dimensions)`. The texts are embedded as they are, without any prefix.

        Raises:
            holdstill.InvalidInput: a text is longer than the window.
            holdstill.EmbedderFailed: the model cannot be loaded.
        """
        require_window(self, map(self.count_tokens, texts))
        return np.array(self._vectors(texts), dtype=np.float32).reshape(len(texts), self.dimensions)

    @cached_property
    def folder(self) -> Path:
        """Where the model's files are; they are fetched if they have to be.

        Raises:
            holdstill.EmbedderFailed: they cannot be had.
        """
        return Path(self.model) if Path(self.model).is_dir() else _from_hub(self.model)

    def _prefix(self, field: str, prompts: Sequence[str]) -> str:
        given = self._given[field]
        if given is not None:
            return given
        own = _prompts(self.folder)
        return next((own[name] for name in prompts if own.get(name)), "")

    def _vectors(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        with self._lock, _one_thread():
            # An empty prompt keeps the library from adding one of its own.
            return [
                self._model().encode([clean(text)], prompt="", batch_size=1, show_progress_bar=False)[0]
                for text in texts
            ]

    def _model(self) -> SentenceTransformer:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self.folder)
            return self._loaded


def _load(folder: Path) -> SentenceTransformer:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise _missing(str(error)) from error
    try:
        with _no_progress_bar():
            return SentenceTransformer(str(folder), device="cpu", local_files_only=True).float().eval()
    except Exception as error:  # whatever the library, its libraries or the model's own files may raise
        raise EmbedderFailed(
            f"the model cannot be loaded: {type(error).__name__}: {error}",
            field="embedder",
            expected="a folder that sentence-transformers has saved",
            got=str(folder),
        ) from error


@contextmanager
def _no_progress_bar() -> Iterator[None]:
    """Loading takes seconds, and is no business of those who read what a command prints."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Sums that are shared out to threads may differ in their last bits with the number of threads."""
    try:
        import torch
    except ImportError as error:
        raise _missing(str(error)) from error
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _from_hub(model: str) -> Path:
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise _missing(str(error)) from error
    repository = model if "/" in model else f"{KIND}/{model}"  # as the library does
    ignored = [f"{folder}/*" for folder in _OTHER_RUNTIMES]
    try:
        folder = Path(snapshot_download(repository, allow_patterns=list(_READ), ignore_patterns=ignored))
        if not any(folder.rglob("*.safetensors")):
            snapshot_download(repository, allow_patterns=[_OLD_WEIGHTS], ignore_patterns=ignored)
    except Exception as error:  # the network, the hub's answers, the disk
        raise EmbedderFailed(
            f"the model {model!r} is no folder here, and cannot be fetched: {type(error).__name__}",
            field="embedder",
            hint="Name the folder of a model, or one on the Hugging Face Hub while there is a network",
        ) from error
    return folder


def _files(folder: Path) -> list[Path]:
    """The files that can move a vector, in order."""
    files = {path for pattern in (*_READ, _OLD_WEIGHTS) for path in folder.rglob(pattern) if path.is_file()}
    newer = {path.parent for path in files if path.suffix == ".safetensors"}
    read = [
        path
        for path in files
        if not (path.suffix == ".bin" and path.parent in newer)
        and not any(part.startswith(".") or part in _OTHER_RUNTIMES for part in path.relative_to(folder).parts)
    ]
    if not read:
        raise EmbedderFailed("the folder holds no model", field="embedder", got=str(folder))
    return sorted(read)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _prompts(folder: Path) -> dict[str, str]:
    """The prompts that the model brings."""
    try:
        prompts = json.loads((folder / "config_sentence_transformers.json").read_bytes()).get("prompts")
    except (OSError, ValueError, AttributeError):
        return {}
    return prompts if isinstance(prompts, dict) else {}


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError as error:
        raise _missing(f"{package} is not installed") from error


def _missing(reason: str) -> EmbedderFailed:
    return EmbedderFailed(
        f"models of sentence-transformers cannot be run: {reason}",
        field="embedder",
        hint="Install them: pip install 'holdstill[sentence-transformers]'",
    )
