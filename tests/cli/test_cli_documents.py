"""`show`, `update`, `delete`."""

from __future__ import annotations

import pytest


def fields(ask, people, id_="ana"):
    return ask("show", people, id_)["fields"]


def test_show_a_document(run, ask, people):
    assert ask("show", people, "cy") == {
        "id": "cy",
        "title": "Cy Okafor",
        "fields": {"years_exp": None, "location": "Berlin", "skills": None, "remote": None, "hired": "2020-01-31"},
        "metadata": {},
        "passages": [{"id": "cy#0", "headings": [], "pages": None, "text": "Backend engineer in logistics."}],
    }
    shown = run("show", people, "cy").stdout
    assert "years_exp  (unknown)" in shown
    assert "hired      2020-01-31" in shown
    assert shown.endswith("cy#0\nBackend engineer in logistics.\n")


def test_show_a_passage_and_an_id_that_looks_like_one(ask, fault, tmp_path, write):
    parts = [{"text": "one"}, {"text": "two", "headings": ["H"], "pages": [1, 2]}]
    rows = [{"id": "a", "passages": parts}, {"id": "b#0", "text": "its own"}, {"id": "b", "text": "another"}]
    path = tmp_path / "c.hs"
    ask("add", path, write("r.jsonl", rows), "--embedder", "none")
    assert ask("show", path, "a#1")["passages"] == [{"id": "a#1", "headings": ["H"], "pages": [1, 2], "text": "two"}]
    assert len(ask("show", path, "a")["passages"]) == 2
    assert ask("show", path, "b#0")["id"] == "b#0"
    assert ask("show", path, "b#0#0")["passages"][0]["text"] == "its own"
    for missing in ("a#2", "a#01", "a#-1", "a#", "#0", "zz", "zz#0"):
        error = fault("show", path, missing)
        assert (error["type"], error["got"]) == ("NotFound", f"{missing!r} (str)")
        whole = missing.startswith("a")
        assert error["message"] == ("document 'a' has no such passage" if whole else "there is no such document")
        assert error["expected"] == ("a#0 to a#1" if whole else None)
    assert fault("show", path, "b#1")["expected"] == "b#0"


def test_an_invisible_document_and_a_missing_one_give_one_error(ask, fault, people, principal, tmp_path):
    rule = tmp_path / "rule"
    rule.write_text("location = principal.place", encoding="utf-8")
    ask("policy", "set", people, rule)
    who = ["--as", principal(place="Remote")]
    assert ask("show", people, "bo", *who)["id"] == "bo"
    for hidden, missing in (("ana", "zzz"), ("ana#0", "zzz#0"), ("ana#7", "zzz#7")):
        errors = [fault("show", people, id_, *who) for id_ in (hidden, missing)]
        assert [error.pop("got") for error in errors] == [f"{hidden!r} (str)", f"{missing!r} (str)"]
        assert errors[0] == errors[1]
    for command in (["delete", people, "ana"], ["update", people, "zzz", "--set", "nonsense=1"]):
        assert fault(*command, *who)["type"] == "OperatorRequired"
        assert fault(*command)["type"] == "OperatorRequired"


def test_delete_by_id_and_by_filter(run, ask, people):
    assert ask("delete", people, "ana", "zz", code=2) == {"deleted": 1, "missing": ["zz"], "commit": 2}
    assert ask("delete", people, "--where", "location = 'Berlin'") == {"deleted": 1, "missing": [], "commit": 3}
    assert ask("delete", people, "--where", "location = 'Berlin'") == {"deleted": 0, "missing": [], "commit": 3}
    result = run("delete", people, "bo", "z\x1bz")
    assert result.exit_code == 2
    assert result.stdout.splitlines() == [
        "deleted 1 document (commit 4)",
        "earlier commits still hold them; `holdstill purge` erases them there too",
        "not there: 'z\\x1bz'",
    ]
    assert run("delete", people, "bo").stdout == "deleted 0 documents (commit 4)\nnot there: 'bo'\n"


@pytest.mark.parametrize("command", ["delete", "update"])
@pytest.mark.parametrize("words", [[], ["ana", "--where", "true"]])
def test_a_write_says_which_documents(fault, people, command, words):
    changes = ["--set", "years_exp=1"] if command == "update" else []
    assert fault(command, people, *words, *changes)["field"] == "ids"


@pytest.mark.parametrize(
    ("assignment", "stored"),
    [
        ("years_exp=-3", -3),
        ("years_exp=null", None),
        ("location= a = b", " a = b"),
        ("location=null", "null"),
        ("location=", ""),
        ('location="quoted"', '"quoted"'),
        ("remote=false", False),
        ("hired=2024-02-29", "2024-02-29"),
        ('skills=["c++", "go"]', ["c++", "go"]),
        ("skills=[]", []),
        ("skills=null", None),
    ],
)
def test_values_are_read_by_the_type_of_the_field(ask, people, assignment, stored):
    assert ask("update", people, "ana", "--set", assignment) == {"updated": 1, "missing": [], "commit": 2}
    assert fields(ask, people)[assignment.split("=")[0]] == stored
    assert fields(ask, people, "di")["years_exp"] == 9


@pytest.mark.parametrize(
    ("words", "kind", "field"),
    [
        (["--set", "years_exp=1.0"], "InvalidDocument", "years_exp"),
        (["--set", "years_exp=ten"], "InvalidDocument", "years_exp"),
        (["--set", "remote=yes"], "InvalidDocument", "remote"),
        (["--set", "hired=31.1.2020"], "InvalidDocument", "hired"),
        (["--set", "skills=a,b"], "InvalidDocument", "skills"),
        (["--set", "salary=3"], "UnknownField", "salary"),
        (["--unset", "salary"], "UnknownField", "salary"),
        (["--set", "years_exp"], "InvalidQuery", "set"),
        (["--set", "years_exp=1", "--set", "years_exp=2"], "InvalidQuery", "years_exp"),
        (["--set", "years_exp=1", "--unset", "years_exp"], "InvalidQuery", "years_exp"),
        ([], "InvalidQuery", "fields"),
    ],
)
def test_an_update_that_cannot_be_changes_nothing(ask, fault, people, words, kind, field):
    before = fields(ask, people)
    error = fault("update", people, "ana", *words, *(["--set", "location=elsewhere"] if words else []))
    assert (error["type"], error["field"]) == (kind, field)
    assert fields(ask, people) == before


@pytest.mark.parametrize("name", ["title", "text"])
def test_titles_and_texts_change_by_adding(fault, people, name):
    assert "change by `holdstill add`" in fault("update", people, "ana", "--set", f"{name}=x")["hint"]


def test_a_list_is_asked_for_as_json(fault, people):
    assert "JSON list" in fault("update", people, "ana", "--set", "skills=a,b")["hint"]


def test_update_by_filter_and_unset(run, ask, people):
    report = ask("update", people, "--where", "years_exp >= 7", "--unset", "location", "--set", "remote=false")
    assert report == {"updated": 2, "missing": [], "commit": 2}
    assert [fields(ask, people, id_)["location"] for id_ in ("ana", "bo", "di")] == [None, "Remote", None]
    assert ask("update", people, "ana", "zz", "--set", "years_exp=1", code=2)["missing"] == ["zz"]
    assert run("update", people, "bo", "--set", "years_exp=4").stdout == "updated 1 document (commit 4)\n"
