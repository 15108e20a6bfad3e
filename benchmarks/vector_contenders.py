"""Those who compete in `benchmarks/vectors.py`. Each gets the same rows and, for every query, the same boolean filter.

What a contender makes of the filter (row numbers, a bitmap) is part of its time; only DuckDB has it as a column of its
table already. One thread for all.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from holdstill.ranking import cascade, dense, ranks
from holdstill.ranking.codes import Codes
from holdstill.ranking.dense import Block

UNITS = np.float32(2**-15)  # of the grid
EFFORTS = (64, 128, 256, 512, 1024, 2048)  # efSearch
LINKS, CONSTRUCTION = 32, 100  # of the HNSW: M and efConstruction
STEP = 20_000  # rows converted at a time
GATHERED = 256  # rows multiplied at a time: what a core's cache holds


Filters = dict[str, NDArray[np.bool_]]
Contender = Callable[["Asked"], NDArray[Any]]  # gives row numbers, -1 for none, in any order


@dataclass(frozen=True)
class Asked:
    """One question: the query on the grid and as floats, what is eligible, and how many rows are wanted."""

    query: NDArray[np.int16]
    floats: NDArray[np.float32]
    eligible: NDArray[np.bool_]
    column: str | None  # where DuckDB finds the filter; None: everything is eligible
    k: int


@dataclass(frozen=True)
class Files:
    """What a contender is made from: the rows on the grid, the folder of our codes, and where the HNSW is kept."""

    rows: Path
    codes: Path
    hnsw: Path

    @property
    def shape(self) -> tuple[int, int]:
        rows, dimensions = np.load(self.rows, mmap_mode="r").shape
        return rows, dimensions

    def block(self) -> Block:
        """Rows and codes as a collection has them: memory-mapped."""
        arrays = {path.stem: np.load(path, mmap_mode="r") for path in sorted(self.codes.glob("*.npy"))}
        return Block(0, np.load(self.rows, mmap_mode="r"), Codes.of(arrays))

    def stretches(self) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """The rows as floats. The file is opened anew for each, so that its pages count as nobody's memory."""
        for start in range(0, self.shape[0], STEP):
            yield start, np.load(self.rows, mmap_mode="r")[start : start + STEP] * UNITS


def ours(files: Files) -> Contender:
    block = files.block()
    return lambda asked: cascade.nearest([block], asked.query, asked.eligible, asked.k)[0]


def every_row(files: Files) -> Contender:
    """Ours without codes: the canonical score of every eligible row."""
    block = files.block()

    def search(asked: Asked) -> NDArray[Any]:
        scores = dense.scores([block], asked.query, asked.eligible)
        return np.flatnonzero(asked.eligible)[ranks.top(scores, asked.k)]

    return search


def in_numpy(files: Files) -> Contender:
    """The same without compiled kernels: what serves before they are there."""
    vectors = files.block().vectors

    def search(asked: Asked) -> NDArray[Any]:
        rows = np.flatnonzero(asked.eligible)
        return rows[ranks.top(dense.of_rows(vectors, asked.query, rows, None), asked.k)]

    return search


def reading(files: Files) -> Contender:
    """No search: the time to add up, as 64-bit integers, as many bytes as ours reads of every row."""
    memory = np.ones(sum(array.nbytes for array in scanned(files.block())) // 8, np.int64)
    return lambda _: np.array([memory.sum()])


def scanned(block: Block) -> list[NDArray[Any]]:
    """What ours reads of every row, the filter aside."""
    codes = block.codes
    if codes is None:
        return [block.vectors]
    return [codes.leading, codes.lengths]


def numpy_scan(files: Files) -> Contender:
    """All rows in one product; under a filter, the eligible ones gathered into the cache a few at a time."""
    matrix = np.empty(files.shape, np.float32)
    for start, part in files.stretches():
        matrix[start : start + len(part)] = part
    gathered = np.empty((GATHERED, matrix.shape[1]), np.float32)

    def search(asked: Asked) -> NDArray[Any]:
        if asked.column is None:
            return highest(matrix @ asked.floats, asked.k)
        rows = np.flatnonzero(asked.eligible)
        scores = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), GATHERED):
            some = rows[start : start + GATHERED]
            part = np.take(matrix, some, axis=0, out=gathered[: len(some)], mode="clip")
            np.dot(part, asked.floats, out=scores[start : start + len(some)])
        return rows[highest(scores, asked.k)]

    return search


