"""Questions are plain words; every word is findable; requirements on words hold for the unit."""

from __future__ import annotations

import string
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdstill
from histories import budget
from holdstill import Collection, Document, Passage, Settings
from holdstill.analysis import MAX_TERM, analyser


def ids(result: holdstill.Result) -> list[str]:
    return [hit.id for hit in result]


# Plain words

SIGNS = (
    *string.punctuation, *"“”„‚‘’«»–—…¿¡、。・「」", "''", '""', "--", "&&", "||", "^2", "~1", "\\\\", "%s", "NOT",
    "AND", "OR", "NEAR", "((", "text:", "/*", "*/", "\t", "\n", "\x00", "\u200b",
)  # fmt: skip


def test_no_sign_of_a_question_is_syntax(make: Any) -> None:
    collection = make()
    collection.add([Document(f"other{i}", "blue fish") for i in range(5)] + [Document("z", "zebra")])
    sign = st.sampled_from(SIGNS)

    @budget(60)
    @given(st.lists(sign, max_size=4), st.lists(sign, max_size=4), st.sampled_from(("", " ")), st.booleans())
    def check(before: list[str], after: list[str], between: str, word: bool) -> None:
        spaced = [*before, "zebra", *after] if word else [*before, *after]
        text = (between or " ").join(spaced)
        terms = analyser("simple").terms(text)
        if not terms:
            with pytest.raises(holdstill.EmptyQuery):
                collection.search(text)
            return
        result = collection.search(text)
        assert ids(result) == (["z#0"] if word else [])
        assert result.understood == {"text": text, "must": [], "must_not": [], "where": None}

    check()


@pytest.mark.parametrize(
    "text", ["", " ", "\n\t", "\u200b", "\ufeff", "\u00ad\u2060", "!!!", '"', "-", "''", "。、", "\x00", "\ud800"]
)
@pytest.mark.parametrize("asked", [{}, {"where": "true"}, {"must": ["red"]}, {"by": "document"}])
def test_a_question_without_words_is_refused(make: Any, text: str, asked: dict[str, Any]) -> None:
    collection = make()
    collection.add([Document("a", "red")])
    with pytest.raises(holdstill.EmptyQuery) as caught:
        collection.search(text, **asked)
    assert caught.value.field == "text"


def test_nothing_asked_is_refused(make: Any) -> None:
    with pytest.raises(holdstill.EmptyQuery):
        make().search()


def test_words_that_others_leave_out_are_searched(make: Any) -> None:
    for words in ("simple", "english"):
        collection = make(analyser=words)
        collection.add([Document("hamlet", "to be or not to be"), Document("other", "red fish")])
        assert ids(collection.search("to be or not to be")) == ["hamlet#0"]
        assert ids(collection.search("not")) == ["hamlet#0"]
        assert ids(collection.search(where="true", must=["to be or not to be"])) == ["hamlet#0"]
        assert ids(collection.search("red", must_not=["the"])) == ["other#0"]


def test_words_that_occur_nowhere_leave_the_arm_empty_with_a_note(make: Any) -> None:
    collection = make()
    collection.add([Document("a", "red")])
    result = collection.search("nowhere")
    assert (len(result), result.completeness) == (0, "exhausted")
    assert result.notes == ("no word of the question occurs in what may be searched",)
    assert (result.arms[0].eligible, result.arms[0].matched) == (1, 0)
    assert collection.search("red nowhere").notes == ()
    # The word is there, and the filter leaves its passage out: that is no reason for the note.
    assert collection.search("red", where="false").notes == ()


# Every word

TEXTS = (
    "Fixed in v2.14.1, broken since v2.14.0; see CVE-2024-3094 and E0499.",
    "C++ C# .NET F# std::vector x86_64 TCP/IP getUserName NX-42 @types/node #42 --no-verify __init__",
    "10.0.0.1 and 10.0.0.12, port 8080; 3.14159; 1,000,000; 50%; $9.99; 1e-9",
    "it's O'Reilly's rock'n'roll — don't; state-of-the-art, e-mail, AT&T, R&D, and/or",
    "日本語の全文検索 한국어 검색 ภาษาไทย คำ العربية עברית हिन्दी Ελληνικά Straße İstanbul ırmak naïve ﬁne ①",
    "running runs ran runner generously universities relational oscillators skies dying",
    "👍🏽 👨‍👩‍👧 🇩🇪 ☃ a_b_c __x__ path/to/file.txt C:\\Users\\x foo@example.com https://example.com/a?b=c#d",
    "SHA256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 " + "long" * 40,
)


@pytest.mark.parametrize("words", ["simple", "english"])
def test_every_word_of_the_corpus_finds_its_passage(make: Any, words: str) -> None:
    collection = make(analyser=words)
    collection.add([Document(str(i), text) for i, text in enumerate(TEXTS)])
    reads = analyser(words)
    for i, text in enumerate(TEXTS):
        surfaces = {token for token in text.split() if reads.terms(token)}
        terms = {term.text for term in reads.terms(text) if len(term.text) <= MAX_TERM}
        for token in sorted(surfaces | terms):
            assert f"{i}#0" in ids(collection.search(token)), token
        for token in sorted(surfaces):
            assert f"{i}#0" in ids(collection.search(where="true", must=[token])), token


