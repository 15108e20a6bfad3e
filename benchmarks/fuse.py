"""Rank fusion over a whole table: holdstill, the SQL that it replaces, and polars, side by side.

    python benchmarks/fuse.py [--rows 1000000] [--runs 7] [--ids int|str] [--json FILE]

Medians of the CPU time of this process, all contenders in turn in each run. One core: DuckDB and polars have one
thread, and numpy has no other. Every contender reads the same DuckDB table (polars has it in memory already) and ends
with the columns as numpy arrays: id, two ranks, score. `rows_moved` counts the places where the ids differ from the
reference's. Ratios are the reference's median over the contender's, so that above 1 is faster than the SQL.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

# Read when the libraries are imported.
os.environ["POLARS_MAX_THREADS"] = "1"
for setting in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):  # they would stand for another machine
    os.environ.pop(setting, None)

import duckdb  # noqa: E402
import numpy as np  # noqa: E402

import holdstill  # noqa: E402
from reporting import installed, report  # noqa: E402

COSINE = "array_cosine_similarity(vec, [1.0, 0.0]::FLOAT[2])"
RANKS = ["bm25_rank=bm25_raw desc", f"vector_rank={COSINE} desc"]
SCORE = "1.0 / (60.0 + bm25_rank) + 1.0 / (60.0 + vector_rank) AS rrf_score"
REFERENCE = f"""
WITH b AS (SELECT doc_id, row_number() OVER (ORDER BY bm25_raw DESC, doc_id) AS bm25_rank FROM t),
     v AS (SELECT doc_id, row_number() OVER (ORDER BY {COSINE} DESC, doc_id) AS vector_rank FROM t)
SELECT doc_id, bm25_rank, vector_rank, {SCORE} FROM b JOIN v USING (doc_id) ORDER BY rrf_score DESC, doc_id
"""
WITHOUT_JOIN = f"""
WITH r AS (SELECT doc_id, row_number() OVER (ORDER BY bm25_raw DESC, doc_id) AS bm25_rank,
                  row_number() OVER (ORDER BY {COSINE} DESC, doc_id) AS vector_rank FROM t)
