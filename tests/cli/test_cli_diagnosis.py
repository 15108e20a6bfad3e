"""`info`, `doctor`, `analyse`, and the wiring of `demo`."""

from __future__ import annotations

import dataclasses

import pytest

import holdstill as hs
from fakes import Hashed
from holdstill.embedding import InvarianceReport
from holdstill.errors import EmbedderFailed


def test_info(run, ask, people):
    about = ask("info", people)
    assert (about["documents"], about["passages"], about["commit"], about["policy"]) == (4, 4, 1, None)
    assert (about["embedder"], about["model"], about["dimensions"]) == ("none", None, None)
    shown = run("info", people).stdout
    assert "documents   4" in shown
    assert "years_exp:int" in shown


def test_analyse(run, ask):
    terms = ask("analyse", "Runs v2.1", "--analyser", "english")
    assert terms["analyser"].startswith("english-")
    assert terms["terms"][0] == {"text": "run", "position": 0, "whole": True}
    assert {"text": "v2.1", "position": 1, "whole": True} in terms["terms"]
    lines = run("analyse", "C++").stdout.splitlines()
    assert [line.split() for line in lines[1:]] == [["c++", "0", "whole"], ["c", "0", "part"]]
    assert run("analyse", "?!").stdout.startswith("no terms")
    assert ask("analyse", "")["terms"] == []


def test_the_doctor_of_a_sound_collection(run, ask, people):
    report = ask("doctor", people)
    assert report["ok"] is True
    assert {"holdstill", "python", "unicode", "duckdb", "onnxruntime", "numpy"} <= report["versions"].keys()
    assert [(check["check"], check["ok"]) for check in report["checks"]] == [
        ("collection", True),
        ("embedder", True),
        ("index", True),
    ]
    assert "ok     index: every file is whole" in run("doctor", people).stdout


def test_the_doctor_rebuilds_torn_files(ask, people):
    answer = ask("search", people, "backend")
    (file,) = (people / "index").iterdir()
    contents = bytearray(file.read_bytes())
    contents[max(at for at, byte in enumerate(contents) if byte)] ^= 1  # in an array: the padding after it is zero
    file.write_bytes(contents)
    report = ask("doctor", people)
    assert report["ok"] is True
    assert "rebuilt" in report["checks"][-1]["detail"]
    assert ask("doctor", people)["checks"][-1]["detail"] == "every file is whole"
    assert ask("search", people, "backend")["digest"] == answer["digest"]


def test_only_the_operator_calls_the_doctor_where_there_is_a_policy(ask, fault, people, principal, tmp_path):
    (tmp_path / "rule").write_text("location = principal.place", encoding="utf-8")
    ask("policy", "set", people, tmp_path / "rule")
    assert fault("doctor", people)["type"] == "OperatorRequired"
    assert fault("doctor", people, "--as", principal(place="Berlin"))["type"] == "OperatorRequired"
    assert ask("doctor", people, "--operator")["ok"] is True


REPORT = InvarianceReport("minilm", "sha256:x", 12, (), 0.0)


@pytest.mark.parametrize(
    ("found", "detail"),
    [
        (dataclasses.replace(REPORT, moved=("in a batch",), largest_difference=0.04), "moves by 0.04"),
        (EmbedderFailed("no weights"), "no weights"),
    ],
)
def test_the_doctor_says_when_the_model_does_not_hold_still(run, ask, monkeypatch, found, detail):
    def check(_embedder: object) -> InvarianceReport:
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr("holdstill.embedding.check", check)
    report = ask("doctor", code=1)
    assert report["ok"] is False
    assert detail in report["checks"][0]["detail"]
    assert run("doctor").stdout.splitlines()[-1].startswith("WRONG  embedder: ")


def test_the_doctor_says_when_another_model_is_installed(ask, monkeypatch, tmp_path):
    monkeypatch.setattr("holdstill.embedding.check", lambda _: REPORT)
    hs.create(tmp_path / "c.hs").close()
    assert ask("doctor", tmp_path / "c.hs")["ok"] is True
    monkeypatch.setattr("holdstill.embedding.minilm._digest", lambda: "sha256:another")
    report = ask("doctor", tmp_path / "c.hs", code=1)
    assert [(check["check"], check["ok"]) for check in report["checks"]] == [
        ("collection", True),
        ("embedder", False),
        ("index", True),
    ]
    detail = report["checks"][1]["detail"]
    assert "got 'sha256:another, 384 dimensions'" in detail
    assert "`holdstill rebuild COLLECTION --embedder minilm`" in detail


def test_an_embedder_that_only_python_can_load_is_not_wrong(ask, tmp_path):
    hs.create(tmp_path / "c.hs", embedder=Hashed()).close()
    report = ask("doctor", tmp_path / "c.hs")
    assert report["ok"] is True
    assert "one of your own" in report["checks"][1]["detail"]


@pytest.mark.model
def test_the_bundled_model_holds_still(ask):
    report = ask("doctor")
    assert report["ok"] is True
    assert "holds still" in report["checks"][0]["detail"]


def test_the_doctor_of_nothing(fault, tmp_path):
    assert fault("doctor", tmp_path / "none.hs")["type"] == "CollectionNotFound"


def test_demo_is_given_its_directory_and_a_console(run, ask, monkeypatch, tmp_path):
    def run_demo(directory, console):
        console.print("in words")
        return {"directory": str(directory)}

    monkeypatch.setattr("holdstill.demo.run_demo", run_demo)
    assert ask("demo", tmp_path) == {"directory": str(tmp_path)}
    assert run("demo").stdout == "in words\n"


def test_a_path_called_as_an_argument_comes_back_as_it_was_typed(fault, tmp_path):
    assert str(tmp_path / "rrf_k") in fault("search", tmp_path / "rrf_k", "words")["message"]
