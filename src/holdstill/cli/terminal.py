"""What people and programs see: neutral text, a console, one JSON object, progress."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from holdstill.stores.base import Progress

# What could move the cursor, change colours or the clipboard, hide text, or turn its direction: control characters,
# line and paragraph separators, bidirectional controls, invisible and tag characters, lone surrogates. The joiners
# U+200C and U+200D stay, since Persian and emoji are spelled with them.
_ACTIVE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)


def neutral(text: str) -> str:
    """The text on one line, with whatever a terminal would act on written out: an escape becomes `\\x1b`."""
    return _ACTIVE.sub(_written_out, text)


def neutral_lines(text: str) -> str:
    """The text with its line breaks kept and its tabs made spaces; the rest as `neutral` has it."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(neutral(line.expandtabs(4)) for line in lines)


def shortened(text: str, width: int) -> str:
    """The text in neutral form, blanks collapsed, cut to a number of characters."""
    flat = " ".join(text[: width * 4].split())
    cut = flat[: width - 3].rstrip() + "..." if len(flat) > width else flat
    return neutral(cut)


def counted(count: int, what: str) -> str:
    """A number of things, each of which is called `what`."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _written_out(match: re.Match[str]) -> str:
    character: str = match[0]
    return character.encode("unicode_escape").decode("ascii")


def emit(payload: Mapping[str, Any]) -> None:
    """Print one JSON object on one line: UTF-8 whatever the locale, since JSON knows no other encoding.

    What a terminal would act on is escaped, which reads back as the same text.
    """
    line = json.dumps(payload, ensure_ascii=False, allow_nan=False)
    line = _ACTIVE.sub(lambda match: json.dumps(match[0])[1:-1], line)
    sys.stdout.flush()
    sys.stdout.buffer.write(line.encode() + b"\n")
    sys.stdout.buffer.flush()


def console(*, stderr: bool = False) -> Console:
    """A console that reads nothing in what it prints as markup; without colours where it is no terminal."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


def styled(value: str, style: str = "") -> Text:
    """Text to be printed, in neutral form; line breaks are kept."""
    from rich.text import Text

    return Text(neutral_lines(value), style=style)


def print_pairs(console: Console, pairs: Mapping[str, object], indent: int = 0) -> None:
    """Names and values, aligned, a line for each."""
    width = max(map(len, pairs), default=0)
    for name, value in pairs.items():
        print_indented(console, f"{name:<{width}}  {value}", indent, hang=width + 2)


def print_indented(console: Console, value: str, indent: int, *, hang: int = 0, style: str = "") -> None:
    """Text on one line, wrapped at the width of the console: indented, and from the second line on by `hang` more."""
    print_hanging(console, styled(value, style), indent, hang=hang)


def print_hanging(console: Console, line: Text, indent: int, *, hang: int) -> None:
    """The same of text that has its styles already."""
    from rich.text import Text

    # Paths, ids and digests stay whole, however long; scripts without spaces have to be broken somewhere.
    line.overflow = "ignore" if line.plain.isascii() else "fold"
    head, rest = line.divide([min(hang, len(line))])
    margin = Text(" " * indent).append_text(head)
    for part in rest.wrap(console, max(20, console.width - indent - hang)):
        part.rstrip()
        console.print(margin.append_text(part), soft_wrap=True)
        margin = Text(" " * (indent + hang))


def print_table(
    console: Console, columns: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str] = ()
) -> None:
    """A table without lines; cells in neutral form. `styles` are those of the rows, where some have any."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold")
    for row, style in zip_longest(rows, styles, fillvalue=""):
        table.add_row(*(styled(cell) for cell in row), style=style)
    console.print(table)


@contextmanager
def progress() -> Iterator[Progress | None]:
    """Bars on stderr where that is a terminal, and nothing where it is not; a total of 0 is one that is not known."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total or None)
            bars.update(tasks[what], completed=done, total=total or None)

        yield show
