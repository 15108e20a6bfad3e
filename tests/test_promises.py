"""The seven promises, each by a test that breaks if the promise does."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import histories
import holdstill
from engine_oracle import Engine, Question
from histories import budget
from holdstill import Collection, Completeness, Document, Passage, Settings, f
from holdstill.stores.base import FORMAT
from observing import everything, said

SCHEMA = holdstill.Schema.of({"tenant": "str", "acl": "str[]", "n": "int"})
ANA = {"id": "ana", "groups": ["staff"], "attributes": {"tenant": "acme"}}
POLICY = histories.RULES[2]

Make = Callable[..., Collection]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes a collection that holds these documents, with vectors that they bring."""
    with ExitStack() as opened:
        made = 0

        def create(documents: Any = ()) -> Collection:
            nonlocal made
            made += 1
            collection = opened.enter_context(
                holdstill.create(tmp_path / f"{made}.hs", schema=SCHEMA, vector_model="small")
            )
            collection.add(documents)
            return collection

        yield create


def shelf(size: int = 40) -> list[Document]:
    """Documents of two passages with many ties, of two tenants, every fourth without a number."""
    return [
        Document(
            f"{i:02d}",
            passages=[
                Passage("red " * (i % 3) + "fish", vector=[1.0, i % 4 - 1.0]),
                Passage("blue " * (i % 2) + "fish", vector=[-1.0, i % 3]),
            ],
            fields={
                "tenant": ("acme", "bolt")[i % 2],
                "acl": ["staff"] if i % 5 else ["board"],
                "n": None if i % 4 == 0 else i,
            },
        )
        for i in range(size)
    ]


QUESTIONS = (
    Question("red", arms=("lexical",)),
    Question(None, [1.0, 0.5], k=7),
    Question("red fish", [0.0, 1.0], k=5, offset=2),
    Question("red blue", [0.0, 1.0], by="document", k=6),
    Question("blue", [1.0, 1.0], where=f.n >= 10, k=4),
    Question("fish", [1.0, 1.0], must_not=("blue",), settings=Settings(rrf_k=1, weights={"dense": 0.1}), k=9),
    Question("blue", [1.0, 1.0], settings=Settings(depth=3), k=30),
    Question(where=f.n < 20, order_by="n desc", k=50),
)


def units(hits: list[dict[str, Any]]) -> set[str]:
    """What was ranked: a document's shown passage may change with its ranks, the document may not."""
    return {hit["document"] if "best" in hit else hit["id"] for hit in hits}


def test_1_no_similarity_decides_a_requirement(make: Make) -> None:
    """A forbidden passage that an arm would put first, by any margin and with any weight, is not in the answer."""
    best = Document("best", "red zebra", fields={"n": 1, "tenant": "bolt"}, vector=[1.0, 0.0])
    collection = make([best, *(Document(f"{i}", "fish", fields={"n": 2}, vector=[-1.0, i]) for i in range(5))])
    asked: tuple[dict[str, Any], ...] = (
        {"text": "red zebra", "arms": ["lexical"]},
        {"vector": [1.0, 0.0]},
        {"text": "red zebra", "vector": [1.0, 0.0]},
    )
    requirements: tuple[dict[str, Any], ...] = (
        {"where": "n = 2"}, {"where": "n != 1"}, {"where": "tenant is null"},
        {"must_not": ["zebra"]}, {"must": ["fish"]},
    )  # fmt: skip
    for question in asked:
        assert collection.search(**question).hits[0].document == "best"
        for required in requirements:
            for heavy in ("lexical", "dense"):
                settings = Settings(weights={heavy: 1_000_000})
                for by in ("passage", "document"):
                    found = collection.search(**question, **required, settings=settings, by=by, k=50)
                    assert "best" not in {hit.document for hit in found}
                    assert {arm.eligible for arm in found.arms} == {5}
    # What is asked by similarity alone is never made a requirement: the weakest is still ranked.
    assert len(collection.search(vector=[1.0, 0.0], k=50)) == 6


