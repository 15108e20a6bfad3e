"""From text to vectors: the `Embedder` protocol, the bundled model, and the check that a model holds still."""

from __future__ import annotations

from collections.abc import Callable

from holdstill.embedding.base import Embedder, check_shape, embed_rows
from holdstill.embedding.invariance import InvarianceReport, check, require_invariant
from holdstill.errors import InvalidInput

__all__ = [
    "DEFAULT",
    "Embedder",
    "Embedding",
    "InvarianceReport",
    "check",
    "check_shape",
    "embed_rows",
    "load",
    "require_invariant",
]

DEFAULT = "minilm"
Embedding = Callable[[], Embedder | None]  #: gives the embedder when it is needed, and raises if it may not be used


def load(name: str = DEFAULT) -> Embedder:
    """The embedder of that name; the same object every time, so a process holds one copy of the weights.

    Nothing is read until the embedder counts or embeds its first text; its digest costs nothing.

    Raises:
        holdstill.InvalidInput: no embedder has that name.
    """
    if name == DEFAULT:
        from holdstill.embedding.minilm import MINILM

        return MINILM
    raise InvalidInput(
        "no embedder has this name",
        field="embedder",
        expected=f"{DEFAULT!r}, or 'none' for a collection searched by words only",
        got=name,
        hint="Vectors of another model can be brought with the documents, under the model's name: --vector-model NAME",
    )
