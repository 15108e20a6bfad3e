"""What a command costs from the shell: processor time of fresh processes, all in all.

    python benchmarks/startup.py [--rows 100000] [--runs 5] [--json FILE]

User and system time of the child process. The collections are of the bundled model, which every search loads to embed
its question; their own vectors are random, since embedding so many texts would take long. In each run the first search
finds no compiled kernels (it compiles them, where the collection is large), and the second finds those of the first.
Ratios are the median over that of `import numpy`, in the same run: they hold on a slower machine too.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

for setting in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):  # they would stand for another machine
    os.environ.pop(setting, None)

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.progress import track  # noqa: E402

import holdstill as hs  # noqa: E402
from holdstill.embedding.minilm import MINILM  # noqa: E402
from reporting import report  # noqa: E402

SMALL = 5_000
WORDS = 30  # in a passage
SEED = 20_240_601

Measured = dict[tuple[str, str], list[float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000, help="passages of the large collection")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", type=Path, default=None, help="also write a line for each case and contender")
    arguments = parser.parse_args()
    measured: Measured = {}
    with tempfile.TemporaryDirectory() as folder:
        collections = [made(Path(folder) / f"{rows}.hs", rows) for rows in (SMALL, arguments.rows)]
        for run in track(range(arguments.runs), "measuring", console=Console(stderr=True)):
            for case, contender, spent in measure(collections, Path(folder) / f"cache-{run}"):
                measured.setdefault((case, contender), []).append(spent)
    lines = list(described(measured))
    report(lines, ("median_ms", "min_ms", "max_ms", "ratio"), "over importing numpy", arguments.json)


def made(path: Path, rows: int) -> Path:
    """A collection of the bundled model: Zipf's words, random unit vectors."""
    draws = np.random.default_rng(SEED)
    words = draws.zipf(1.2, (rows, WORDS)) % 50_000
    MINILM.embed = lambda texts: draws.standard_normal((len(texts), MINILM.dimensions))  # type: ignore[method-assign]
    with hs.create(path) as collection:
        collection.add(hs.Document(f"d{at}", " ".join(f"w{word}" for word in row)) for at, row in enumerate(words))
    return path


def measure(collections: list[Path], cache: Path) -> Iterator[tuple[str, str, float]]:
    yield "any", "import numpy", seconds(cache, "-c", "import numpy")
    yield "any", "import holdstill", seconds(cache, "-c", "import holdstill")
    yield "any", "holdstill --help", seconds(cache, "-m", "holdstill.cli", "--help")
    for path in collections:
        case = f"{int(path.stem):,} passages"
        search = ("-m", "holdstill.cli", "search", str(path), "w17 w300 and words that nobody wrote")
        yield case, "first search", seconds(cache, *search)
        yield case, "second search", seconds(cache, *search)
        yield case, "search without kernels", seconds(cache, *search, NUMBA_DISABLE_JIT="1")


def seconds(cache: Path, *words: str, **settings: str) -> float:
    """The processor time of a Python process, to its end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)} | settings
    subprocess.run([sys.executable, *words], env=environment, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def described(measured: Measured) -> Iterator[dict[str, object]]:
    reference = statistics.median(measured["any", "import numpy"])
    for (case, contender), times in measured.items():
        yield {
            "case": case,
            "contender": contender,
            "median_ms": round(statistics.median(times) * 1000, 1),
            "min_ms": round(min(times) * 1000, 1),
            "max_ms": round(max(times) * 1000, 1),
            "recall": None,
            "ratio": round(statistics.median(times) / reference, 2),
        }


if __name__ == "__main__":
    main()
