"""`init` and `add`."""

from __future__ import annotations

import json

import pytest

import holdstill as hs

GOOD = {"id": "a", "text": "alpha", "fields": {"n": 1}}
BAD = {"id": "b", "text": "beta", "fields": {"n": "one"}}


def test_init_makes_what_was_asked(ask, tmp_path):
    path = tmp_path / "c.hs"
    made = ask(
        *("init", path, "--field", "years_exp:int", "--field", "skills:str[]"),
        *("--analyser", "english", "--embedder", "none"),
    )
    assert made["created"] == str(path)
    assert made["schema"] == {"years_exp": "int", "skills": "str[]"}
    assert made["analyser"].startswith("english")
    with hs.open(path) as collection:
        assert collection.info().as_dict() == {name: made[name] for name in made if name != "created"}


def test_init_in_words(run, tmp_path):
    result = run("init", tmp_path / "c d.hs", "--embedder", "none", "--field", "n:int")
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"holdstill add '{tmp_path / 'c d.hs'}'" in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    ("words", "kind", "got"),
    [
        (["--field", "n"], "InvalidSchema", "'n' (str)"),
        (["--field", "n:decimal"], "InvalidSchema", "'decimal' (str)"),
        (["--field", "text:str"], "InvalidSchema", "'text' (str)"),
        (["--field", "x; drop table:str"], "InvalidSchema", "'x; drop table' (str)"),
        (["--field", "n:int", "--field", "n:str"], "InvalidSchema", "'n' (str)"),
        (["--embedder", "bert"], "InvalidInput", "'bert' (str)"),
        (["--embedder", "minilm", "--vector-model", "mine"], "InvalidInput", "'minilm' (str)"),
    ],
)
def test_init_refuses_what_cannot_be(fault, tmp_path, words, kind, got):
    error = fault("init", tmp_path / "c.hs", *words)
    assert (error["type"], error["got"]) == (kind, got)
    assert not (tmp_path / "c.hs").exists()


def test_init_does_not_touch_what_is_there(fault, people):
    assert fault("init", people)["type"] == "CollectionExists"


def test_add_makes_the_collection_and_says_what_it_inferred(run, ask, tmp_path, write):
    mixed = {"id": "c", "text": "gamma", "fields": {"n": 2, "either": 1, "more": {"x": 1}}}
    lines = write("rows.jsonl", [{**GOOD, "fields": {"n": 1, "either": "x"}}, mixed])
    report = ask("add", tmp_path / "c.hs", lines, "--embedder", "none")
    assert {name: report[name] for name in ("added", "replaced", "unchanged", "refused", "commit", "created")} == {
        "added": 2, "replaced": 0, "unchanged": 0, "refused": [], "commit": 1, "created": True,
    }  # fmt: skip
    assert report["schema"] == {"n": "int", "either": "str"}
    assert any("'either' is str" in note for note in report["notes"])
    shown = run("add", tmp_path / "d.hs", lines, "--embedder", "none").stdout
    assert "n       int" in shown
    assert "either  str" in shown
    assert "'more' is stored, not filterable" in shown


def test_add_twice_changes_nothing(ask, people):
    report = ask("add", people, people.with_name("people.jsonl"))
    assert (report["added"], report["replaced"], report["unchanged"], report["commit"]) == (0, 0, 4, 1)
    assert report["created"] is False
    assert "schema" not in report


def test_refused_rows_are_listed_and_the_others_kept(run, ask, people, tmp_path, write):
    lines = write("more.jsonl", [{"id": "e", "text": "x"}, "not json\n", {"id": "e", "text": "y"}])
    report = ask("add", people, lines, code=2)
    assert report["added"] == 1
    assert [(row["row"], row["field"]) for row in report["refused"]] == [(2, None), (3, "id")]
    assert all({"row", "field", "reason"} <= row.keys() for row in report["refused"])
    result = run("add", people, lines)
    assert result.exit_code == 2
    assert "more.jsonl:2" in "".join(result.stdout.split())
    assert "mend the refused rows" in result.stdout


