"""What a store is: the protocol, what it declares about itself, and the values it exchanges with `search`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from holdstill.analysis import Analyser, analyser, require_same
from holdstill.policy import Policy
from holdstill.predicate import Predicate
from holdstill.query import Unit
from holdstill.ranking.dense import Block
from holdstill.reports import Commit, Diff
from holdstill.schema import Field, Schema

FORMAT = 2  #: of what this version writes; every earlier one is read

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
        settings: how an embedder that holdstill makes by its name is made again, as canonical JSON; None for the
            bundled one and for those of the caller.
        analysis: the identity of the analyser that read the texts.
    """

    number: int
    analyser: str
    embedder: str
    brought: bool
    model: str | None
    dimensions: int | None
    profile: str
    made_with: str
    settings: str | None = None
    analysis: str = ""

    @property
    def words(self) -> Analyser:
        """The analyser of its texts.

        Raises:
            holdstill.AnalyserMismatch: this version's has other rules than the one that read them.
        """
        return require_same(analyser(self.analyser), self.analysis)

    @property
    def dense(self) -> bool:
        """Whether passages have vectors."""
        return self.model is not None


@dataclass(frozen=True, slots=True)
class Postings:
    """Where one term stands.

    Attributes:
        rows: int32, the passages that hold it, ascending.
        frequencies: int32, how often each does.
        positions: int32, where, passage by passage, `frequencies` of them each, ascending within one.
    """

    rows: NDArray[np.int32]
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


@dataclass(frozen=True, slots=True)
class Erased:
    """What was erased from a collection.

    Attributes:
        commit: the newest commit after it.
        commits: how many commits were pruned; of a purge, how many that are kept had one of the documents.
        versions: how many versions of documents are gone.
        before, after: the bytes that the collection took on disk.
    """

    commit: int
    commits: int
    versions: int
    before: int
    after: int


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
        given: the passages as they were given, before they were split to a window; empty where `passages` is None.
    """

    id: str
    title: str
    content: bytes
    values: tuple[Any, ...]
    metadata: str
    passages: tuple[PreparedPassage, ...] | None
    given: tuple[GivenPassage, ...] = ()


@dataclass(frozen=True, slots=True)
class GivenPassage:
    """A passage as it was given.

    Attributes:
        headings, pages, text: as in `Passage`.
        vector: int16 (dimensions,), where the caller brought one.
    """

    headings: tuple[str, ...]
    pages: tuple[int, int] | None
    text: str
    vector: NDArray[np.int16] | None = None


@dataclass(frozen=True, slots=True)
class Given:
    """What one version of a document was made from: what a generation is built from.

    Attributes:
        content: its number; a later version has a higher one.
        id, title: of the document.
        passages: as they were given.
    """

    content: int
    id: str
    title: str
    passages: tuple[GivenPassage, ...]


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A content as one generation stores it.

    Attributes:
        content: its number.
        title: of the document.
        passages: as they are stored.
    """

    content: int
    title: str
    passages: tuple[PreparedPassage, ...]


@dataclass(frozen=True, slots=True)
class Built:
    """A generation, and how far it is.

    Attributes:
        generation: what it is.
        active: whether new commits belong to it.
        complete: False while it is being built.
        passages: how many passages.
        bytes: what its index takes on disk.
        missing: how many live documents it does not hold.
    """

    generation: Generation
    active: bool
    complete: bool
    passages: int
    bytes: int
    missing: int


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
    def seen_at(self) -> int:
        """The newest commit when the snapshot was taken: a document is visible by its fields then, and at `commit`."""

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

    def documents(self) -> Iterable[PreparedDocument]:
        """Every live document with its passages, as it was put, in one order that a commit never changes.

        What is in memory at any time is a few thousand passages, or one document.
        """

    def seen(self, rows: Rows, ids: Sequence[str]) -> list[Mapping[str, Any] | None]:
        """The fields at `seen_at` of each row's document, whose id is given; None where it is not there then."""

    def existing(self, ids: Sequence[str]) -> dict[str, Existing]:
        """Those of the ids that are live."""

    def known_vectors(self, model: str, sources: Sequence[bytes]) -> dict[bytes, NDArray[np.int16]]:
        """Vectors of a model that are stored in any generation, by the SHA-256 of what was embedded."""


