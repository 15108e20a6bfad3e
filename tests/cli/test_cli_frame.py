"""What every command shares: help, errors, exit codes, who asks, waiting for another process."""

from __future__ import annotations

import json
import subprocess
import sys

import click
import pytest

from holdstill import config, errors
from holdstill.cli import failures
from holdstill.cli.root import main, wants_json
from holdstill.refused import Refused

COMMANDS = [
    "demo",
    "init",
    "add",
    "search",
    "show",
    "update",
    "delete",
    "schema",
    "policy",
    "info",
    "doctor",
    "history",
    "tag",
    "diff",
    "prune",
    "purge",
    "rebuild",
    "generations",
    "activate",
    "drop-generation",
    "searches",
    "replay",
    "blame",
    "export",
    "import",
    "analyse",
    "fuse",
]


def test_help_lists_every_command_and_loads_nothing_heavy():
    program = (
        "import sys\nfrom holdstill.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit as end: assert end.code == 0\n"
        "heavy = {'duckdb', 'onnxruntime', 'tokenizers', 'sqlglot', 'rich', 'Stemmer', 'pydantic'}\n"
        "assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert [line.split()[0] for line in shown.split("Commands:\n")[1].splitlines()] == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_json_and_helps(run, command):
    shown = run(command, "--help")
    assert shown.exit_code == 0
    assert "--json" in (run(command, "show", "--help") if command == "policy" else shown).stdout


@pytest.mark.parametrize(
    "command", ["add", "search", "show", "update", "delete", "schema", "info", "doctor", "policy set", "policy show"]
)
def test_every_command_that_touches_rows_takes_who_asks(run, command):
    shown = run(*command.split(), "--help").stdout
    assert "--as FILE" in shown
    assert "--operator" in shown


def test_version(run):
    from holdstill import __version__

    assert run("--version").stdout == f"holdstill, version {__version__}\n"


def test_no_command_shows_the_help_as_a_usage_error(run):
    result = run()
    assert result.exit_code == 2
    assert "Commands:" in result.stderr


@pytest.mark.parametrize(
    ("words", "field", "message"),
    [
        (["nonsense"], None, "No such command"),
        (["search"], "collection", "Missing argument 'COLLECTION'"),
        (["search", "c", "x", "--wehre", "y"], "--wehre", "No such option"),
        (["search", "c", "x", "--k", "many"], "k", "not a valid integer"),
        (["search", "c", "x", "--by", "page"], "by", "is not one of"),
        (["search", "c", "x", "y"], None, "unexpected extra argument"),
        (["add", "c"], "files", "Missing argument"),
        (["search", "c", "x", "--as", "a", "--operator"], None, "exclude each other"),
    ],
)
def test_usage_errors_are_objects_too(fault, words, field, message):
    error = fault(*words)
    assert error["type"] == "UsageError"
    assert error["field"] == field
    assert message in error["message"]
    assert "--help" in error["hint"]


def test_an_option_without_its_value(run):
    error = json.loads(run("search", "--json", "c", "x", "--where").stdout)["error"]
    assert (error["type"], error["field"]) == ("UsageError", "--where")
    assert "requires an argument" in error["message"]


@pytest.mark.parametrize("words", [["search", "c", "x", "--nope"], ["search", "c", "x", "--k"], ["search"]])
def test_the_hint_names_the_help_of_the_command(run, words):
    assert " search --help` shows what it takes" in run(*words).stderr


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["search", "C", "x", "--order-by", "years_exp"], "error: --order-by orders an answer that has no ranking"),
        (["search", "C", "--must", "?"], "error: a requirement on words has none (--must)"),
        (["search", "C"], "  expected: a text, a vector, --where, --must or --must-not"),
        (["update", "C", "ana"], "  hint:     Say what to set with --set FIELD=VALUE, or with --unset FIELD"),
        (["delete", "C"], "  expected: either ids or --where"),
        (["search", "C", "x", "--where", "hired > '2020'"], "  hint:     Nothing is read out of a string"),
    ],
)
def test_errors_speak_of_options(run, people, words, line):
    shown = run(*[people if word == "C" else word for word in words]).stderr
    assert line in shown.splitlines()


def test_who_asks_is_said_with_options(run, people, principal, tmp_path):
    rule = tmp_path / "rule"
    rule.write_text("location = principal.place", encoding="utf-8")
    run("policy", "set", people, rule)
    assert "  hint:     Say who asks with --as principal.json, or --operator\n" in run("search", people, "x").stderr
    assert "  hint:     Say --operator\n" in run("delete", people, "bo", "--as", principal(place="Remote")).stderr


def test_a_busy_collection_names_the_variable():
    busy = errors.CollectionBusy("another process has c.hs open", hint="wait longer (`lock_timeout`)")
    assert failures.describe(busy)["hint"] == "wait longer (HOLDSTILL_LOCK_TIMEOUT)"


