"""Appending to a large collection: what a thousand more documents cost, as a share of building it.

    python benchmarks/appending.py [--rows 1000000] [--appends 20] [--json FILE]

CPU time of this process. The documents are those of `hybrid.py`: a short text, a vector of 384 dimensions that the
caller brings, a year and a section; they are added in batches, so that building includes every merge of segments that
a collection grown in this way has. Each append is one commit of a thousand documents; now and then one merges those
before it, which the maximum shows. `written` is how much of the index an append wrote. Ratios are to building.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import hybrid  # first: it sets what the libraries read when they are imported

# isort: split

import numpy as np
from rich.progress import Progress

import holdstill
from reporting import report

APPENDED = 1_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--appends", type=int, default=20)
    parser.add_argument("--json", type=Path, default=None, help="also write a line for each case and contender")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        begun = time.process_time()
        with hybrid.collection_of(Path(folder), arguments.rows) as collection:
            building = time.process_time() - begun
            spent, written = appended(collection, Path(folder), arguments)
    case = f"{arguments.rows:,} rows"
    lines = [
        line(case, "building", [building], building),
        line(case, f"appending {APPENDED:,}", spent, building) | {"written_mb": statistics.median(written)},
    ]
    report(lines, ("median_ms", "min_ms", "max_ms", "written_mb", "ratio"), "to building", arguments.json)


def appended(
    collection: holdstill.Collection, folder: Path, arguments: argparse.Namespace
) -> tuple[list[float], list[float]]:
    """Seconds and megabytes of the index of each append."""
    draws = np.random.default_rng(hybrid.SEED + 2)
    spent, written = [], []
    with Progress() as progress:
        for at in progress.track(range(arguments.appends), description="appending"):
            more = list(hybrid.documents(draws, arguments.rows + at * APPENDED, APPENDED))
            before, begun = set(folder.rglob("*.seg")), time.process_time()
            collection.add(more, strict=True)
            spent.append(time.process_time() - begun)
            written.append(round(sum(file.stat().st_size for file in set(folder.rglob("*.seg")) - before) / 1e6, 1))
    return spent, written


def line(case: str, contender: str, seconds: list[float], building: float) -> dict[str, object]:
    return {
        "case": case,
        "contender": contender,
        "median_ms": round(statistics.median(seconds) * 1000),
        "min_ms": round(min(seconds) * 1000),
        "max_ms": round(max(seconds) * 1000),
        "recall": None,
        "ratio": round(statistics.median(seconds) / building, 5),
    }


if __name__ == "__main__":
    main()
