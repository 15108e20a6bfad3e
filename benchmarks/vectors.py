"""Exact nearest rows: holdstill, brute force, faiss and DuckDB, side by side in one run.

    python benchmarks/vectors.py [--rows 1000000] [--dimensions 384,768,1536,3072] [--only NAME,...] [--json FILE]

All rows have 384 dimensions, a fifth as many have more; `realistic.py` says what they are. Medians of this process's
CPU time over queries and runs, on one thread, everyone in turn for every query, each with a cold cache, as after a
question was embedded; DuckDB and our numpy path are slow and asked fewer queries. `recall`: the share of the first k
that a contender finds; a row is right if it scores as high as the k-th of the canonical ranking. Ours must be that
ranking and its ties to the row, or the benchmark stops. `ratio`: the contender's median over ours, so that above 1 is
slower. `reading` adds up as many bytes as ours reads of every row. `peak_mb`: the most memory (VmHWM) of a process of
its own that loads the contender's index and asks three questions, or makes the codes; pages of memory-mapped files
count. Our kernels are compiled beforehand.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

# Read when the libraries are imported.
for setting in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[setting] = "1"
for setting in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):  # they would stand for another machine
    os.environ.pop(setting, None)

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from rich.console import Console  # noqa: E402

import realistic  # noqa: E402
import vector_contenders as field  # noqa: E402
from holdstill.ranking import codes, compiled, dense, grid, ranks  # noqa: E402
from reporting import installed, report  # noqa: E402

OURS, EVERY_ROW, IN_NUMPY, READING = "holdstill", "our scan of all", "our numpy path", "reading"
FLAT, HNSW, DUCKDB = "faiss flat", "faiss HNSW", "DuckDB"
MAKERS: dict[str, Callable[[field.Files, field.Filters], dict[str, field.Contender]]] = {
    OURS: lambda files, _: {OURS: field.ours(files)},
    READING: lambda files, _: {READING: field.reading(files)},
    "numpy float32": lambda files, _: {"numpy float32": field.numpy_scan(files)},
    FLAT: lambda files, _: field.faiss_flat(files),
    HNSW: lambda files, _: field.faiss_hnsw(files),
    EVERY_ROW: lambda files, _: {EVERY_ROW: field.every_row(files)},
    IN_NUMPY: lambda files, _: {IN_NUMPY: field.in_numpy(files)},
    DUCKDB: lambda files, filters: {DUCKDB: field.duckdb_scan(files, filters)},
}
MODULES = {FLAT: "faiss", HNSW: "faiss", DUCKDB: "pyarrow"}  # those that are not installed are left out
EXACT = (OURS, EVERY_ROW, IN_NUMPY)
ONLY_NARROW = (HNSW, IN_NUMPY, DUCKDB)
SLOW, FEW = (IN_NUMPY, DUCKDB), 5  # queries that the slow ones are asked
SHARES = {"10% random": 0.1, "1% random": 0.01, "0.1% random": 0.001}
EVERYTHING = "100%"
WIDE = (EVERYTHING, "1% random")  # the filters for more dimensions
HUNDREDTH = 100
CACHE = 2**26  # bytes: more than a processor's cache holds
QUANTILES, SAMPLE = (5, 25, 50, 75, 95), 200  # of the cosines of so many rows with their nearest
Result = TypeVar("Result")
FIGURES = ("median_ms", "min_ms", "max_ms", "recall", "ratio", "bytes_per_vector", "peak_mb")


@dataclass(frozen=True)
class Setting:
    """The questions, each with the canonical scores of all rows, and what is eligible for each by filter."""

    queries: NDArray[np.int16]
    scores: list[NDArray[np.int64]]
    filters: dict[str, list[NDArray[np.bool_]]]

    def asked(self, case: str, number: int, k: int) -> field.Asked:
        query = self.queries[number]
        column = None if case == EVERYTHING else f"{case} {number}"
        return field.Asked(query, query * field.UNITS, self.filters[case][number], column, k)

    def columns(self) -> field.Filters:
        """The filters of the questions that slow contenders are asked."""
        return {f"{case} {number}": some[number] for case, some in self.filters.items() for number in range(FEW)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--dimensions", default="384,768,1536,3072", help="multiples of 384")
    parser.add_argument("--queries", type=int, default=25)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--real", type=int, default=24_000, help="real embeddings among the rows, some 100 a second")
    parser.add_argument("--only", default="", help=f"beside ours, of: {', '.join(MAKERS)}")
    parser.add_argument("--data", type=Path, default=realistic.DATA, help="the folder of texts")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "holdstill-vectors")
    parser.add_argument("--json", type=Path, default=None, help="also write a line for each case and contender")
    arguments = parser.parse_args()
    if unknown := set(filter(None, arguments.only.split(","))) - set(MAKERS):
        parser.error(f"--only {', '.join(unknown)}: there are {', '.join(MAKERS)}")
    if arguments.rows // 5 <= compiled.LARGE:
        parser.error(f"--rows: more than {5 * compiled.LARGE:,}, for the kernels to serve a fifth of them")
    if fault := compiled.warm(lambda _, __: None).fault:
        sys.exit(f"our kernels cannot be used: {fault}")
    real = realistic.rows(arguments.cache, arguments.data, arguments.real)
    questions = realistic.queries(arguments.cache, arguments.data, max(FEW, arguments.queries))
    cloud = realistic.Cloud(real)
    lines: list[dict[str, object]] = []
    for dimensions in map(int, arguments.dimensions.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            lines += measured(arguments, cloud, questions, dimensions // realistic.DIMENSIONS, Path(folder))
    report(lines, FIGURES, "over holdstill's median; above 1 is slower than holdstill", arguments.json)


def measured(
    arguments: argparse.Namespace,
    cloud: realistic.Cloud,
    questions: NDArray[np.float32],
    times: int,
    folder: Path,
) -> Iterator[dict[str, object]]:
    """The lines of all cases in so many times the model's dimensions."""
    narrow = times == 1
    count = arguments.rows if narrow else arguments.rows // 5
    dimensions = times * realistic.DIMENSIONS
    about: dict[str, object] = {"rows": count, "dimensions": dimensions}
    title = f"{count:,} x {dimensions}"
    path = arguments.cache / f"rows-{count}x{dimensions}-{len(cloud.real)}.npy"
    kept = arguments.cache / f"hnsw-{field.LINKS}-{field.CONSTRUCTION}-{path.stem}.faiss"
    files = field.Files(path, folder, kept)
    rows = realistic.grid_rows(path, cloud, count, times)
    queries = grid.to_grid(cloud.widened(questions, times, np.random.default_rng(realistic.SEED + 1)))
    made = apart(coded, files)
    yield about | made | {"case": f"{title}, {made['case']}"}
    names = chosen(arguments.only, narrow)
    peaks = {name: apart(loaded, name, files, queries[:3]) for name in names}
    sizes = {name: {"bytes_per_vector": bytes_of(name, files), "peak_mb": peaks[name]} for name in names}
    setting = prepared(rows, queries, narrow)
    if narrow:
        Console().print(likeness(cloud, rows, questions, setting))
    found = {name: MAKERS[name](files, setting.columns()) for name in names}
    for case in setting.filters:
        for k in (10, 100) if narrow else (10,):
            for name, line in compared(setting, found, case, k, arguments.runs):
                yield about | line | sizes[name] | {"case": f"{title}, {case}, k = {k}"}


