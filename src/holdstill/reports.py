"""What a call that is not a search answers: `AddReport`, `ChangeReport`, `Info`, and those of history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from holdstill.refused import Refused


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
class ChangeReport:
    """What a `delete` or an `update` did.

    Attributes:
        changed: how many documents it touched.
        missing: ids that were named and are not there, in the order given.
        commit: the newest commit after it; a new one only if something changed.
    """

    changed: int
    missing: tuple[str, ...]
    commit: int


@dataclass(frozen=True, slots=True)
class Info:
    """What a collection is, as far as the caller may see."""

    path: str
    format: int
    documents: int
    passages: int
    commit: int
    generation: int
    analyser: str
    embedder: str
    brought: bool
    model: str | None
    dimensions: int | None
    schema: Mapping[str, str]
    policy: int | None

    def as_dict(self) -> dict[str, Any]:
        """The values as the `--json` output shows them."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of a collection's history.

    Attributes:
        commit: its number, from 1.
        generation: the generation it belongs to.
        kind: `add`, `update`, `delete`, `schema`, `rebuild`, `activate`, `purge` or `import`.
        committed: when, UTC; never earlier than the commit before it.
        added: documents that it brought.
        replaced: documents that it brought another version of.
        removed: documents that it took away.
        tags: its names, in order.
        pruned: whether it can no more be searched.
    """

    commit: int
    generation: int
    kind: str
    committed: datetime
    added: int
    replaced: int
    removed: int
    tags: tuple[str, ...] = ()
    pruned: bool = False

    def as_dict(self) -> dict[str, Any]:
        """The commit as the `--json` output shows it."""
        return asdict(self) | {"committed": _utc(self.committed), "tags": list(self.tags)}


@dataclass(frozen=True, slots=True)
class Changed:
    """A document that is different at two commits.

    Attributes:
        id: its id.
        text: whether its title or passages are.
        fields: the fields of the schema that are, in order.
        metadata: whether what is stored outside the schema is.
    """

    id: str
    text: bool
    fields: tuple[str, ...]
    metadata: bool


@dataclass(frozen=True, slots=True)
class Diff:
    """What is different between two commits; ids in byte order.

    Attributes:
        first: a commit.
        second: the commit it is compared with.
        added: documents that are at the second only.
        removed: documents that are at the first only.
        changed: documents that are at both, and different.
    """

    first: int
    second: int
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[Changed, ...]

    def as_dict(self) -> dict[str, Any]:
        """The differences as the `--json` output shows them."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class PruneReport:
    """What a `prune` or a `drop_generation` did.

    Attributes:
        commits: how many commits can no more be searched because of it.
        versions: how many versions of documents were erased.
        before: the bytes that the collection took on disk.
        after: the bytes that it takes now.
    """

    commits: int
    versions: int
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class PurgeReport:
    """What a `purge` did.

    Attributes:
        purged: how many documents are gone from every snapshot.
        missing: ids that were named and that no snapshot has, in the order given.
        commit: the newest commit after it; a new one only if something was purged.
        snapshots: how many earlier snapshots had one of them; they stay searchable, without it.
        searches: how many recorded searches had one of them among their hits.
    """

    purged: int
    missing: tuple[str, ...]
    commit: int
    snapshots: int
    searches: int


@dataclass(frozen=True, slots=True)
class RebuildReport:
    """What a `rebuild` or an `activate` did.

    Attributes:
        generation: the generation that is active now.
        commit: the commit that made it so.
        documents: how many documents were built into it by this call.
        passages: how many passages they gave.
        resumed: whether a build that was cut off was carried on.
    """

    generation: int
    commit: int
    documents: int
    passages: int
    resumed: bool


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What an `export` wrote.

    Attributes:
        commit: the commit that was exported.
        documents: how many it has.
        passages: how many passages they have.
        bytes: the length of the file.
        sha256: its SHA-256, hexadecimal: the same for every export of the commit by one version of holdstill.
    """

    commit: int
    documents: int
    passages: int
    bytes: int
    sha256: str

    def as_dict(self) -> dict[str, Any]:
        """The report as the `--json` output shows it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class GenerationInfo:
    """One generation, as `generations` lists it.

    Attributes:
        generation: its number, from 1.
        active: whether new commits belong to it.
        complete: False where its building was cut off, or is at work.
        analyser, embedder, model, dimensions, profile, made_with: what it was built with.
        passages: how many it holds, of every version of a document.
        missing: how many live documents it does not hold; `activate` brings them first.
        commits: how many commits belong to it and can be searched.
        bytes: what its index takes on disk.
    """

    generation: int
    active: bool
    complete: bool
    analyser: str
    embedder: str
    model: str | None
    dimensions: int | None
    profile: str
    made_with: str
    passages: int
    missing: int
    commits: int
    bytes: int

    def as_dict(self) -> dict[str, Any]:
        """The generation as the `--json` output shows it."""
        return asdict(self)


def _utc(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
