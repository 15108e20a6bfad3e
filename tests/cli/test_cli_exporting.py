"""`export` and `import`."""

from __future__ import annotations

import io
import sys
import tarfile
from pathlib import Path

import pytest


def test_a_copy_gives_the_same_digest(people, run, ask, tmp_path):
    report = ask("export", people, "-o", tmp_path / "people.tar")
    assert report["output"] == str(tmp_path / "people.tar")
    assert (report["documents"], report["passages"], report["commit"]) == (4, 4, 1)
    assert report["bytes"] == (tmp_path / "people.tar").stat().st_size
    made = ask("import", tmp_path / "people.tar", tmp_path / "copy.hs")
    assert (made["created"], made["documents"]) == (str(tmp_path / "copy.hs"), 4)
    question = ("fintech backend", "--where", "years_exp >= 3")
    first, second = (ask("search", path, *question) for path in (people, tmp_path / "copy.hs"))
    assert first["digest"] == second["digest"]


def test_it_says_what_it_did(people, run, tmp_path):
    done = run("export", people, "-o", tmp_path / "people.tar")
    assert done.exit_code == 0
    assert "exported 4 documents, 4 passages (commit 1) to" in " ".join(done.stdout.split())
    done = run("import", tmp_path / "people.tar", tmp_path / "copy.hs")
    assert f"created {tmp_path / 'copy.hs'}: 4 documents, 4 passages" in " ".join(done.stdout.split())
    assert "policy" not in done.stdout


def test_an_earlier_commit(people, run, ask, tmp_path):
    assert ask("delete", people, "ana")["commit"] == 2
    assert ask("export", people, "--at", "1", "-o", tmp_path / "1.tar")["documents"] == 4
    assert ask("export", people, "-o", tmp_path / "2.tar")["documents"] == 3


def test_a_file_is_replaced_only_by_force(people, ask, fault, tmp_path):
    file = tmp_path / "people.tar"
    file.write_text("mine")
    error = fault("export", people, "-o", file)
    assert (error["type"], error["field"]) == ("CollectionExists", "file")
    assert "--force" in error["hint"]
    assert file.read_text() == "mine"
    ask("export", people, "-o", file, "--force")
    assert tarfile.is_tarfile(file)


def test_it_goes_to_standard_output(people, run, fault, ask, tmp_path, monkeypatch):
    ask("export", people, "-o", tmp_path / "people.tar")
    done = run("export", people, "-o", "-")
    assert done.exit_code == 0
    assert done.stdout_bytes == (tmp_path / "people.tar").read_bytes()
    assert "exported 4 documents" in done.stderr
    assert "--json" in fault("export", people, "-o", "-")["message"]
    monkeypatch.chdir(tmp_path)
    assert not Path("-").exists()


def test_it_does_not_go_to_a_terminal(people, monkeypatch):
    from holdstill.cli.exporting import export

    class Terminal(io.TextIOWrapper):
        def isatty(self):
            return True

    screen = Terminal(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", screen)
    with pytest.raises(Exception, match="no text for a terminal"):
        export.main([str(people), "-o", "-"], standalone_mode=False)
    assert screen.tell() == 0


def test_a_policy_comes_along(people, run, fault, ask, principal, tmp_path):
    (tmp_path / "rule").write_text("location = principal.city")
    ask("policy", "set", people, tmp_path / "rule")
    ana = principal(city="Berlin")
    assert fault("export", people, "-o", tmp_path / "a.tar")["type"] == "OperatorRequired"
    assert fault("export", people, "-o", tmp_path / "a.tar", "--as", ana)["type"] == "OperatorRequired"
    ask("export", people, "-o", tmp_path / "a.tar", "--operator")
    done = run("import", tmp_path / "a.tar", tmp_path / "copy.hs")
    assert "its policy came with it" in done.stdout
    assert fault("search", tmp_path / "copy.hs", "backend")["type"] == "PrincipalRequired"
    found = ask("search", tmp_path / "copy.hs", "backend", "--as", ana)
    assert [hit["document"] for hit in found["hits"]] == ["cy", "ana"]


def test_a_file_that_is_no_export_makes_nothing(people, fault, tmp_path):
    error = fault("import", people.parent / "people.jsonl", tmp_path / "copy.hs")
    assert (error["type"], error["field"]) == ("MalformedInput", "file")
    assert "people.jsonl is no export" in error["message"]
    assert fault("import", tmp_path / "none.tar", tmp_path / "copy.hs")["type"] == "MalformedInput"
    assert not (tmp_path / "copy.hs").exists()


def test_nothing_is_imported_into_what_is_there(people, fault, ask, tmp_path):
    ask("export", people, "-o", tmp_path / "a.tar")
    error = fault("import", tmp_path / "a.tar", people)
    assert (error["type"], error["field"]) == ("CollectionExists", "path")
