"""From documents to rows: split to the model's window, and embedded where no vector is stored already."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdstill.analysis import lexical_text
from holdstill.document import Document, Passage
from holdstill.embedding import Embedder, Embedding, embed_rows
from holdstill.errors import EmbedderRequired
from holdstill.ingest.rows import Row
from holdstill.ranking.grid import to_grid
from holdstill.splitting import embedded_text, split
from holdstill.stores.base import (
    Existing,
    Generation,
    GivenPassage,
    PreparedDocument,
    PreparedPassage,
    Progress,
    Snapshot,
)

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
        vectors: the grid vectors of the passages that bring one, in order.
    """

    row: Row
    values: tuple[Any, ...]
    metadata: str
    content: bytes
    vectors: tuple[Grid, ...]


def prepare(
    snapshot: Snapshot,
    documents: Sequence[Typed],
    existing: Mapping[str, Existing],
    embedding: Embedding,
    progress: Progress | None,
) -> list[PreparedDocument]:
    """Documents ready to be stored.

    Only what is new is split and embedded: a document whose content is stored already comes without passages.

    Raises:
        holdstill.EmbedderRequired: texts need vectors that nothing here can make.
        holdstill.EmbedderFailed: the model cannot be loaded, or fails.
    """
    new = [each for each in documents if _content_of(existing, each) != each.content]
    given = {each.row.document.id: _given(each) for each in new}
    built = passages(
        snapshot, snapshot.generation, [Source(each.row.document, each.vectors) for each in new], embedding, progress
    )
    made = dict(zip(given, built, strict=True))
    return [
        PreparedDocument(
            id=each.row.document.id,
            title=each.row.document.title,
            content=each.content,
            values=each.values,
            metadata=each.metadata,
            passages=made.get(each.row.document.id),
            given=given.get(each.row.document.id, ()),
        )
        for each in documents
    ]


def passages(
    snapshot: Snapshot,
    generation: Generation,
    sources: Sequence[Source],
    embedding: Embedding,
    progress: Progress | None,
) -> list[tuple[PreparedPassage, ...]]:
    """The passages of each document as a generation stores them: split to its model's window, and embedded.

    No text is embedded whose vector by the generation's model is stored already.

    Raises:
        As `prepare`.
    """
    embedder = embedding() if sources and generation.dense else None
    pieces = _pieces(sources, embedder, progress)
    texts = [piece.text_to_embed for parts in pieces for piece in parts if piece.vector is None]
    made = _embed(snapshot, generation.model, texts, embedder, progress) if generation.model is not None else {}
    return [tuple(_passage(piece, made) for piece in parts) for parts in pieces]


def _content_of(existing: Mapping[str, Existing], each: Typed) -> bytes | None:
    stored = existing.get(each.row.document.id)
    return None if stored is None else stored.content


def _given(each: Typed) -> tuple[GivenPassage, ...]:
    vectors = iter(each.vectors)
    return tuple(
        GivenPassage(part.headings, part.pages, part.text, None if part.vector is None else next(vectors))
        for part in each.row.document.passages
    )


@dataclass(frozen=True, slots=True)
class Source:
    """A document, and the grid vectors of those of its passages that bring one, in order."""

    document: Document
    vectors: tuple[Grid, ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    """A passage as it will be stored, with what stands for it in the vector space."""

    passage: Passage
    text_to_embed: str
    vector: Grid | None


def _pieces(
    sources: Sequence[Source], embedder: Embedder | None, progress: Progress | None
) -> list[tuple[_Piece, ...]]:
    """The passages of each document, split to the window; those that bring a vector are never split."""
    pieces = []
    for done, each in enumerate(sources, start=1):
        document, vectors = each.document, iter(each.vectors)
        pieces.append(
            tuple(
                _Piece(
                    passage,
                    _text(document.title, passage, embedder),
                    None if passage.vector is None else next(vectors),
                )
                for passage in split(document, embedder)
            )
        )
        if progress is not None:
            progress("splitting", done, len(sources))
    return pieces


def _text(title: str, passage: Passage, embedder: Embedder | None) -> str:
    if embedder is None:
        return lexical_text(title, passage.headings, passage.text)
    return embedded_text(title, passage.headings, passage.text, embedder)


def _embed(
    snapshot: Snapshot, model: str, texts: Sequence[str], embedder: Embedder | None, progress: Progress | None
) -> dict[bytes, Grid]:
    """The grid vector of each text, by the SHA-256 of it; the embedder is called for those never stored before."""
    by_source = {_source(text): text for text in texts}
    made = snapshot.known_vectors(model, list(by_source)) if by_source else {}
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


def _passage(piece: _Piece, made: Mapping[bytes, Grid]) -> PreparedPassage:
    passage = piece.passage
    if piece.vector is not None:  # not what the embedder makes of the text, so no equal text may find it
        return PreparedPassage(passage.headings, passage.pages, passage.text, b"", piece.vector)
    source = _source(piece.text_to_embed)
    return PreparedPassage(passage.headings, passage.pages, passage.text, source, made.get(source))
