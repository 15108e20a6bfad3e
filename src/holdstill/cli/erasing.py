"""`prune`, `purge`: what is erased from a collection for good."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from holdstill.cli.failures import BAD_INPUT
from holdstill.cli.options import AS_JSON, COLLECTION, WHERE, Asking, asking, opened
from holdstill.cli.terminal import console, emit, print_indented
from holdstill.reports import PruneReport, PurgeReport


@click.command(short_help="Erase old commits, and free their space.")
@COLLECTION
@click.option("--keep-last", type=int, metavar="N", help="Keep the newest N commits.")
@click.option("--before", metavar="DATE", help="Prune those made before: a date (UTC), or a time with its zone.")
@asking
@AS_JSON
def prune(collection: Path, keep_last: int | None, before: str | None, caller: Asking, as_json: bool) -> int:
    """Erase what only old commits see, and free its space.

    The newest commit, and those that have a tag, are kept. A pruned commit can no more be searched.
    """
    with opened(collection) as handle:
        report = handle.prune(keep_last=keep_last, before=before, **caller)
    return pruned(report, as_json=as_json)


def pruned(report: PruneReport, *, as_json: bool) -> int:
    """Say what a prune did."""
    if as_json:
        emit(
            {
                "commits": report.commits,
                "versions": report.versions,
                "bytes_before": report.before,
                "bytes_after": report.after,
            }
        )
        return 0
    commits = "1 commit" if report.commits == 1 else f"{report.commits} commits"
    versions = "1 version of a document" if report.versions == 1 else f"{report.versions} versions of documents"
    freed = f"{report.before / 1e6:,.1f} MB before, {report.after / 1e6:,.1f} MB now"
    print_indented(console(), f"pruned {commits}; erased {versions}; {freed}", 0, hang=2)
    return 0


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
    if not yes:
        _confirm(ids, where)
    with opened(collection) as handle:
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


def _confirm(ids: tuple[str, ...], where: str | None) -> None:
    what = ("1 document" if len(ids) == 1 else f"{len(ids)} documents") if where is None else "all that satisfies it"
    if not sys.stdin.isatty():
        raise click.UsageError("purge cannot be undone: say --yes", click.get_current_context())
    click.confirm(f"Erase {what} from all of history? This cannot be undone.", abort=True, err=True)


def _print(report: PurgeReport) -> None:
    page = console()
    documents = "1 document" if report.purged == 1 else f"{report.purged} documents"
    print_indented(page, f"purged {documents} (commit {report.commit})", 0, style="bold")
    if report.purged:
        print_indented(
            page,
            f"{report.snapshots} snapshots had one, and are searched without it; {report.searches} recorded searches "
            "had one among their hits",
            0,
            hang=2,
        )
        print_indented(page, "not reached: exports, backups and copies of the collection", 0, hang=2, style="dim")
    if report.missing:
        print_indented(page, "never there: " + ", ".join(map(repr, report.missing)), 0, hang=2)
