"""A small collection to try things on: generated resumes, the project's own guides, and four searches with proofs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

from holdstill.demo.corpus import build, opened
from holdstill.demo.searches import SEARCHES, prove
from holdstill.demo.showing import progress, show_answer, show_end, show_start

__all__ = ["DIRECTORY", "run_demo"]

DIRECTORY = Path("holdstill-demo")  #: where the collection goes unless another place is named


def run_demo(directory: Path | None, console: Console) -> dict[str, Any]:
    """Make the demo's collection, or bring the one that is there up to date, run four searches and say what they prove.

    Every claim that is printed has been checked against the answer it is about. Nothing is embedded twice.

    Args:
        directory: the collection to make; `holdstill-demo` in the current directory if None.
        console: what to print on.

    Returns:
        What JSON can hold: `collection`, `documents`, `passages`, `added`, `unchanged`, and `searches`, each with
        `title`, `command`, `completeness`, `digest`, `hits` (passage ids) and `proves` (sentences).

    Raises:
        holdstill.CollectionExists: something other than this demo is in the directory.
        holdstill.InvariantViolated: a claim does not hold.
    """
    directory = DIRECTORY if directory is None else directory
    with opened(directory) as collection:
        show_start(console, directory)
        with progress(console) as report:
            added = build(collection, report)
        info = collection.info(operator=True)
        answers = []
        for number, search in enumerate(SEARCHES, start=1):
            result = search.run(collection)
            proofs = prove(search, collection, result)
            command = search.command(directory)
            show_answer(console, number, search, command, result, proofs)
            answers.append(
                {
                    "title": search.title,
                    "command": command,
                    "completeness": str(result.completeness),
                    "digest": result.digest,
                    "hits": [hit.id for hit in result],
                    "proves": proofs,
                }
            )
    show_end(console, directory, added, info)
    return {
        "collection": str(directory),
        "documents": info.documents,
        "passages": info.passages,
        "added": added.added,
        "unchanged": added.unchanged,
        "searches": answers,
    }
