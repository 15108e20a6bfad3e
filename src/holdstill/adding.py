"""Adding documents: typed, told from what is stored already, prepared and stored; bad rows listed, not lost."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePath

from holdstill.canonical import canonical_json
from holdstill.document import Document
from holdstill.embedding import Embedding
from holdstill.errors import (
    BatchRefused,
    DuplicateId,
    EmbedderRequired,
    HoldstillError,
    InvalidDocument,
    ModelMismatch,
)
from holdstill.ingest.cells import typed
from holdstill.ingest.rows import Row
from holdstill.preparing import Grid, Typed, prepare
from holdstill.ranking.grid import to_grid
from holdstill.refused import Refused
from holdstill.reports import AddReport
from holdstill.schema import Schema
from holdstill.stores.base import Existing, Generation, Progress, Snapshot, Store
from holdstill.text import clean

#: How the note on fields outside the schema begins.
OUTSIDE = "stored and shown, but not in the schema and so not filterable"


def add(
    store: Store,
    rows: Iterable[Document | Row | Refused],
    embedding_of: Callable[[Generation], Embedding],
    *,
    strict: bool,
    progress: Progress | None,
) -> AddReport:
    """Insert or replace documents by id, as one commit. Of rows with one id the first stands, the others are refused.

    Raises:
        holdstill.BatchRefused: `strict`, and a row was refused; nothing was written.
        holdstill.EmbedderRequired: texts need vectors that nothing here can make.
        holdstill.EmbedderFailed: the model cannot be loaded, or fails; nothing was written.
    """
    given = list(rows)  # the caller's code runs here, before the lock is taken: it may write to this very collection
    with store.writing():
        snapshot = store.snapshot()
        embedding = embedding_of(snapshot.generation)
        good, refused = _typed_rows(given, snapshot, embedding)
        existing = snapshot.existing([each.row.document.id for each in good])
        changed = [each for each in good if not _same(existing.get(each.row.document.id), each)]
        if strict and refused:
            raise BatchRefused(
                f"{len(refused)} of the rows cannot be taken, and strict was asked: nothing was written. "
                f"The first: row {refused[0].row}: {refused[0].reason}",
                refused=tuple(refused),
                hint="Mend them, or add without strict to keep the good ones",
            )
        prepared = prepare(snapshot, changed, existing, embedding, progress)
        commit = store.put(prepared, progress) if prepared else snapshot.commit
        replaced = sum(document.id in existing for document in prepared)
        return AddReport(
            added=len(prepared) - replaced,
            replaced=replaced,
            unchanged=len(good) - len(changed),
            refused=tuple(refused),
            commit=commit,
            notes=_notes(good, snapshot.schema),
        )


def _typed_rows(
    rows: Iterable[Document | Row | Refused], snapshot: Snapshot, embedding: Embedding
) -> tuple[list[Typed], list[Refused]]:
    dimensions, embeds = _vectors_wanted(snapshot.generation, embedding)
    good: list[Typed] = []
    refused: list[Refused] = []
    first_of: dict[str, Row] = {}
    for number, given in enumerate(rows, start=1):
        if isinstance(given, Refused):
            refused.append(given)
            continue
        row = given if isinstance(given, Row) else Row("", number, given)
        try:
            if not isinstance(row.document, Document):
                raise InvalidDocument(
                    "the row is no document", field="documents", expected="a holdstill.Document", got=given
                )
            if row.document.id in first_of:
                raise _duplicate(row, first_of[row.document.id])
            each = _type(row, snapshot, dimensions, embeds=embeds)
        except HoldstillError as error:
            refused.append(Refused.because(error, row.number, row.source or None))
        else:
            first_of[row.document.id] = row
            good.append(each)
            if each.vectors and dimensions is None:
                dimensions = len(each.vectors[0])
    return good, refused


def _vectors_wanted(generation: Generation, embedding: Embedding) -> tuple[int | None, bool]:
    """How long brought vectors have to be, where that is known, and whether a passage may come without one."""
    embedder = embedding() if generation.brought else None
    if embedder is not None:
        return embedder.dimensions, True
    return generation.dimensions, not generation.brought


def _duplicate(row: Row, first: Row) -> DuplicateId:
    where = f"at {first.source}:{first.number}" if first.source else f"in row {first.number} of this batch"
    # A file that is a document is called as its path ends.
    is_file = row.source != first.source and PurePath(row.source).as_posix().endswith(row.document.id)
    other = (
        "add the folder above both, so that their paths tell them apart"
        if is_file
        else "add the other in a batch of its own to replace it"
    )
    return DuplicateId(
        f"the id stands already {where}", field="id", got=row.document.id, hint=f"The first one stands; {other}"
    )


def _type(row: Row, snapshot: Snapshot, dimensions: int | None, *, embeds: bool) -> Typed:
    document = typed(row.document, snapshot.schema)
    vectors = _brought(document, snapshot.generation, dimensions, embeds=embeds)
    values = tuple(field.accept(document.fields.get(field.name)) for field in snapshot.schema)
    rest = {key: value for key, value in document.fields.items() if key not in snapshot.schema}
    return Typed(Row(row.source, row.number, document), values, canonical_json(rest), _content(document), vectors)


def _brought(document: Document, generation: Generation, dimensions: int | None, *, embeds: bool) -> tuple[Grid, ...]:
    """The grid vectors of the passages that bring one, in order."""
    brought = [(n, passage.vector) for n, passage in enumerate(document.passages) if passage.vector is not None]
    if brought and not generation.brought:
        takes = f"{generation.embedder} embeds the text" if generation.dense else "it is searched by words"
        raise ModelMismatch(
            "the row brings a vector, and the collection does not take any",
            field="vector",
            expected=f"no vector: {takes}",
            hint="Create the collection with --vector-model NAME to bring vectors of that model",
        )
    if not embeds and len(brought) < len(document.passages):
        lacking = next(n for n, passage in enumerate(document.passages) if passage.vector is None)
        raise EmbedderRequired(
            f"passage {lacking} has no vector, and nothing here can make one of {generation.embedder!r}",
            field="vector",
            expected="a vector with every passage",
            hint="Give the vector, or open the collection with an embedder of that name",
        )
    labels = [f"passage {number}" for number, _ in brought]
    return tuple(to_grid([vector for _, vector in brought], dimensions=dimensions, labels=labels)) if brought else ()


def _content(document: Document) -> bytes:
    """The SHA-256 of what the passages are made from: title, texts, headings, pages and brought vectors."""
    parts = [
        [
            part.text,
            list(part.headings),
            part.pages,
            None if part.vector is None else part.vector.tobytes().hex(),
        ]
        for part in document.passages
    ]
    return hashlib.sha256(canonical_json([document.title, document.whole, parts]).encode()).digest()


def _same(existing: Existing | None, new: Typed) -> bool:
    return existing is not None and (existing.content, existing.values, existing.metadata) == (
        new.content,
        new.values,
        new.metadata,
    )


def _notes(good: Sequence[Typed], schema: Schema) -> tuple[str, ...]:
    outside = {key for each in good for key in each.row.document.fields if key not in schema}
    if not outside:
        return ()
    names = clean(", ".join(sorted(outside)[:10])) + (f" and {len(outside) - 10} more" if len(outside) > 10 else "")
    return (f"{OUTSIDE}: {names}",)
