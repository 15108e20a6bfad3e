"""`prune`, `purge`: what is erased from a collection for good."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdstill.cli.failures import BAD_INPUT
from holdstill.cli.interrupts import operating
from holdstill.cli.options import AS_JSON, COLLECTION, WHERE, Asking, asking
from holdstill.cli.terminal import console, counted, emit, print_indented

if TYPE_CHECKING:
    from holdstill.collection import Collection
    from holdstill.reports import PruneReport, PurgeReport

_TAGS = 10  # tags that are listed

UNTOUCHED = "nothing was erased"  #: what an interrupt leaves behind


@click.command(short_help="Erase old commits, and free their space.")
@COLLECTION
@click.option("--keep-last", type=int, metavar="N", help="Keep the newest N commits.")
@click.option("--before", metavar="DATE", help="Prune those made before: a date (UTC), or a time with its zone.")
@asking
@AS_JSON
def prune(collection: Path, keep_last: int | None, before: str | None, caller: Asking, as_json: bool) -> int:
    """Erase what only old commits see, and free its space.

    The newest commit, and those that have a tag, are kept. A pruned commit can no longer be searched.
    """
    with operating(collection, UNTOUCHED) as handle:
        report = handle.prune(keep_last=keep_last, before=before, **caller)
        tags = [tag for commit in handle.history(**caller) for tag in commit.tags]
    show_pruned(report, tags, as_json=as_json)
    return 0


def show_pruned(report: PruneReport, tags: Sequence[str] = (), *, as_json: bool) -> None:
    """Say what was erased with commits, and what tags kept theirs."""
    if as_json:
        emit(
            {
                "commits": report.commits,
                "versions": report.versions,
                "bytes_before": report.before,
                "bytes_after": report.after,
            }
        )
        return
    page = console()
    erased = f"pruned {counted(report.commits, 'commit')}; erased {counted(report.versions, 'version')} of documents"
    print_indented(page, erased, 0, hang=2, style="bold")
    if report.before != report.after:
        print_indented(page, f"{_megabytes(report.before)} before, {_megabytes(report.after)} now", 0)
    if tags:
        more = f", and {len(tags) - _TAGS:,} more" if len(tags) > _TAGS else ""
        print_indented(page, f"tags keep their commits: {', '.join(tags[:_TAGS])}{more}", 0, hang=2)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


@click.command(short_help="Erase documents from all of history.")
@COLLECTION
@click.argument("ids", metavar="[ID]...", nargs=-1)
@WHERE
@click.option("--yes", is_flag=True, help="Do not ask whether it is meant.")
@asking
@AS_JSON
def purge(collection: Path, ids: tuple[str, ...], where: str | None, yes: bool, caller: Asking, as_json: bool) -> int:
    """Erase documents from every snapshot, tag, generation and recorded search, by id or all that satisfy --where.

    No file of the collection holds their bytes afterwards. Exports, backups and copies are out of its reach. The exit
    code is 2 if one of the ids was never there; the others are purged.
    """
    if not (yes or sys.stdin.isatty()):
        raise click.UsageError(
            "purge cannot be undone, and there is no terminal to ask on: say --yes", click.get_current_context()
        )
    with operating(collection, UNTOUCHED) as handle:
        if not yes:
            _confirm(handle, ids, where, caller)
        report = handle.purge(ids, where=where, **caller)
    if as_json:
        emit(
            {
                "purged": report.purged,
                "missing": list(report.missing),
                "commit": report.commit,
                "snapshots": report.snapshots,
                "searches": report.searches,
            }
        )
    else:
        _print(report)
    return BAD_INPUT if report.missing else 0


def _confirm(handle: Collection, ids: tuple[str, ...], where: str | None, caller: Asking) -> None:
    """Ask whether it is meant, unless what was said cannot be done or names nothing."""
    handle.policy(**caller)  # refuses whoever may not write, before anything is counted
    count = len(set(ids)) if where is None else handle.count(where=where, **caller)
    question = f"Erase {counted(count, 'document')} from all of history? This cannot be undone."
    if count and not (ids and where) and not click.confirm(question, err=True):
        raise click.ClickException(f"not confirmed: {UNTOUCHED}")


def _print(report: PurgeReport) -> None:
    page = console()
    print_indented(page, f"purged {counted(report.purged, 'document')} (commit {report.commit})", 0, style="bold")
    if report.snapshots:
        print_indented(page, f"gone from {counted(report.snapshots, 'snapshot')}, searched without it now", 0, hang=2)
    if report.searches:
        print_indented(page, f"gone from the hits of {report.searches:,} of the recorded searches", 0, hang=2)
    if report.purged:
        print_indented(page, "not reached: exports, backups and copies of the collection", 0, hang=2, style="dim")
    if report.missing:
        print_indented(page, "never there: " + ", ".join(map(repr, report.missing)), 0, hang=2)
