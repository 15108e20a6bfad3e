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
from holdstill.errors import EmbedderRequired
from holdstill.ingest.rows import Row
from holdstill.ranking.grid import to_grid
from holdstill.splitting import embedded_text, split
from holdstill.stores.base import Existing, PreparedDocument, PreparedPassage, Progress, Snapshot

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
    embedder = embedding() if new and snapshot.generation.dense else None
    pieces = _pieces(new, embedder, progress)
    texts = [piece.text_to_embed for parts in pieces.values() for piece in parts if piece.vector is None]
    made = _embed(snapshot, texts, embedder, progress) if snapshot.generation.dense else {}
    prepared = []
    for each in documents:
        document = each.row.document
        parts = pieces.get(document.id)
        passages = None if parts is None else tuple(_passage(piece, made) for piece in parts)
        prepared.append(
            PreparedDocument(document.id, document.title, each.content, each.values, each.metadata, passages)
        )
    return prepared


def _content_of(existing: Mapping[str, Existing], each: Typed) -> bytes | None:
    stored = existing.get(each.row.document.id)
    return None if stored is None else stored.content


@dataclass(frozen=True, slots=True)
class _Piece:
    """A passage as it will be stored, with what stands for it in the vector space."""

    passage: Passage
    text_to_embed: str
    vector: Grid | None


def _pieces(
    documents: Sequence[Typed], embedder: Embedder | None, progress: Progress | None
) -> dict[str, tuple[_Piece, ...]]:
    """The passages of each document, split to the window; those that bring a vector are never split."""
    pieces = {}
    for done, each in enumerate(documents, start=1):
        document, vectors = each.row.document, iter(each.vectors)
        pieces[document.id] = tuple(
            _Piece(
                passage,
                _text(document.title, passage, embedder),
                None if passage.vector is None else next(vectors),
            )
            for passage in split(document, embedder)
        )
        if progress is not None:
            progress("splitting", done, len(documents))
    return pieces


def _text(title: str, passage: Passage, embedder: Embedder | None) -> str:
    if embedder is None:
        return lexical_text(title, passage.headings, passage.text)
    return embedded_text(title, passage.headings, passage.text, embedder)


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


def _passage(piece: _Piece, made: Mapping[bytes, Grid]) -> PreparedPassage:
    passage = piece.passage
    if piece.vector is not None:  # not what the embedder makes of the text, so no equal text may find it
        return PreparedPassage(passage.headings, passage.pages, passage.text, b"", piece.vector)
    source = _source(piece.text_to_embed)
    return PreparedPassage(passage.headings, passage.pages, passage.text, source, made.get(source))
