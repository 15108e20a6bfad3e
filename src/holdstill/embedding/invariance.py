"""Does a model hold still? The vector of a text must not depend on where and with what it is embedded."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdstill.embedding.base import Embedder, NamedEmbedder, check_shape, embed_rows, fits
from holdstill.errors import EmbedderFailed

#: Short and long, several scripts, identifiers: lengths differ, so that a padded batch shows itself.
TEXTS = (
    "a",
    "Where is the invoice?",
    "The contract ends on 31 December unless either side renews it in writing.",
    "v2.14.1 fixes CVE-2024-3094; std::vector and getUserName() are untouched.",
    "Größe, naïve, Ångström, İstanbul, ß",
    "東京の天気は晴れです。",
    "Москва не сразу строилась.",
    "كيف حالك اليوم؟",
    "ภาษาไทยไม่มีช่องว่างระหว่างคำ",
    "🙂 ½ ₹ §4.2",
    " ".join(f"Line {number} of the ledger is neither paid nor disputed." for number in range(1, 4)),
    " ".join(f"Line {number} of the ledger is neither paid nor disputed." for number in range(1, 16)),
)

Rows = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class InvarianceReport:
    """What the check found.

    Attributes:
        embedder: the embedder's name.
        digest: the embedder's digest.
        texts: how many texts were embedded in every way.
        moved: the ways that gave other vectors than each text alone; empty when the model holds still.
        largest_difference: between two components that should be equal, in the embedder's own scale.
    """

    embedder: str
    digest: str
    texts: int
    moved: tuple[str, ...]
    largest_difference: float

    @property
    def invariant(self) -> bool:
        """Whether every vector was the same, to the bit, in every way."""
        return not self.moved

    def as_dict(self) -> dict[str, Any]:
        """The report as the `--json` output shows it."""
        return dataclasses.asdict(self) | {"moved": list(self.moved), "invariant": self.invariant}


def check(embedder: Embedder) -> InvarianceReport:
    """Embed a fixed set of texts alone, again, in a batch, reversed, and on another thread, and compare.

    Raises:
        holdstill.InvalidInput: what the embedder says of itself cannot be right.
        holdstill.EmbedderFailed: it raised, or gave rows of the wrong shape, not finite, or zero.
    """
    check_shape(embedder)
    if isinstance(embedder, NamedEmbedder):
        embedder = embedder.uncached()  # what is kept does not move
    texts = [text for text in TEXTS if fits(embedder, text)]
    alone = _alone(embedder, texts)
    differences = {way: _difference(alone, rows(embedder, texts)) for way, rows in _WAYS.items()}
    return InvarianceReport(
        embedder=embedder.name,
        digest=embedder.digest,
        texts=len(texts),
        moved=tuple(way for way, difference in differences.items() if difference > 0),
        largest_difference=max(differences.values()),
    )


def require_invariant(embedder: Embedder) -> InvarianceReport:
    """The report of an embedder that holds still.

    Raises:
        holdstill.EmbedderFailed: it does not, or it cannot be run.
        holdstill.InvalidInput: what the embedder says of itself cannot be right.
    """
    report = check(embedder)
    if not report.invariant:
        raise EmbedderFailed(
            f"the vectors of the embedder {embedder.name!r} do not hold still; they move when embedded "
            + ", ".join(report.moved),
            field="embedder",
            expected="the same bits for a text wherever it is embedded",
            got=report.largest_difference,
            hint="Embed one text per run, or pad every text to one length; a dynamically quantised model, whose scales "
            "come from its batch, cannot be mended this way: take weights that are quantised once",
        )
    return report


def _alone(embedder: Embedder, texts: list[str]) -> Rows:
    return np.concatenate([embed_rows(embedder, [text]) for text in texts])


def _reversed(embedder: Embedder, texts: list[str]) -> Rows:
    return embed_rows(embedder, texts[::-1])[::-1]


def _on_another_thread(embedder: Embedder, texts: list[str]) -> Rows:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(embed_rows, embedder, texts).result()


_WAYS: dict[str, Callable[[Embedder, list[str]], Rows]] = {
    "again": _alone,
    "in a batch": embed_rows,
    "in reverse order": _reversed,
    "on another thread": _on_another_thread,
}


def _difference(first: Rows, second: Rows) -> float:
    return float(np.abs(first - second).max())
