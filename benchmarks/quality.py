"""Retrieval quality of the lexical arm, the dense arm and both together, on judged collections.

    python benchmarks/quality.py [--data DIR] [--sets scifact,cranfield] [--limit N] [--json FILE]

Every collection is indexed with `--analyser english` and the bundled model, asked by document, and measured by
`ir_measures`. A document that is empty at the source is refused and counted. For `advisories_ids` the kinds of query
are told apart: whether the advisory that holds the identifier comes first.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import ir_measures
from ir_measures import RR, P, R, nDCG
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import holdstill as hs

SETS = ("scifact", "cranfield", "cisi", "cacm", "limit_small", "cosqa_dev", "advisories_ids")
ARMS: dict[str, Sequence[str] | None] = {"lexical": ["lexical"], "dense": ["dense"], "hybrid": None}
MEASURES = (nDCG @ 10, R @ 100, RR @ 10, P @ 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(__file__).resolve().parents[2] / "shared" / "data" / "ir"
    parser.add_argument("--data", type=Path, default=default, help="folder of collections in BEIR layout")
    parser.add_argument("--sets", default=",".join(SETS), help="which of them")
    parser.add_argument("--limit", type=int, default=None, help="ask only the first N queries of each")
    parser.add_argument("--embedder", default="minilm", choices=["minilm", "none"])
    parser.add_argument("--json", type=Path, default=None, help="also write a line for each set and arm")
    arguments = parser.parse_args()
    lines = []
    for name in arguments.sets.split(","):
        for line in measure(arguments.data / name, arguments.limit, arguments.embedder):
            lines.append(line)
            print(json.dumps(line), file=sys.stderr)
    Console().print(table(lines))
    if arguments.json is not None:
        arguments.json.write_text("".join(json.dumps(line) + "\n" for line in lines))


def measure(folder: Path, limit: int | None, embedder: str) -> Iterator[dict[str, object]]:
    """A line for each arm, and for each kind of query where the set has kinds."""
    queries = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
    judged = defaultdict(dict)
    for line in (folder / "qrels.tsv").read_text().splitlines()[1:]:
        query, document, relevance = line.split("\t")
        judged[query][document] = int(relevance)
    asked = [query for query in queries if query["_id"] in judged][:limit]
    with (
        tempfile.TemporaryDirectory() as temporary,
        hs.create(Path(temporary) / "set.hs", analyser="english", embedder=embedder) as collection,
    ):
        report = index(collection, folder)
        for arm, arms in ARMS.items():
            if embedder == "none" and arm != "lexical":
                continue
            run = {query["_id"]: ranked(collection, query["text"], arms) for query in asked}
            kinds = defaultdict(list)
            for query in asked:
                kinds[query.get("metadata", {}).get("kind", "")].append(query["_id"])
            for kind, ids in sorted(kinds.items()):
                qrels = {id_: judged[id_] for id_ in ids}
                figures = ir_measures.calc_aggregate(MEASURES, qrels, {id_: run[id_] for id_ in ids})
                yield {
                    "set": folder.name,
                    "kind": kind,
                    "arm": arm,
                    "documents": report.added,
                    "refused": len(report.refused),
                    "queries": len(ids),
                    **{str(measure): round(figures[measure], 4) for measure in MEASURES},
                }


def index(collection: hs.Collection, folder: Path) -> hs.AddReport:
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        tasks = {}

        def report(what: str, done: int, total: int) -> None:
            task = tasks.get(what) or tasks.setdefault(what, progress.add_task(f"{folder.name}: {what}", total=total))
            progress.update(task, completed=done)

        return collection.add(hs.read([folder / "corpus.jsonl"]), progress=report)


def ranked(collection: hs.Collection, text: str, arms: Sequence[str] | None) -> dict[str, float]:
    """The first 100 documents with a score that keeps their order: measures sort by score, and break ties at random."""
    hits = collection.search(text, arms=arms, by="document", k=100)
    return {hit.document: float(-place) for place, hit in enumerate(hits)}


def table(lines: Sequence[dict[str, object]]) -> Table:
    shown = Table("set", "kind", "arm", "queries", *map(str, MEASURES))
    for line in lines:
        shown.add_row(*(str(line[key]) for key in ("set", "kind", "arm", "queries", *map(str, MEASURES))))
    return shown


if __name__ == "__main__":
    main()
