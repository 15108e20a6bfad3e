"""What every benchmark ends with: a table for each case, and a file of JSON lines."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

Line = Mapping[str, object]

#: In every line, null where it does not apply; further keys follow.
KEYS = ("case", "contender", "median_ms", "min_ms", "max_ms", "recall", "ratio")
HEADINGS = {"median_ms": "median", "min_ms": "min", "max_ms": "max"}


def report(lines: Sequence[Line], figures: Sequence[str], ratio: str, path: Path | None) -> None:
    """Print the lines and, if a path is given, write them there.

    Args:
        figures: the keys to print, in order.
        ratio: what the ratio is, in words.
        path: gets a JSON line for each.
    """
    console = Console()
    tables: dict[object, Table] = {}
    for line in lines:
        if line["case"] not in tables:
            tables[line["case"]] = Table("contender", title=str(line["case"]), title_justify="left")
            for figure in figures:
                tables[line["case"]].add_column(HEADINGS.get(figure, figure), justify="right")
        values = ("" if line.get(figure) is None else f"{line[figure]:,}" for figure in figures)
        tables[line["case"]].add_row(str(line["contender"]), *values)
    console.print(*tables.values(), f"median, min and max: milliseconds of CPU time. ratio: {ratio}.")
    if path is not None:
        path.write_text("".join(json.dumps(dict.fromkeys(KEYS) | dict(line)) + "\n" for line in lines))


def installed(contenders: Mapping[str, str]) -> list[str]:
    """Of contenders and their modules, the contenders that are installed; says which are not."""
    there = [name for name, module in contenders.items() if importlib.util.find_spec(module)]
    left_out(sorted({contenders[name] for name in contenders if name not in there}))
    return there


def left_out(modules: Iterable[str]) -> None:
    for module in modules:
        Console(stderr=True).print(f"{module} is not installed: left out. `pip install -e '.[benchmarks]'` brings it")