def highest(scores: NDArray[np.float32], k: int) -> NDArray[np.intp]:
    k = min(k, len(scores))
    return np.flatnonzero(scores >= np.partition(scores, len(scores) - k)[len(scores) - k])[:k]


def faiss_flat(files: Files) -> dict[str, Contender]:
    """With each of two selectors: the bitmap is tested for every row, the array of ids is walked."""
    faiss = _faiss()
    index = faiss.IndexFlatIP(files.shape[1])
    for _, part in files.stretches():
        index.add(part)
    return {
        "faiss flat, ids": _faiss_search(index, faiss.SearchParameters, lambda asked: _ids(faiss, asked)),
        "faiss flat, bitmap": _faiss_search(index, faiss.SearchParameters, lambda asked: _bitmap(faiss, asked)),
    }


def faiss_hnsw(files: Files) -> dict[str, Contender]:
    """One for each effort. Building takes long, so the index is kept."""
    faiss = _faiss()
    if not files.hnsw.exists():
        built = faiss.IndexHNSWFlat(files.shape[1], LINKS, faiss.METRIC_INNER_PRODUCT)
        built.hnsw.efConstruction = CONSTRUCTION
        steps = -(-files.shape[0] // STEP)
        for _, part in track(files.stretches(), "building HNSW", steps, console=Console(stderr=True)):
            built.add(part)
        unfinished = files.hnsw.with_suffix(".unfinished")
        faiss.write_index(built, str(unfinished))
        unfinished.replace(files.hnsw)
    index = faiss.read_index(str(files.hnsw))

    def searching(effort: int) -> Contender:
        def parameters(sel: Any = None) -> Any:
            return faiss.SearchParametersHNSW(efSearch=effort, sel=sel)

        return _faiss_search(index, parameters, lambda asked: _bitmap(faiss, asked))

    return {f"faiss HNSW, efSearch {effort}": searching(effort) for effort in EFFORTS}


def _faiss() -> Any:
    faiss = importlib.import_module("faiss")
    faiss.omp_set_num_threads(1)
    return faiss


def _faiss_search(index: Any, parameters: Callable[..., Any], selector: Callable[[Asked], Any]) -> Contender:
    def search(asked: Asked) -> NDArray[Any]:
        # The parameters do not keep the selector alive, so it has a name.
        chosen = None if asked.column is None else selector(asked)
        found = parameters() if chosen is None else parameters(sel=chosen)
        return index.search(asked.floats[None], asked.k, params=found)[1][0]

    return search


def _ids(faiss: Any, asked: Asked) -> Any:
    return faiss.IDSelectorArray(np.flatnonzero(asked.eligible))


def _bitmap(faiss: Any, asked: Asked) -> Any:
    return faiss.IDSelectorBitmap(np.packbits(asked.eligible, bitorder="little"))


def duckdb_scan(files: Files, filters: Filters) -> Contender:
    """A table in memory: `vec FLOAT[d]`, and a boolean column for each filter."""
    import duckdb
    import pyarrow

    connection = duckdb.connect(config={"threads": 1})
    for start, part in files.stretches():
        stop, dimensions = start + len(part), part.shape[1]
        stretch = pyarrow.table(
            {
                "row": np.arange(start, stop),
                "vec": pyarrow.FixedSizeListArray.from_arrays(part.reshape(-1), dimensions),
                **{name: eligible[start:stop] for name, eligible in filters.items()},
            }
        )
        connection.register("stretch", stretch)
        connection.execute("INSERT INTO t FROM stretch" if start else "CREATE TABLE t AS FROM stretch")

    def search(asked: Asked) -> NDArray[Any]:
        cosine = f"array_cosine_similarity(vec, ?::FLOAT[{len(asked.floats)}])"
        where = "" if asked.column is None else f'WHERE "{asked.column}"'
        select = f"SELECT row FROM t {where} ORDER BY {cosine} DESC LIMIT {asked.k}"
        return connection.execute(select, [asked.floats.tolist()]).fetchnumpy()["row"]

    return search
