"""What a generation is made with: its analyser, its embedding model, and the rules by which texts are split."""

from __future__ import annotations

from holdstill._version import __version__
from holdstill.analysis import analyser as analyser_of
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
        return _brought(1, analyser, vector_model, digest, None)
    return Generation(
        number=1,
        analyser=analyser,
        embedder="none" if embedder is None else embedder.name,
        brought=False,
        model=None if embedder is None else embedder.digest,
        dimensions=None if embedder is None else embedder.dimensions,
        profile=PROFILE,
        made_with=_made_with(embedder),
        settings=None if embedder is None else settings_of(embedder),
        analysis=analyser_of(analyser).identity,
    )


def remade(active: Generation, analyser: str, embedder: Embedder | None, *, keep: bool) -> Generation:
    """A generation to be built in the place of the active one.

    Args:
        active: the active one.
        analyser: the name of its analyser.
        embedder: embeds the texts.
        keep: whether vectors that the documents bring are kept.
    """
    if active.brought and keep:
        return _brought(0, analyser, active.embedder, active.model, active.dimensions)
    return generation(analyser, embedder)


def _brought(number: int, analyser: str, name: str, model: str | None, dimensions: int | None) -> Generation:
    identity = analyser_of(analyser).identity
    return Generation(number, analyser, name, True, model, dimensions, PROFILE, _made_with(), None, identity)


def _made_with(embedder: Embedder | None = None) -> str:
    from importlib import metadata

    bundled = f"onnxruntime {metadata.version('onnxruntime')}"
    return f"holdstill {__version__}, {embedder.runtime if isinstance(embedder, NamedEmbedder) else bundled}"