def test_paths_and_fields_are_not_taken_for_arguments():
    missing = errors.CollectionNotFound("there is no collection at /data/order_by/rrf_k/c.hs")
    assert failures.describe(missing)["message"] == "there is no collection at /data/order_by/rrf_k/c.hs"
    unknown = errors.UnknownField("no field is called 'must_not'", field="must_not", expected="one of order_by, k")
    assert failures.describe(unknown)["message"] == "no field is called 'must_not'"
    assert failures.describe(unknown)["expected"] == "one of order_by, k"


def test_errors_are_wrapped(run, people):
    lines = run("search", people, "x", "--where", "lower(location) = 'x'").stderr.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1].startswith(" " * 12 + "comments, ")


def test_text_that_looks_like_an_option_gets_the_right_hint(fault, ask, people):
    assert "after a `--`" in fault("search", people, "-java")["hint"]
    result = main.commands["search"].make_context("search", [str(people), "--", "-java"])
    assert result.params["text"] == "-java"


def test_words_after_a_double_hyphen_are_no_options():
    assert wants_json(["search", "c", "x", "--json"])
    assert not wants_json(["search", "c", "--", "--json"])


ARGUMENTS = {errors.BatchRefused: {"refused": (Refused(3, "id", "no"),)}}


def every_error(root: type = errors.HoldstillError) -> list[type]:
    return [root, *(each for child in root.__subclasses__() for each in every_error(child))]


FAILURES = {
    *("HoldstillError", "AccessDenied", "CorruptCollection", "CollectionBusy", "CollectionClosed"),
    *("EmbedderFailed", "InvariantViolated", "NotWritable"),
}


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.__name__)
def test_each_error_of_the_tree_has_its_exit_code(kind):
    error = kind("it went wrong", **ARGUMENTS.get(kind, {}))
    assert failures.exit_code(error) == (1 if kind.__name__ in FAILURES else 2)
    assert failures.describe(error)["type"] == kind.__name__


def test_other_failures_are_failures():
    assert failures.exit_code(OSError(28, "No space left", "x")) == 1
    assert failures.exit_code(RuntimeError("x")) == 1
    assert failures.exit_code(click.Abort()) == 1
    assert failures.describe(OSError(28, "No space left", "x"))["field"] == "x"
    assert failures.describe(click.Abort())["message"] == "interrupted"


def test_an_unexpected_error_is_a_message_and_asks_for_a_report(run, fault, people, monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise KeyError("inside")

    monkeypatch.setattr("holdstill.collection.Collection.info", broken)
    error = fault("info", people, code=1)
    assert error["type"] == "KeyError"
    assert error["message"] == "unexpected KeyError: 'inside'"
    assert "report" in error["hint"]
    result = run("info", people)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "Traceback" not in result.stderr
    monkeypatch.setenv("HOLDSTILL_DEBUG", "1")
    assert "Traceback" in run("info", people).stderr


def test_an_error_in_words_goes_to_stderr(run, people):
    result = run("search", people, "x", "--where", "years_exp = 'x'")
    assert (result.exit_code, result.stdout) == (2, "")
    first, *rest = result.stderr.splitlines()
    assert first.startswith("error: ")
    assert [line.split(":")[0].strip() for line in rest] == ["expected", "got"]


@pytest.mark.parametrize("given", ["soon", "-1", "nan", "inf", "1e9"])
def test_a_lock_timeout_that_is_no_number_of_seconds(fault, people, monkeypatch, given):
    monkeypatch.setenv("HOLDSTILL_LOCK_TIMEOUT", given)
    error = fault("info", people)
    assert (error["type"], error["field"]) == ("InvalidInput", "HOLDSTILL_LOCK_TIMEOUT")
    assert given in error["got"]


def test_the_lock_timeout_of_the_environment(monkeypatch):
    monkeypatch.setenv("HOLDSTILL_LOCK_TIMEOUT", " 0.25 ")
    assert config.lock_timeout() == 0.25
    monkeypatch.setenv("HOLDSTILL_LOCK_TIMEOUT", "")
    assert config.lock_timeout() == 10


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[]", "a principal is an object"),
        ('{"groups": []}', "must have an id"),
        ('{"id": "a", "tenant": "x"}', "no such key"),
        ('{"id": "a", "groups": "staff"}', "groups must be a list of strings"),
        ("\xff", "not UTF-8"),
        (None, "cannot be read"),
    ],
)
def test_a_malformed_principal_names_its_file(fault, people, tmp_path, content, message):
    path = tmp_path / "who.json"
    if content is not None:
        path.write_text(content, encoding="latin-1")
    error = fault("search", people, "x", "--as", path)
    assert error["type"] == "InvalidPrincipal"
    assert "who.json" in error["message"]
    assert message in error["message"]
