"""Markdown and text files: one document a file, a passage a section, and no word lost."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdstill.document import Document
from holdstill.ingest import Refused, Row, read


def read_one(folder: Path, content: str | bytes, name: str = "guide.md") -> Document:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (row,) = read([path])
    assert isinstance(row, Row)
    assert row.number == 1
    return row.document


def shape(document: Document) -> list[tuple[tuple[str, ...], str]]:
    return [(passage.headings, passage.text) for passage in document.passages]


def test_passages_follow_headings_and_carry_their_path(tmp_path: Path) -> None:
    document = read_one(
        tmp_path, "# Guide\n\nHello *you*.\n\n## Install\n\npip\n\n### Windows ###\npy\n\nUse\n---\nrun\n\n# More\nend"
    )
    assert (document.id, document.title, document.whole) == ("guide.md", "Guide", False)
    assert shape(document) == [
        (("Guide",), "Hello *you*."),
        (("Guide", "Install"), "pip"),
        (("Guide", "Install", "Windows"), "py"),
        (("Guide", "Use"), "run"),
        (("More",), "end"),
    ]


def test_what_stands_before_the_first_heading_has_no_path(tmp_path: Path) -> None:
    document = read_one(tmp_path, "intro\n\n# Guide\nbody")
    assert document.title == "guide"
    assert shape(document) == [((), "intro"), (("Guide",), "body")]


@pytest.mark.parametrize(
    ("text", "title"), [("## Second\nx", "guide"), ("plain", "guide"), ("\n\n# `a` b\nx", "`a` b")]
)
def test_the_title_is_the_heading_that_opens_the_file(tmp_path: Path, text: str, title: str) -> None:
    assert read_one(tmp_path, text).title == title


@pytest.mark.parametrize(
    "block",
    [
        "```sh\n# comment\n```",
        "~~~\n# comment\n~~~",
        "    # comment",
        "> # quoted",
        "- # listed\n\n  # listed",
        "<!--\n# hidden\n-->",
        "\\# escaped",
        "#hashtag",
        "####### seven",
    ],
)
def test_what_only_looks_like_a_heading_stays_in_the_text(tmp_path: Path, block: str) -> None:
    document = read_one(tmp_path, f"# Guide\n\n{block}\n\n## Next\nx")
    assert shape(document) == [(("Guide",), block), (("Guide", "Next"), "x")]


def test_a_heading_with_nothing_under_it_is_found_through_its_own_words(tmp_path: Path) -> None:
    document = read_one(tmp_path, "# Guide\n## Empty\n## Parent\n### Child\nx\n## Last")
    assert shape(document) == [
        (("Guide", "Empty"), "Empty"),
        (("Guide", "Parent", "Child"), "x"),
        (("Guide", "Last"), "Last"),
    ]


def test_a_heading_without_words_is_text(tmp_path: Path) -> None:
    assert shape(read_one(tmp_path, "# A\n##\nx\n")) == [(("A",), "##\nx")]


def test_a_lone_mark_is_nothing_under_a_heading(tmp_path: Path) -> None:
    assert shape(read_one(tmp_path, "# A\nx\n## B\n\ufeff\n## C\ny")) == [
        (("A",), "x"),
        (("A", "B"), "B"),
        (("A", "C"), "y"),
    ]


def test_a_heading_of_several_lines_is_one(tmp_path: Path) -> None:
    assert shape(read_one(tmp_path, "Long\nheading\n===\nx")) == [(("Long heading",), "x")]


def test_front_matter_is_text_and_hides_no_title(tmp_path: Path) -> None:
    front = "---\ntitle: Not this\ntags: [a]\n---"
    document = read_one(tmp_path, f"{front}\n\n# Guide\n\nx")
    assert document.title == "Guide"
    assert shape(document) == [((), front), (("Guide",), "x")]


@pytest.mark.parametrize("text", ["---\n# Guide\nx\n\n---\ny", "---\ntitle: never closed\n\n# Guide\nx\n\n***\ny"])
def test_a_rule_at_the_start_is_no_front_matter(tmp_path: Path, text: str) -> None:
    assert ("Guide",) in [headings for headings, _ in shape(read_one(tmp_path, text))]


def test_line_ends_marks_and_unstorable_characters(tmp_path: Path) -> None:
    document = read_one(tmp_path, b"\xef\xbb\xbf# Guide\r\n\r\na\0b\r\rc\n")
    assert document.title == "Guide"
    assert shape(document) == [(("Guide",), "a\ufffdb\n\nc")]


def test_compressed_markdown(tmp_path: Path) -> None:
    document = read_one(tmp_path, gzip.compress(b"words"), name="guide.md.gz")
    assert (document.id, document.title) == ("guide.md.gz", "guide")


def test_a_text_file_is_one_text_titled_by_its_name(tmp_path: Path) -> None:
    document = read_one(tmp_path, "# not a heading\n\nwords\n", name="release.notes.txt")
    assert (document.id, document.title, document.whole) == ("release.notes.txt", "release.notes", True)
    assert shape(document) == [((), "# not a heading\n\nwords\n")]


@pytest.mark.parametrize("name", ["a.md", "a.txt"])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty; expected at least one word"),
        (b" \n\t\n", "the file is empty"),
        (b"caf\xe9", "not UTF-8: byte 0xe9 at byte 4. Save it as UTF-8"),
    ],
)
def test_a_file_without_readable_words_is_refused(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    (refused,) = read([path])
    assert isinstance(refused, Refused)
    assert (refused.row, refused.source) == (1, str(path))
    assert reason in refused.reason


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def every_word(document: Document) -> set[str]:
    texts = [document.title] + [part for passage in document.passages for part in (*passage.headings, passage.text)]
    return words("\n".join(texts))


blocks = st.sampled_from(
    [
        "# One",
        "## Two two",
        "###### Six ######",
        "#",
        "##",
        "Set\next\n---",
        "Big\n===",
        "```\n# fence\n```",
        "> # quote",
        "- item",
        "---",
        "---\nkey: value\n---",
        "[ref]: http://example.org/x",
        "plain `code` [link](http://u.v/w)",
        "<b>\n# html\n</b>",
        "    # indented",
        "| a | b |\n|---|---|\n| c | d |",
        "~~~",
        "*a*\t_b_",
        "&amp; \\# é 漢字",
        "\r\r\n",
        "x\0y",
    ]
)


@given(
    st.lists(
        blocks | st.text("ab1#=-`>*~[]():. \t\n\r\0\f\v\x1f\x85\u2028\ufeffé漢", max_size=12), min_size=1, max_size=12
    ),
    st.sampled_from(["\n", "\n\n", "\r\n"]),
)
def test_no_word_of_the_file_is_lost(tmp_path_factory: pytest.TempPathFactory, parts: list[str], end: str) -> None:
    path = tmp_path_factory.mktemp("words") / "guide.md"
    text = end.join(parts)
    path.write_bytes(text.encode())
    (item,) = read([path])
    if isinstance(item, Refused):
        assert not words(text)
    else:
        assert words(text.replace("\0", "\ufffd")) <= every_word(item.document)


def test_no_word_of_a_real_book_is_lost(shared: Path) -> None:
    folder = shared / "data" / "books" / "rust-book"
    rows = [item for item in read([folder]) if isinstance(item, Row)]
    assert len(rows) > 100
    for row in rows:
        assert words((folder / row.document.id).read_text(encoding="utf-8")) <= every_word(row.document)