def test_2_completeness_is_never_more_favourable_than_the_truth(make: Make) -> None:
    documents = shelf()
    collection = make(documents)
    reference = Engine({document.id: document for document in documents}, SCHEMA)
    seen = set()
    for question in QUESTIONS:
        for k in (1, 5, 79, 80, 81):
            for depth in (None, 1, 20):
                settings = Settings(depth=depth)
                asked = Question(**vars(question) | {"k": k, "offset": 0, "settings": settings})
                result = collection.search(**asked.arguments())
                whole = reference.search(Question(**vars(asked) | {"k": 1000, "settings": Settings()}))["hits"]
                seen.add(str(result.completeness))
                match result.completeness:
                    case Completeness.COMPLETE:
                        assert len(result) == k
                    case Completeness.EXHAUSTED:
                        # Nothing that any arm ranks is missing.
                        assert len(result) < k
                        assert units(result.as_dict()["hits"]) == units(whole)
                    case Completeness.TRUNCATED:
                        assert depth is not None
                        assert units(result.as_dict()["hits"]) < units(whole)
                if depth is None and result.completeness is Completeness.COMPLETE:
                    assert [hit.id for hit in result] == [hit["id"] for hit in whole[:k]]
    assert seen == {"complete", "exhausted", "truncated"}
    with pytest.raises(holdstill.EmbedderRequired):
        collection.search("an arm that cannot answer is no empty list")


_ASK = """
import sys
import holdstill
from test_promises import QUESTIONS, digest_of
with holdstill.open(sys.argv[1]) as collection:
    print(digest_of([collection.search(**question.arguments()) for question in QUESTIONS]))
"""


def digest_of(results: list[holdstill.Result]) -> str:
    """One digest of whole answers, commits left out."""
    answers = [said(result) | {"snapshot": None} for result in results]
    return hashlib.sha256(json.dumps(answers, sort_keys=True).encode()).hexdigest()


