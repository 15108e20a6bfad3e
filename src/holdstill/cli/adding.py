"""`add`: read files and put what they hold into a collection."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdstill.analysis import ANALYSERS
from holdstill.cli.failures import BAD_INPUT, refused_lines
from holdstill.cli.intake import Intake, Making
from holdstill.cli.interrupts import heeding_interrupts
from holdstill.cli.options import (
    AS_JSON,
    COLLECTION,
    VECTOR_MODEL,
    Asking,
    EmbedderChoice,
    asking,
    check_vector_options,
    choosing_embedder,
)
from holdstill.cli.terminal import console, emit, print_indented, print_pairs, progress
from holdstill.ingest import FORMATS, Keys, read

if TYPE_CHECKING:
    from rich.console import Console

    from holdstill.reports import AddReport, Info


@click.command(short_help="Add files and folders.")
@COLLECTION
@click.argument("files", metavar="FILE_OR_FOLDER...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--format", "format_", type=click.Choice(FORMATS), default="auto", help="What the files are; auto: by their names."
)
@click.option("--id", "id_", metavar="KEY", help="The key or column of the id; id or _id if not said.")
@click.option("--title", metavar="KEY", help="The key or column of the title; title if not said.")
@click.option("--text", metavar="KEY", help="The key or column of the text; text if not said.")
@click.option("--document", metavar="KEY", help="Rows with the same value of this key are passages of one document.")
@click.option("--strict", is_flag=True, help="Write nothing if one row is refused.")
@click.option("--analyser", type=click.Choice(ANALYSERS), help="How words are read, in a collection made now; simple.")
@choosing_embedder
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
    choice: EmbedderChoice,
    vector_model: str | None,
    caller: Asking,
    as_json: bool,
) -> int:
    """Add files and folders: insert documents, or replace those of the same id, as one commit.

    JSONL, JSON, CSV, TSV and Parquet give a document a row; Markdown and text give one a file. Where there is no
    collection yet, one is made, with a schema inferred from the data. Rows that cannot be taken are listed and the
    others are kept; the exit code is then 2.
    """
    check_vector_options(choice, vector_model)
    reading = read(files, format=format_, keys=Keys(id_, title, text, document))
    intake = Intake(collection, reading, Making(analyser, choice, vector_model), caller, strict)
    with heeding_interrupts(intake.left), progress() as bars:
        report = intake.run(bars)
    if as_json:
        made = {} if intake.created is None else {"schema": dict(intake.created.schema)}
        emit(report.as_dict() | {"created": intake.created is not None} | made)
    else:
        _print(console(), collection, report, intake.created)
    return BAD_INPUT if report.refused else 0


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
    nothing = report.added + report.replaced + report.unchanged == 0
    if nothing and not report.refused:
        return "add files that hold rows" + ("" if path.exists() else "; nothing was made")
    if nothing:
        return "no row could be taken, so nothing was written; mend them and add the files again"
    if report.refused:
        return "mend the refused rows and add the files again; what is stored already is left as it is"
    return f'holdstill search {shlex.quote(str(path))} "your question"'
