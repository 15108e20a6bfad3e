"""What a query asks of a collection: words analysed, requirements read, arms chosen, the question embedded."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from holdstill.analysis import Analyser
from holdstill.embedding import Embedding, embed_rows
from holdstill.errors import EmbedderRequired, EmptyQuery, InvalidQuery
from holdstill.predicate import Predicate
from holdstill.query import ArmName, Query
from holdstill.ranking.grid import to_grid
from holdstill.splitting import opening
from holdstill.stores.base import Requirement, Snapshot
from holdstill.syntax import read_web
from holdstill.words import of_words


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """The query as understood: words analysed, question embedded, constraints checked."""

    query: Query
    terms: tuple[str, ...]
    vector: NDArray[np.int16] | None
    arms: tuple[ArmName, ...]
    where: Predicate | None
    requirements: tuple[Requirement, ...]
    permission: Predicate | None
    notes: tuple[str, ...]


def understand(
    snapshot: Snapshot,
    query: Query,
    embedding: Embedding,
    allowed: Predicate | None,
    *,
    vector: NDArray[np.int16] | None = None,
) -> Asked:
    """Fit a query to the collection.

    Args:
        snapshot: what is searched.
        query: what is asked.
        embedding: gives the embedder, where the text has to be embedded.
        allowed: what may be seen; None is everything.
        vector: the question's grid vector, taken as it stands: to normalise it again could move it by a step.

    Raises:
        holdstill.InvalidInput: it does not fit: unknown fields, wrong types, no words, an arm or a vector missing.
    """
    words = snapshot.generation.words
    if query.settings.syntax == "web" and query.text is not None:
        read = read_web(query.text, lambda text: any(term.whole for term in words.terms(text)))
        query = replace(query, text=read.text, must=query.must + read.must, must_not=query.must_not + read.must_not)
    requirements = [of_words(words, each, wanted=True) for each in query.must]
    requirements += [of_words(words, each, wanted=False) for each in query.must_not]
    where = None if query.where is None else query.where.check(snapshot.schema)
    if query.order_by is not None:
        _check_order(snapshot, query.order_by)
    terms = () if query.text is None else _terms(words, query.text)
    arms = _arms(snapshot, query)
    notes: tuple[str, ...] = ()
    if "dense" not in arms:
        vector = None
    elif vector is None:
        vector, notes = _vector(snapshot, query, embedding)
    return Asked(query, terms, vector, arms, where, tuple(requirements), allowed, notes)


def _terms(words: Analyser, text: str) -> tuple[str, ...]:
    terms = tuple(sorted({term.text for term in words.terms(text)}))
    if not terms:
        raise EmptyQuery(
            "the question has no words",
            field="text",
            expected="at least one letter, digit, identifier or emoji",
            got=text,
        )
    return terms


def _check_order(snapshot: Snapshot, order_by: tuple[str, bool]) -> None:
    field = snapshot.schema[order_by[0]]
    if field.type.endswith("[]"):
        raise InvalidQuery(
            "a list has no order", field="order_by", expected="a field with one value", got=f"{field.name}:{field.type}"
        )


def _arms(snapshot: Snapshot, query: Query) -> tuple[ArmName, ...]:
    """The arms that are asked, or, unless the query names any, all that can answer it."""
    generation = snapshot.generation
    if not query.ranked:
        return ()
    able: dict[ArmName, str | None] = {
        "lexical": None if query.text is not None else "the query has no text",
        "dense": None if generation.dense else "the collection has no vectors",
    }
    if query.vector is not None and able["dense"] is not None:
        raise InvalidQuery(
            "a vector was given, and the collection has none to compare it with",
            field="vector",
            expected="a text",
            hint="Collections made with --embedder none are searched by words",
        )
    if query.vector is not None and query.arms is not None and "dense" not in query.arms:
        raise InvalidQuery(
            "a vector was given, and the dense arm was not asked", field="vector", expected="arms with 'dense'"
        )
    for arm in query.arms or ():
        if able[arm] is not None:
            raise InvalidQuery(f"the {arm} arm cannot answer: {able[arm]}", field="arms", got=arm)
    return query.arms or tuple(arm for arm, fault in able.items() if fault is None)


def _vector(snapshot: Snapshot, query: Query, embedding: Embedding) -> tuple[NDArray[np.int16], tuple[str, ...]]:
    generation = snapshot.generation
    if query.vector is not None:
        return to_grid([query.vector], dimensions=generation.dimensions, labels=["of the query"])[0], ()
    assert query.text is not None  # noqa: S101 - a ranked query has a text or a vector
    embedder = embedding()
    if embedder is None:
        raise EmbedderRequired(
            f"the collection's vectors are of {generation.embedder!r}, and nothing here can embed the question with it",
            field="vector",
            expected="a vector of that model, or an embedder",
            hint="Give the question's vector (`vector=`, --vector FILE) or open the collection with an embedder of "
            "that name; or ask the words alone (`arms=['lexical']`, --arm lexical)",
        )
    text, whole = opening(query.text, embedder)
    notes = () if whole else (f"the question is longer than the window of {embedder.name}: its opening was embedded",)
    return to_grid(embed_rows(embedder, [text]))[0], notes
