"""Vectors for benchmarks, as realistic as time allows: real embeddings, and more sampled around them.

The real ones are of texts in the folder `shared` beside the repository (abstracts, package descriptions, code, old
retrieval collections), cut after 40 words and embedded by the bundled model. The rest are a real vector each, moved by
Gaussian noise with the real vectors' covariance to a cosine drawn from those of real vectors with their nearest
neighbours. A million texts would have nearer ones than the thousands that were embedded, and near neighbours are what
prunes the rest, so this should be the harder case. Queries are real and none of the rows. More dimensions than the
model has are no more than a guess: rows and queries get a tenth of their squared length from noise in all of them.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from holdstill import embedding
from holdstill.ranking import grid

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
DIMENSIONS = 384  # of the bundled model
TEXTS = {  # file: how many of its texts, spread evenly over it
    "filters/arxiv.jsonl.gz": 9_000,
    "filters/debian12_packages.jsonl.gz": 5_000,
    "ir/scifact/corpus.jsonl": 3_500,
    "ir/cosqa_dev/corpus.jsonl": 3_500,
    "ir/cacm/corpus.jsonl": 1_500,
    "ir/cranfield/corpus.jsonl": 1_300,
    "ir/cisi/corpus.jsonl": 1_200,
}
QUESTIONS = {f"ir/{name}/queries.jsonl": 50 for name in ("scifact", "cosqa_dev", "cacm", "cranfield", "cisi")}
WORDS, TOKENS = 40, 200
CHUNK = 500  # texts embedded and kept at a time, so that a stopped run loses little
SAMPLE = 1_000  # rows whose nearest neighbours are looked for
WIDENING = 0.9  # of the squared length; the rest is noise in all dimensions
STEP = 20_000  # rows sampled or compared at a time
SEED = 20_240_602


def rows(cache: Path, data: Path, real: int) -> NDArray[np.float32]:
    """The vectors of the first `real` texts, shape (real, 384)."""
    return embedded(cache, mixed(data, TEXTS)[:real], "embedding rows")


def queries(cache: Path, data: Path, count: int) -> NDArray[np.float32]:
    """The vectors of the first `count` questions, shape (count, 384)."""
    return embedded(cache, mixed(data, QUESTIONS)[:count], "embedding queries")


def mixed(data: Path, files: dict[str, int]) -> list[str]:
    """Texts of all the files, each only once, in an order in which every beginning is the same mixture."""
    placed = [
        ((at + 0.5) / count, text)
        for name, count in files.items()
        for at, text in enumerate(spread(list(texts(data / name)), count))
    ]
    return list(dict.fromkeys(text for _, text in sorted(placed)))


def texts(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        for line in lines:
            record = json.loads(line)
            words = f"{record.get('title', '')} {record['text']}".split()[:WORDS]
            if words:
                yield " ".join(words)


def spread(items: Sequence[str], count: int) -> list[str]:
    return [items[at * len(items) // count] for at in range(min(count, len(items)))]


def embedded(cache: Path, wanted: Sequence[str], what: str) -> NDArray[np.float32]:
    cache.mkdir(parents=True, exist_ok=True)
    chunks = [wanted[start : start + CHUNK] for start in range(0, len(wanted), CHUNK)]
    return np.concatenate([_chunk(cache, chunk) for chunk in track(chunks, what, console=Console(stderr=True))])


def _chunk(cache: Path, chunk: Sequence[str]) -> NDArray[Any]:
    embedder = embedding.load()
    name = hashlib.sha256(json.dumps([embedder.digest, *chunk]).encode()).hexdigest()[:20]
    path = cache / f"embedded-{name}.npy"
    if not path.exists():
        save(path, embedding.embed_rows(embedder, [_short(embedder, text) for text in chunk]).astype(np.float32))
    return np.load(path)


def _short(embedder: embedding.Embedder, text: str) -> str:
    """Code and formulas can have many tokens a word."""
    while embedder.count_tokens(text) > TOKENS:
        text = text[: len(text) * 3 // 4]
    return text


def save(path: Path, array: NDArray[Any]) -> None:
    """Whole or not at all."""
    unfinished = path.with_suffix(".unfinished.npy")
    np.save(unfinished, array)
    unfinished.replace(path)


class Cloud:
    """Rows around real vectors, in 384 dimensions, which can be widened to a multiple of them."""

    def __init__(self, real: NDArray[np.float32]) -> None:
        self.real = real
        self.nearness = nearest(real)
        variances, axes = np.linalg.eigh(np.cov(real.T.astype(np.float64)))
        self._axes = np.ascontiguousarray(axes[:, ::-1], np.float32)
        self._deviations = np.sqrt(np.maximum(variances[::-1], 0)).astype(np.float32)

    def sampled(self, count: int, draws: np.random.Generator) -> NDArray[np.float32]:
        """Vectors near real ones drawn at random, of length 1 or so, shape (count, 384)."""
        centres = self.real[draws.integers(len(self.real), size=count)] @ self._axes
        cosines = draws.choice(self.nearness, (count, 1))
        return (self._noise(draws, cosines) + cosines * centres) @ self._axes.T

    def widened(self, vectors: NDArray[np.float32], times: int, draws: np.random.Generator) -> NDArray[np.float32]:
        """The vectors, shape (count, 384), in so many times as many dimensions; cosines shrink by `WIDENING`.

        A vector's coordinate on each principal axis is spread evenly over several dimensions. Noise gives each of them
        a part of its own, with the real vectors' spectrum stretched over them all: the rest of the squared length.
        """
        if times == 1:
            return vectors
        cosines = np.full((len(vectors), 1), np.sqrt(WIDENING), np.float32)
        noise = self._noise(draws, cosines, times)
        return noise + cosines * np.repeat(vectors @ self._axes, times, axis=1) / np.float32(np.sqrt(times))

    def _noise(self, draws: np.random.Generator, cosines: NDArray[np.float32], times: int = 1) -> NDArray[np.float32]:
        """With the real vectors' covariance, by principal axes; as long as the sine for each cosine."""
        noise = draws.standard_normal((len(cosines), times * len(self._deviations)), np.float32)
        noise *= np.repeat(self._deviations, times)
        noise *= np.sqrt(np.maximum(1 - cosines**2, 0) / np.sum(noise**2, axis=1, keepdims=True))
        return noise