def test_only_the_first_refused_rows_are_shown_to_people(run, ask, tmp_path, write):
    lines = write("r.jsonl", [GOOD, *["{\n"] * 25])
    shown = run("add", tmp_path / "c.hs", lines, "--embedder", "none").stdout
    assert shown.count("r.jsonl:") == 20
    assert "and 5 more; --json lists all" in shown
    assert len(ask("add", tmp_path / "c.hs", lines, code=2)["refused"]) == 25


def test_where_every_row_is_refused_no_collection_is_made(run, ask, tmp_path, write):
    lines = write("r.jsonl", ["{\n", "[]\n"])
    report = ask("add", tmp_path / "c.hs", lines, "--embedder", "none", code=2)
    assert (report["added"], report["created"], len(report["refused"]), report["commit"]) == (0, False, 2, 0)
    assert not (tmp_path / "c.hs").exists()
    assert "nothing was written" in run("add", tmp_path / "c.hs", lines, "--embedder", "none").stdout


def test_a_file_without_rows_makes_nothing(run, ask, people, tmp_path, write):
    header = tmp_path / "h.csv"
    header.write_text("id,text\n", encoding="utf-8")
    report = ask("add", tmp_path / "c.hs", header, "--embedder", "none")
    assert (report["added"], report["created"], report["notes"]) == (0, False, [f"{header} holds no rows"])
    shown = run("add", tmp_path / "c.hs", write("e.jsonl", []), "--embedder", "none").stdout
    assert "next: add files that hold rows; nothing was made" in shown
    assert not (tmp_path / "c.hs").exists()
    assert run("add", people, header).stdout.endswith("next: add files that hold rows\n")


def test_what_is_outside_the_schema_is_noted_once(ask, tmp_path, write):
    lines = write("r.jsonl", [{"id": "a", "text": "x", "metadata": {"text": "y", "either": {"n": 1}}}])
    notes = ask("add", tmp_path / "c.hs", lines, "--embedder", "none")["notes"]
    assert [note.split(" is ")[0] for note in notes] == ["'text'", "'either'"]
    assert len(ask("add", tmp_path / "c.hs", lines)["notes"]) == 1


def test_files_of_one_name_are_told_where_the_first_is(ask, tmp_path, write):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(f"# {name}\n", encoding="utf-8")
    (row,) = ask("add", tmp_path / "c.hs", tmp_path / "one", tmp_path / "two", "--embedder", "none", code=2)["refused"]
    assert f"stands already at {tmp_path / 'one' / 'a.md'}:1" in row["reason"]
    assert "add the folder above both" in row["reason"]
    assert ask("add", tmp_path / "d.hs", tmp_path / "one", "--embedder", "none")["added"] == 1
    rows = [write(name, [{"id": "a", "text": name}]) for name in ("r.jsonl", "s.jsonl")]
    (row,) = ask("add", tmp_path / "e.hs", *rows, "--embedder", "none", code=2)["refused"]
    assert f"stands already at {rows[0]}:1" in row["reason"]
    assert "in a batch of its own" in row["reason"]


def test_strict_writes_all_or_nothing(run, fault, people, tmp_path, write):
    lines = write("r.jsonl", [{"id": "e", "text": "x"}, BAD | {"fields": {"years_exp": "many"}}])
    error = fault("add", people, lines, "--strict")
    assert error["type"] == "BatchRefused"
    assert [(row["row"], row["field"]) for row in error["refused"]] == [(2, "years_exp")]
    with hs.open(people) as collection:
        assert collection.count() == 4
    result = run("add", tmp_path / "new.hs", write("s.jsonl", [GOOD, "{\n"]), "--strict", "--embedder", "none")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "s.jsonl:2" in result.stderr
    assert not (tmp_path / "new.hs").exists()


@pytest.mark.parametrize(
    ("words", "kind", "names"),
    [
        (["--embedder", "minilm"], "ModelMismatch", ["none", "minilm"]),
        (["--vector-model", "mine"], "ModelMismatch", ["none", "mine"]),
        (["--analyser", "english"], "InvalidInput", ["simple", "english"]),
    ],
)
def test_options_that_differ_from_the_collections_are_errors(fault, people, words, kind, names):
    error = fault("add", people, people.with_name("people.jsonl"), *words)
    assert error["type"] == kind
    assert all(name in error["message"] for name in names)


