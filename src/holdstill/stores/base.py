"""What a store is: the protocol, what it declares about itself, and the values it exchanges with `search`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from holdstill.policy import Policy
from holdstill.predicate import Predicate
from holdstill.query import Unit
from holdstill.ranking.dense import Block
from holdstill.schema import Field, Schema

FORMAT = 1  #: of what this version writes; every earlier one is read

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]
Phrase = tuple[tuple[str, int], ...]  #: whole terms with positions counted from the first
Progress = Callable[[str, int, int], None]  #: what is being done, how much of it, of how much


@dataclass(frozen=True, slots=True)
class Generation:
    """One complete build of the index.

    Attributes:
        number: from 1.
        analyser: the analyser's name.
        embedder: `none`, an embedder's name, or the name under which the caller brings vectors.
        brought: whether the caller brings the vectors.
        model: the digest of the embedding model, or None without vectors.
        dimensions: of its vectors; None until the first one is seen, and without vectors.
        profile: the rules by which texts are split into passages.
        made_with: the versions of holdstill and of what runs its bundled model.
    """

    number: int
    analyser: str
    embedder: str
    brought: bool
    model: str | None
    dimensions: int | None
    profile: str
    made_with: str

    @property
    def dense(self) -> bool:
        """Whether passages have vectors."""
        return self.model is not None


@dataclass(frozen=True, slots=True)
class Postings:
    """Where one term stands.

    Attributes:
        rows: int64, the passages that hold it, ascending.
        frequencies: int32, how often each does.
        positions: int32, where, passage by passage, `frequencies` of them each, ascending within one.
    """

    rows: Rows
    frequencies: NDArray[np.int32]
    positions: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Requirement:
    """Phrases that must all stand in a unit, or, where not `wanted`, must not all stand there.

    Attributes:
        phrases: each a run of whole terms with positions counted from the run's first.
        wanted: False for `must_not`.
    """

    phrases: tuple[Phrase, ...]
    wanted: bool = True


@dataclass(frozen=True, slots=True)
class Selection:
    """`V` and `E` over passage rows. Its arrays are read-only: other searches of the snapshot may share them.

    Attributes:
        visible: bool (rows,), what the principal may see.
        eligible: bool (rows,), the part of it that satisfies every hard constraint.
        units: int64 (rows,), the number of the unit each passage belongs to, non-decreasing; None where each passage is
            a unit of its own, and its row the unit's number.
        unknown: per field named in the constraint, how many visible documents are unknown under it and null there.
        passages: how many passages are visible: N of BM25.
        terms: how many occurrences of terms they have in all: T of BM25.
    """

    visible: Mask
    eligible: Mask
    units: Rows | None
    unknown: Mapping[str, int]
    passages: int
    terms: int


def first_rows(mask: Mask, units: Rows | None) -> Rows:
    """The first passage in the mask of each unit that has one there, ascending; `units` as in `Selection`."""
    rows = np.flatnonzero(mask)
    return rows if units is None else rows[np.flatnonzero(np.diff(units[rows], prepend=-1))]


def count_units(mask: Mask, units: Rows | None) -> int:
    """How many units have a passage in the mask; `units` as in `Selection`."""
    return int(np.count_nonzero(mask)) if units is None else len(first_rows(mask, units))


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A passage as stored."""

    ordinal: int
    headings: tuple[str, ...]
    pages: tuple[int, int] | None
    text: str


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as stored.

    Attributes:
        id: the document's id.
        title: its title.
        fields: values of the schema's fields, null ones included; lists as tuples.
        metadata: what else was stored with it, outside the schema.
        passages: its passages, in order; those asked for, where only some were.
        added: the commit that added this version of it.
    """

    id: str
    title: str
    fields: Mapping[str, Any]
    metadata: Mapping[str, Any]
    passages: tuple[StoredPassage, ...]
    added: int


@dataclass(frozen=True, slots=True)
class PreparedPassage:
    """A passage ready to be stored.

    Attributes:
        headings, pages, text: as in `Passage`.
        source: the SHA-256 of what was embedded, by which an equal text finds its vector again; empty where the caller
            brought the vector.
        vector: int16 (dimensions,), or None in a collection without vectors.
    """

    headings: tuple[str, ...]
    pages: tuple[int, int] | None
    text: str
    source: bytes
    vector: NDArray[np.int16] | None


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document ready to be stored.

    Attributes:
        id, title: as in `Document`.
        content: the SHA-256 of title and passages as given: equal content need not be prepared again.
        values: one value for each field of the schema, in order.
        metadata: what else came with it, as canonical JSON.
        passages: None where this content is already stored under this id.
    """

    id: str
    title: str
    content: bytes
    values: tuple[Any, ...]
    metadata: str
    passages: tuple[PreparedPassage, ...] | None


