"""Which embedder may be used with which rows: vectors of two models are never compared."""

from __future__ import annotations

from holdstill.embedding import DEFAULT, Embedder, check_shape, load, require_invariant
from holdstill.errors import InvalidInput, ModelMismatch
from holdstill.stores.base import Generation
from holdstill.text import blank, clean


def _is_name(value: object) -> bool:
    return isinstance(value, str) and not blank(value) and clean(value) == value and value not in ("none", DEFAULT)


def chosen(embedder: str | Embedder, vector_model: str | None) -> Embedder | None:
    """The embedder that a new collection is to use, checked."""
    if vector_model is not None and not _is_name(vector_model):
        raise InvalidInput(
            "the model of the vectors needs a name",
            field="vector_model",
            expected=f"a name that is not blank, 'none' or {DEFAULT!r}",
            got=vector_model,
        )
    if isinstance(embedder, str):
        return None if embedder == "none" or vector_model is not None else load(embedder)
    check_shape(embedder)
    require_invariant(embedder)
    if vector_model is not None and embedder.name != vector_model:
        raise ModelMismatch(
            "the embedder is of another model than the vectors",
            field="embedder",
            expected=vector_model,
            got=embedder.name,
        )
    return embedder


def matching(generation: Generation, embedder: Embedder | None) -> Embedder | None:
    """The embedder to use with a generation: the one given, or the bundled one, if it is of the rows' model."""
    if embedder is not None:
        check_shape(embedder)
    if not generation.dense:
        return None
    if embedder is None:
        if generation.brought or generation.embedder != DEFAULT:
            return None
        embedder = load(DEFAULT)
    # Vectors that were declared by a name alone have no digest to compare: the name has to do.
    declared = generation.model == f"declared:{generation.embedder}"
    same = embedder.name == generation.embedder if declared else embedder.digest == generation.model
    if not same or generation.dimensions not in (None, embedder.dimensions):
        raise ModelMismatch(
            f"the collection's vectors are of another model than the embedder {embedder.name!r}",
            field="embedder",
            expected=f"{generation.embedder} ({generation.model}, {generation.dimensions} dimensions)",
            got=f"{embedder.digest}, {embedder.dimensions} dimensions",
            hint="Vectors of two models, or of two versions of what runs one, are never compared. The rows come "
            f"from {generation.made_with}"
            ": use that, or add the documents to a new collection; words alone can be asked (--arm lexical)",
        )
    return embedder