def chosen(only: str, narrow: bool) -> list[str]:
    wanted = {OURS, *(only.split(",") if only else MAKERS)}
    possible = [name for name in MAKERS if narrow or name not in ONLY_NARROW]
    return installed({name: MODULES.get(name, "numpy") for name in possible if name in wanted})


def likeness(cloud: realistic.Cloud, rows: NDArray[np.int16], questions: NDArray[np.float32], setting: Setting) -> str:
    """How like real ones the rows are."""
    among = realistic.nearest(rows, SAMPLE) * field.UNITS**2
    rows_real, rows_all = (numbers(np.percentile(each, QUANTILES)) for each in (cloud.nearness, among))
    best = np.sort(questions @ cloud.real.T, axis=1), np.sort(setting.scores, axis=1) * 2.0**-30
    questions_real, questions_all = (numbers(np.median(each[:, [-1, -10, -100]], axis=0)) for each in best)
    return (
        f"{len(cloud.real):,} real embeddings, {len(rows) - len(cloud.real):,} sampled around them.\n"
        f"Cosine of a row and its nearest, quantiles {QUANTILES} %: {rows_real} real, {rows_all} all.\n"
        f"Cosine of a query and its 1st, 10th, 100th row, medians: {questions_real} real, {questions_all} all."
    )


def numbers(values: NDArray[Any]) -> str:
    return " ".join(f"{value:.2f}" for value in values)


