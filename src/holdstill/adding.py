"""From documents to rows: typed, told from what is stored already, split, embedded; bad ones listed, not lost."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdstill.analysis import lexical_text
from holdstill.document import Document, Passage
from holdstill.embedding import Embedder, Embedding, embed_rows
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
from holdstill.ranking.grid import to_grid
from holdstill.refused import Refused
from holdstill.schema import Schema
from holdstill.splitting import embedded_text, split
from holdstill.stores.base import (
    Existing,
    Generation,
    PreparedDocument,
    PreparedPassage,
    Progress,
    Snapshot,
    Store,
)
from holdstill.text import clean

Grid = NDArray[np.int16]
_EMBED_BATCH = 64  # texts between two reports of progress


@dataclass(frozen=True, slots=True)
class AddReport:
    """What one `add` did.

    Attributes:
        added: documents that are new.
        replaced: documents whose text, title, fields or metadata changed.
        unchanged: documents that were stored already, just so.
        refused: the rows that were left out, with the reason.
        commit: the newest commit after it; a new one only if something was written.
        notes: what else is worth knowing.
    """

    added: int
    replaced: int
    unchanged: int
    refused: tuple[Refused, ...]
    commit: int
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The report as the `--json` output shows it."""
        return {
            "added": self.added,
            "replaced": self.replaced,
            "unchanged": self.unchanged,
            "refused": [row.as_dict() for row in self.refused],
            "commit": self.commit,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class _Typed:
    """A document whose fields fit the schema."""

    row: Row
    values: tuple[Any, ...]
    metadata: str
    content: bytes


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
        prepared, failed, dimensions = _prepare(snapshot, changed, existing, embedding, progress)
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


def _typed_rows(rows: Iterable[Document | Row | Refused], snapshot: Snapshot) -> tuple[list[_Typed], list[Refused]]:
    good: list[_Typed] = []
    refused: list[Refused] = []
    first_of: dict[str, int] = {}
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
                raise DuplicateId(
                    f"the id stands already in row {first_of[row.document.id]} of this batch",
                    field="id",
                    got=row.document.id,
                    hint="The first one stands; add the other in a batch of its own to replace it",
                )
            each = _type(row, snapshot)
        except HoldstillError as error:
            refused.append(Refused.because(error, row.number, row.source or None))
        else:
            first_of[row.document.id] = row.number
            good.append(each)
    return good, refused


def _type(row: Row, snapshot: Snapshot) -> _Typed:
    document = typed(row.document, snapshot.schema)
    _check_vectors(document, snapshot.generation)
    values = tuple(field.accept(document.fields.get(field.name)) for field in snapshot.schema)
    rest = {key: value for key, value in document.fields.items() if key not in snapshot.schema}
    return _Typed(Row(row.source, row.number, document), values, canonical_json(rest), _content(document))


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


def _same(existing: Existing | None, new: _Typed) -> bool:
    return existing is not None and (existing.content, existing.values, existing.metadata) == (
        new.content,
        new.values,
        new.metadata,
    )


def _prepare(
    snapshot: Snapshot,
    documents: Sequence[_Typed],
    existing: dict[str, Existing],
    embedding: Embedding,
    progress: Progress | None,
) -> tuple[list[PreparedDocument], list[Refused], int | None]:
    """Documents ready to be stored, rows refused for their vectors, and the vectors' dimensions."""
    generation = snapshot.generation
    new = [each for each in documents if _content_of(existing, each) != each.content]
    embedder = embedding() if new and generation.dense else None
    texts = _texts(new, embedder, progress)
    dimensions = generation.dimensions
    if dimensions is None and embedder is not None:
        dimensions = embedder.dimensions
    brought: dict[str, list[Grid | None]] = {}
    refused = []
    for each in new:
        try:
            brought[each.row.document.id], dimensions = _brought(
                texts[each.row.document.id], generation, embedder, dimensions
            )
        except HoldstillError as error:
            refused.append(Refused.because(error, each.row.number, each.row.source or None))
    needed = [
        text
        for id_, vectors in brought.items()
        for (_, text), vector in zip(texts[id_], vectors, strict=True)
        if vector is None
    ]
    made = _embed(snapshot, needed, embedder, progress) if generation.dense else {}
    kept = {each.row.document.id for each in documents} - {each.row.document.id for each in new} | brought.keys()
    prepared = []
    for each in documents:
        id_ = each.row.document.id
        if id_ not in kept:
            continue
        passages = None
        if id_ in brought:
            passages = tuple(
                _passage(piece, text, vector, made)
                for (piece, text), vector in zip(texts[id_], brought[id_], strict=True)
            )
        prepared.append(
            PreparedDocument(id_, each.row.document.title, each.content, each.values, each.metadata, passages)
        )
    return prepared, refused, dimensions


def _content_of(existing: dict[str, Existing], each: _Typed) -> bytes | None:
    stored = existing.get(each.row.document.id)
    return None if stored is None else stored.content


def _texts(
    documents: Sequence[_Typed], embedder: Embedder | None, progress: Progress | None
) -> dict[str, list[tuple[Passage, str]]]:
    """The passages of each document, split to the window, with the text that stands for each."""
    texts = {}
    for number, each in enumerate(documents):
        document = each.row.document
        texts[document.id] = [
            (
                piece,
                lexical_text(document.title, piece.headings, piece.text)
                if embedder is None
                else embedded_text(document.title, piece.headings, piece.text, embedder),
            )
            for piece in split(document, embedder)
        ]
        if progress is not None:
            progress("splitting", number + 1, len(documents))
    return texts


def _brought(
    texts: Sequence[tuple[Passage, str]], generation: Generation, embedder: Embedder | None, dimensions: int | None
) -> tuple[list[Grid | None], int | None]:
    """The grid vectors that a document brings, None where one is still to be made, and the dimensions from now on."""
    if not generation.brought:
        return [None] * len(texts), dimensions
    vectors: list[Grid | None] = []
    for ordinal, (piece, _) in enumerate(texts):
        if piece.vector is not None:
            grid = to_grid([piece.vector], dimensions=dimensions, labels=[f"passage {ordinal}"])[0]
            dimensions = len(grid)
            vectors.append(grid)
        elif embedder is not None:
            vectors.append(None)
        else:
            raise EmbedderRequired(
                f"passage {ordinal} has no vector, and nothing here can make one of {generation.embedder!r}",
                field="vector",
                expected="a vector with every passage",
                hint="Give the vector, or open the collection with an embedder of that name",
            )
    return vectors, dimensions


def _embed(
    snapshot: Snapshot, texts: Sequence[str], embedder: Embedder | None, progress: Progress | None
) -> dict[bytes, Grid]:
    """The grid vector of each text, by the SHA-256 of it; the embedder is called for those never stored before."""
    by_source = {_source(text): text for text in texts}
    made = snapshot.known_vectors(list(by_source)) if by_source else {}
    missing = [(source, text) for source, text in by_source.items() if source not in made]
    if missing and embedder is None:
        raise EmbedderRequired(
            "texts need vectors, and no embedder is at hand", field="embedder", expected="an embedder"
        )
    for begin in range(0, len(missing), _EMBED_BATCH):
        batch = missing[begin : begin + _EMBED_BATCH]
        assert embedder is not None  # noqa: S101 - refused above
        grids = to_grid(embed_rows(embedder, [text for _, text in batch]))
        made.update(zip((source for source, _ in batch), grids, strict=True))
        if progress is not None:
            progress("embedding", begin + len(batch), len(missing))
    return made


def _source(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _passage(piece: Passage, text: str, brought: Grid | None, made: Mapping[bytes, Grid]) -> PreparedPassage:
    if brought is not None:  # not what the embedder makes of the text, so no equal text may find it
        return PreparedPassage(piece.headings, piece.pages, piece.text, b"", brought)
    source = _source(text)
    return PreparedPassage(piece.headings, piece.pages, piece.text, source, made.get(source))


def canonical_json(value: object) -> str:
    """JSON that is the same for equal values: keys sorted, text cleaned, dates in ISO 8601.

    Raises:
        holdstill.InvalidDocument: something in it has no JSON form.
    """
    try:
        return json.dumps(_plain(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidDocument(
            f"a value outside the schema cannot be stored: {error}",
            field="fields",
            expected="what JSON can hold",
            got=value,
        ) from error


def _plain(value: object) -> object:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.isoformat() if isinstance(value, (date, datetime)) else value


def _notes(good: Sequence[_Typed], schema: Schema) -> tuple[str, ...]:
    outside = {key for each in good for key in each.row.document.fields if key not in schema}
    if not outside:
        return ()
    names = clean(", ".join(sorted(outside)[:10])) + (f" and {len(outside) - 10} more" if len(outside) > 10 else "")
    return (f"stored and shown, but not in the schema and so not filterable: {names}",)
