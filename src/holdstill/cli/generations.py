"""`rebuild`, `generations`, `activate`, `drop-generation`: the builds of a collection's index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdstill.analysis import ANALYSERS
from holdstill.cli.erasing import pruned
from holdstill.cli.options import AS_JSON, COLLECTION, Asking, EmbedderChoice, asking, choosing_embedder, opened
from holdstill.cli.terminal import console, emit, print_indented, print_table, progress

if TYPE_CHECKING:
    from holdstill.reports import GenerationInfo, RebuildReport

_NUMBER = click.argument("number", type=int)


@click.command(short_help="Build the index anew, beside the one in use.")
@COLLECTION
@choosing_embedder
@click.option("--analyser", type=click.Choice(ANALYSERS), help="How words are read; as now if not said.")
@asking
@AS_JSON
def rebuild(collection: Path, choice: EmbedderChoice, analyser: str | None, caller: Asking, as_json: bool) -> int:
    """Build a new generation of the index beside the active one, then switch to it in one step.

    The embedder and the analyser stay as they are unless said otherwise. A rebuild that is cut off has changed nothing:
    the same command carries it on from where it was.
    """
    with opened(collection) as handle, progress() as bars:
        report = handle.rebuild(embedder=choice.embedder, analyser=analyser, progress=bars, **caller)
    return _switched(report, as_json=as_json)


@click.command(short_help="List the generations.")
@COLLECTION
@asking
@AS_JSON
def generations(collection: Path, caller: Asking, as_json: bool) -> int:
    """List the generations: what each is made with, and which one is active."""
    with opened(collection) as handle:
        listed = handle.generations(**caller)
    if as_json:
        emit({"generations": [each.as_dict() for each in listed]})
        return 0
    columns = ("generation", "", "analyser", "embedder", "passages", "commits", "MB")
    print_table(console(), columns, [_row(each) for each in listed])
    return 0


def _row(each: GenerationInfo) -> tuple[str, ...]:
    state = "active" if each.active else "" if each.complete else "unfinished"
    lacks = f"{state} lacks {each.missing}".strip() if each.missing else state
    size = f"{each.bytes / 1e6:,.1f}"
    return str(each.generation), lacks, each.analyser, each.embedder, str(each.passages), str(each.commits), size


@click.command(short_help="Switch back to a generation.")
@COLLECTION
@_NUMBER
@asking
@AS_JSON
def activate(collection: Path, number: int, caller: Asking, as_json: bool) -> int:
    """Make a generation the active one again; documents that it lacks are built into it first."""
    with opened(collection) as handle, progress() as bars:
        report = handle.activate(number, progress=bars, **caller)
    return _switched(report, as_json=as_json)


@click.command(short_help="Erase a generation.")
@COLLECTION
@_NUMBER
@asking
@AS_JSON
def drop_generation(collection: Path, number: int, caller: Asking, as_json: bool) -> int:
    """Erase a generation that is not the active one, and free its space; its commits are pruned."""
    with opened(collection) as handle:
        report = handle.drop_generation(number, **caller)
    return pruned(report, as_json=as_json)


def _switched(report: RebuildReport, *, as_json: bool) -> int:
    if as_json:
        emit(
            {
                "generation": report.generation,
                "commit": report.commit,
                "documents": report.documents,
                "passages": report.passages,
                "resumed": report.resumed,
            }
        )
        return 0
    page = console()
    print_indented(page, f"generation {report.generation} is active (commit {report.commit})", 0, style="bold")
    built = f"built {report.documents} documents, {report.passages} passages"
    print_indented(page, built + (", carrying on what was cut off" if report.resumed else ""), 0, hang=2)
    return 0
