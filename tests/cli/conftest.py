"""The command line, run in this process, and a small collection to run it on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from holdstill.cli import main

PEOPLE = [
    {
        "id": "ana",
        "title": "Ana Weber",
        "text": "Led the payments backend of a fintech, in Python.",
        "metadata": {"years_exp": 7, "location": "Berlin", "skills": ["python", "sql"], "remote": True},
    },
    {
        "id": "bo",
        "title": "Bo Lind",
        "text": "Frontend developer of fintech dashboards.",
        "metadata": {"years_exp": 3, "location": "Remote", "skills": [], "remote": False},
    },
    {
        "id": "cy",
        "title": "Cy Okafor",
        "text": "Backend engineer in logistics.",
        "metadata": {"location": "Berlin", "hired": "2020-01-31"},
    },
    {
        "id": "di",
        "title": "Cy Okafor",
        "text": "Backend engineer in logistics.",
        "metadata": {"years_exp": 9, "location": "Lagos"},
    },
]

Run = Callable[..., Result]


def run_cli(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def write_lines(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def run() -> Run:
    """Runs one command."""
    return run_cli


@pytest.fixture
def ask() -> Callable[..., Any]:
    """Runs one command with `--json` and gives what it printed; it has to end with the exit code `code`."""

    def asked(*words: object, code: int = 0) -> Any:
        result = run_cli(*words, "--json")
        assert result.exit_code == code, (result.stdout, result.stderr)
        assert result.stdout.count("\n") == 1
        assert result.stderr == ""
        return json.loads(result.stdout)

    return asked


@pytest.fixture
def fault(ask: Callable[..., Any]) -> Callable[..., Any]:
    """Runs one command that has to fail, and gives its error."""

    def failed(*words: object, code: int = 2) -> Any:
        error = ask(*words, code=code)["error"]
        assert {"type", "message", "field", "expected", "got", "hint"} <= error.keys()
        return error

    return failed


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, list[Any]], Path]:
    """Writes rows as the lines of a file: values as JSON, strings as they are."""
    return lambda name, rows: write_lines(tmp_path / name, rows)


@pytest.fixture(scope="session")
def _people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("people")
    lines = write_lines(folder / "people.jsonl", list(PEOPLE))
    assert run_cli("add", folder / "people.hs", lines, "--embedder", "none").exit_code == 0
    return folder


@pytest.fixture
def people(_people: Path, tmp_path: Path) -> Path:
    """A collection of four documents, searched by words; `people.jsonl` is beside it."""
    shutil.copytree(_people, tmp_path, dirs_exist_ok=True)
    return tmp_path / "people.hs"


@pytest.fixture
def principal(tmp_path: Path) -> Callable[..., Path]:
    """Writes a principal's file."""

    def written(**attributes: object) -> Path:
        path = tmp_path / "principal.json"
        path.write_text(json.dumps({"id": "pat", "attributes": attributes}), encoding="utf-8")
        return path

    return written
