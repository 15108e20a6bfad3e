"""The examples of docs/input.md, run as they stand."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from holdstill.ingest import FORMATS
from holdstill.ingest.files import _KINDS
from holdstill.schema import FIELD_TYPES

PAGE = Path(__file__).parents[2] / "docs" / "input.md"
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_example_does_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    runner = doctest.DocTestRunner()
    for language, file, content in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if file:
            Path(file).write_text(content.removesuffix("\n"), encoding="utf-8")
        else:
            assert language == "pycon"
            example = doctest.DocTestParser().get_doctest(content, names, PAGE.name, str(PAGE), 0)
            runner.run(example, clear_globs=False)
            names |= example.globs
    assert runner.tries >= 10
    assert runner.failures == 0


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "auto"] + [*_KINDS, *FIELD_TYPES])
def test_every_format_extension_and_type_is_described(name: str) -> None:
    assert f"`{name}`" in PAGE.read_text(encoding="utf-8")