@pytest.mark.parametrize(
    ("stored", "asked"),
    [("café", "cafe\u0301"), ("ﬁne", "fine"), ("ＡＢＣ１２３", "abc123"), ("Straße", "STRASSE"),
     ("İstanbul", "istanbul"),
     ("ΣΊΣΥΦΟΣ", "σίσυφος"), ("日本語", "日本語"), ("ﾊﾝｶｸ", "ハンカク"), ("ภาษาไทย", "ภาษาไทย"), ("العربية", "العربية"),
     ("co\u00adop", "coop"), ("it’s", "it's"), ("e‑mail", "e-mail"), ("한국어", "\u1112\u1161\u11ab국어")],
)  # fmt: skip
@pytest.mark.parametrize("words", ["simple", "english"])
def test_forms_of_one_word_agree(make: Any, words: str, stored: str, asked: str) -> None:
    collection = make(analyser=words)
    collection.add([Document("a", f"before {stored} after"), Document("b", "before after")])
    for form in (asked, stored, unicodedata.normalize("NFD", asked)):
        assert ids(collection.search(form)) == ["a#0"]
        assert ids(collection.search(where="true", must=[form])) == ["a#0"]


def test_a_passage_of_two_million_distinct_characters_of_words_is_found_by_its_last(make: Any) -> None:
    letters = "abcdefghij"
    tokens = [f"{a}{b}{c}{d}{e}{g}" for a in "klm" for b in letters for c in letters for d in letters for e in letters
              for g in letters][:285_000]  # fmt: skip
    collection = make()
    report = collection.add([Document("small", "red"), Document("huge", " ".join(tokens)), Document("next", "blue")])
    assert (report.added, report.refused) == (3, ())
    assert len(" ".join(tokens)) > 1_990_000
    assert ids(collection.search(tokens[-1])) == ["huge#0"]
    assert ids(collection.search(where="true", must=[f"{tokens[-2]} {tokens[-1]}"])) == ["huge#0"]
    assert collection.get("huge").passages[0].text.endswith(tokens[-1])


# Requirements on words


@pytest.fixture(scope="module")
def release(make: Any) -> Collection:
    collection = make()
    collection.add(
        [
            Document("old", "upgrade from v2.14.0 to a null pointer"),
            Document("new", "upgrade to v2.14.1 fixes pointer null"),
            Document("ten", "upgrade v2.14.10 日本語検索"),
            Document("cjk", "upgrade 日本の語"),
            Document("gap", "upgrade null the pointer"),
        ]
    )
    return collection


@pytest.mark.parametrize(
    ("must", "expected"),
    [(["v2.14.1"], "new"), (["v2.14.0"], "old"), (["null pointer"], "old"), (["pointer null"], "new"),
     (["null", "pointer"], "gap new old"), (["upgrade", "v2.14.10"], "ten"), (["日本"], "cjk ten"), (["日本語"], "ten"),
     (["検索"], "ten"), (["v2.14"], ""), (["NULL  Pointer!"], "old")],
)  # fmt: skip
def test_must_holds_to_the_letter(release: Collection, must: list[str], expected: str) -> None:
    wanted = {f"{name}#0" for name in expected.split()}
    assert set(ids(release.search(where="true", must=must))) == wanted
    assert set(ids(release.search("upgrade", must=must))) == wanted
    everything = {f"{name}#0" for name in ("old", "new", "ten", "cjk", "gap")}
    if len(must) == 1:
        assert set(ids(release.search("upgrade", must_not=must))) == everything - wanted


@pytest.mark.parametrize("words", ["", " ", "!!", '""', "\x00"])
def test_a_requirement_without_words_is_refused(release: Collection, words: str) -> None:
    for required in ({"must": [words]}, {"must_not": [words]}):
        with pytest.raises(holdstill.InvalidPredicate):
            release.search("upgrade", **required)


def test_requirements_are_of_the_document_where_documents_are_ranked(make: Any) -> None:
    collection = make()
    collection.add(
        [
            Document("split", passages=[Passage("red python"), Passage("blue snake")]),
            Document("red", passages=[Passage("red fish"), Passage("red bird")]),
        ]
    )
    assert ids(collection.search("red", must_not=["python"])) == ["red#0", "red#1"]
    assert ids(collection.search("blue red", must_not=["python"])) == ["split#1", "red#0", "red#1"]
    by_document = collection.search("blue red", must_not=["python"], by="document")
    assert [hit.document for hit in by_document] == ["red"]
    assert len(collection.search(where="true", must=["python", "snake"])) == 0
    assert [hit.document for hit in collection.search(where="true", must=["python", "snake"], by="document")] == [
        "split"
    ]
    # A phrase stands in one passage: the seam between two is no neighbourhood.
    assert len(collection.search(where="true", must=["python blue"], by="document")) == 0
    assert len(collection.search(where="contains(text, 'python snake')", by="document")) == 1
    assert len(collection.search(where="contains(text, 'python snake')")) == 0


def test_the_web_syntax_is_read_only_where_it_is_asked_for(release: Collection) -> None:
    web = Settings(syntax="web")
    text = 'upgrade "null pointer" -v2.14.1'
    plain = release.search(text)
    assert (len(plain), plain.understood["must"]) == (5, [])
    read = release.search(text, settings=web)
    assert ids(read) == ["old#0"]
    assert read.understood == {
        "text": "upgrade null pointer  ",
        "must": ["null pointer"],
        "must_not": ["v2.14.1"],
        "where": None,
    }
    only = release.search("-v2.14.1 -null", settings=web)
    assert (set(ids(only)), only.hits[0].score, only.arms) == ({"ten#0", "cjk#0"}, None, ())


def test_web_syntax_never_fails_but_for_want_of_words(release: Collection) -> None:
    @budget(40)
    @given(st.lists(st.sampled_from((*SIGNS, '"', "-", " ", "upgrade", "null")), max_size=8).map("".join))
    def check(text: str) -> None:
        try:
            result = release.search(text, settings=Settings(syntax="web"), k=50)
        except (holdstill.EmptyQuery, holdstill.InvalidPredicate):
            return
        understood = result.understood
        assert understood["text"] or understood["must"] or understood["must_not"]

    check()
