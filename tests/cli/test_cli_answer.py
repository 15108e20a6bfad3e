"""What people read: headlines, hits, remarks; and that nothing stored acts on the terminal."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console

from holdstill.cli.answer import fields_line, headline, print_answer, spelled
from holdstill.cli.terminal import emit, neutral, neutral_lines, shortened
from holdstill.result import ArmReport, Completeness, Hit, Result

SNAPSHOT = {"generation": 1, "commit": 1, "seen_at": 1}
RRF = {"fusion": "rrf", "rrf_k": 60, "depth": 5, "proof": "depth", "weights": {"lexical": 1, "dense": 1}}
ACTIVE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def hit(**changes):
    return replace(
        Hit(
            rank=1, tied=False, id="doc#0", document="doc", score=0.5, ranks={"lexical": 1, "dense": None},
            scores={"lexical": 9, "dense": None}, title="A title", headings=("One", "Two"), pages=(3, 4),
            text="Some words.", fields={"years_exp": 7, "skills": ("a", "b"), "gone": None},
        ),
        **changes,
    )  # fmt: skip


def result(completeness="complete", hits=(), **changes):
    made = Result(
        completeness=Completeness(completeness), k=10, offset=0, hits=tuple(hits), ties_beyond=0,
        understood={"text": "q", "must": [], "must_not": [], "where": None}, snapshot=SNAPSHOT, model=None, ranking=RRF,
        arms=(), unknown={}, notes=(), versions={},
    )  # fmt: skip
    return replace(made, **changes)


def shown(answer, width=80, explain=False):
    page = Console(file=io.StringIO(), width=width, markup=False, emoji=False, highlight=False)
    print_answer(page, answer, explain=explain)
    return page.file.getvalue()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (result(), "complete: places 1 to 10 of the ranking, proven"),
        (result(offset=20, k=1), "complete: place 21 of the ranking, proven"),
        (result(ranking=RRF | {"fusion": None}), "complete: places 1 to 10 of all that satisfies what was asked"),
        (result("exhausted", [hit()]), "exhausted: 1 of 10 asked; nothing else satisfies what was asked"),
        (result("exhausted"), "exhausted: nothing satisfies what was asked, proven"),
        (result("exhausted", offset=10), "exhausted: the answer ends before place 11"),
        (result("truncated", [hit()]), "truncated: 1 of 10 asked; more may match beyond --depth 5"),
        (result("approximate", [hit()]), "approximate: 1 hits, not proven to be the first of the ranking"),
        (result("degraded"), "degraded: 0 hits, found without all of the arms"),
    ],
)
def test_headlines(answer, words):
    assert headline(answer) == words
    assert shown(answer).startswith(words.split(":")[0])


def test_a_hit():
    assert shown(result(hits=[hit()])).splitlines()[2:] == [
        "   1  doc#0  A title",
        "      One > Two; pages 3-4",
        "      years_exp 7; skills a, b",
        "      Some words.",
        "      ranks: lexical 1, dense -",
    ]


def test_a_tied_document_is_marked_and_names_its_passage():
    lines = shown(result(hits=[hit(tied=True, best={"lexical": "doc#0"}, pages=(3, 3), ranks={})])).splitlines()
    assert lines[2] == "   1= doc  A title"
    assert lines[3] == "      One > Two; passage doc#0; page 3"


def test_scores_are_not_shown_unless_explained():
    answer = result(hits=[hit()])
    assert "0.5" not in shown(answer)
    assert "0.5" in shown(answer, explain=True)


def test_what_else_one_should_know():
    answer = result(ties_beyond=2, unknown={"years_exp": 1, "location": 4, "skills": 0}, notes=("a note",))
    text = " ".join(shown(answer).split())
    assert "2 more tie with the last hit" in text
    assert "1 visible document has no years_exp, and was left out" in text
    assert "4 visible documents have no location, and were left out" in text
    assert "skills" not in text
    assert "note: a note" in text
    assert "--depth" in shown(result("truncated")).splitlines()[-1]


def test_what_was_understood_and_what_the_arms_did():
    understood = {"text": "q", "must": ["a b"], "must_not": ["c"], "where": "n > 1"}
    arms = (ArmReport("lexical", "exact", "enough", 9, 4), ArmReport("dense", "exact", "deadline", 9, 0, "too slow"))
    assert shown(result(understood=understood, arms=arms)).splitlines()[1:] == [
        "  where n > 1",
        "  must 'a b'",
        "  must not 'c'",
        "  lexical: ranked 4 of 9 eligible",
        "  dense: ranked 0 of 9 eligible; too slow",
    ]


@pytest.mark.parametrize("width", [20, 40, 80, 120])
def test_nothing_is_wider_than_the_terminal(width):
    long = hit(title="word " * 60, text="wörd" * 90, id="i" * 12, headings=("heading " * 9,) * 5)
    assert max(len(line) for line in shown(result(hits=[long]), width=max(width, 26)).splitlines()) <= max(width, 26)


def test_a_long_name_is_kept_whole():
    assert f"   1  {'i' * 90}\n" in shown(result(hits=[hit(id="i" * 90, title="")]))
    assert f"  {'f' * 90}\n" in shown(result(notes=("the digest " + "f" * 90,)))


def test_fields_are_spelled_and_bounded():
    assert fields_line({"a": True, "b": (), "c": {"x": "ü"}, "d": 1.5, "e": "", "f": "x" * 60, "g": None}) == (
        'a true; b []; c {"x": "ü"}; d 1.5; e ""; f ' + "x" * 45 + "..."
    )
    assert fields_line({f"f{at}": at for at in range(12)}).endswith("f9 9; and 2 more")
    assert spelled(("a", "b")) == "a, b"
    assert spelled(("a, b", "c")) == '["a, b", "c"]'
    assert spelled(((1, 2), (3,))) == "[[1, 2], [3]]"


@given(st.text(st.characters(codec=None), max_size=60))
def test_nothing_of_a_document_acts_on_the_terminal(text):
    hostile = hit(id=text + "#0", document=text, title=text, text=text, headings=(text,), fields={"k" + text: text})
    understood = {"text": text, "must": [text], "must_not": [], "where": text}
    page = shown(result(hits=[hostile], notes=(text,), understood=understood), explain=True)
    assert not ACTIVE.search(page)
    page.encode()


@given(st.text(st.characters(codec=None), max_size=60))
def test_neutral_text_is_one_line_and_harmless_text_stays(text):
    assert not ACTIVE.search(neutral(text))
    assert "\n" not in neutral(text)
    assert len(shortened(text, 20)) <= 20 * len("\\U000e0000")
    assert neutral_lines(neutral_lines(text)) == neutral_lines(text)


@pytest.mark.parametrize("text", ["plain", "東京", "naïve ½", "👩‍👩‍👧 می‌خواهم", "[bold]x[/bold] :smile:", "a\\x1b"])
def test_harmless_text_is_left_as_it_is(text):
    assert neutral(text) == text
    assert text in shown(result(hits=[hit(text=text)]))


def test_escapes_and_line_breaks_are_written_out():
    assert neutral("\x1b[31m\u202e\n\x9b\ud800") == "\\x1b[31m\\u202e\\n\\x9b\\ud800"
    assert neutral_lines("a\r\nb\tc\rd") == "a\nb   c\\rd"


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8"))))
@example({"lone": "a\ud800b"})
def test_an_emitted_object_reads_back_and_is_one_harmless_line(payload):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", stream)
        emit(payload)
    printed = stream.buffer.getvalue().decode()
    assert json.loads(printed) == payload
    assert not ACTIVE.search(printed)
    assert printed.count("\n") == 1
