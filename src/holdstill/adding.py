"""Adding documents: typed, told from what is stored already, prepared and stored; bad rows listed, not lost."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from holdstill.canonical import canonical_json
from holdstill.document import Document
from holdstill.embedding import Embedding
from holdstill.errors import BatchRefused, DuplicateId, HoldstillError, InvalidDocument, ModelMismatch
from holdstill.ingest.cells import typed
from holdstill.ingest.rows import Row
from holdstill.preparing import Typed, prepare
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
    embedding: Embedding,
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
    with store.writing():
        snapshot = store.snapshot()
        good, refused = _typed_rows(rows, snapshot)
        existing = snapshot.existing([each.row.document.id for each in good])
        changed = [each for each in good if not _same(existing.get(each.row.document.id), each)]
        prepared, failed, dimensions = prepare(snapshot, changed, existing, embedding, progress)
        refused = sorted([*refused, *failed], key=lambda row: row.row)
        if strict and refused:
            raise BatchRefused(
                f"{len(refused)} of the rows cannot be taken, and strict was asked: nothing was written. "
                f"The first: row {refused[0].row}: {refused[0].reason}",
                refused=tuple(refused),
                hint="Mend them, or add without strict to keep the good ones",
            )
        commit = store.put(prepared, dimensions, progress) if prepared else snapshot.commit
        replaced = sum(document.id in existing for document in prepared)
        return AddReport(
            added=len(prepared) - replaced,
            replaced=replaced,
            unchanged=len(good) - len(changed),
            refused=tuple(refused),
            commit=commit,
            notes=_notes(good, snapshot.schema),
        )


def _typed_rows(rows: Iterable[Document | Row | Refused], snapshot: Snapshot) -> tuple[list[Typed], list[Refused]]:
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
            each = _type(row, snapshot)
        except HoldstillError as error:
            refused.append(Refused.because(error, row.number, row.source or None))
        else:
            first_of[row.document.id] = row
            good.append(each)
    return good, refused


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


def _type(row: Row, snapshot: Snapshot) -> Typed:
    document = typed(row.document, snapshot.schema)
    _check_vectors(document, snapshot.generation)
    values = tuple(field.accept(document.fields.get(field.name)) for field in snapshot.schema)
    rest = {key: value for key, value in document.fields.items() if key not in snapshot.schema}
    return Typed(Row(row.source, row.number, document), values, canonical_json(rest), _content(document))


def _check_vectors(document: Document, generation: Generation) -> None:
    brought = [passage.vector is not None for passage in document.passages]
    if not generation.brought and any(brought):
        raise ModelMismatch(
            "the row brings a vector, and the collection does not take any",
            field="vector",
            expected="no vector: "
            + (
                "the collection is searched by words"
                if not generation.dense
                else f"{generation.embedder} embeds the text"
            ),
            hint="Create the collection with --vector-model NAME to bring vectors of that model",
        )


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