def test_options_that_say_what_the_collection_is_are_fine(ask, people):
    assert (
        ask("add", people, people.with_name("people.jsonl"), "--embedder", "none", "--analyser", "simple")["unchanged"]
        == 4
    )


def test_vectors_that_are_brought(ask, fault, tmp_path, write):
    path, lines = tmp_path / "v.hs", write("v.jsonl", [{"id": "a", "text": "x", "vector": [1, 0]}])
    assert ask("add", path, lines, "--vector-model", "mine")["added"] == 1
    assert ask("add", path, lines, "--vector-model", "mine")["unchanged"] == 1
    for words in (["--vector-model", "other"], ["--embedder", "minilm"], ["--embedder", "mine"]):
        error = fault("add", path, lines, *words)
        assert error["type"] == "ModelMismatch"
        assert "'mine'" in error["message"]
    refused = ask("add", tmp_path / "w.hs", lines, "--embedder", "none", code=2)["refused"]
    assert refused[0]["field"] == "vector"
    assert not (tmp_path / "w.hs").exists()


def test_keys_and_grouping(ask, tmp_path, write):
    rows = [
        {"key": "1", "book": "b", "name": "B", "body": "one"},
        {"key": "2", "book": "b", "name": "B", "body": "two"},
    ]
    lines = write("chunks.jsonl", rows)
    words = ["--id", "key", "--title", "name", "--text", "body", "--document", "book", "--embedder", "none"]
    assert ask("add", tmp_path / "c.hs", lines, *words)["added"] == 1
    shown = ask("show", tmp_path / "c.hs", "b")
    assert (shown["title"], [passage["text"] for passage in shown["passages"]]) == ("B", ["one", "two"])


def test_folders_and_formats(ask, fault, tmp_path):
    folder = tmp_path / "docs"
    (folder / "in").mkdir(parents=True)
    (folder / "a.md").write_text("# Top\n\nalpha\n", encoding="utf-8")
    (folder / "in" / "b.txt").write_text("beta", encoding="utf-8")
    (folder / "c.bin").write_bytes(b"\0")
    report = ask("add", tmp_path / "c.hs", folder, "--embedder", "none")
    assert report["added"] == 2
    assert any(".bin" in note for note in report["notes"])
    assert [hit["document"] for hit in ask("search", tmp_path / "c.hs", "beta")["hits"]] == ["in/b.txt"]
    assert fault("add", tmp_path / "d.hs", folder / "c.bin")["type"] == "MalformedInput"
    assert fault("add", tmp_path / "d.hs", tmp_path / "none.jsonl")["type"] == "MalformedInput"
    assert fault("add", folder, folder)["type"] == "NotACollection"


def test_only_the_operator_adds_where_there_is_a_policy(ask, fault, people, principal, tmp_path):
    rule = tmp_path / "rule"
    rule.write_text("location = principal.place", encoding="utf-8")
    ask("policy", "set", people, rule)
    lines = people.with_name("people.jsonl")
    assert fault("add", people, lines)["type"] == "PrincipalRequired"
    assert fault("add", people, lines, "--as", principal(place="Berlin"))["type"] == "OperatorRequired"
    assert ask("add", people, lines, "--operator")["unchanged"] == 4


def test_hostile_text_is_stored_as_it_is_and_shown_neutral(run, ask, tmp_path, write):
    rows = [{"id": "\x1b[31mred", "title": "[bold]t[/bold]", "text": "x\x1b]0;y\x07", "fields": {"k\x1b[2J": "v\x9b"}}]
    lines = write("r.jsonl", [*rows, {"id": "\x1b[31mred", "text": "again"}])
    result = run("add", tmp_path / "c.hs", lines, "--embedder", "none")
    assert "\x1b" not in result.output
    assert "\\x1b[31mred" in result.output
    (hit,) = ask("search", tmp_path / "c.hs", "x")["hits"]
    assert json.loads(json.dumps(rows[0]["id"])) == hit["document"]
