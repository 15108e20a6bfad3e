"""Splitting loses nothing, fits the window, cuts where it hurts least, and reads a long text in linear time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from holdstill.document import Document, Passage
from holdstill.embedding import load
from holdstill.errors import EmbedderFailed
from holdstill.splitting import _SENTENCE_END, embedded_text, opening, sentence_ends, split


class Words:
    """A token a word, and one at either end."""

    name = "words"
    dimensions = 1
    digest = "sha256:words"

    def __init__(self, window: int | None) -> None:
        self.window = window
        self.read = 0

    def count_tokens(self, text: str) -> int:
        self.read += len(text)
        return len(text.split()) + 2

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        raise NotImplementedError


class Characters(Words):
    """A token a character that is not a space: every word may be too long."""

    def count_tokens(self, text: str) -> int:
        self.read += len(text)
        return len("".join(text.split())) + 2


EMBEDDERS = st.builds(lambda kind, window: kind(window), st.sampled_from([Words, Characters]), st.integers(16, 40))
ALPHABET = st.sampled_from("aB1`.!?,;  \n\u2029\u3000。东e\u0301'’“”)(-\x1c\u200b")
TEXT = st.one_of(st.text(ALPHABET, max_size=400), st.text(max_size=100))


def _joined(texts: Sequence[str]) -> str:
    return "".join("".join(texts).split())


def _texts(text: str, window: int, kind: type[Words] = Words, **more: str) -> list[str]:
    return [piece.text for piece in split(Document("d", text, **more), kind(window))]


def _sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in pairwise([0, *sentence_ends(text)])]


@given(TEXT, EMBEDDERS, st.text(ALPHABET, max_size=20), st.lists(st.text(ALPHABET, max_size=15), max_size=2))
def test_nothing_is_lost_and_every_piece_is_read_whole(
    text: str, embedder: Words, title: str, headings: list[str]
) -> None:
    title += "t"
    document = Document("d", passages=[Passage(text, headings=headings, pages=(2, 3))], title=title)
    pieces = split(document, embedder)
    assert embedder.window is not None
    for piece in pieces:
        assert (piece.headings, piece.pages) == (document.passages[0].headings, (2, 3))
        embedded = embedded_text(title, piece.headings, piece.text, embedder)
        assert piece.text.strip() in embedded
        assert embedder.count_tokens(embedded) <= embedder.window
    if text.strip():
        assert all(piece.text.strip() for piece in pieces)
        assert _joined([piece.text for piece in pieces]) == _joined([document.passages[0].text])


@given(TEXT, EMBEDDERS)
def test_sentences_that_fit_are_never_cut(text: str, embedder: Words) -> None:
    document = Document("d", f"x{text}")
    assert embedder.window is not None
    whole = document.passages[0].text
    ends = set(sentence_ends(whole))
    position = 0
    for piece in split(document, embedder)[:-1]:
        position = whole.index(piece.text, position) + len(piece.text)
        rest = whole[position:]
        after = position + len(rest) - len(rest.lstrip())
        if any(position <= end <= after for end in ends):
            continue
        # The cut is inside a sentence: from the piece's start to the sentence's end is more than the window holds.
        start = position - len(piece.text)
        end = min(end for end in ends if end > after)
        assert embedder.count_tokens(whole[start:end].rstrip()) > embedder.window


@given(st.lists(st.integers(1, 30), min_size=1, max_size=40), st.integers(16, 40))
def test_pieces_are_packed_as_full_as_sentences_allow(lengths: list[int], window: int) -> None:
    sentences = [" ".join(["Word"] + ["word"] * (min(length, window - 2) - 1)) + "!" for length in lengths]
    pieces = _texts(" ".join(sentences), window)
    for piece, following in pairwise(pieces):
        assert piece.endswith("!")
        first = following[: following.index("!")]
        assert len(piece.split()) + len(first.split()) + 2 > window


def test_a_text_that_fits_stays_as_it_is() -> None:
    document = Document("d", "  One. Two.\n", title="A title")
    assert split(document, Words(16)) == document.passages


def test_passages_with_vectors_are_never_split_and_without_embedder_nothing_is() -> None:
    long = "word " * 100
    document = Document("d", passages=[Passage(long, vector=[1.0]), Passage(long), Passage("short")])
    kept, *pieces, last = split(document, Words(16))
    assert kept is document.passages[0]
    assert last is document.passages[2]
    assert len(pieces) == 8
    assert split(document, None) is document.passages
    assert split(document, Words(None)) == document.passages


def test_a_cut_falls_after_a_sentence_else_a_stop_else_a_line_else_a_word() -> None:
    words = " ".join(f"W{number}" for number in range(10))
    assert _texts(f"{words}. {words}. W.", 16) == [f"{words}.", f"{words}. W."]
    small = words.lower()
    assert _texts(f"{small}.\n{small}\nw. {small}.", 16) == [f"{small}.", f"{small}\nw.", f"{small}."]
    assert _texts(f"{words}\n{words}\n{words}", 16) == [words] * 3
    assert _texts(" ".join(["w"] * 30), 16) == [" ".join(["w"] * 14)] * 2 + ["w w"]


def test_a_word_longer_than_the_window_is_cut_at_its_parts_then_at_characters() -> None:
    assert _texts("alpha,beta,gamma,delta", 16, Characters) == ["alpha,beta,", "gamma,delta"]
    assert _texts("x" * 30, 16, Characters) == ["x" * 14, "x" * 14, "xx"]


def test_a_letter_keeps_its_accents_where_it_can() -> None:
    assert _texts("e\u0301" * 9, 17, Characters) == ["e\u0301" * 7, "e\u0301" * 2]
    assert _texts("e" + "\u0301" * 20, 16, Characters) == ["e" + "\u0301" * 13, "\u0301" * 7]


def test_the_rest_of_a_cut_sentence_is_packed_with_what_follows() -> None:
    assert _texts("w " * 20 + "end. Next one.", 16)[-1] == "w w w w w w end. Next one."


def test_title_and_headings_are_embedded_with_every_piece() -> None:
    document = Document("d", passages=[Passage("word " * 40, headings=["Part", "Chapter"])], title="Title")
    embedder = Words(16)
    pieces = split(document, embedder)
    assert [len(piece.text.split()) for piece in pieces] == [11, 11, 11, 7]
    assert embedded_text("Title", ["Part", "Chapter"], "word", embedder) == "Title\nPart\nChapter\nword"


def test_a_title_that_takes_more_than_half_of_the_window_is_not_embedded_with_a_text() -> None:
    embedder = Words(16)
    assert embedded_text("t " * 6, [], "word", embedder) == "t " * 6 + "\nword"
    assert embedded_text("t " * 7, [], "word", embedder) == "word"
    assert embedded_text("t " * 5, ["h h"], "word", embedder) == "word"
    assert embedded_text("t " * 7, [], " ", embedder) == "t " * 7
    assert embedded_text("t " * 700, [], "word", Words(None)) == "t " * 700 + "\nword"
    assert _texts("word " * 14, 16, title="t " * 7) == ["word " * 14]


def test_a_document_of_nothing_but_a_title() -> None:
    (piece,) = split(Document("d", title="One title."), Words(16))
    assert piece.text == ""
    assert embedded_text("One title.", (), "", Words(16)) == "One title."
    title = "Many words. " * 10
    pieces = split(Document("d", title=title), Words(16))
    assert [piece.text for piece in pieces] == [("Many words. " * 7).rstrip(), ("Many words. " * 3).rstrip()]


def test_the_opening_of_a_question() -> None:
    assert opening("what is this", Words(16)) == ("what is this", True)
    assert opening("what is this " * 1000, Words(None)) == ("what is this " * 1000, True)
    assert opening("What is this? " * 6, Words(16)) == (
        "What is this? What is this? What is this? What is this?",
        False,
    )


def test_a_window_that_holds_no_character_is_an_error() -> None:
    class Costly(Words):
        def count_tokens(self, text: str) -> int:
            return 20 * len(text)

    with pytest.raises(EmbedderFailed, match=r"does not hold a single character.*got 'x' \(str\)"):
        split(Document("d", "xyz"), Costly(16))


@pytest.mark.parametrize("kind", [Words, Characters])
@pytest.mark.parametrize(
    "text",
    [
        "word " * 40_000,
        "One short sentence. " * 10_000,
        "x" * 200_000,
        "a," * 100_000,
        "a." + " " * 200_000 + "b " * 40,
        "\n" * 200_000 + "b " * 40,
        "天" * 200_000,
        "e" + "\u0301" * 200_000,
        "` `` ```a. B " * 16_000,
    ],
    ids=["words", "sentences", "one word", "commas", "spaces", "lines", "no spaces", "accents", "ticks"],
)
def test_the_work_grows_with_the_text_and_no_faster(text: str, kind: type[Words]) -> None:
    embedder = kind(256)
    pieces = split(Document("d", text), embedder)
    assert embedder.read < 30 * len(text)
    assert _joined([piece.text for piece in pieces]) == _joined([text])


@pytest.mark.parametrize(
    "sentences",
    [
        ["It costs $3.5 million. ", "Really?! ", "Yes... ", "Version 2.14.1 is out."],
        ["See e.g. Smith et al. (2004). ", "Dr. Who asked Prof. Lee vs. Mr. Ray."],
        ["Fig. 3. shows it. ", "J. R. R. Tolkien wrote it. ", "No. 5 is alive. ", "No. ", "It is not."],
        ["“Are you going?” ", "John shook his head. ", "(He was tired.) ", "Then he went."],
        ["A line that is\nwrapped goes on. ", "So it is.\n"],
        ["A heading\n\n", "A paragraph\r\n\r\n", "Another \n \t\n\n", "The last"],
        ["Two things:\n1. One.\n", "2. Two."],
        ["東京は晴れ。", "大阪は雨！", "京都は？"],
        ["هل أنت هنا؟ ", "نعم."],
        ["Call `list. Append(x)` first. ", "Then ``a. `B` c! D`` and stop. ", "Done."],
        ["`Not. ", "Closed``.\n\n", "Begun ` on\none line. ", "Ended ` on another."],
        ["no stop at all"],
    ],
)
def test_sentences(sentences: list[str]) -> None:
    assert _sentences("".join(sentences)) == sentences


def test_no_text_has_no_sentences() -> None:
    assert sentence_ends("") == []


@given(st.text(st.sampled_from("aAbB1.!? )(\"',;:-。\u0301\u200b‘”«中ة"), min_size=1, max_size=20))
def test_the_rules_of_unicode_agree_with_another_implementation(text: str) -> None:
    """Without characters of the class Other, over which uniseg 0.10.1 does not carry rule SB8, as UAX #29 does."""
    uniseg = pytest.importorskip("uniseg.sentencebreak")
    expected = [end for end in uniseg.sentence_boundaries(text) if 0 < end < len(text)]
    assert [found.end() for found in _SENTENCE_END.finditer(text) if found.end() < len(text)] == expected


@pytest.mark.model
def test_with_the_bundled_model_every_piece_can_be_embedded() -> None:
    embedder = load()
    text = "".join(
        f"Article {n}. The lessee shall pay §{n},{n % 7}00.50 € (東京, v2.{n}.1) by noon! " for n in range(60)
    )
    document = Document("d", text + "z" * 400 + " " + ",".join(map(str, range(300))), title="The lease")
    pieces = split(document, embedder)
    texts = [embedded_text("The lease", (), piece.text, embedder) for piece in pieces]
    assert len(texts) > 5
    assert embedder.embed(texts).shape == (len(texts), 384)
    assert _joined([piece.text for piece in pieces]) == _joined([document.passages[0].text])
    assert min(embedder.count_tokens(each) for each in texts[:5]) > 200
