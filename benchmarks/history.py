"""Searching the past: a search at an earlier commit beside the same search now, the search log, and space per commit.

    python benchmarks/history.py [--rows 100000] [--commits 100] [--queries 20] [--runs 5] [--json FILE]

Medians of the CPU time of this process over all queries and runs, all contenders in turn in each run. The collection is
that of `hybrid.py`, one passage a document, made in one commit; the other commits each replace the same number of
documents by new ones under the same ids, a fifth of all together. A search fuses both arms; the filter leaves 1%.

`now` and `half way` search one commit again and again; a handle keeps what it knows of the last few commits. `first,
now` is the first search after a write, and `first, any commit` one at a commit that the handle has not searched before.
`principal` is a search under a policy, which asks of earlier commits for the fields of then and of now. `no log` is
`now` with the search log off; `writing the log` is what it spends on its record. The order of contenders is turned with
every run. Ratios are over the same search now, of the first kind for the first kind. `space` is what the directory grew
by: for each commit, and over what a document took when the collection was made.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import hybrid  # first: it sets what the libraries read when they are imported

# isort: split

import numpy as np
from rich.console import Console
from rich.progress import Progress

import holdstill
from holdstill.ranking import compiled
from reporting import report

REPLACED = 5  # one document of so many
POLICY = "year >= principal.since"
ANA = {"id": "ana", "attributes": {"since": 1926}}

Spent = dict[tuple[str, str], list[float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--commits", type=int, default=100)
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", type=Path, default=None, help="also write a line for each case and contender")
    arguments = parser.parse_args()
    compiled.warm(lambda done, total: None)
    with tempfile.TemporaryDirectory() as folder:
        with hybrid.collection_of(Path(folder), arguments.rows) as collection:
            questions = list(hybrid.questions(collection, arguments.rows, arguments.queries))
            collection.set_policy(POLICY)
            space = grown(collection, arguments)
        lines = list(described(measured(collection.path, questions, arguments)))
    report(lines, ("median_ms", "min_ms", "max_ms", "ratio"), "over the same search now", arguments.json)
    Console().print(space)


def grown(collection: holdstill.Collection, arguments: argparse.Namespace) -> str:
    """Replace a fifth of the documents, in so many commits; says what space that took."""
    draws = np.random.default_rng(hybrid.SEED + 3)
    made = size(collection.path)
    replaced = arguments.rows // REPLACED
    ids = draws.permutation(arguments.rows)[:replaced]
    with Progress() as progress:
        for batch in progress.track(np.array_split(ids, arguments.commits - 1), description="committing"):
            new = hybrid.documents(draws, 0, len(batch))
            again = [
                holdstill.Document(
                    f"d{number:07d}", each.passages[0].text, fields=each.fields, vector=each.passages[0].vector
                )
                for number, each in zip(batch.tolist(), new, strict=True)
            ]
            collection.add(again, strict=True, operator=True)
    collection.close()
    more = size(collection.path) - made
    of_one = more / replaced
    return (
        f"space: {made / 1e6:,.1f} MB as made, {made / arguments.rows:,.0f} bytes a document; "
        f"{more / (arguments.commits - 1) / 1e3:,.0f} KB a commit of {replaced // (arguments.commits - 1)} documents "
        f"replaced, {of_one:,.0f} bytes each: {of_one * arguments.rows / made:.2f} of what one took"
    )


def size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def measured(path: Path, questions: list[hybrid.Question], arguments: argparse.Namespace) -> Spent:
    """The CPU time of each search, by case and contender."""
    spent: Spent = defaultdict(list)
    half = arguments.commits // 2
    quiet = holdstill.LogSettings(enabled=False)
    with holdstill.open(path) as collection, holdstill.open(path, log=quiet) as unlogged, Progress() as progress:
        recorded = recording(collection)
        writes = 0
        task = progress.add_task("searching", total=arguments.runs * len(questions))
        for run in range(arguments.runs):
            for at, question in enumerate(questions):
                for case, where in hybrid.FILTERS.items():

                    def ask(handle: holdstill.Collection = collection, **more: object) -> None:
                        handle.search(question.text, vector=question.vector, where=where, **more)  # noqa: B023

                    calls = list(contenders(ask, unlogged, half))
                    for contender, call in calls if run % 2 else reversed(calls):
                        recorded.clear()
                        spent[case, contender].append(timed(call))
                        if contender == "now":
                            spent[case, "writing the log"] += recorded
                    commit = 1 + (run * len(questions) + at) * 7 % arguments.commits
                    spent[case, "first, any commit"].append(timed(lambda: ask(at=commit, operator=True)))  # noqa: B023
                    writes += 1
                    collection.update(["d0000000"], fields={"year": writes}, operator=True)
                    spent[case, "first, now"].append(timed(lambda: ask(operator=True)))
                progress.advance(task)
    return spent


def contenders(
    ask: Callable[..., None], unlogged: holdstill.Collection, half: int
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Each asked once before, so that the handle knows the commit and the filter."""
    calls: dict[str, Callable[[], None]] = {
        "now": lambda: ask(operator=True),
        "half way": lambda: ask(at=half, operator=True),
        "principal, now": lambda: ask(principal=ANA),
        "principal, half way": lambda: ask(at=half, principal=ANA),
        "no log": lambda: ask(unlogged, operator=True),
    }
    for call in calls.values():
        call()
    yield from calls.items()


def recording(collection: holdstill.Collection) -> list[float]:
    """Gets the seconds that each search spends on its record."""
    spent: list[float] = []
    record = collection._recorder.record

    def wrapped(*args: object, **options: object) -> object:
        begun = time.process_time()
        try:
            return record(*args, **options)
        finally:
            spent.append(time.process_time() - begun)

    collection._recorder.record = wrapped
    return spent


def timed(call: Callable[[], None]) -> float:
    begun = time.process_time()
    call()
    return time.process_time() - begun


def described(spent: Spent) -> Iterator[dict[str, object]]:
    for (case, contender), seconds in spent.items():
        principal = contender.startswith("principal")
        reference = "first, now" if contender.startswith("first") else "principal, now" if principal else "now"
        yield {
            "case": f"{case} eligible",
            "contender": contender,
            "median_ms": round(statistics.median(seconds) * 1000, 2),
            "min_ms": round(min(seconds) * 1000, 2),
            "max_ms": round(max(seconds) * 1000, 2),
            "recall": None,
            "ratio": round(statistics.median(seconds) / statistics.median(spent[case, reference]), 3),
        }


if __name__ == "__main__":
    main()