@dataclass(frozen=True, slots=True)
class Existing:
    """What a write needs to know of a live document."""

    content: bytes
    values: tuple[Any, ...]
    metadata: str


class Snapshot(Protocol):
    """A collection at one commit of one generation, to read from; any number of threads may.

    It hands out masks, postings and vectors; it never ranks what `holdstill.ranking` can rank. Rows are numbered
    from 0 in one order that a snapshot never changes; those of removed documents are in no `Selection`.
    """

    @property
    def commit(self) -> int:
        """The commit, from 1; 0 before the first."""

    @property
    def generation(self) -> Generation:
        """The generation the commit belongs to."""

    @property
    def schema(self) -> Schema:
        """The fields."""

    @property
    def policy(self) -> Policy | None:
        """The policy in force, which is the newest one whatever the commit."""

    @property
    def policy_version(self) -> int | None:
        """Its version, from 1."""

    def select(
        self,
        permission: Predicate | None,
        where: Predicate | None = None,
        requirements: Sequence[Requirement] = (),
        by: Unit = "passage",
    ) -> Selection:
        """`V` and `E` of one search."""

    def postings(self, term: str) -> Postings:
        """Where a term stands, visible or not."""

    def lengths(self) -> NDArray[np.int32]:
        """How many occurrences of terms each passage has; shape (rows,)."""

    def vectors(self) -> Iterable[Block]:
        """The grid vectors, in blocks in row order."""

    def keys(self, rows: Rows) -> list[tuple[str, int]]:
        """The document id and ordinal of each passage row: the printed order among equals."""

    def ordered(self, rows: Rows, order_by: tuple[str, bool] | None) -> Rows:
        """The rows in order of a field (descending or not, nulls last), then document id and ordinal."""

    def fetch(self, rows: Rows) -> list[StoredDocument]:
        """For each passage row its document, with that passage alone."""

    def document(self, id: str, permission: Predicate | None) -> StoredDocument | None:  # noqa: A002
        """The live document of that id, whole, if the permission admits it."""

    def ids(self, rows: Rows) -> list[str]:
        """The distinct ids of the rows' documents, in byte order."""

    def existing(self, ids: Sequence[str]) -> dict[str, Existing]:
        """Those of the ids that are live."""

    def known_vectors(self, sources: Sequence[bytes]) -> dict[bytes, NDArray[np.int16]]:
        """Vectors of the generation's model that are already stored, by the SHA-256 of what was embedded."""


class Store(Protocol):
    """Where the rows of one collection live. Each write is one commit, atomic, made under `writing()`."""

    def snapshot(self) -> Snapshot:
        """The newest commit."""

    def writing(self) -> AbstractContextManager[None]:
        """Holds off every other writer of this collection."""

    def put(self, documents: Sequence[PreparedDocument], progress: Progress | None = None) -> int:
        """Insert or replace documents; returns the commit."""

    def remove(self, ids: Sequence[str]) -> int:
        """Remove live documents; returns the commit."""

    def add_field(self, field: Field) -> int:
        """Add a field, null in every row; returns the commit."""

    def set_policy(self, policy: Policy) -> int:
        """Put a policy in force; returns its version."""

    def check(self) -> list[str]:
        """What is wrong with the derived files, in words; what can be is rebuilt."""

    def close(self) -> None:
        """Let go of the collection."""