def spaced(vectors: NDArray[Any], count: int) -> NDArray[Any]:
    """As many of the vectors, evenly from all."""
    return vectors[np.arange(count) * len(vectors) // count] if count < len(vectors) else vectors


def nearest(vectors: NDArray[Any], sample: int = SAMPLE) -> NDArray[np.float32]:
    """The cosine of some unit vectors, at most `sample`, with the nearest of all the others."""
    places = spaced(np.arange(len(vectors)), sample)
    some, found = vectors[places].astype(np.float32), []
    for start in range(0, len(vectors), STEP):
        cosines = some @ vectors[start : start + STEP].astype(np.float32).T
        inside = (places >= start) & (places < start + STEP)
        cosines[inside, places[inside] - start] = -np.inf
        found.append(cosines.max(axis=1))
    return np.max(found, axis=0)


def grid_rows(path: Path, cloud: Cloud, count: int, times: int) -> NDArray[np.int16]:
    """`count` rows on the grid, memory-mapped, the real ones first."""
    if not path.exists():
        draws = np.random.default_rng(SEED)
        unfinished = path.with_suffix(".unfinished.npy")
        stored = np.lib.format.open_memmap(unfinished, "w+", np.int16, (count, DIMENSIONS * times))
        first = cloud.real[:count]
        stored[: len(first)] = grid.to_grid(cloud.widened(first, times, draws))
        steps = range(len(first), count, STEP)
        for start in track(steps, f"making {count:,} x {stored.shape[1]}", console=Console(stderr=True)):
            part = cloud.widened(cloud.sampled(min(STEP, count - start), draws), times, draws)
            stored[start : start + len(part)] = grid.to_grid(part)
        stored.flush()
        unfinished.replace(path)
    return np.load(path, mmap_mode="r")