def test_3_the_same_question_gives_the_same_bits(make: Make) -> None:
    """In any order of insertion, grouping of commits, hash seed, thread count and process."""
    documents = shelf()
    digests = set()
    orders = (documents, documents[::-1], documents[1::2] + documents[::2])
    for order, size in zip(orders, (40, 7, 13), strict=True):
        collection = make()
        for start in range(0, len(order), size):
            collection.add(order[start : start + size])
        # A detour: what was written and taken back leaves nothing behind.
        collection.add([Document("99", "red red red", vector=[5.0, 5.0])])
        collection.delete("99")
        results = [collection.search(**question.arguments()) for question in QUESTIONS]
        assert [result.digest for result in results] == [
            collection.search(**question.arguments()).digest for question in QUESTIONS
        ]
        digests.add(digest_of(results))
    collection.close()
    for seed, threads in (("0", "1"), ("4711", "2")):
        environment = os.environ | {
            "PYTHONHASHSEED": seed,
            "OMP_NUM_THREADS": threads,
            "OPENBLAS_NUM_THREADS": threads,
            "PYTHONPATH": str(Path(__file__).parent),
        }
        asked = subprocess.run(
            [sys.executable, "-c", _ASK, str(collection.path)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(asked.stdout.strip())
    assert len(digests) == 1


def test_4_what_is_not_visible_changes_nothing(tmp_path: Path) -> None:
    """Any documents that the policy hides, written before, after and between, change no bit of what is observed."""
    ours = [document for document in shelf() if POLICY.admits(ANA, document.fields)]
    ids = ["01", "nobody", *histories.IDS]
    made = 0

    def guarded(*batches: list[Document]) -> Any:
        nonlocal made
        made += 1
        with holdstill.create(tmp_path / f"{made}.hs", schema=SCHEMA, vector_model="small") as collection:
            for batch in batches:
                collection.add(batch)
            collection.set_policy(POLICY.text)
            return everything(collection, ANA, QUESTIONS, ids)

    alone = guarded(ours)
    assert sum(len(answer["hits"]) for answer in alone["answers"]) > 40

    hidden = histories.documents(SCHEMA, 2).filter(lambda document: not POLICY.admits(ANA, document.fields))

    @budget(12)
    @given(st.lists(hidden, min_size=1, max_size=8), st.integers(0, 8))
    def check(theirs: list[Document], cut: int) -> None:
        others = list({document.id: document for document in theirs}.values())
        half = len(ours) // 2
        assert guarded(others[:cut], ours[:half], others[cut:] + ours[half:]) == alone

    check()


def test_4_what_becomes_invisible_is_as_if_it_had_never_been(make: Make) -> None:
    collection = make(shelf())
    collection.set_policy(POLICY.text)
    before = everything(collection, ANA, QUESTIONS, ["02", "12"])
    collection.update("12", fields={"acl": ["board"]}, operator=True)
    revoked = everything(collection, ANA, QUESTIONS, ["02", "12"])
    assert revoked != before
    collection.delete("12", operator=True)
    assert everything(collection, ANA, QUESTIONS, ["02", "12"]) == revoked


def test_5_constraints_only_take_away_and_pages_only_append(make: Make) -> None:
    collection = make(shelf(24))
    for question in QUESTIONS:
        whole = collection.search(**question.arguments() | {"k": 1000, "offset": 0}).as_dict()["hits"]
        for k in (1, 2, 3, 7, 20, 200):
            page = collection.search(**question.arguments() | {"k": k, "offset": 0})
            assert page.as_dict()["hits"] == whole[:k]
        for size in (1, 3, 7):
            pages = [
                hit
                for offset in range(0, len(whole) + size, size)
                for hit in collection.search(**question.arguments() | {"k": size, "offset": offset}).as_dict()["hits"]
            ]
            assert pages == whole
        for more in (f.n >= 5, f.n.is_null(), f.tenant == "acme", f.text.contains("red"), ~f.text.contains("red")):
            where = more if question.where is None else question.where & more
            fewer = collection.search(**question.arguments() | {"k": 1000, "offset": 0, "where": where})
            if question.settings.depth is None:
                assert units(fewer.as_dict()["hits"]) <= units(whole)
            assert all(arm.eligible <= 48 for arm in fewer.arms)


def test_6_ties_are_reported(make: Make) -> None:
    collection = make(shelf())
    tied = 0
    for question in QUESTIONS:
        hits = collection.search(**question.arguments() | {"k": 1000, "offset": 0}).hits
        if not question.arms and question.text is None and question.vector is None:
            continue
        for hit in hits:
            same = [other for other in hits if other.ranks == hit.ranks]
            assert (len(same) == 1) or hit.tied
            assert {other.rank for other in same} == {hit.rank}
            tied += hit.tied
        for arm in hits[0].ranks:
            # In every arm equal scores share a rank, and the next rank counts them all.
            held = sorted((-hit.scores[arm], hit.ranks[arm]) for hit in hits if hit.ranks[arm] is not None)
            for score, rank in held:
                assert rank == 1 + sum(other < score for other, _ in held)
        for cut in range(1, len(hits), 5):
            page = collection.search(**question.arguments() | {"k": cut, "offset": 0})
            assert page.ties_beyond == sum(hit.rank == hits[cut - 1].rank for hit in hits[cut:])
    assert tied > 100


def test_7_everything_that_can_move_an_answer_is_named(make: Make) -> None:
    """Each thing that may move an answer, moved alone, shows where it is named; the rest stays."""
    collection = make(shelf())
    question = Question("red fish", [1.0, 0.5], k=30)

    def named() -> dict[str, Any]:
        answer = collection.search(**question.arguments(), operator=True).as_dict()
        return {name: answer[name] for name in ("snapshot", "model", "ranking", "versions", "digest")}

    first = named()
    assert first == {
        "snapshot": {"generation": 1, "commit": 1, "seen_at": 1},
        "model": "declared:small",
        "ranking": {
            "fusion": "rrf",
            "rrf_k": 60,
            "depth": None,
            "proof": "exhaustive",
            "weights": {"lexical": 1, "dense": 1},
        },
        "versions": {
            "engine": holdstill.__version__,
            "format": FORMAT,
            "analyser": holdstill.analysis.analyser("simple").identity,
            "policy": None,
        },
        "digest": collection.search(**question.arguments()).digest,
    }
    collection.add([Document("99", "red red red fish", vector=[1.0, 0.5])])
    moved = named()
    assert moved["snapshot"] == {"generation": 1, "commit": 2, "seen_at": 2}
    assert moved["digest"] != first["digest"]
    assert {name: moved[name] for name in ("model", "ranking", "versions")} == {
        name: first[name] for name in ("model", "ranking", "versions")
    }
    collection.set_policy(POLICY.text)
    assert named() == moved | {"versions": moved["versions"] | {"policy": 1}}
    settings = Settings(rrf_k=7, weights={"lexical": 0.5}, depth=10)
    ranking = collection.search(**question.arguments() | {"settings": settings}, operator=True).ranking
    assert ranking == {
        "fusion": "rrf",
        "rrf_k": 7,
        "depth": 10,
        "proof": "depth",
        "weights": {"lexical": 0.5, "dense": 1},
    }


def test_7_the_digest_is_of_ids_ranks_and_integer_scores(make: Make) -> None:
    collection = make(shelf())
    result = collection.search("red", vector=[1.0, 0.0])
    assert result.digest.startswith("sha256:")
    assert result.digest != collection.search("red", vector=[1.0, 0.01]).digest
    assert result.digest != collection.search("red", vector=[1.0, 0.0], k=9).digest
    collection.update("00", fields={"n": 77})
    again = collection.search("red", vector=[1.0, 0.0])
    assert again.digest == result.digest
    assert again.snapshot != result.snapshot
