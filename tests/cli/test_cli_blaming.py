"""`blame` on the command line: the sentence first, then the layers; the whole with `--json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import holdstill as hs
from holdstill.cli.failures import BAD_INPUT


@pytest.fixture
def asked(tmp_path: Path) -> tuple[Path, str]:
    path = tmp_path / "people.hs"
    with hs.create(path, schema={"tenant": "str"}, embedder="none") as people:
        people.add([hs.Document("ana", "python payments"), hs.Document("bo", "java payments")])
        search_id = people.search("payments").search_id
        people.add([hs.Document("cy", "payments payments")])
    assert search_id is not None
    return path, search_id


def test_the_sentence_then_the_layers(run: Any, asked: tuple[Path, str]) -> None:
    path, search_id = asked
    shown = run("blame", str(path), search_id)
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert " ".join(lines[: lines.index("")]) == (
        "The corpus moved: 1 of the 3 hits was added after that search; with the old corpus the answer is identical."
    )
    assert "corpus   moved the answer: commit 1, now commit 2" in lines
    assert "         cy#0 entered: added since" in lines
    assert "fusion   as it was: rrf_k 60" in lines


def test_as_json(run: Any, asked: tuple[Path, str]) -> None:
    path, search_id = asked
    found = json.loads(run("blame", str(path), search_id, "--json").stdout)
    assert found["moved"] == ["corpus"]
    assert [layer["layer"] for layer in found["layers"]] == [
        "corpus", "policy", "analyser", "model", "index", "fusion", "engine",
    ]  # fmt: skip
    assert (found["entered"], found["left"], found["identical"], found["other"]) == (["cy#0"], [], False, None)
    with hs.open(path) as people:
        assert json.loads(json.dumps(people.blame(search_id).as_dict())) == found


def test_two_searches_and_who_asked(run: Any, asked: tuple[Path, str], tmp_path: Path) -> None:
    path, first = asked
    ana = {"id": "ana", "attributes": {"tenant": "a", "level": 1}}
    with hs.open(path) as people:
        second = people.search("payments").search_id
        third = people.search("java").search_id
        people.update(["bo", "cy"], fields={"tenant": "a"})
        people.set_policy("tenant = principal.tenant")
        seen = people.search("payments", principal=ana).search_id
        people.set_policy("tenant = principal.tenant and tenant = principal.other", operator=True)
    assert second is not None
    assert third is not None
    assert seen is not None
    assert "The corpus moved" in run("blame", str(path), first, second, "--operator").stdout
    refused = run("blame", str(path), first, third, "--operator", "--json")
    assert (refused.exit_code, json.loads(refused.stdout)["error"]["field"]) == (BAD_INPUT, "other")
    asker = tmp_path / "ana.json"
    asker.write_text(json.dumps(ana))
    found = json.loads(run("blame", str(path), seen, "--asker", str(asker), "--operator", "--json").stdout)
    assert found["moved"] == ["policy"]
    assert set(found["left"]) == {"bo#0", "cy#0"}
    assert run("blame", str(path), seen).exit_code != 0, "the operator alone"


def test_a_search_that_is_not_there(run: Any, asked: tuple[Path, str]) -> None:
    missing = run("blame", str(asked[0]), "20260101T000000.000Z-00000000", "--json")
    assert missing.exit_code != 0
    assert json.loads(missing.stdout)["error"]["type"] == "NotFound"
