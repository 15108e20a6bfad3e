"""Which embedder may be used with which rows: vectors of two models are never compared."""

from __future__ import annotations

import functools

from holdstill.embedding import (
    DEFAULT,
    Embedder,
    NamedEmbedder,
    check_shape,
    load,
    other_model_hint,
    require_invariant,
)
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
    if isinstance(embedder, NamedEmbedder):  # made so that it holds still
        embedder = embedder.renewed()
        check_shape(embedder)
    else:
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


def settings_of(embedder: Embedder | None) -> str | None:
    """What a generation keeps, so that its embedder can be made again from its name; None where it cannot be."""
    return embedder.settings if isinstance(embedder, NamedEmbedder) else None


def matching(generation: Generation, embedder: Embedder | None) -> Embedder | None:
    """The embedder to use with a generation: the one given, or that of its name, if it is of the rows' model."""
    if embedder is None:
        embedder = _of_name(generation)
    else:
        embedder = recalled(generation, embedder)
        check_shape(embedder)
    if embedder is None or not generation.dense:
        return None
    # Vectors that were declared by a name alone have no digest to compare: the name has to do.
    declared = generation.model == f"declared:{generation.embedder}"
    same = embedder.name == generation.embedder if declared else embedder.digest == generation.model
    if not same or generation.dimensions not in (None, embedder.dimensions):
        raise ModelMismatch(
            f"the collection's vectors are of another model than the embedder {embedder.name!r}, or of another version "
            "of it or of what runs it",
            field="embedder",
            expected=f"{generation.embedder} ({generation.model}, {generation.dimensions} dimensions), as made with "
            f"{generation.made_with}",
            got=f"{embedder.digest}, {embedder.dimensions} dimensions",
            hint=other_model_hint(embedder.name),
        )
    return embedder


def recalled(generation: Generation, embedder: Embedder) -> Embedder:
    """The caller's embedder, as it was when it made the generation's rows, if it is the one that did."""
    if isinstance(embedder, NamedEmbedder) and generation.settings and embedder.name == generation.embedder:
        return embedder.recalled(generation.settings)
    return embedder


def again(generation: Generation) -> Embedder:
    """The embedder of a generation's name and settings, with the weights that go by that name now."""
    made = load(generation.embedder, generation.settings)
    return made.renewed() if isinstance(made, NamedEmbedder) else made


def _of_name(generation: Generation) -> Embedder | None:
    """The embedder that holdstill makes from what the generation says, if it can."""
    if not generation.dense or generation.brought:
        return None
    if generation.settings is not None:
        return kept(generation.embedder, generation.settings)
    return load(DEFAULT) if generation.embedder == DEFAULT else None


@functools.lru_cache(maxsize=8)
def kept(name: str, settings: str) -> Embedder:
    """The embedder of a generation, the same object for all that ask: it holds weights, and has seen its probes."""
    return load(name, settings)
