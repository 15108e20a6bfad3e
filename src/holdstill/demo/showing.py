"""What the demo prints."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.table import Table
from rich.text import Text

from holdstill.demo.resumes import PEOPLE
from holdstill.demo.searches import Search
from holdstill.reports import AddReport, Info
from holdstill.result import Result
from holdstill.stores.base import Progress

_SHOWN = 5


def show_start(console: Console, directory: Path) -> None:
    """What is about to happen."""
    _line(console, f"{PEOPLE} generated resumes and the guides of this project, indexed into {directory}.")
    _line(console, "Words and meaning are searched together; the model runs here, offline.")


@contextmanager
def progress(console: Console) -> Iterator[Progress | None]:
    """What to call with the progress of an `add`: bars on a terminal, nothing elsewhere."""
    if not console.is_terminal:
        yield None
        return
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Bars(*columns, console=console, transient=True) as bars:
        tasks = {}

        def report(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total or None)
            bars.update(tasks[what], completed=done, total=total or None)

        yield report


def show_answer(console: Console, number: int, search: Search, command: str, result: Result, proofs: list[str]) -> None:
    """One search: the question, the command, the first hits, the proofs."""
    console.print()
    _line(console, f"{number}. {search.title}", style="bold")
    _line(console, f"   {search.why}")
    _line(console, f"   $ {command}", style="cyan")
    console.print(_hits(result))
    for proof in proofs:
        console.print(Padding(Text(f"✓ {proof}"), (0, 0, 0, 3)))


def show_end(console: Console, directory: Path, added: AddReport, info: Info) -> None:
    """What there is now, and what to try next."""
    console.print()
    _line(
        console,
        f"{directory}: {info.documents} documents, {info.passages} passages; "
        f"{added.added} added, {added.replaced} replaced, {added.unchanged} unchanged.",
    )
    _line(console, "Ask it something of your own, and add --explain to see where every score comes from:")
    if shutil.which("holdstill") is None:
        _line(console, f"(`holdstill` is not on your path: it is {Path(sys.executable).with_name('holdstill')})")
    question = '"what happens when a process is killed while it writes" --where "kind = \'guide\'" --explain'
    _line(console, f"   $ holdstill search {shlex.quote(str(directory))} {question}", style="cyan")


def _hits(result: Result) -> Padding:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("rank", justify="right", no_wrap=True)
    table.add_column("id", no_wrap=True)
    table.add_column("who", no_wrap=True)
    table.add_column("years", justify="right", no_wrap=True)
    table.add_column("where", no_wrap=True)
    for hit in result.hits[:_SHOWN]:
        years = hit.fields["years_exp"]
        cells = (
            f"{hit.rank}{'=' if hit.tied else ''}",
            hit.document,
            hit.title,
            "not said" if years is None else str(years),
            hit.fields["location"],
        )
        table.add_row(*(Text(cell) for cell in cells))
    more = len(result) - _SHOWN
    table.caption = Text(
        f"{result.completeness}: {len(result)} hits" + (f", {more} more below these" if more > 0 else "")
    )
    table.caption_justify = "left"
    return Padding(table, (0, 0, 0, 3))


def _line(console: Console, text: str, style: str = "") -> None:
    """A line as it is: not wrapped, so that commands can be copied."""
    console.print(Text(text, style=style), soft_wrap=True)
