"""The documentation is true: its examples run, its links lead somewhere, and it leaves no public name out.

In README.md and in docs/, by the word after the opening fence:

    python      is run; the blocks of one page share their names, in order
    pycon       is run as a doctest, with the same names
    console     lines after `$ ` are run by the command line; what it prints is the text below, in which `...` stands
                for anything; `$ echo $?` shows the last exit code
    LANG NAME   is written to the file NAME
    text        is not run

Each page has a directory of its own.
"""

from __future__ import annotations

import builtins
import doctest
import inspect
import re
import shlex
import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

import holdstill
import holdstill.errors
from holdstill.cli import main

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PROSE = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]

_FENCE = re.compile(r"^```(?P<language>\S*)(?: (?P<file>\S+))?\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")


class Block(NamedTuple):
    language: str
    file: str | None
    body: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for match in _FENCE.finditer(text):
        yield Block(match["language"], match["file"], match["body"], text.count("\n", 0, match.start("body")) + 1)


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


# -- examples ------------------------------------------------------------------------------------


@pytest.mark.model
@pytest.mark.parametrize("page", PAGES, ids=name)
def test_examples_are_true(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("HOLDSTILL_LOCK_TIMEOUT", raising=False)
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.file is not None:
            target = tmp_path / block.file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.body, encoding="utf-8")
        elif block.language == "python":
            exec(compile("\n" * (block.line - 1) + block.body, name(page), "exec"), names)
        elif block.language == "pycon":
            run_doctest(block, page, names)
        elif block.language == "console":
            run_console(block, page)
        else:
            assert block.language == "text", f"{name(page)}:{block.line}: what is a {block.language!r} block?"


