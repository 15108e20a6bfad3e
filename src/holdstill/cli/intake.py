"""Rows that were read, on their way into a collection, which is made if it is not there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from holdstill.adding import OUTSIDE
from holdstill.analysis import analyser as analyser_of
from holdstill.cli.options import Asking, EmbedderChoice, opened
from holdstill.config import lock_timeout
from holdstill.errors import InvalidInput, ModelMismatch
from holdstill.ingest import Reading, Row, infer
from holdstill.refused import Refused
from holdstill.schema import Schema

if TYPE_CHECKING:
    from holdstill.collection import Collection
    from holdstill.embedding import Embedder
    from holdstill.reports import AddReport, Info
    from holdstill.stores.base import Progress

_READING_STEP = 256  # rows between two reports of progress


@dataclass(frozen=True, slots=True)
class Making:
    """What a collection is to be made as; None where nothing was said."""

    analyser: str | None
    choice: EmbedderChoice
    vector_model: str | None

    @property
    def settled(self) -> Embedder | None:
        """The embedder, where more than its name was said, so that a collection that is there has to agree with it."""
        embedder = self.choice.embedder if self.choice.settings else None
        return None if isinstance(embedder, str) else embedder

    def check(self, about: Info) -> None:
        """Refuse what was asked of a collection that is there and is another.

        Raises:
            holdstill.InvalidInput: another analyser.
            holdstill.ModelMismatch: another embedder, or another model of the vectors that are brought.
        """
        if self.analyser is not None and analyser_of(self.analyser).identity != about.analyser:
            raise InvalidInput(
                f"the collection's analyser is {about.analyser!r}, and {self.analyser!r} was asked for",
                field="analyser",
                expected=f"{about.analyser}, or no --analyser",
                got=self.analyser,
                hint="A collection keeps its analyser: add to a new collection to use another",
            )
        brought = about.brought
        embedder, vector_model = self.choice.name, self.vector_model
        if embedder is not None and (brought or embedder != about.embedder):
            raise _other_model("embedder", embedder, about, brought=brought)
        if vector_model is not None and (not brought or vector_model != about.embedder):
            raise _other_model("vector_model", vector_model, about, brought=brought)


def _other_model(option: str, asked: str, about: Info, *, brought: bool) -> ModelMismatch:
    has = "vectors that its documents bring, of" if brought else "the embedder"
    return ModelMismatch(
        f"the collection has {has} {about.embedder!r}, and {asked!r} was asked for",
        field=option,
        expected=f"--vector-model {about.embedder}" if brought else f"--embedder {about.embedder}",
        got=asked,
        hint="A generation keeps its model: `holdstill rebuild COLLECTION` makes one with another",
    )


@dataclass(slots=True)
class Intake:
    """One `add`.

    Attributes:
        path: the collection.
        reading: the rows.
        making: what a new collection is made as.
        caller: who writes.
        strict: whether one bad row refuses all.
        created: the collection that was made, once it was and holds something.
    """

    path: Path
    reading: Reading
    making: Making
    caller: Asking
    strict: bool
    created: Info | None = None
    _before: int = field(default=0, init=False)

    def run(self, bars: Progress | None) -> AddReport:
        """Add the rows."""
        report = self._into_existing(bars) if self.path.exists() else self._into_new(bars)
        return replace(report, notes=self.reading.notes + report.notes)

    def left(self) -> str:
        """What an interrupt of this add left behind, as the disk has it."""
        commit = self._newest()
        if commit > self._before:
            return f"interrupted, but the add was written already: it is commit {commit}"
        return "interrupted: nothing of this add was written"

    def _newest(self) -> int:
        if not self.path.exists():
            return 0
        with opened(self.path) as collection:
            return collection.info(operator=True).commit

    def _into_existing(self, bars: Progress | None) -> AddReport:
        with opened(self.path, self.making.settled) as collection:
            about = collection.info(**self.caller)
            self._before = about.commit
            self.making.check(about)
            return collection.add(self._rows(bars), strict=self.strict, progress=bars, **self.caller)

    def _into_new(self, bars: Progress | None) -> AddReport:
        rows = list(self._rows(bars))
        inference = infer(row.document for row in rows if isinstance(row, Row))
        fitted = (replace(row, document=inference.typed(row.document)) if isinstance(row, Row) else row for row in rows)
        with self._made(inference.schema) as collection:
            report = collection.add(fitted, strict=self.strict, progress=bars, **self.caller)
            self.created = collection.info(**self.caller) if report.added else None
        # Of every field that is outside the schema, the inference has said so, and why.
        notes = tuple(note for note in report.notes if not note.startswith(OUTSIDE))
        return replace(report, notes=inference.notes + notes)

    @contextmanager
    def _made(self, schema: Schema) -> Iterator[Collection]:
        """A new collection, which is taken away again if nothing was written to it."""
        from holdstill.embedding import DEFAULT
        from holdstill.opening import create

        collection = create(
            self.path,
            schema=schema,
            analyser=self.making.analyser or "simple",
            embedder=self.making.choice.embedder or DEFAULT,
            vector_model=self.making.vector_model,
            lock_timeout=lock_timeout(),
        )
        try:
            yield collection
        finally:
            empty = collection.info(operator=True).commit == 0
            collection.close()
            if empty:
                shutil.rmtree(self.path)

    def _rows(self, bars: Progress | None) -> Iterator[Row | Refused]:
        for number, row in enumerate(self.reading, start=1):
            if bars is not None and number % _READING_STEP == 0:
                bars("reading", number, 0)
            yield row