def apart(work: Callable[..., Result], *arguments: Any) -> Result:
    """What the function returns in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)


def coded(files: field.Files) -> dict[str, object]:
    """Make our codes and leave them in their folder."""
    rows = np.load(files.rows, mmap_mode="r")
    before = time.process_time()
    made = codes.encode(rows)
    spent = round((time.process_time() - before) * 1000)
    line = {"case": "making the codes", "contender": OURS, "k": None, "peak_mb": peak()}
    for name, array in made.arrays().items() if made else ():
        np.save(files.codes / f"{name}.npy", array)
    return line | {"median_ms": spent, "min_ms": spent, "max_ms": spent, "recall": None, "ratio": None}


def loaded(name: str, files: field.Files, queries: NDArray[np.int16]) -> int | None:
    """The peak of three questions to a contender."""
    everything = np.ones(files.shape[0], np.bool_)
    for contender in MAKERS[name](files, {}).values():
        for query in queries:
            contender(field.Asked(query, query * field.UNITS, everything, None, 10))
    return peak()


def peak() -> int | None:
    """The most memory that this process has had, in MB; None where there is no /proc."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024 // 10**6


def bytes_of(name: str, files: field.Files) -> int | None:
    """What is kept for every vector."""
    count, dimensions = files.shape
    if name == OURS:
        return (files.rows.stat().st_size + sum(path.stat().st_size for path in files.codes.iterdir())) // count
    if name == HNSW:
        return files.hnsw.stat().st_size // count if files.hnsw.exists() else None
    return {READING: None, DUCKDB: None, EVERY_ROW: 2 * dimensions, IN_NUMPY: 2 * dimensions}.get(name, 4 * dimensions)


def prepared(rows: NDArray[np.int16], queries: NDArray[np.int16], narrow: bool) -> Setting:
    everything = np.ones(len(rows), np.bool_)
    scores = [dense.scores([dense.Block(0, rows, None)], query, everything) for query in queries]
    draws = np.random.default_rng(realistic.SEED)
    filters = {EVERYTHING: [everything] * len(queries)}
    for case, share in SHARES.items():
        filters[case] = [draws.random(len(rows)) < share] * len(queries)
    few = len(rows) // HUNDREDTH
    filters["1% nearest"] = [some >= np.partition(some, -few)[-few] for some in scores]
    filters["1% farthest"] = [some <= np.partition(some, few - 1)[few - 1] for some in scores]
    return Setting(queries, scores, filters if narrow else {case: filters[case] for case in WIDE})


def compared(
    setting: Setting, found: dict[str, dict[str, field.Contender]], case: str, k: int, runs: int
) -> Iterator[tuple[str, dict[str, object]]]:
    spent: dict[tuple[str, str], list[float]] = {(name, each): [] for name, some in found.items() for each in some}
    recalls: dict[tuple[str, str], list[float]] = {key: [] for key in spent}
    swept = np.ones(CACHE // 8, np.int64)
    for run in range(runs + 1):  # the first one warms up, and is checked
        for number in range(len(setting.queries)):
            asked = setting.asked(case, number, k)
            for name, each in spent:
                if (name in SLOW and number >= FEW) or (name == READING and case != EVERYTHING):
                    continue
                swept.sum()
                before = time.process_time()
                rows = found[name][each](asked)
                if run:
                    spent[name, each].append((time.process_time() - before) * 1000)
                elif name != READING:
                    recalls[name, each].append(recall(setting.scores[number], asked, rows, exact=name in EXACT))
    reference = statistics.median(spent[OURS, OURS])
    for (name, each), times in spent.items():
        if times:
            right = recalls[name, each]
            line = {"case": case, "contender": each, "k": k, **figures(times, reference)}
            yield name, line | {"recall": round(statistics.mean(right), 4) if right else None}


def figures(times: list[float], reference: float) -> dict[str, object]:
    median = statistics.median(times)
    return {
        "median_ms": round(median, 3),
        "min_ms": round(min(times), 3),
        "max_ms": round(max(times), 3),
        "ratio": round(median / reference, 2),
    }


def recall(scores: NDArray[np.int64], asked: field.Asked, rows: NDArray[Any], *, exact: bool) -> float:
    """The share of the first k that is among the rows. With `exact`, nothing may be missing, and nothing else there."""
    eligible = np.flatnonzero(asked.eligible)
    right = eligible[ranks.top(scores[eligible], asked.k)]
    if exact and not np.array_equal(np.sort(rows), right):
        sys.exit(f"holdstill is not exact: {sorted(set(rows.tolist()) ^ set(right.tolist()))}")
    first = min(asked.k, len(right))
    return min(first, len(np.intersect1d(rows, right))) / first


if __name__ == "__main__":
    main()
