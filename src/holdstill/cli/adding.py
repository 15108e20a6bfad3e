"""`add`: read files and put what they hold into a collection, which is made if it is not there."""

from __future__ import annotations

import shlex
import shutil
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from holdstill.analysis import ANALYSERS, analyser as analyser_of
from holdstill.cli.failures import BAD_INPUT, Interrupted, refused_lines
from holdstill.cli.options import (
    AS_JSON,
    COLLECTION,
    EMBEDDER,
    VECTOR_MODEL,
    Asking,
    asking,
    check_vector_options,
    lock_timeout,
    opened,
)
from holdstill.cli.terminal import console, emit, print_indented, print_pairs, progress
from holdstill.errors import InvalidInput, ModelMismatch
from holdstill.ingest import FORMATS, Keys, Reading, Row, infer, read
from holdstill.refused import Refused

if TYPE_CHECKING:
    from rich.console import Console

    from holdstill.collection import AddReport, Collection, Info
    from holdstill.stores.base import Progress


@dataclass(frozen=True, slots=True)
class Making:
    """What a collection was asked to be made as; None where nothing was said."""

    analyser: str | None
    embedder: str | None
    vector_model: str | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What `add` did: the engine's report, and the schema of a collection that it made."""

    report: AddReport
    created: Info | None = None


@click.command()
@COLLECTION
@click.argument("files", metavar="FILE_OR_FOLDER...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--format", "format_", type=click.Choice(FORMATS), default="auto", help="What the files are; auto if not said: by their names.")
@click.option("--id", "id_", metavar="KEY", help="The key or column of the document's id; id or _id if not said.")
@click.option("--title", metavar="KEY", help="The key or column of the title; title if not said.")
@click.option("--text", metavar="KEY", help="The key or column of the text; text if not said.")
@click.option("--document", metavar="KEY", help="Rows with the same value of this key are the passages of one document.")
@click.option("--strict", is_flag=True, help="Write nothing if one row is refused.")
@click.option("--analyser", type=click.Choice(ANALYSERS), help="How words are read, in a collection made now; simple if not said.")
@EMBEDDER
@VECTOR_MODEL
@asking
@AS_JSON
def add(
    collection: Path,
    files: tuple[Path, ...],
    format_: Any,
    id_: str | None,
    title: str | None,
    text: str | None,
    document: str | None,
    strict: bool,
    analyser: str | None,
    embedder: str | None,
    vector_model: str | None,
    caller: Asking,
    as_json: bool,
) -> int:
    """Add files and folders: insert documents, or replace those of the same id, as one commit.

    JSONL, JSON, CSV, TSV and Parquet give a document a row; Markdown and text give one a file. Where there is no
    collection yet, one is made, with a schema inferred from the data. Rows that cannot be taken are listed and the
    others are kept; the exit code is then 2.
    """
    making = Making(analyser, embedder, vector_model)
    check_vector_options(embedder, vector_model)
    reading = read(files, format=format_, keys=Keys(id_, title, text, document))
    with _heeding_interrupts(collection), progress() as bars:
        if collection.exists():
            outcome = _into_existing(collection, reading, making, caller, strict, bars)
        else:
            outcome = _into_new(collection, reading, making, caller, strict, bars)
    report = replace(outcome.report, notes=reading.notes + outcome.report.notes)
    if as_json:
        made = {} if outcome.created is None else {"schema": dict(outcome.created.schema)}
        emit(report.as_dict() | {"created": outcome.created is not None} | made)
    else:
        _print(console(), collection, report, outcome.created)
    return BAD_INPUT if report.refused else 0


def _into_existing(
    path: Path, reading: Reading, making: Making, caller: Asking, strict: bool, bars: Progress | None
) -> Outcome:
    with opened(path) as handle:
        _check_same(making, handle.info(**caller))
        return Outcome(handle.add(_counted(reading, bars), strict=strict, progress=bars, **caller))


def _into_new(
    path: Path, reading: Reading, making: Making, caller: Asking, strict: bool, bars: Progress | None
) -> Outcome:
    rows = list(_counted(reading, bars))
    inference = infer(row.document for row in rows if isinstance(row, Row))
    fitted = [replace(row, document=inference.typed(row.document)) if isinstance(row, Row) else row for row in rows]
    with _made(path, inference.schema, making) as handle:
        report = handle.add(fitted, strict=strict, progress=bars, **caller)
        report = replace(report, notes=inference.notes + report.notes)
        return Outcome(report, handle.info(**caller) if report.added else None)