SELECT doc_id, bm25_rank, vector_rank, {SCORE} FROM r ORDER BY rrf_score DESC, doc_id
"""
READ = f"SELECT doc_id, bm25_raw, {COSINE} AS cosine FROM t"
SEED = 20_240_601

Contender = Callable[[], dict[str, np.ndarray]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--ids", choices=["int", "str"], default="int")
    parser.add_argument("--json", type=Path, default=None, help="also write a line for each case and contender")
    arguments = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        connection = made(Path(folder) / "scores.duckdb", arguments.rows, arguments.ids)
        for case, top in (("full", None), ("top 20", 20)):
            lines += measure(case, contenders(connection, top), arguments)
        lines.append(rounding(connection, arguments.rows))
    figures = ("median_ms", "min_ms", "max_ms", "ratio", "rows_moved", "distinct_scores")
    report(lines, figures, "the reference SQL's median over the contender's; above 1 is faster", arguments.json)


def made(path: Path, rows: int, ids: str) -> duckdb.DuckDBPyConnection:
    """A table of scores: ids in no order, BM25 with a long tail, vectors of two dimensions."""
    draws = np.random.default_rng(SEED)
    angles = draws.uniform(0, 2 * np.pi, rows)
    columns = {
        "doc_id": draws.permutation(rows),
        "bm25_raw": draws.gamma(2.0, 4.0, rows),
        "x": np.cos(angles).astype(np.float32),
        "y": np.sin(angles).astype(np.float32),
    }
    connection = duckdb.connect(path, config={"threads": 1})
    connection.register("columns", columns)
    id_ = "doc_id" if ids == "int" else "format('doc-{:07d}', doc_id)"
    connection.execute(f"CREATE TABLE t AS SELECT {id_} AS doc_id, bm25_raw, [x, y]::FLOAT[2] AS vec FROM columns")
    return connection


def contenders(connection: duckdb.DuckDBPyConnection, top: int | None) -> dict[str, Contender]:
    limit = "" if top is None else f" LIMIT {top}"

    def ours() -> dict[str, np.ndarray]:
        fused = holdstill.fuse(connection, table="t", id="doc_id", ranks=RANKS, top=top)
        return {"doc_id": fused.ids, **fused.ranks, "rrf_score": fused.scores}

    found: dict[str, Contender] = {
        "reference SQL": lambda: connection.sql(REFERENCE + limit).fetchnumpy(),
        "holdstill": ours,
        "SQL without the join": lambda: connection.sql(WITHOUT_JOIN + limit).fetchnumpy(),
        "only reading the values": lambda: connection.sql(READ).fetchnumpy(),
    }
    if not installed({"polars": "polars"}):
        return found
    import polars

    frame = polars.DataFrame(dict(connection.sql(READ).fetchnumpy()))
    return found | {"polars, values in memory": lambda: in_polars(frame, top)}


def in_polars(frame, top: int | None) -> dict[str, np.ndarray]:
    import polars as pl

    for name, by in (("bm25_rank", "bm25_raw"), ("vector_rank", "cosine")):
        frame = frame.sort([by, "doc_id"], descending=[True, False]).with_row_index(name, offset=1)
    score = 1.0 / (60.0 + pl.col("bm25_rank")) + 1.0 / (60.0 + pl.col("vector_rank"))
    frame = frame.select("doc_id", "bm25_rank", "vector_rank", score.alias("rrf_score"))
    frame = frame.sort(["rrf_score", "doc_id"], descending=[True, False])
    frame = frame if top is None else frame.head(top)
    return {name: frame[name].to_numpy() for name in frame.columns}


def measure(case: str, found: dict[str, Contender], arguments: argparse.Namespace) -> Iterator[dict[str, object]]:
    spent: dict[str, list[float]] = {name: [] for name in found}
    moved = {}
    for run in range(arguments.runs + 1):  # the first one warms up
        wanted = None
        for name, contender in found.items():
            before = time.process_time()
            columns = contender()
            if run:
                spent[name].append((time.process_time() - before) * 1000)
            elif wanted is None:
                wanted = columns
            if not run and "rrf_score" in columns:
                moved[name] = differing(wanted, columns)
            del columns
    reference = statistics.median(spent["reference SQL"])
    for name, times in spent.items():
        yield {
            "case": case,
            "contender": name,
            "rows": arguments.rows,
            "ids": arguments.ids,
            "median_ms": round(statistics.median(times), 1),
            "min_ms": round(min(times), 1),
            "max_ms": round(max(times), 1),
            "recall": None,
            "ratio": round(reference / statistics.median(times), 2),
            "rows_moved": moved.get(name),
        }


def differing(wanted: dict[str, np.ndarray], columns: dict[str, np.ndarray]) -> int:
    """How many places hold another row, or other ranks, than the reference's."""
    differ = np.zeros(len(wanted["doc_id"]), np.bool_)
    for name in ("doc_id", "bm25_rank", "vector_rank"):
        differ |= np.asarray(wanted[name] != columns[name])
    return int(differ.sum())


def rounding(connection: duckdb.DuckDBPyConnection, rows: int) -> dict[str, object]:
    """What rounding to 6 decimals before ordering does."""
    exact, rounded = (
        holdstill.fuse(connection, table="t", id="doc_id", ranks=RANKS, round=decimals) for decimals in (None, 6)
    )
    return {
        "case": "--round 6",
        "contender": "holdstill",
        "rows": rows,
        "distinct_scores": len(np.unique(rounded.scores)),
        "rows_moved": int(np.count_nonzero(exact.ids != rounded.ids)),
    }


if __name__ == "__main__":
    main()
