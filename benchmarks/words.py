"""BM25 top-10 over a million short texts: holdstill, tantivy and bm25s, side by side.

    python benchmarks/words.py [--rows 1000000] [--queries 100] [--runs 5] [--json FILE]

The texts are runs of 10 to 30 words of the real texts in ../shared, or, where there are none or too few, of words drawn
by their frequencies (Zipf's, where there are none); the output says how many words are real. A query is 2 to 5 words of
one text. Filters are random masks.

Medians over the queries of the CPU time of this process, each query's time being the median of its runs. In each run
each contender in turn answers all queries, with one thread. What is measured goes from the words to the ids of the top
10:

- holdstill: from the lookup of postings in a segment's arrays to the leaders in order, and the count of all matches. N
  and T are known, as a store knows them. Once with the compiled kernels, once with numpy alone.
- tantivy: an index in memory, one segment, frequencies without positions. The filter is a term of another field that
  must be held and scores nothing, which took a third of the time of a range over a fast field. Once as it is fastest,
  and once with the count of matches.
- bm25s: numpy and numba backends; the filter is a weight mask.

`recall` is the share of our ids, ties with the last one included, that a contender's ten fill. Ours are compared with
the definition in plain Python for a sample. Ratios are tantivy's median over the contender's.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from unittest import mock

for setting in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):  # they would stand for another machine
    os.environ.pop(setting, None)

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402

from holdstill.ranking import bm25, compiled  # noqa: E402
from holdstill.stores.duckdb.index import Index  # noqa: E402
from reporting import installed, report  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
SEED = 20_240_601
TOP = 10

Query = list[str]
Contender = Callable[[Query], list[int]]
Maker = Callable[[np.ndarray], dict[str, Contender]]  #: the contenders of one library, for a filter


@dataclass(frozen=True)
class Texts:
    """Words by number, text after text."""

    words: np.ndarray
    lengths: np.ndarray
    vocabulary: list[str]  #: in byte order
    real: int  #: how many of the words were taken from real texts, in their order

    @cached_property
    def ends(self) -> np.ndarray:
        return np.cumsum(self.lengths)

    def text(self, row: int) -> np.ndarray:
        return self.words[self.ends[row] - self.lengths[row] : self.ends[row]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", type=Path, default=None, help="also write a line for each case and contender")
    arguments = parser.parse_args()
    if fault := compiled.warm(lambda _, __: None).fault:
        sys.exit(f"the compiled kernels cannot be used: {fault}")
    console = Console()
    texts = made(arguments.rows)
    console.print(
        f"{len(texts.words):,} words, {texts.real:,} of them from real texts; {len(texts.vocabulary):,} distinct"
    )
    draws = np.random.default_rng(SEED + 1)
    queries = [asked(texts, draws) for _ in range(arguments.queries)]
    filters = {"unfiltered": np.ones(arguments.rows, np.bool_), "1%": draws.random(arguments.rows) < 0.01}
    made_by = {"tantivy": tantivy, "bm25s": bm25s}
    peers = [made_by[name] for name in installed({name: name for name in made_by})]
    makers = [holdstill(Index((segment(texts),))), *(peer(texts, filters["1%"]) for peer in peers)]
    lines = []
    for case, mask in filters.items():
        contenders = {name: run for maker in makers for name, run in maker(mask).items()}
        for query in queries[:: max(1, len(queries) // 5)]:
            assert contenders["holdstill"](query) == by_definition(texts, query, mask)
        lines += [{"rows": arguments.rows, **line} for line in measure(case, contenders, queries, arguments.runs)]
    figures = ("median_ms", "min_ms", "max_ms", "mean_ms", "recall", "ratio")
    meaning = "tantivy's median over the contender's; above 1 is faster" if tantivy in peers else "none without tantivy"
    report(lines, figures, meaning, arguments.json)


# -- texts ---------------------------------------------------------------------------------------


def made(rows: int) -> Texts:
    draws = np.random.default_rng(SEED)
    lengths = draws.integers(10, 31, rows).astype(np.int32)
    needed = int(lengths.sum())
    numbers: dict[str, int] = {}
    found = np.fromiter((numbers.setdefault(word, len(numbers)) for word in real_words(needed)), np.int64)
    if not numbers:
        numbers = {f"w{number}": number for number in range(300_000)}
        more = draws.zipf(1.2, needed) % len(numbers)
    else:
        more = found[draws.integers(0, len(found), needed - len(found))]
    order = sorted(numbers, key=str.encode)
    place = np.empty(len(order), np.int64)
    place[[numbers[word] for word in order]] = np.arange(len(order))
    return Texts(place[np.concatenate([found, more])], lengths, order, len(found))


def real_words(most: int) -> Iterator[str]:
    folder, word = ROOT.parent / "shared" / "data", re.compile(r"\w+")
    for path in sorted([*folder.glob("filters/*.jsonl.gz"), *folder.glob("ir/*/corpus.jsonl")]):
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                document = json.loads(line)
                for found in word.findall(f"{document.get('title', '')} {document['text']}".lower()):
                    if not most:
                        return
                    yield found
                    most -= 1


def asked(texts: Texts, draws: np.random.Generator) -> Query:
    held = np.unique(texts.text(int(draws.integers(len(texts.lengths)))))
    return [texts.vocabulary[number] for number in draws.permutation(held)[: draws.integers(2, 6)]]


def segment(texts: Texts) -> dict[str, np.ndarray]:
    """The arrays of a segment, positions left out."""
    rows, terms = len(texts.lengths), len(texts.vocabulary)
    keys = texts.words * rows + np.repeat(np.arange(rows), texts.lengths)
    keys, frequencies = np.unique(keys, return_counts=True)
    data = [word.encode() for word in texts.vocabulary]
    return {
        "lengths": texts.lengths,
        "term_bytes": np.frombuffer(b"".join(data), np.uint8),
        "term_ends": np.cumsum([0, *map(len, data)]),
        "posting_ends": np.searchsorted(keys, np.arange(terms + 1) * rows),
        "rows": (keys % rows).astype(np.int32),
        "frequencies": frequencies.astype(np.int32),
        "position_ends": np.zeros(terms + 1, np.int64),
        "positions": np.empty(0, np.int32),
    }


# -- contenders ----------------------------------------------------------------------------------


def holdstill(index: Index) -> Maker:
    everyone = np.ones(index.rows, np.bool_)
    totals = bm25.Totals.of(index.lengths, everyone)

    def ours(mask: np.ndarray, query: Query) -> list[int]:
        found = [index.postings(term) for term in query]
        postings = [(each.rows, each.frequencies) for each in found]
        best = bm25.leaders(postings, index.lengths, everyone, mask, TOP, totals)
        return best.rows[np.lexsort((best.rows, -best.scores))].tolist()

    def by_numpy(mask: np.ndarray, query: Query) -> list[int]:
        with mock.patch.object(compiled, "kernels", return_value=None):
            return ours(mask, query)

    return lambda mask: {
        "holdstill": lambda query: ours(mask, query),
        "holdstill, numpy": lambda query: by_numpy(mask, query),
    }


def tantivy(texts: Texts, part: np.ndarray) -> Maker:
    import tantivy as library

    builder = library.SchemaBuilder()
    builder.add_text_field("text", tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("part", tokenizer_name="raw", index_option="basic")
    schema = builder.build()
    index = library.Index(schema)
    writer = index.writer(2_000_000_000, num_threads=1)
    words = np.array(texts.vocabulary, object)
    for row, kept in enumerate(part.tolist()):
        writer.add_document(library.Document(text=" ".join(words[texts.text(row)]), part="kept" if kept else "rest"))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    assert searcher.num_segments == 1  # so that a document's number in it is its row
    term, combined = library.Query.term_query, library.Query.boolean_query
    should, must = library.Occur.Should, library.Occur.Must
    kept = (must, library.Query.const_score_query(term(schema, "part", "kept"), 0.0))

    def found(query: Query, filtered: bool, count: bool) -> list[int]:
        wanted = combined([(should, term(schema, "text", word)) for word in query])
        if filtered:
            wanted = combined([(must, wanted), kept])
        return [address.doc for _, address in searcher.search(wanted, TOP, count=count).hits]

    return lambda mask: {
        "tantivy": lambda query: found(query, not mask.all(), count=False),
        "tantivy, with count": lambda query: found(query, not mask.all(), count=True),
    }


def bm25s(texts: Texts, _: np.ndarray) -> Maker:
    import bm25s as library

    numbers = {word: number for number, word in enumerate(texts.vocabulary)}
    split = [words.tolist() for words in np.split(texts.words, texts.ends[:-1])]
    built = {}
    for backend in ("numpy", "numba"):
        built[backend] = library.BM25(method="lucene", k1=1.2, b=0.75, backend=backend)
        built[backend].index((split, numbers), show_progress=False)

    def found(backend: str, query: Query, weights: np.ndarray | None, threads: int) -> list[int]:
        options = {"show_progress": False, "return_as": "documents", "n_threads": threads, "weight_mask": weights}
        return built[backend].retrieve([query], k=TOP, **options)[0].tolist()

    def contenders(mask: np.ndarray) -> dict[str, Contender]:
        weights = None if mask.all() else mask.astype(np.float32)
        return {
            "bm25s": lambda query: found("numpy", query, weights, 0),
            "bm25s, numba": lambda query: found("numba", query, weights, 1),
        }

    return contenders


# -- results -------------------------------------------------------------------------------------


def by_definition(texts: Texts, query: Query, mask: np.ndarray) -> list[int]:
    """The first ten and their ties, in plain Python."""
    sys.path.insert(0, str(ROOT / "tests"))
    import oracle

    rows, scores = np.repeat(np.arange(len(mask)), texts.lengths), Counter()
    contribution = cache(oracle.contribution)
    for word in query:
        held = Counter(rows[texts.words == texts.vocabulary.index(word)].tolist())
        for row, tf in held.items():
            if mask[row]:
                scores[row] += contribution(len(mask), len(rows), len(held), tf, int(texts.lengths[row]))
    least = sorted(scores.values(), reverse=True)[:TOP][-1] if scores else 0
    return sorted((row for row in scores if scores[row] >= least), key=lambda row: (-scores[row], row))


def measure(
    case: str, contenders: dict[str, Contender], queries: list[Query], runs: int
) -> Iterator[dict[str, object]]:
    ours = [set(contenders["holdstill"](query)) for query in queries]
    taken = {name: np.empty((runs + 1, len(queries))) for name in contenders}
    recall = dict.fromkeys(contenders, 0.0)
    for run in range(runs + 1):  # the first one warms up
        for name, contender in contenders.items():
            for at, query in enumerate(queries):
                before = time.process_time()
                found = contender(query)
                taken[name][run, at] = (time.process_time() - before) * 1000
                if not run:
                    recall[name] += len(ours[at] & set(found[:TOP])) / max(1, min(TOP, len(ours[at]))) / len(queries)
    spent = {name: np.median(times[1:], axis=0).tolist() for name, times in taken.items()}
    reference = statistics.median(spent["tantivy"]) if "tantivy" in spent else None
    for name, times in spent.items():
        yield {
            "case": case,
            "contender": name,
            "median_ms": round(statistics.median(times), 3),
            "min_ms": round(min(times), 3),
            "max_ms": round(max(times), 3),
            "mean_ms": round(statistics.mean(times), 3),
            "recall": round(recall[name], 3),
            "ratio": round(reference / statistics.median(times), 2) if reference else None,
        }


if __name__ == "__main__":
    main()
