"""`history`, `tag`, `diff`: the commits of a collection, and what each changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdstill.cli.options import AS_JSON, COLLECTION, Asking, asking, opened
from holdstill.cli.terminal import console, emit, print_indented, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from holdstill.reports import Changed, Commit, Diff

_SHOWN = 20  # documents of each kind that `diff` lists


@click.command(short_help="List the commits.")
@COLLECTION
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many of the newest.")
@asking
@AS_JSON
def history(collection: Path, limit: int, caller: Asking, as_json: bool) -> int:
    """List the commits, the newest one first: when, what, and how many documents it added, replaced and removed.

    Each can be searched with --at, until it is pruned. --json lists them all, the first one first.
    """
    with opened(collection) as handle:
        commits = handle.history(**caller)
    if as_json:
        emit({"commits": [commit.as_dict() for commit in commits]})
    else:
        _print_history(console(), commits, limit)
    return 0


def _print_history(page: Console, commits: list[Commit], limit: int) -> None:
    if not commits:
        print_indented(page, "no commits yet: nothing was written", 0)
        return
    shown = commits[-limit:][::-1]
    columns = ("commit", "when (UTC)", "what", "generation", "documents", "")
    print_table(page, columns, [_row(each) for each in shown], ["dim" if each.pruned else "" for each in shown])
    if left := len(commits) - len(shown):
        print_indented(page, f"and {left} earlier; --limit {len(commits)} shows all", 0, style="dim")


def _row(commit: Commit) -> tuple[str, ...]:
    counts = (("+", commit.added), ("~", commit.replaced), ("-", commit.removed))
    changes = " ".join(f"{sign}{count}" for sign, count in counts if count)
    when = commit.committed.strftime("%Y-%m-%d %H:%M:%S")
    remarks = "pruned" if commit.pruned else ", ".join(commit.tags)
    return str(commit.commit), when, commit.kind, str(commit.generation), changes, remarks


@click.command(short_help="Name a commit.")
@COLLECTION
@click.argument("name")
@click.argument("at", required=False)
@click.option("--delete", is_flag=True, help="Take the name away.")
@asking
@AS_JSON
def tag(collection: Path, name: str, at: str | None, delete: bool, caller: Asking, as_json: bool) -> int:
    """Name a commit, the newest one unless AT says which: a commit, a tag, or a time with its zone.

    A commit that has a name is never pruned, and --at takes the name. A name that is taken moves.
    """
    if delete and at is not None:
        raise click.UsageError("--delete takes the name alone", click.get_current_context())
    with opened(collection) as handle:
        commit = handle.untag(name, **caller) if delete else handle.tag(name, at, **caller)
    if as_json:
        emit({"tag": name, "commit": commit, "deleted": delete})
    else:
        said = f"commit {commit} is no longer called {name}" if delete else f"commit {commit} is called {name}"
        print_indented(console(), said, 0)
    return 0


@click.command(short_help="Say what differs between two commits.")
@COLLECTION
@click.argument("first", metavar="A")
@click.argument("second", metavar="[B]", required=False)
@asking
@AS_JSON
def diff(collection: Path, first: str, second: str | None, caller: Asking, as_json: bool) -> int:
    """Say which documents were added (+), removed (-) and changed (~) from A to B, the newest commit if not said.

    A and B are commits, tags, or times with their zone.
    """
    with opened(collection) as handle:
        found = handle.diff(first, second, **caller)
    if as_json:
        emit(found.as_dict())
    else:
        _print_diff(console(), found)
    return 0


def _print_diff(page: Console, found: Diff) -> None:
    counts = f"{len(found.added)} added, {len(found.removed)} removed, {len(found.changed)} changed"
    print_indented(page, f"from commit {found.first} to {found.second}: {counts}", 0, hang=2, style="bold")
    lines = {
        "added": [f"+ {id_}" for id_ in found.added],
        "removed": [f"- {id_}" for id_ in found.removed],
        "changed": [f"~ {each.id}  {_what(each)}" for each in found.changed],
    }
    for kind, of_kind in lines.items():
        for line in of_kind[:_SHOWN]:
            print_indented(page, line, 0, hang=2)
        if len(of_kind) > _SHOWN:
            print_indented(page, f"  and {len(of_kind) - _SHOWN} more {kind}; --json lists all", 0, style="dim")


def _what(changed: Changed) -> str:
    fields = f"{'field' if len(changed.fields) == 1 else 'fields'} {', '.join(changed.fields)}"
    parts = (("text", changed.text), (fields, changed.fields), ("metadata", changed.metadata))
    return "; ".join(name for name, differs in parts if differs)
