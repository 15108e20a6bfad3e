"""What a generation is made with: its analyser, its embedding model, and the rules by which texts are split."""

from __future__ import annotations

from holdstill._version import __version__
from holdstill.embedding import Embedder, NamedEmbedder
from holdstill.models import settings_of
from holdstill.splitting import PROFILE
from holdstill.stores.base import Generation


def generation(analyser: str, embedder: Embedder | None, vector_model: str | None = None) -> Generation:
    """The first generation of a collection; a later one is given its number by the store.

    Args:
        analyser: its name.
        embedder: embeds the texts; None in a collection of words, or of brought vectors.
        vector_model: the name of the model whose vectors the documents bring.
    """
    if vector_model is not None:
        digest = f"declared:{vector_model}" if embedder is None else embedder.digest
        return Generation(1, analyser, vector_model, True, digest, None, PROFILE, _made_with())
    if embedder is None:
        return Generation(1, analyser, "none", False, None, None, PROFILE, _made_with())
    made_with, settings = _made_with(embedder), settings_of(embedder)
    return Generation(
        1, analyser, embedder.name, False, embedder.digest, embedder.dimensions, PROFILE, made_with, settings
    )


def remade(active: Generation, analyser: str, embedder: Embedder | None) -> Generation:
    """A generation to be built in the place of the active one.

    Where the documents bring their vectors, and no embedder is to make them instead, they are kept.
    """
    if active.brought and embedder is None:
        return Generation(0, analyser, active.embedder, True, active.model, active.dimensions, PROFILE, _made_with())
    return generation(analyser, embedder)


def _made_with(embedder: Embedder | None = None) -> str:
    from importlib import metadata

    bundled = f"onnxruntime {metadata.version('onnxruntime')}"
    return f"holdstill {__version__}, {embedder.runtime if isinstance(embedder, NamedEmbedder) else bundled}"
