"""Which files a path stands for, under which ids, in which order, and what is said of the rest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdstill.errors import InvalidInput, MalformedInput
from holdstill.ingest import Refused, Row, read


def tree(folder: Path, *names: str, content: str = "words") -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


def ids(folder: Path, **options: Any) -> list[str]:
    items = list(read([folder], **options))
    assert all(isinstance(item, Row) for item in items)
    return [item.document.id for item in items if isinstance(item, Row)]


def test_a_folder_gives_paths_inside_it_in_order(tmp_path: Path) -> None:
    tree(tmp_path, "b/z.md", "a.txt", "b.md", "b/a/é.MARKDOWN", "B.text", "b-c.md")
    assert ids(tmp_path) == ["B.text", "a.txt", "b-c.md", "b.md", "b/a/é.MARKDOWN", "b/z.md"]


def test_a_file_gives_its_name(tmp_path: Path) -> None:
    tree(tmp_path, "deep/er/a.md")
    (row,) = read([tmp_path / "deep" / "er" / "a.md"])
    assert isinstance(row, Row)
    assert (row.document.id, row.source) == ("a.md", str(tmp_path / "deep" / "er" / "a.md"))


def test_files_are_read_in_the_order_given(tmp_path: Path) -> None:
    tree(tmp_path, "b.txt", "a.txt", "c/d.txt")
    items = list(read([tmp_path / "b.txt", tmp_path / "c", tmp_path / "a.txt"]))
    assert [item.document.id for item in items if isinstance(item, Row)] == ["b.txt", "d.txt", "a.txt"]


def test_hidden_files_and_folders_are_passed_over(tmp_path: Path) -> None:
    tree(tmp_path / ".in", "a.md", ".b.md", ".git/c.md", "d/.e/f.md")
    reading = read([tmp_path / ".in"])
    assert [item.document.id for item in reading if isinstance(item, Row)] == ["a.md"]
    assert reading.notes == ()


def test_files_of_other_kinds_are_counted(tmp_path: Path) -> None:
    tree(tmp_path, "a.md", "x.png", "y.PNG", "package.json", "Makefile")
    reading = read([tmp_path])
    assert [item.document.id for item in reading if isinstance(item, Row)] == ["a.md"]
    assert reading.notes == (f"4 files in '{tmp_path}' not read: 1 .json, 2 .png, 1 no extension",)


def test_a_format_chooses_a_folders_files(tmp_path: Path) -> None:
    tree(tmp_path, "a.md", "b.txt")
    assert ids(tmp_path, format="text") == ["b.txt"]


def test_a_format_overrides_a_files_name(tmp_path: Path) -> None:
    tree(tmp_path, "NOTES")
    (row,) = read([tmp_path / "NOTES"], format="text")
    assert isinstance(row, Row)
    assert (row.document.id, row.document.title) == ("NOTES", "NOTES")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("none.md", {}, "there is no file or folder"),
        ("x.docx", {}, "does not tell what it holds; expected .jsonl, "),
        ("empty", {}, "holds nothing to read; expected .jsonl, "),
        ("pictures", {}, "holds nothing to read"),
        ("texts", {"format": "csv"}, "holds nothing to read; expected files of format csv"),
    ],
)
def test_a_path_with_nothing_to_read_is_an_error_before_anything_is_read(
    tmp_path: Path, name: str, options: dict[str, Any], message: str
) -> None:
    tree(tmp_path, "good.md", "x.docx", "pictures/a.png", "texts/a.txt")
    (tmp_path / "empty").mkdir()
    with pytest.raises(MalformedInput, match=message) as caught:
        read([tmp_path / "good.md", tmp_path / name], **options)
    assert caught.value.field == str(tmp_path / name)


def test_an_unknown_format_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no such format; expected one of auto, jsonl, csv, parquet, markdown, text"):
        read([tmp_path], format="xml")  # type: ignore[arg-type]


def test_loops_of_links_end(tmp_path: Path) -> None:
    tree(tmp_path, "a.md", "sub/b.md")
    try:
        (tmp_path / "sub" / "loop").symlink_to(tmp_path, target_is_directory=True)
        (tmp_path / "sub" / "self.md").symlink_to(tmp_path / "sub" / "self.md")
        (tmp_path / "linked.md").symlink_to(tmp_path / "a.md")
    except OSError:
        pytest.skip("this system makes no links")
    assert ids(tmp_path) == ["a.md", "linked.md", "sub/b.md"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes")
def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    tree(tmp_path, "a.md")
    os.mkfifo(tmp_path / "pipe.md")
    assert ids(tmp_path) == ["a.md"]


def test_a_folder_that_cannot_be_listed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, "a.md", "locked/b.md")
    scan = os.scandir

    def locked(path: Any) -> Any:
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", locked)
    refused, row = read([tmp_path])
    assert isinstance(refused, Refused)
    assert (refused.row, refused.source) == (1, str(tmp_path / "locked"))
    assert "the folder cannot be listed" in refused.reason
    assert isinstance(row, Row)


def test_a_file_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    tree(tmp_path, "a.md", "b.md")
    reading = read([tmp_path])
    (tmp_path / "a.md").unlink()
    refused, row = reading
    assert isinstance(refused, Refused)
    assert "the file cannot be read from here on" in refused.reason
    assert isinstance(row, Row)


@pytest.mark.skipif(os.name != "posix", reason="names are bytes on POSIX alone")
def test_a_name_that_is_no_text_can_be_printed(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.md"))
    try:
        path.write_text("words")
    except OSError:
        pytest.skip("this file system takes no such name")
    (refused,) = read([tmp_path])
    assert isinstance(refused, Refused)
    assert refused.field == "id"
    assert refused.source == f"{tmp_path}/caf\\xe9.md"


def test_a_refused_row_is_shown_as_a_mapping() -> None:
    refused = Refused(3, "n", "because", "a.csv")
    assert refused.as_dict() == {"row": 3, "field": "n", "reason": "because", "source": "a.csv"}


def test_reading_lines_loads_nothing_heavy() -> None:
    code = "import sys, holdstill.ingest; print({'duckdb', 'markdown_it', 'pydantic'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