class Store(Protocol):
    """Where the rows of one collection live. Each write is one commit, atomic, made under `writing()`."""

    def reading(self) -> AbstractContextManager[None]:
        """Holds off whatever would take a snapshot's rows away; a search is made from one snapshot inside."""

    def snapshot(self, at: int | None = None, seen_at: int | None = None) -> Snapshot:
        """A commit, or the newest one.

        Args:
            at: which; the newest one where None.
            seen_at: the commit whose fields decide, besides those at `at`, what a principal may see; the newest one
                where None. What was removed by then is in no principal's `V`.

        Raises:
            holdstill.SnapshotNotFound: there is no such commit yet.
            holdstill.SnapshotPruned: one of the two was pruned.
        """

    def history(self) -> list[Commit]:
        """Every commit, the first one first, pruned ones too."""

    def tag(self, name: str, commit: int) -> None:
        """Name a commit, which is then never pruned; a name that is taken moves."""

    def untag(self, name: str) -> None:
        """Take a name away."""

    def diff(self, first: int, second: int) -> Diff:
        """What is different at the second commit; either may be the later one. Raises as `snapshot`."""

    def purged(self, commit: int) -> int:
        """How many documents visible at the commit were purged since."""

    def identity(self) -> bytes:
        """32 random bytes that are this collection's own."""

    def writing(self) -> AbstractContextManager[None]:
        """Holds off every other writer of this collection."""

    def stored(self, ids: Sequence[str]) -> list[str]:
        """Those of the ids that some version of a document has, live or not."""

    def put(self, documents: Sequence[PreparedDocument], progress: Progress | None = None, kind: str = "add") -> int:
        """Insert or replace documents; returns the commit."""

    def remove(self, ids: Sequence[str]) -> int:
        """Remove live documents; returns the commit."""

    def add_field(self, field: Field) -> int:
        """Add a field, null in every row; returns the commit."""

    def set_policy(self, policy: Policy) -> int:
        """Put a policy in force; returns its version."""

    def generations(self) -> list[Built]:
        """Every generation, the first one first."""

    def alike(self, first: int, second: int, commit: int) -> bool:
        """Whether two generations have the documents of a commit split into the same passages."""

    def begin(self, generation: Generation) -> int:
        """Begin to build a generation beside the active one; its number is the store's to give, and returned."""

    def unbuilt(self, number: int, limit: int) -> list[Given]:
        """The first live contents, by number, that a generation does not hold."""

    def extend(self, number: int, contents: Sequence[Rebuilt], progress: Progress | None = None) -> None:
        """Put contents into a generation that is not the active one; their numbers ascend, and follow those it has."""

    def activate(self, number: int, kind: str) -> int:
        """Make a generation that misses no live content the active one; returns the commit, whose kind is given.

        Raises:
            holdstill.InvariantViolated: it misses one.
        """

    def drop(self, number: int) -> Erased:
        """Erase a generation that is not the active one; its commits are pruned."""

    def prune(self, commits: Sequence[int]) -> Erased:
        """Erase what is visible at these commits alone; none of them the newest one, or tagged."""

    def sources(self, ids: Sequence[str]) -> list[bytes]:
        """The SHA-256 of what was embedded for these documents, and for no others, as in `PreparedPassage`."""

    def purge(self, ids: Sequence[str]) -> Erased:
        """Erase every version of the documents from every commit and generation, as a commit of its own."""

    def check(self) -> list[str]:
        """What is wrong with the derived files, in words; what can be is rebuilt."""

    def close(self) -> None:
        """Let go of the collection."""
