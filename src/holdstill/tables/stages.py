"""What each stage of a fusion took: `Stage`, measured by `Watch`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class Stage:
    """One stage.

    Attributes:
        name: what was done.
        seconds: wall time.
        rows: that it gave.
        bytes: of what it gave; for text, those of the references to it.
    """

    name: str
    seconds: float = 0.0
    rows: int = 0
    bytes: int = 0


class Watch:
    """Measures stages into a list."""

    def __init__(self, stages: list[Stage]) -> None:
        self._stages = stages

    @contextmanager
    def stage(self, name: str) -> Iterator[Stage]:
        """Measure what runs inside, which fills in rows and bytes."""
        seen = Stage(name)
        begun = time.perf_counter()
        yield seen
        seen.seconds = time.perf_counter() - begun
        self._stages.append(seen)
