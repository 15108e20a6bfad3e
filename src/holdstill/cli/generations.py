"""`rebuild`, `generations`, `activate`, `drop-generation`: the builds of a collection's index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdstill.analysis import ANALYSERS
from holdstill.cli.erasing import UNTOUCHED, show_pruned
from holdstill.cli.interrupts import operating
from holdstill.cli.options import AS_JSON, COLLECTION, Asking, EmbedderChoice, asking, choosing_embedder, opened
from holdstill.cli.terminal import console, counted, emit, print_indented, progress

if TYPE_CHECKING:
    from holdstill.reports import GenerationInfo, RebuildReport

_KEPT = "what was built is kept, and the same command carries it on; nothing else was changed"
_NUMBER = click.argument("number", metavar="N", type=int)


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
    with operating(collection, _KEPT) as handle, progress() as bars:
        report = handle.rebuild(embedder=choice.embedder, analyser=analyser, progress=bars, **caller)
    _show_switch(report, as_json=as_json)
    return 0


@click.command(short_help="List the generations.")
@COLLECTION
@asking
@AS_JSON
def generations(collection: Path, caller: Asking, as_json: bool) -> int:
    """List the generations: what each was built with, what it holds, and which one is active."""
    with opened(collection) as handle:
        listed = handle.generations(**caller)
    if as_json:
        emit({"generations": [each.as_dict() for each in listed]})
        return 0
    page = console()
    for each in listed:
        print_indented(page, _built_with(each), 0, hang=2, style="bold" if each.active else "")
        print_indented(page, "; ".join(_holds(each)), 2, hang=2, style="dim")
    return 0


def _built_with(each: GenerationInfo) -> str:
    state = " (active)" if each.active else "" if each.complete else " (unfinished)"
    dimensions = "" if each.dimensions is None else f", {each.dimensions} dimensions"
    return f"generation {each.generation}{state}: analyser {each.analyser}; embedder {each.embedder}{dimensions}"


def _holds(each: GenerationInfo) -> Iterator[str]:
    yield counted(each.passages, "passage")
    if each.missing:
        yield f"lacks {each.missing:,} of the documents"
    if each.complete:
        yield counted(each.commits, "commit")
    yield f"index {each.bytes / 1e6:,.1f} MB"


@click.command(short_help="Switch back to a generation.")
@COLLECTION
@_NUMBER
@asking
@AS_JSON
def activate(collection: Path, number: int, caller: Asking, as_json: bool) -> int:
    """Make generation N the active one again; documents that it lacks are built into it first."""
    with operating(collection, _KEPT) as handle, progress() as bars:
        report = handle.activate(number, progress=bars, **caller)
    _show_switch(report, as_json=as_json)
    return 0


@click.command(short_help="Erase a generation.")
@COLLECTION
@_NUMBER
@asking
@AS_JSON
def drop_generation(collection: Path, number: int, caller: Asking, as_json: bool) -> int:
    """Erase generation N, which is not the active one, and free its space; its commits are pruned."""
    with operating(collection, UNTOUCHED) as handle:
        report = handle.drop_generation(number, **caller)
    show_pruned(report, as_json=as_json)
    return 0


def _show_switch(report: RebuildReport, *, as_json: bool) -> None:
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
        return
    page = console()
    print_indented(page, f"generation {report.generation} is active (commit {report.commit})", 0, style="bold")
    built = f"built {counted(report.documents, 'document')}, {counted(report.passages, 'passage')}"
    print_indented(page, built + ("; the rest was built before" if report.resumed else ""), 0, hang=2)
