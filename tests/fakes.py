"""Stand-ins for an embedding model: quick, deterministic, and they count what is asked of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import holdstill as hs


class Hashed:
    """A text's vector comes from its hash: the same everywhere, and near to that of no other text."""

    def __init__(self, dimensions: int = 16, window: int | None = None, version: str = "1") -> None:
        self.name = "hashed"
        self.dimensions = dimensions
        self.window = window
        self.digest = f"sha256:hashed-{dimensions}-{version}"
        self.texts: list[str] = []  #: every text that it embedded

    def count_tokens(self, text: str) -> int:
        return len(text.split()) + 2

    def embed(self, texts: Sequence[str]) -> NDArray[np.floating[Any]]:
        self.texts += texts
        return np.array([vector(text, self.dimensions) for text in texts]).reshape(len(texts), self.dimensions)


def vector(text: str, dimensions: int = 16) -> NDArray[np.float64]:
    """What `Hashed` makes of a text."""
    digest = hashlib.shake_256(text.encode()).digest(2 * dimensions)
    return np.frombuffer(digest, dtype="<u2").astype(np.float64) - 32767.5


def whole_answer(collection: hs.Collection, *questions: str, **asked: Any) -> list[dict[str, Any]]:
    """Everything that the collection answers to the questions, deep, but for the numbers of commits and of searches."""
    answers = [collection.search(question, k=1000, **asked).as_dict() for question in questions]
    return [{key: value for key, value in answer.items() if key not in ("snapshot", "search_id")} for answer in answers]
