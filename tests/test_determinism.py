"""One digest: whatever the process, its hash seed, its threads, and the order and grouping of what was added."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import holdstill as hs
from fakes import Hashed

_BUILD_AND_ASK = """
import hashlib, itertools, json, random, sys
sys.path.insert(0, sys.argv[1])
import holdstill as hs
from fakes import Hashed
given = json.loads(sys.stdin.read())
documents = [hs.Document(**document) for document in given["documents"]]
random.Random(given["seed"]).shuffle(documents)
model = Hashed() if given["dense"] else "none"
with hs.create(sys.argv[2], schema=given["schema"], analyser="english", embedder=model) as collection:
    rest = iter(documents)
    while batch := list(itertools.islice(rest, given["batch"])):
        collection.add(batch)
    if given["detours"]:  # the same documents in the end, by way of others
        ids = [document.id for document in documents]
        collection.add(hs.Document(id_, "something else entirely") for id_ in ids[::7])
        collection.delete(ids[1::9])
        collection.add(documents)
    print(ask(collection, given["questions"]))
"""

_ASK = """
def ask(collection, questions):
    import hashlib, json
    from observing import said
    answers = [said(collection.search(**question)) for question in questions]
    for answer in answers:
        del answer["snapshot"]
    return hashlib.sha256(json.dumps(answers).encode()).hexdigest()
"""

_OPEN_AND_ASK = """
import json, sys
sys.path.insert(0, sys.argv[1])
import holdstill as hs
from fakes import Hashed
given = json.loads(sys.stdin.read())
with hs.open(sys.argv[2], embedder=Hashed() if given["dense"] else None, lock_timeout=60) as collection:
    print(ask(collection, given["questions"]))
"""

TESTS = Path(__file__).parent


def run(program: str, path: Path, given: dict[str, Any], threads: int, seed: int | None) -> str:
    environment = os.environ | {
        "OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads),
        "PYTHONHASHSEED": "random" if seed is None else str(seed),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", _ASK + program, str(TESTS), str(path)],
        input=json.dumps(given), env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def digests(folder: Path, given: dict[str, Any], runs: int) -> set[str]:
    """What many processes say, each of which builds the collection in its own way, and some only open one of them."""
    size, said = len(given["documents"]), set()
    for number in range(runs):
        way = {"seed": number, "batch": (size, 1 + size // 3, 1 + size // 17)[number % 3], "detours": number % 2 == 1}
        said.add(run(_BUILD_AND_ASK, folder / f"{number}.hs", given | way, threads=(1, 2, 4)[number % 3], seed=number))
        said.add(run(_OPEN_AND_ASK, folder / f"{number}.hs", given, threads=(4, 1, 2)[number % 3], seed=None))
    return said


def synthetic(count: int, *, dense: bool) -> dict[str, Any]:
    """A corpus of few words, so that scores tie everywhere."""
    chance = random.Random(1)
    words = ["red", "green", "blue", "C++", "v2.14.1", "v2.14.0", "日本語", "running", "runs", "NX-42"]
    documents = [
        {
            "id": f"d{number}",
            "text": " ".join(chance.choices(words, k=chance.randint(1, 6))),
            "title": chance.choice(["", "Title"]),
            "fields": {
                "n": chance.choice([None, 1, 2, 3]),
                "tags": chance.choices(words, k=2),
                "other": {"b": 1, "a": [2]},
            },
        }
        for number in range(count)
    ]
    texts = ["red", "green blue", "v2.14.1", "日本 running", "C++ red NX-42", "absent"]
    questions: list[dict[str, Any]] = [{"text": text, "k": 1 + 10 * number} for number, text in enumerate(texts)]
    questions += [
        {"text": "red green", "where": "n >= 2 and not has(tags, 'red')", "k": 30},
        {"text": "blue", "by": "document", "offset": 5, "must": ["v2.14.1"], "must_not": ["red"]},
        {"where": "n is null or has_any(tags, 'C++', 'blue')", "order_by": "n desc", "k": 100},
    ]
    return {"schema": {"n": "int", "tags": "str[]"}, "documents": documents, "questions": questions, "dense": dense}


def judged(shared: Path, name: str, documents: int, questions: int) -> dict[str, Any]:
    """Real documents and questions."""
    folder = shared / "data" / "ir" / name
    corpus = [json.loads(line) for line in (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()]
    asked = [json.loads(line) for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()]
    kept = [{"id": each["_id"], "title": each["title"], "text": each["text"]} for each in corpus[:documents]]
    kept = [each for each in kept if each["text"].strip() or each["title"].strip()]
    return {
        "schema": {},
        "documents": kept,
        "questions": [{"text": each["text"]} for each in asked[:questions]],
        "dense": 1,
    }


@pytest.mark.parametrize("dense", [False, True], ids=["words", "vectors"])
def test_one_digest_whatever_the_process_and_the_order(tmp_path: Path, dense: bool) -> None:
    assert len(digests(tmp_path, synthetic(150, dense=dense), runs=3)) == 1


def test_one_digest_of_real_documents(tmp_path: Path, shared: Path) -> None:
    assert len(digests(tmp_path, judged(shared, "cranfield", 150, 20), runs=3)) == 1


def test_another_corpus_has_another_digest(tmp_path: Path) -> None:
    given = synthetic(150, dense=True)
    before = digests(tmp_path / "before", given, runs=1)
    given["documents"][17]["text"] += " red"
    assert not before & digests(tmp_path / "after", given, runs=1)


@pytest.mark.heavy
@pytest.mark.parametrize("dense", [False, True], ids=["words", "vectors"])
def test_one_digest_of_fifty_processes(tmp_path: Path, dense: bool) -> None:
    assert len(digests(tmp_path, synthetic(2_000, dense=dense), runs=50)) == 1


@pytest.mark.heavy
def test_one_digest_of_all_of_scifact(tmp_path: Path, shared: Path) -> None:
    assert len(digests(tmp_path, judged(shared, "scifact", 10_000, 300), runs=6)) == 1


def test_fifty_searches_of_one_handle_are_one_answer(tmp_path: Path) -> None:
    with hs.create(tmp_path / "a.hs", embedder=Hashed()) as collection:
        collection.add(hs.Document(f"d{number}", f"same words {number % 3}") for number in range(200))
        results = [collection.search("same words 1", k=120) for _ in range(50)]
    assert all(result == results[0] for result in results)


_MODEL = """
import json, sys
sys.path.insert(0, sys.argv[1])
import holdstill as hs
given = json.loads(sys.stdin.read())
with hs.create(sys.argv[2]) as collection:
    for begin in range(0, len(given["texts"]), given["step"]):
        collection.add(hs.Document(text, text) for text in given["texts"][begin : begin + given["step"]])
    print(ask(collection, [{"text": text, "k": 30} for text in ("a quiet river", "invoice 7", "Wetter in Berlin")]))
"""


@pytest.mark.model
def test_one_digest_with_the_bundled_model(tmp_path: Path) -> None:
    texts = [
        f"{what} {number}"
        for number in range(8)
        for what in ("the river is quiet", "invoice", "Berlin weather", "東京")
    ]
    said = set()
    for number, (threads, step) in enumerate(((1, 32), (2, 5), (4, 1))):
        random.Random(number).shuffle(texts)
        said.add(run(_MODEL, tmp_path / f"{number}.hs", {"texts": texts, "step": step}, threads, seed=number))
    assert len(said) == 1
