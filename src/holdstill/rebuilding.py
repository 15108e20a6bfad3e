"""A generation built beside the active one, and the switch to it: read and written on throughout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from holdstill.document import Document, Passage
from holdstill.embedding import Embedding
from holdstill.errors import EmbedderRequired, InvalidDocument
from holdstill.preparing import Grid, Source, passages
from holdstill.reports import RebuildReport
from holdstill.stores.base import Generation, Given, GivenPassage, Progress, Rebuilt, Store

_BATCH = 128  # documents between two times that what was built is kept: what a killed rebuild loses at most
_BATCH_OF_WORDS = 4096  # where nothing is embedded, they take little time


def rebuild(store: Store, generation: Generation, embedding: Embedding, progress: Progress | None) -> RebuildReport:
    """Build a generation and make it the active one, as a commit.

    One of the same making that was cut off is carried on. Documents may be added, changed and removed meanwhile.

    Args:
        store: the collection.
        generation: what to build; its number is the store's to give.
        embedding: gives the embedder of its model.
        progress: called with what is being done, how much of it, and of how much.

    Raises:
        holdstill.EmbedderRequired: texts need vectors that nothing here can make.
        holdstill.EmbedderFailed: the model fails. What was built so far is kept.
    """
    with store.writing():
        begun = [built for built in store.generations() if not built.complete and _alike(built.generation, generation)]
        number = begun[0].generation.number if begun else store.begin(generation)
    return _switch(store, number, "rebuild", embedding, progress, resumed=bool(begun))


def activate(store: Store, number: int, embedding: Embedding, progress: Progress | None) -> RebuildReport:
    """Make a generation the active one again, as a commit; documents that it lacks are built first. As `rebuild`."""
    return _switch(store, number, "activate", embedding, progress, resumed=False)


def _alike(one: Generation, other: Generation) -> bool:
    """Whether two generations would be built the same."""
    dimensions = other.dimensions if one.dimensions is None else one.dimensions
    return replace(one, number=0, dimensions=dimensions, made_with="") == replace(other, number=0, made_with="")


def _switch(
    store: Store, number: int, kind: str, embedding: Embedding, progress: Progress | None, *, resumed: bool
) -> RebuildReport:
    built = _Built(store, number, embedding, progress)
    built.catch_up()  # no writer waits for this; but they may have written meanwhile
    with store.writing():
        built.catch_up()
        commit = store.activate(number, kind)
    return RebuildReport(number, commit, built.documents, built.passages, resumed)


class _Built:
    """What a generation holds of the live documents, made more."""

    def __init__(self, store: Store, number: int, embedding: Embedding, progress: Progress | None) -> None:
        self._store = store
        self._number = number
        self._embedding = embedding
        self._progress = progress
        self.documents = 0
        self.passages = 0

    def catch_up(self) -> None:
        """Build what is missing, in the order in which it was added."""
        self._store.unbuilt(self._number, 1)  # raises where the generation was dropped meanwhile
        (state,) = (each for each in self._store.generations() if each.generation.number == self._number)
        batch = _BATCH if state.generation.dense else _BATCH_OF_WORDS
        done = 0
        if self._progress is not None and state.missing:
            self._progress("rebuilding", 0, state.missing)
        while given := self._store.unbuilt(self._number, batch):
            built = self._build(state.generation, given)
            self._store.extend(self._number, built)
            done += len(built)
            self.documents += len(built)
            self.passages += sum(len(each.passages) for each in built)
            if self._progress is not None:
                self._progress("rebuilding", done, max(done, state.missing))

    def _build(self, generation: Generation, given: Sequence[Given]) -> list[Rebuilt]:
        embedding = self._embedding
        if generation.brought and embedding() is None:
            _require_vectors(generation, given)
        sources = [Source(_document(each), _vectors(each)) for each in given]
        made = passages(self._store.snapshot(), generation, sources, embedding, self._progress)
        return [Rebuilt(each.content, each.title, parts) for each, parts in zip(given, made, strict=True)]


def _require_vectors(generation: Generation, given: Sequence[Given]) -> None:
    for each in given:
        if any(part.vector is None for part in each.passages):
            raise EmbedderRequired(
                f"the document {each.id!r} has no vectors of {generation.embedder!r}, and nothing here can make them",
                field="embedder",
                expected=f"an embedder of that name, for generation {generation.number}",
                hint="Open the collection with one; or delete the document, or rebuild with another embedder",
            )


def _document(given: Given) -> Document:
    try:
        return Document(given.id, title=given.title, passages=[_passage(part) for part in given.passages])
    except InvalidDocument as error:
        raise InvalidDocument(
            f"document {given.id!r} has vectors and no words, so that nothing else can be made of it",
            field="embedder",
            expected="a title or a text in every document",
            hint="Keep the vectors by naming no embedder, or delete the document first; nothing was switched",
        ) from error


def _passage(part: GivenPassage) -> Passage:
    return Passage(part.text, vector=part.vector, headings=part.headings, pages=part.pages)


def _vectors(given: Given) -> tuple[Grid, ...]:
    return tuple(part.vector for part in given.passages if part.vector is not None)
