"""From typed documents to rows: split to the model's window, and embedded where no vector is stored already."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdstill.analysis import lexical_text
from holdstill.document import Passage
from holdstill.embedding import Embedder, Embedding, embed_rows
from holdstill.errors import EmbedderRequired, HoldstillError
from holdstill.ingest.rows import Row
from holdstill.ranking.grid import to_grid
from holdstill.refused import Refused
from holdstill.splitting import embedded_text, split
from holdstill.stores.base import Existing, Generation, PreparedDocument, PreparedPassage, Progress, Snapshot

Grid = NDArray[np.int16]
_EMBED_BATCH = 64  # texts between two reports of progress


@dataclass(frozen=True, slots=True)
class Typed:
    """A document whose fields fit the schema.

    Attributes:
        row: where it stood, and the document.
        values: one for each field of the schema, in order.
        metadata: what else came with it, as canonical JSON.
        content: the SHA-256 of what its passages are made from.
    """

    row: Row
    values: tuple[Any, ...]
    metadata: str
    content: bytes


def prepare(
    snapshot: Snapshot,
    documents: Sequence[Typed],
    existing: dict[str, Existing],
    embedding: Embedding,
    progress: Progress | None,
) -> tuple[list[PreparedDocument], list[Refused], int | None]:
    """Documents ready to be stored, rows refused for their vectors, and the vectors' dimensions.

    Only what is new is split and embedded: a document whose content is stored already comes without passages.

    Raises:
        holdstill.EmbedderRequired: texts need vectors that nothing here can make.
        holdstill.EmbedderFailed: the model cannot be loaded, or fails.
    """
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


def _content_of(existing: dict[str, Existing], each: Typed) -> bytes | None:
    stored = existing.get(each.row.document.id)
    return None if stored is None else stored.content


def _texts(
    documents: Sequence[Typed], embedder: Embedder | None, progress: Progress | None
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
