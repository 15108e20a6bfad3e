"""A row that was not taken: `Refused`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdstill.errors import HoldstillError


@dataclass(frozen=True, slots=True)
class Refused:
    """One row of a batch that was left out, and why; the good rows around it are kept.

    Attributes:
        row: its number in the source, from 1: the line of a file, or the position in a list.
        field: the field or key at fault, if one is.
        reason: what is wrong, what was expected and what was given.
        source: the file as it was named, or None where the rows came from Python.
    """

    row: int
    field: str | None
    reason: str
    source: str | None = None

    @classmethod
    def because(cls, error: HoldstillError, row: int, source: str | None = None) -> Refused:
        """The row, refused for that error."""
        return cls(row, error.field, str(error), source)

    def as_dict(self) -> dict[str, Any]:
        """The row as the `--json` output shows it."""
        return {"row": self.row, "field": self.field, "reason": self.reason, "source": self.source}
