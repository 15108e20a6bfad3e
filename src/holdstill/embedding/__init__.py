"""From text to vectors: the `Embedder` protocol, the bundled model, and the check that a model holds still."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from typing import Any

from holdstill.embedding.base import Embedder, NamedEmbedder, check_shape, embed_rows, other_model_hint
from holdstill.embedding.invariance import InvarianceReport, check, require_invariant
from holdstill.errors import InvalidInput

__all__ = [
    "DEFAULT",
    "Embedder",
    "Embedding",
    "InvarianceReport",
    "NamedEmbedder",
    "check",
    "check_shape",
    "embed_rows",
    "load",
    "other_model_hint",
    "require_invariant",
]

DEFAULT = "minilm"
Embedding = Callable[[], Embedder | None]  #: gives the embedder when it is needed, and raises if it may not be used


def load(name: str = DEFAULT, settings: str | None = None) -> Embedder:
    """The embedder of that name. The bundled one is the same object every time; any other is made anew, as it is now.

    Nothing is read until the embedder counts or embeds its first text; the digest of the bundled one costs nothing.

    Args:
        name: `minilm`, `sentence-transformers:MODEL` or `openai:MODEL`.
        settings: how it is made, as a JSON object: the arguments of `SentenceTransformerEmbedder` or `OpenAIEmbedder`,
            or what such an embedder says of its settings.

    Raises:
        holdstill.InvalidInput: no embedder has that name, or takes those settings.
    """
    given = {} if settings is None else json.loads(settings)
    kind, _, model = name.partition(":")
    if name == DEFAULT:
        _refuse_unknown(name, given, ())
        from holdstill.embedding.minilm import MINILM

        return MINILM
    if kind in _KINDS and model:
        return _KINDS[kind](model, given)
    raise InvalidInput(
        "no embedder has this name",
        field="embedder",
        expected=f"{DEFAULT!r}, 'sentence-transformers:MODEL', 'openai:MODEL', or 'none' for a collection searched by "
        "words only",
        got=name,
        hint="Vectors of another model can be brought with the documents, under the model's name: --vector-model NAME",
    )


def _sentence_transformer(model: str, settings: dict[str, Any]) -> Embedder:
    from holdstill.embedding.sentence_transformers import SentenceTransformerEmbedder

    _refuse_unknown("sentence-transformers", settings, ("query_prefix", "passage_prefix"))
    return SentenceTransformerEmbedder(model, **settings)


def _openai(model: str, settings: dict[str, Any]) -> Embedder:
    from holdstill.embedding.openai import OpenAIEmbedder

    _refuse_unknown("openai", settings, OpenAIEmbedder.SETTINGS)
    return OpenAIEmbedder.remade(model, settings)


_KINDS: dict[str, Callable[[str, dict[str, Any]], Embedder]] = {
    "sentence-transformers": _sentence_transformer,
    "openai": _openai,
}


def _refuse_unknown(name: str, settings: dict[str, Any], known: Collection[str]) -> None:
    for setting in settings:
        if setting not in known:
            raise InvalidInput(
                f"the embedder {name!r} takes no {setting}",
                field=f"embedder_{setting}" if setting == "url" else setting,
                expected="none" if not known else f"one of {', '.join(known)}",
            )
