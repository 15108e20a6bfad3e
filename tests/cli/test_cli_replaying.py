"""`searches` and `replay` on the command line."""

from __future__ import annotations

import json

import pytest

from holdstill.audit.log import FILE


@pytest.fixture
def searched(ask, people):
    """The ids of three searches: of a text, of words that must occur, and of a filter."""
    asked = (["backend"], ["--must", "python", "--must-not", "cobol"], ["--where", "location = 'Berlin'"])
    return [ask("search", people, *words)["search_id"] for words in asked]


def tamper(people):
    """Of every search, record that one more hit had been beyond it."""
    path = people / FILE
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line | {"ties_beyond": line["ties_beyond"] + 1}) + "\n" for line in lines))


def test_searches_are_listed(run, ask, people, searched):
    listed = ask("searches", people)
    assert [each["search_id"] for each in listed["searches"]] == searched
    assert listed["damaged"] == 0
    shown = run("searches", people).stdout
    assert [line.split()[0] for line in shown.splitlines()[::2]] == searched
    for question in ("backend", "must: python; must not: cobol", "where location = 'Berlin'"):
        assert f"\n  {question}\n" in shown


def test_a_question_cannot_act_on_the_terminal(run, people):
    run("search", people, "backend \x1b[31m\nred")
    assert "\x1b" not in run("searches", people).stdout


def test_no_search_was_logged(run, people):
    assert run("searches", people).stdout == "no search was logged\n"
    assert run("searches", people, "--since", "2020-01-01").stdout == "no search was logged since 2020-01-01\n"


def test_lines_that_cannot_be_read_are_counted(run, ask, people, searched):
    with (people / FILE).open("a") as file:
        file.write("{")
    assert ask("searches", people)["damaged"] == 1
    assert "1 line of the log cannot be read" in run("searches", people).stdout


def test_the_same_answer(run, ask, people, searched):
    run("add", people, people.parent / "people.jsonl")
    run("delete", people, "ana")
    for each in searched:
        assert ask("replay", people, each) == {
            "search_id": each,
            "outcome": "identical",
            "reason": None,
            "differences": [],
        }
        assert run("replay", people, each).stdout == f"identical  {each}\n"
    everything = ask("replay", people, "--all")
    assert everything == {
        "searches": 3,
        "outcomes": {"identical": 3, "different": 0, "not replayable": 0},
        "others": [],
    }


def test_another_answer(run, ask, people, searched):
    tamper(people)
    one = ask("replay", people, searched[0], code=3)
    assert one["outcome"] == "different"
    assert one["differences"] == [{"what": "ties_beyond", "position": None, "recorded": 1, "now": 0}]
    shown = run("replay", people, "--all")
    assert shown.exit_code == 3
    assert "3 searches made again: 0 identical, 3 different, 0 not replayable" in shown.stdout
    assert ask("replay", people, "--all", code=3)["others"][0] == one


def test_hits_are_shown_side_by_side(run, people, searched):
    path = people / FILE
    path.write_text(path.read_text().replace('"cy#0"', '"zz#0"'))
    lines = run("replay", people, searched[0]).stdout.splitlines()
    (at,) = (number for number, line in enumerate(lines) if line.startswith("  place "))
    assert lines[at + 1].startswith("    recorded  zz#0  rank ")
    assert lines[at + 2].startswith("    now       cy#0  rank ")


def test_what_was_asked_was_not_kept(run, ask, people, monkeypatch):
    monkeypatch.setenv("HOLDSTILL_LOG_QUERIES", "off")
    kept = ask("search", people, "backend")["search_id"]
    assert "(not kept)" in run("searches", people).stdout
    assert ask("replay", people, kept, code=1)["reason"] == "what was asked was not kept"
    shown = run("replay", people, "--all")
    assert shown.exit_code == 0
    assert shown.stdout.splitlines()[1:] == ["  1 not replayable: what was asked was not kept"]


def test_a_log_that_is_off(ask, people, monkeypatch):
    monkeypatch.setenv("HOLDSTILL_LOG", "off")
    assert ask("search", people, "backend")["search_id"] is None
    assert not (people / FILE).exists()


def test_a_principals_own_search(run, ask, fault, people, principal):
    policy = people.parent / "policy.txt"
    policy.write_text("location = principal.location")
    assert run("policy", "set", people, policy).exit_code == 0
    kept = ask("search", people, "backend", "--as", principal(location="Berlin"))["search_id"]
    assert ask("replay", people, kept, "--as", principal(location="Berlin"))["outcome"] == "identical"
    run("update", people, "cy", "--set", "location=Lagos", "--operator")
    assert ask("replay", people, kept, "--as", principal(location="Berlin"), code=3)["outcome"] == "permission changed"
    assert ask("replay", people, kept, "--operator")["outcome"] == "identical"
    assert fault("replay", people, kept, "--as", principal(location="Lagos"))["type"] == "NotFound"
    assert fault("replay", people, "--all", "--as", principal(location="Berlin"))["type"] == "OperatorRequired"


@pytest.mark.parametrize("words", [[], ["id", "--all"], ["id", "--since", "2026-01-01"]])
def test_one_search_or_all(fault, people, words):
    assert fault("replay", people, *words)["type"] == "UsageError"


def test_a_time_that_is_none(fault, people):
    assert fault("searches", people, "--since", "soon")["field"] == "since"


def test_a_search_that_is_not_there(run, people):
    shown = run("replay", people, "nothing")
    assert shown.exit_code == 2
    assert "`holdstill searches` lists" in shown.stderr
