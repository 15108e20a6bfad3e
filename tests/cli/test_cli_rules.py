"""`schema` and `policy`."""

from __future__ import annotations

import pytest


def test_schema_lists_the_fields_and_adds_one(run, ask, people):
    types = {"years_exp": "int", "location": "str", "skills": "str[]", "remote": "bool", "hired": "date"}
    assert ask("schema", people) == {"schema": types}
    assert "skills     str[]" in run("schema", people).stdout
    assert ask("schema", people, "add-field", "salary:float") == {
        "schema": types | {"salary": "float"},
        "added": "salary",
        "commit": 2,
    }
    assert ask("show", people, "ana")["fields"]["salary"] is None
    assert "added grade (commit 3)" in run("schema", people, "add-field", "grade:int").stdout


def test_a_collection_without_fields(run, tmp_path):
    run("init", tmp_path / "c.hs", "--embedder", "none")
    assert "no fields" in run("schema", tmp_path / "c.hs").stdout


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["add-field"], "UsageError"),
        (["drop-field", "x"], "UsageError"),
        (["add-field", "salary"], "InvalidSchema"),
        (["add-field", "salary:money"], "InvalidSchema"),
        (["add-field", "years_exp:int"], "InvalidSchema"),
        (["add-field", 'x"; drop table meta; --:int'], "InvalidSchema"),
    ],
)
def test_a_field_that_cannot_be_added(ask, fault, people, words, kind):
    assert fault("schema", people, *words)["type"] == kind
    assert len(ask("schema", people)["schema"]) == 5


def test_a_policy_is_set_shown_and_in_force(run, ask, fault, people, principal, tmp_path):
    rule = tmp_path / "rule.txt"
    rule.write_text("\ufefflocation = principal.place\nor has_any(skills, principal.groups)\n", encoding="utf-8")
    assert ask("policy", "show", people) == {"policy": None, "version": None}
    assert "every caller is the operator" in run("policy", "show", people).stdout
    canonical = "has_any(skills, principal.groups) or location = principal.place"
    assert ask("policy", "set", people, rule) == {"policy": canonical, "version": 1}
    assert ask("policy", "show", people, "--operator") == {"policy": canonical, "version": 1}
    assert run("policy", "show", people, "--operator").stdout == f"policy 1: {canonical}\n"
    who = ["--as", principal(place="Berlin")]
    for words in (
        ["policy", "show", people],
        ["policy", "set", people, rule],
        ["schema", people, "add-field", "n:int"],
    ):
        assert fault(*words)["type"] == "OperatorRequired"
        assert fault(*words, *who)["type"] == "OperatorRequired"
    assert ask("info", people, *who)["documents"] == 2
    assert ask("policy", "set", people, rule, "--operator")["version"] == 2


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("", "PredicateSyntax"),
        ("location = ", "PredicateSyntax"),
        ("tenant = principal.tenant", "UnknownField"),
        ("years_exp = principal.id", "TypeMismatch"),
        ("contains(text, 'x')", "InvalidPredicate"),
    ],
)
def test_a_policy_that_cannot_be_is_not_put_in_force(ask, fault, people, tmp_path, content, kind):
    rule = tmp_path / "rule.txt"
    rule.write_text(content, encoding="utf-8")
    assert fault("policy", "set", people, rule)["type"] == kind
    assert ask("policy", "show", people)["policy"] is None


def test_a_policy_file_that_cannot_be_read(fault, people, tmp_path):
    error = fault("policy", "set", people, tmp_path / "none.txt")
    assert (error["type"], error["field"]) == ("MalformedInput", str(tmp_path / "none.txt"))
    assert "goes into a file" in fault("policy", "set", people, "location = principal.place")["hint"]