@contextmanager
def _made(path: Path, schema: Any, making: Making) -> Iterator[Collection]:
    """A new collection, which is taken away again if nothing was written to it."""
    from holdstill.collection import create
    from holdstill.embedding import DEFAULT

    handle = create(
        path,
        schema=schema,
        analyser=making.analyser or "simple",
        embedder=making.embedder or DEFAULT,
        vector_model=making.vector_model,
        lock_timeout=lock_timeout(),
    )
    try:
        yield handle
    finally:
        empty = handle.info(operator=True).commit == 0
        handle.close()
        if empty:
            shutil.rmtree(path)


def _counted(reading: Reading, bars: Progress | None) -> Iterable[Row | Refused]:
    for number, row in enumerate(reading, start=1):
        if bars is not None and number % 256 == 0:
            bars("reading", number, 0)
        yield row


def _check_same(making: Making, about: Info) -> None:
    """Refuse options that ask of a collection that is there what it is not.

    Raises:
        holdstill.InvalidInput: another analyser.
        holdstill.ModelMismatch: another embedder, or another model of the vectors that are brought.
    """
    if making.analyser is not None and analyser_of(making.analyser).identity != about.analyser:
        raise InvalidInput(
            f"the collection's analyser is {about.analyser!r}, not {making.analyser!r}",
            field="analyser",
            expected=f"{about.analyser}, or no --analyser",
            got=making.analyser,
            hint="A collection keeps its analyser: add to a new collection to use another",
        )
    brought = (about.model or "").startswith("declared:")
    has = "the vectors of " + about.embedder if brought else about.embedder
    for option, asked, same in (
        ("embedder", making.embedder, not brought and making.embedder == about.embedder),
        ("vector_model", making.vector_model, brought and making.vector_model == about.embedder),
    ):
        if asked is not None and not same:
            raise ModelMismatch(
                f"the collection has {has!r}, and {asked!r} was asked for",
                field=option,
                expected=f"{about.embedder}, or no --{option.replace('_', '-')}",
                got=asked,
                hint="A collection keeps its model: add to a new collection to use another",
            )


@contextmanager
def _heeding_interrupts(path: Path) -> Iterator[None]:
    """Ctrl-C ends the add, and what is said of it is read from the disk."""
    presses = 0

    def heed(_signal: int, _frame: FrameType | None) -> None:
        # The second press, of an impatient finger, would break the clean-up that the first began; the third may.
        nonlocal presses
        presses += 1
        if presses != 2:
            raise KeyboardInterrupt

    before = _commit(path)
    earlier = signal.signal(signal.SIGINT, heed)
    try:
        yield
    except BaseException as error:
        # Libraries turn the interrupt into errors of their own, so that it is known by the key, not by the error.
        if not presses:
            raise
        after = _commit(path)
        if after == before:
            raise Interrupted("interrupted: nothing of this add was written") from error
        raise Interrupted(f"interrupted after the add was written: it is commit {after}") from error
    finally:
        signal.signal(signal.SIGINT, earlier)


def _commit(path: Path) -> int:
    """The newest commit at the path; 0 where there is no collection."""
    if not path.exists():
        return 0
    with opened(path) as handle:
        return handle.info(operator=True).commit


def _print(page: Console, path: Path, report: AddReport, created: Info | None) -> None:
    if created is not None:
        print_indented(page, f"created {path}, with fields inferred from the data:", 0)
        print_pairs(page, dict(created.schema) or {"(none)": ""}, indent=2)
        print_indented(page, f"analyser {created.analyser}; embedder {created.embedder}", 2, style="dim")
    print_indented(
        page,
        f"added {report.added}, replaced {report.replaced}, unchanged {report.unchanged}, "
        f"refused {len(report.refused)} (commit {report.commit})",
        0,
        style="bold",
    )
    for line in refused_lines(report.refused):
        print_indented(page, line, 2, hang=2)
    for note in report.notes:
        print_indented(page, f"note: {note}", 0, hang=6)
    print_indented(page, f"next: {_next(path, report)}", 0, hang=6, style="dim")


def _next(path: Path, report: AddReport) -> str:
    if report.refused and report.added + report.replaced + report.unchanged == 0:
        return "no row could be taken, so nothing was written; mend them and add the files again"
    if report.refused:
        return "mend the refused rows and add the files again; what is stored already is left as it is"
    return f'holdstill search {shlex.quote(str(path))} "your question"'