def run_doctest(block: Block, page: Path, names: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(block.body, {}, name(page), name(page), block.line - 1)
    test.globs = names
    printed: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    failures = runner.run(test, out=printed.append, clear_globs=False).failed
    assert not failures, "".join(printed)


def run_console(block: Block, page: Path) -> None:
    code = 0
    for line, command, expected in commands(block):
        where = f"{name(page)}:{line}: $ {command}"
        if command == "echo $?":
            printed = f"{code}\n"
        else:
            program, *arguments = shlex.split(command)
            assert program == "holdstill", f"{where}: only `holdstill` and `echo $?` can be run"
            done = CliRunner().invoke(main, arguments)
            code, printed = done.exit_code, done.output
        assert matches(expected, printed), f"{where}\n--- the page says\n{expected}--- it prints\n{printed}"


def commands(block: Block) -> Iterator[tuple[int, str, str]]:
    """Each command of a block, its line, and what it should print. A backslash at the end continues a command."""
    for number, part in enumerate(re.split(r"^\$ ", block.body, flags=re.MULTILINE)):
        if number == 0:
            assert not part.strip(), f"a console block begins with a command, not with {part!r}"
            continue
        joined = re.sub(r"\\\n\s*", "", part)
        command, _, expected = joined.partition("\n")
        yield block.line, command, expected


def matches(expected: str, printed: str) -> bool:
    """Whether what was printed is what the page says, but for `...` and for blanks at line ends."""
    wanted, given = (re.sub(r"[ \t]+$", "", text.strip("\n"), flags=re.MULTILINE) for text in (expected, printed))
    pattern = re.escape(wanted).replace(re.escape("..."), ".*?")
    return re.fullmatch(pattern, given, re.DOTALL) is not None


def test_elision_stands_for_anything_and_nothing_else_does() -> None:
    assert matches("a\n...\nd\n", "a  \nb\nc\nd\n\n")
    assert matches("at ... o'clock", "at 12 o'clock")
    assert not matches("a\nd", "a\nb\nd")
    assert not matches("a.c", "abc")


def test_the_pages_have_examples() -> None:
    run = {page.name: {block.language for block in blocks(page)} - {"text"} for page in PAGES}
    guides = (
        "README.md",
        "quickstart.md",
        "concepts.md",
        "completeness.md",
        "permissions.md",
        "errors.md",
        "storage.md",
        "history.md",
    )
    assert [page for page in guides if not run[page]] == []


# -- completeness --------------------------------------------------------------------------------


def test_exported_names_are_sorted_and_complete() -> None:
    public = {
        key for key, value in vars(holdstill).items() if not key.startswith("_") and not isinstance(value, ModuleType)
    }
    assert list(holdstill.__all__) == sorted(holdstill.__all__)
    assert public | {"__version__"} == set(holdstill.__all__)


def test_every_public_name_is_documented() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    missing = [each for each in holdstill.__all__ if not re.search(rf"(?<!\w){re.escape(each)}(?!\w)", text)]
    assert missing == []


@pytest.mark.parametrize("page", PROSE, ids=name)
def test_relative_links_lead_somewhere(page: Path) -> None:
    broken = []
    for match in _LINK.finditer(_FENCE.sub("", page.read_text(encoding="utf-8"))):
        target, _, anchor = match["target"].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        file = page if not target else (page.parent / target)
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(match["target"])
    assert broken == []


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#{1,6} (.+)$", _FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_reached_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    linked = {match["target"].partition("#")[0] for match in _LINK.finditer(readme)}
    assert [name(page) for page in PAGES[1:] if name(page) not in linked] == []


# -- errors --------------------------------------------------------------------------------------


def drawn_tree() -> str:
    """The tree that the docstring of `holdstill.errors` draws."""
    return textwrap.dedent((inspect.getdoc(holdstill.errors) or "").split("\n\n", 2)[2]).strip()


def test_the_page_on_errors_shows_the_tree_of_the_code() -> None:
    shown = [block.body for block in blocks(ROOT / "docs" / "errors.md") if block.language == "text"]
    assert shown[0].strip() == drawn_tree()


def test_the_tree_is_that_of_the_classes() -> None:
    drawn: dict[str, tuple[str | None, str | None]] = {}
    path: list[tuple[int, str]] = []
    for line in drawn_tree().splitlines():
        match = re.match(r"(?P<indent> *)(?P<name>\w+)(?: \((?P<builtin>\w+)\))?", line)
        assert match is not None
        path = [above for above in path if above[0] < len(match["indent"])]
        drawn[match["name"]] = (path[-1][1] if path else None, match["builtin"])
        path.append((len(match["indent"]), match["name"]))
    actual = {}
    for key, value in vars(holdstill.errors).items():
        if isinstance(value, type) and issubclass(value, holdstill.HoldstillError):
            ours = [base.__name__ for base in value.__bases__ if issubclass(base, holdstill.HoldstillError)]
            others = [base.__name__ for base in value.__bases__ if hasattr(builtins, base.__name__)]
            actual[key] = (ours[0] if ours else None, others[0] if ours and others else None)
    assert drawn == actual


# -- what has no place here ----------------------------------------------------------------------

# Absolute paths of a machine, and talk of how the text came to be. A class of one letter keeps it from finding itself.
_OUT_OF_PLACE = re.compile(
    r"/(?:work|home|root|Users)/\w|\b[s]essions?\b|\b(?:[c]laude|[a]nthropic|[c]hatgpt|[c]opilot)\b", re.IGNORECASE
)
_IN_PLACE = re.compile(r'scope="session"')
_DATA = ("minilm-vocab.txt",)


def tracked() -> list[Path]:
    """The files of the repository; outside of one, those of the folders that belong to it."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / each for each in listed.stdout.decode().split("\0") if each]


def test_nothing_speaks_of_where_and_how_it_was_written() -> None:
    found = []
    for path in tracked():
        if path.is_file() and path.name not in _DATA and b"\0" not in (content := path.read_bytes()):
            for number, line in enumerate(content.decode("utf-8").splitlines(), start=1):
                if _OUT_OF_PLACE.search(_IN_PLACE.sub("", line)):
                    found.append(f"{name(path)}:{number}: {line.strip()}")
    assert found == []
