"""What a call that is not a search answers: `AddReport`, `ChangeReport`, `Info`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
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
