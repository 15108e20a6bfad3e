"""A whole hybrid search, stage by stage, and the same ranking in DuckDB's SQL, side by side.

    python benchmarks/hybrid.py [--rows 100000 1000000] [--queries 10] [--runs 3] [--keep DIR] [--json FILE]

Medians of the CPU time of this process over all queries and runs, all contenders in turn in each run, each with one
thread. The collection has one passage a document: a short text of Zipf-distributed words, a clustered vector of 384
dimensions, a year and a section; a query is three words of some text and a vector near some centre. Cases: all
passages, and the 1% that a predicate on year and section selects.

`holdstill` is the call `Collection.search`; its stages are timed by wrapping them from outside, each without those
inside it. Every search evaluates its filter anew, but for the second line: a snapshot keeps the answers of the last
filters. `DuckDB SQL` ranks as holdstill does: BM25 over a table of postings that is sorted by term and knows each
passage's length, the inner product of arrays, two windows of ranks, their fusion, the first ten; it holds all in
memory and fetches no text. `numpy float32` multiplies all vectors, eligible or not, and takes the first ten; `reading
int16` adds up the grid vectors as 64-bit integers. `recall` is the share of holdstill's ids that the SQL gives. Ratios
are a contender's median over that of the whole call: above 1 is slower than holdstill.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

# Read when the libraries are imported.
for setting in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):  # they would stand for another machine
    os.environ.pop(setting, None)
for library in ("OPENBLAS", "OMP", "NUMBA"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

import duckdb  # noqa: E402
import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
from rich.progress import Progress  # noqa: E402

import holdstill  # noqa: E402
from holdstill import search as searching  # noqa: E402
from holdstill.ranking import compiled  # noqa: E402
from holdstill.stores.duckdb.segment import terms_of  # noqa: E402
from holdstill.stores.duckdb.snapshot import DuckDBSnapshot  # noqa: E402
from reporting import report  # noqa: E402

DIMENSIONS = 384
CENTRES = 1000
WORDS = 50_000
SECTIONS = ["abstract", "methods", "data", "results", "discussion", "outlook", "appendix", "notes", "index", "errata"]
BATCH = 50_000
K = 10
SEED = 20_240_601
FILTERS = {"100%": None, "1%": "year >= 2015 and section = 'methods'"}
STAGES = {
    "predicate": (DuckDBSnapshot, "select"),
    "arms": (searching, "arms_of"),
    "fusion": (searching, "fuse"),
    "order of ties": (DuckDBSnapshot, "keys"),
    "fetch": (DuckDBSnapshot, "fetch"),
}


@dataclass(frozen=True)
class Question:
    text: str
    vector: np.ndarray


Contender = Callable[[Question], list[str] | None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--queries", type=int, default=10)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument(
        "--keep", type=Path, default=None, help="keep the collections in this folder, or find them there"
    )
    parser.add_argument("--json", type=Path, default=None, help="also write a line for each case and contender")
    arguments = parser.parse_args()
    compiled.warm(lambda done, total: None)
    timed = Timed()
    lines: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        for rows in arguments.rows:
            with collection_of(arguments.keep or Path(folder), rows) as collection:
                lines += measure(collection, rows, timed, arguments)
    figures = ("median_ms", "min_ms", "max_ms", "recall", "ratio")
    report(lines, figures, "over the median of the whole call; above 1 is slower than holdstill", arguments.json)


# -- the collection ------------------------------------------------------------------------------


def collection_of(folder: Path, rows: int) -> holdstill.Collection:
    """The collection of so many passages: found in the folder, or made there."""
    path = folder / f"hybrid-{rows}.hs"
    if path.exists():
        return holdstill.open(path)
    making = path.with_suffix(".making")
    shutil.rmtree(making, ignore_errors=True)  # left by one that was stopped
    folder.mkdir(parents=True, exist_ok=True)
    with (
        holdstill.create(making, schema={"year": "int", "section": "str"}, vector_model="synthetic") as collection,
        Progress() as progress,
    ):
        task = progress.add_task(f"{rows:,} passages", total=rows)
        draws = np.random.default_rng(SEED)
        for first in range(0, rows, BATCH):
            count = min(BATCH, rows - first)
            collection.add(documents(draws, first, count), strict=True)
            progress.advance(task, count)
    making.rename(path)
    return holdstill.open(path)


def documents(draws: np.random.Generator, first: int, count: int) -> Iterator[holdstill.Document]:
    lengths = draws.integers(10, 31, count)
    texts = np.split(words(draws, int(lengths.sum())), np.cumsum(lengths)[:-1])
    points = vectors(draws, count)
    years, sections = draws.integers(1925, 2025, count).tolist(), draws.integers(len(SECTIONS), size=count).tolist()
    for at in range(count):
        fields = {"year": years[at], "section": SECTIONS[sections[at]]}
        yield holdstill.Document(f"d{first + at:07d}", " ".join(texts[at]), fields=fields, vector=points[at])


def words(draws: np.random.Generator, count: int) -> np.ndarray:
    """Words by Zipf's law as Mandelbrot has it, weight 1 / (rank + 2.7)^1.07, each of three syllables."""
    syllables = [consonant + vowel for consonant in "bcdfghklmnprstvz" for vowel in "aeiou"]
    known = np.array([syllables[n % 80] + syllables[n // 80 % 80] + syllables[n // 6400] for n in range(WORDS)], object)
    weights = np.cumsum((np.arange(WORDS) + 3.7) ** -1.07)
    return known[np.searchsorted(weights, draws.random(count) * weights[-1])]


def vectors(draws: np.random.Generator, count: int) -> np.ndarray:
    """Points around common centres; the variance of their principal directions falls as that of embeddings does."""
    shared = np.random.default_rng(SEED)
    directions, _ = np.linalg.qr(shared.standard_normal((DIMENSIONS, DIMENSIONS)))
    centres = shared.standard_normal((CENTRES, DIMENSIONS))
    points = centres[draws.integers(CENTRES, size=count)] + 0.7 * draws.standard_normal((count, DIMENSIONS))
    return (points / np.sqrt(1 + np.arange(DIMENSIONS))) @ directions


def questions(collection: holdstill.Collection, rows: int, count: int) -> Iterator[Question]:
    draws = np.random.default_rng(SEED + 1)
    for row, vector in zip(draws.integers(rows, size=count), vectors(draws, count), strict=True):
        text = collection.get(f"d{row:07d}").passages[0].text
        yield Question(" ".join(draws.choice(text.split(), 3, replace=False)), vector)


# -- the contenders ------------------------------------------------------------------------------


class Timed:
    """Wraps the stages of a search: CPU milliseconds of the last one by stage, without the stages inside."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = defaultdict(float)
        for stage, (owner, name) in STAGES.items():
            setattr(owner, name, self._wrapped(stage, getattr(owner, name)))

    def _wrapped(self, stage: str, function: Callable[..., object]) -> Callable[..., object]:
        def timed(*args: object, **kwargs: object) -> object:
            inside, before = sum(self.spent.values()), time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                elapsed = (time.process_time() - before) * 1000
                self.spent[stage] += elapsed - (sum(self.spent.values()) - inside)

        return timed


class Reference:
    """The same ranking in SQL, over tables in memory that hold what the collection's index holds."""

    def __init__(self, segments: list[dict[str, np.ndarray]], fields: duckdb.DuckDBPyConnection) -> None:
        self.connection = duckdb.connect(config={"threads": 1})
        self.connection.execute(
            f"CREATE TABLE passages (row INTEGER, year BIGINT, section VARCHAR, vec FLOAT[{DIMENSIONS}]);"
            "CREATE TABLE unsorted (term VARCHAR, row INTEGER, tf INTEGER, length INTEGER)"
        )
        stored = fields.execute(
            "SELECT field_0 AS year, field_1 AS section FROM documents ORDER BY content"
        ).fetchnumpy()
        first = 0
        for segment in segments:
            count = len(segment["lengths"])
            self._insert_passages(
                segment, first, {name: values[first : first + count] for name, values in stored.items()}
            )
            self._insert_postings(segment, first)
            first += count
        lengths = np.concatenate([segment["lengths"] for segment in segments])
        self.passages, self.mean_length = len(lengths), float(lengths.mean())
        self.connection.execute(
            "CREATE TABLE postings AS SELECT * FROM unsorted ORDER BY term, row; DROP TABLE unsorted;"
            "CREATE TABLE terms AS SELECT term, count(*) AS df FROM postings GROUP BY term ORDER BY term"
        )

    def _insert_passages(self, segment: dict[str, np.ndarray], first: int, stored: dict[str, np.ndarray]) -> None:
        flat = pa.array((segment["vectors"].astype(np.float32) / 2**15).reshape(-1))
        rows = np.arange(first, first + len(segment["lengths"]), dtype=np.int32)
        vec = pa.FixedSizeListArray.from_arrays(flat, DIMENSIONS)
        self._insert("passages", {"row": rows, "year": stored["year"], "section": stored["section"], "vec": vec})

    def _insert_postings(self, segment: dict[str, np.ndarray], first: int) -> None:
        terms = np.array([term.decode() for term in terms_of(segment)], object)
        self._insert(
            "unsorted",
            {
                "term": np.repeat(terms, np.diff(segment["posting_ends"])),
                "row": segment["rows"] + np.int32(first),
                "tf": segment["frequencies"],
                "length": segment["lengths"][segment["rows"]],
            },
        )

    def _insert(self, name: str, columns: dict[str, object]) -> None:
        self.connection.register("given", pa.table(columns))
        self.connection.execute(f"INSERT INTO {name} SELECT * FROM given")
        self.connection.unregister("given")

    def search(self, question: Question, where: str | None) -> list[str]:
        eligible = "" if where is None else f"WHERE {where}"
        held = "" if where is None else f"AND row IN (SELECT row FROM passages WHERE {where})"
        found = self.connection.execute(
            f"""
            WITH words AS (
                SELECT row, sum(ln(1 + ($n - df + 0.5) / (df + 0.5))
                                * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / $mean))) AS score
                FROM postings JOIN terms USING (term) WHERE term IN (SELECT unnest($terms)) {held} GROUP BY row),
            w AS (SELECT row, rank() OVER (ORDER BY score DESC) AS place FROM words),
            v AS (SELECT row, rank() OVER (ORDER BY array_inner_product(vec, $vec::FLOAT[{DIMENSIONS}]) DESC) AS place
                  FROM passages {eligible})
            SELECT v.row FROM v LEFT JOIN w USING (row)
            ORDER BY 1.0 / (60 + v.place) + coalesce(1.0 / (60 + w.place), 0.0) DESC, v.row LIMIT {K}
            """,
            {
                "n": self.passages,
                "mean": self.mean_length,
                "terms": sorted(set(question.text.split())),
                "vec": question.vector.tolist(),
            },
        ).fetchall()
        return [f"d{row:07d}#0" for (row,) in found]


def measure(
    collection: holdstill.Collection, rows: int, timed: Timed, arguments: argparse.Namespace
) -> Iterator[dict[str, object]]:
    connection = collection._store._connection
    connection._connection.execute("SET threads = 1")
    segments = [dict(segment) for segment in collection._store.snapshot().index.segments]
    with connection.reading() as cursor:
        reference = Reference(segments, cursor)
    asked = list(questions(collection, rows, arguments.queries))
    for share, where in FILTERS.items():
        case = f"{rows:,} rows, {share}"
        found = contenders(collection, reference, [segment["vectors"] for segment in segments], where)
        spent: dict[str, list[float]] = defaultdict(list)
        for run in shown(range(arguments.runs + 1), case):
            ids: dict[str, list[list[str] | None]] = defaultdict(list)
            for name, contender in found.items():
                for question in asked:
                    timed.spent.clear()
                    before = time.process_time()
                    ids[name].append(contender(question))
                    whole = (time.process_time() - before) * 1000
                    if run:  # the first one warms up
                        spent[name].append(whole)
                    if run and name == "holdstill":
                        for stage in STAGES:
                            spent[f"holdstill: {stage}"].append(timed.spent[stage])
                        spent["holdstill: the rest"].append(whole - sum(timed.spent.values()))
        pairs = zip(ids["holdstill"], ids["DuckDB SQL"], strict=True)
        recall = statistics.mean(len({*ours} & {*theirs}) / K for ours, theirs in pairs)
        yield from described(case, spent, recall)


def shown(runs: range, label: str) -> Iterator[int]:
    """The runs, with a bar that moves between them: a thread that moved it meanwhile would count as CPU time."""
    with Progress(auto_refresh=False) as progress:
        task = progress.add_task(label, total=len(runs))
        for run in runs:
            yield run
            progress.update(task, advance=1, refresh=True)


def contenders(
    collection: holdstill.Collection, reference: Reference, grids: list[np.ndarray], where: str | None
) -> dict[str, Contender]:
    floats = np.concatenate(grids).astype(np.float32)

    def again(question: Question) -> list[str]:
        return [hit.id for hit in collection.search(question.text, vector=question.vector, where=where, k=K)]

    def whole(question: Question) -> list[str]:
        kept = collection._store.snapshot()._selector
        for answers in (kept._true, kept._undecided):
            answers.cache_clear()
        return again(question)

    def scan(question: Question) -> None:
        scores = floats @ question.vector.astype(np.float32)
        np.argpartition(scores, -K)[-K:]

    def read(question: Question) -> None:
        for grid in grids:
            grid.view(np.int64).sum()

    return {
        "holdstill": whole,
        "holdstill, a filter asked before": again,
        "DuckDB SQL": lambda question: reference.search(question, where),
        "numpy float32": scan,
        "reading int16": read,
    }


def described(case: str, spent: dict[str, list[float]], recall: float) -> Iterator[dict[str, object]]:
    whole = statistics.median(spent["holdstill"])
    for name, times in sorted(spent.items(), key=lambda item: not item[0].startswith("holdstill")):
        yield {
            "case": case,
            "contender": name,
            "median_ms": round(statistics.median(times), 2),
            "min_ms": round(min(times), 2),
            "max_ms": round(max(times), 2),
            "recall": round(recall, 3) if name == "DuckDB SQL" else None,
            "ratio": round(statistics.median(times) / whole, 2),
        }


if __name__ == "__main__":
    main()
