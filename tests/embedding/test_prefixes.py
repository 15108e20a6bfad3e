"""What stands before a question and before a passage: one place decides it, and everything counts it."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdstill as hs
from fakes import Hashed
from holdstill.embedding.base import as_passage, as_query
from holdstill.splitting import embedded_text, opening, split


class Prefixed(Hashed):
    """`Hashed` with prefixes of two words, as the digest says."""

    def __init__(self, window: int | None = None) -> None:
        super().__init__(window=window, version="prefixed")
        self.query_prefix = "the question: "
        self.passage_prefix = "the passage: "


def test_an_embedder_without_prefixes_embeds_the_text() -> None:
    assert as_query(Hashed(), "text") == as_passage(Hashed(), "text") == "text"


@pytest.mark.parametrize("prefix", [None, 3, b"query: ", "a\0"])
def test_a_prefix_that_is_no_text_is_refused(prefix: object) -> None:
    embedder = Hashed()
    embedder.query_prefix = prefix  # type: ignore[attr-defined]
    with pytest.raises(hs.InvalidInput, match=r"embedder\.query_prefix cannot be used; expected a text"):
        as_query(embedder, "text")


def test_passages_and_questions_are_embedded_behind_their_prefix(tmp_path: Path) -> None:
    embedder = Prefixed()
    with hs.create(tmp_path / "c.hs", embedder=embedder) as collection:
        embedder.texts.clear()
        collection.add([hs.Document("a", "words", title="Title")])
        collection.search("words")
    assert embedder.texts == ["the passage: Title\nwords", "the question: words"]


def test_the_prefix_is_part_of_what_a_vector_is_of(tmp_path: Path) -> None:
    """Vectors are found again by the hash of what was embedded: another prefix finds none."""
    embedder = Prefixed()
    with hs.create(tmp_path / "c.hs", embedder=embedder) as collection:
        collection.add([hs.Document("a", "words")])
        embedder.texts.clear()
        collection.add([hs.Document("b", "words")])
        assert embedder.texts == []
        embedder.passage_prefix = "another: "
        collection.add([hs.Document("c", "words")])
        assert embedder.texts == ["another: words"]


def test_the_prefix_takes_its_part_of_the_window() -> None:
    text = " ".join(f"w{number}" for number in range(40))
    for embedder in (Hashed(window=16), Prefixed(window=16)):
        pieces = [piece.text for piece in split(hs.Document("a", text), embedder)]
        assert " ".join(pieces) == text
        counts = [embedder.count_tokens(embedded_text("", (), piece, embedder)) for piece in pieces]
        assert max(counts) == 16


def test_a_title_counts_with_the_prefix_whether_it_leaves_the_text_room() -> None:
    title = "one two three four five"
    assert embedded_text(title, (), "text", Hashed(window=16)) == f"{title}\ntext"
    assert embedded_text(title, (), "text", Prefixed(window=16)) == "the passage: text"


def test_the_opening_of_a_question_fits_with_its_prefix() -> None:
    text, whole = opening("What is this? " * 6, Prefixed(window=16))
    assert (text, whole) == ("the question: " + "What is this? " * 3 + "What is this?", False)
    assert opening("What is this?", Prefixed(window=16)) == ("the question: What is this?", True)
