"""What becomes a term, and that every form, place and process agrees on it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from holdstill.analysis import (
    ANALYSERS,
    MAX_TERM,
    Analyser,
    Term,
    analyser,
    lexical_text,
    requirement,
    requirements,
)
from holdstill.errors import InvalidInput, InvalidPredicate

SIMPLE, ENGLISH = analyser("simple"), analyser("english")
DOCS = Path(__file__).resolve().parents[1] / "docs" / "analysis.md"

IDENTIFIERS = [
    *("v2.14.1", "NX-42", "E0499", "C++", "C#", "F#", ".NET", "std::vector", "x86_64", "TCP/IP", "CVE-2024-3094"),
    *("GHSA-6vm3-jj99-7229", "getUserName", "10.0.0.1", "10.0.0.0/8", "fe80::1", "foo_bar.baz", "me+tag@example.com"),
    *("node.js", "ASP.NET", "C:\\Users\\me", "usr/local/bin", "@types/node", "--no-verify", "#42", "owner/repo#42"),
    *("1,000", "3.14", "2024-05-01", "10:30", "AT&T", "C++11", "C/C++", "libstdc++6", "1.0~rc1", "2.14.1-rc.1", "CD4+"),
    *("__init__", "_private", "don't", "O'Reilly", "rock'n'roll", "state-of-the-art", "long-term", "e.g", "U.S.A"),
]
CONTEXTS = [
    *("{}.", "{},", "{}!", "{}?", "{};", "{}:", "({})", "[{}]", "<{}>", "'{}'", "‘{}’", '"{}"', "“{}”", "`{}`", "*{}*"),
    *("see {}, please", "(see {}.)", "x={};", "{}...", "—{}—", "{}…", "版本{}發布", "😀{}😀"),
]

ODD = (
    "aBZzsS019.-_/\\:'’+#@,&~·= éßİſŉǰΐςΣ漢字カなー가ᄀ각กำ่းက្🇩🇪👩👍🏽❤\ufe0f\u200d\u200c\u200b\u00ad\u0301\u0307"
    "\u0323ﬁⅣ½²Ａ！。、…–—\n\t\ud800\0v💻ᾳ्हिन्दी"
)
TEXTS = st.one_of(st.text(max_size=40), st.text(alphabet=ODD, max_size=25))
ANY_ANALYSER = st.sampled_from([SIMPLE, ENGLISH])
fuzz = settings(max_examples=200, deadline=None)


def texts_of(terms: list[Term]) -> list[str]:
    return [term.text for term in terms]


def wholes(text: str, by: Analyser = SIMPLE) -> list[str]:
    return [term.text for term in by.terms(text) if term.whole]


def holds(wanted: list[tuple[str, int]], text: str, by: Analyser = SIMPLE) -> bool:
    """The definition of a requirement, written out."""
    places = {(term.text, term.position) for term in by.terms(text)}
    return any(
        all((term, base + position) in places for term, position in wanted) for base in {place for _, place in places}
    )


def has_phrase(phrase: str, text: str, by: Analyser = SIMPLE) -> bool:
    return holds(requirement(by, phrase), text, by)


def has_words(words: str, text: str, by: Analyser = SIMPLE) -> bool:
    return all(holds(each, text, by) for each in requirements(by, words))


# --- the documented examples ---


def documented() -> list[tuple[str, str, list[str], list[str]]]:
    rows, name = [], ""
    for line in DOCS.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            name = next((each for each in ANALYSERS if f"`{each}`" in line), name)
        cells = [re.findall(r"`([^`]+)`", cell) for cell in line.split("|")[1:-1]]
        if len(cells) == 3 and cells[0]:
            rows.append((name, cells[0][0], cells[1], cells[2]))
    return rows


@pytest.mark.parametrize(("name", "text", "whole", "parts"), documented())
def test_the_documentation_shows_what_the_code_does(name: str, text: str, whole: list[str], parts: list[str]) -> None:
    terms = analyser(name).terms(text)
    assert [term.text for term in terms if term.whole] == whole
    assert [term.text for term in terms if not term.whole] == parts


def test_the_documentation_has_examples_of_every_analyser() -> None:
    assert {row[0] for row in documented()} == set(ANALYSERS)
    assert len(documented()) > 30


# --- identifiers ---


@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_an_identifier_survives_whole_wherever_it_stands(identifier: str) -> None:
    assert wholes(identifier) == [identifier.lower()]
    for context in CONTEXTS:
        assert identifier.lower() in wholes(context.format(identifier)), context


@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_an_identifier_is_found_by_its_atoms(identifier: str) -> None:
    text = f"about {identifier}, mostly"
    for atom in re.findall(r"[^\W_]+", identifier):
        assert has_phrase(atom, text), atom


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("v2.14.1", "v2.14.0"),
        ("v2.14.1", "v2.14.10"),
        ("v2.14.1", "2.14.1"),
        ("C++", "C"),
        ("C++", "C#"),
        (".NET", "net"),
        ("10.0.0.1", "10.0.0.11"),
        ("TCP/IP", "TCP IP"),
        ("CVE-2024-3094", "CVE-2024-3095"),
        ("café", "cafe"),
    ],
)
def test_one_identifier_is_not_another(one: str, other: str) -> None:
    assert has_phrase(one, f"x {one} y")
    assert not has_phrase(one, f"x {other} y")


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("2.14.1", "since v2.14.1-rc.1"),
        ("example.com", "write to me@example.com:8080"),
        ("gin-gonic", "github.com/gin-gonic/gin"),
        ("github.com/gin-gonic/gin", "https://github.com/gin-gonic/gin#readme"),
        ("C++", "C/C++ and C++11"),
        ("no-verify", "git commit --no-verify"),
        ("types/node", "npm i @types/node"),
        ("https://example.com/a", "see https://example.com/a."),
        ("user", "getUserName"),
        ("http", "HTTPServer"),
        ("utf", "utf8"),
    ],
)
def test_a_component_is_found_in_its_identifier(asked: str, text: str) -> None:
    assert has_phrase(asked, text)


def test_a_hash_is_not_shredded_and_a_plural_acronym_is_one_word() -> None:
    assert texts_of(SIMPLE.terms("a3f5b2c9")) == ["a3f5b2c9"]
    assert texts_of(SIMPLE.terms("DNAs")) == ["dnas"]


def test_an_ellipsis_and_a_dash_join_nothing() -> None:
    assert wholes("wait...what -- a--b 'tis … x….") == ["wait", "what", "a", "b", "tis", "x"]


@pytest.mark.parametrize(
    "nothing", ["", " \n\t", "\u200b\u200d\ufeff\u00ad", "!?.,;:-_'\"()[]{}<>@#$%^&*+=~`|\\/", "。、「」…—", "\0"]
)
def test_signs_and_spaces_are_no_terms(nothing: str) -> None:
    assert SIMPLE.terms(nothing) == []
    with pytest.raises(InvalidPredicate, match="a requirement on words has none; expected at least one letter"):
        requirement(SIMPLE, nothing)
    with pytest.raises(InvalidPredicate):
        requirements(SIMPLE, nothing)


# --- positions and requirements ---


def test_positions_of_wholes_and_parts() -> None:
    assert SIMPLE.terms("use TCP/IP now") == [
        Term("use", 0, 0, True),
        Term("tcp/ip", 1, 1, True),
        Term("tcp", 1, 1, False),
        Term("ip", 2, 1, False),
        Term("now", 3, 2, True),
    ]


@pytest.mark.parametrize("phrase", ["use TCP/IP now", "use tcp ip now", "ip now", "TCP/IP", "tcp", "now"])
def test_phrases_across_an_identifier(phrase: str) -> None:
    assert has_phrase(phrase, "use TCP/IP now")


@pytest.mark.parametrize("phrase", ["use now", "tcp now", "now use", "use ip", "TCP-IP"])
def test_what_is_not_adjacent_is_no_phrase(phrase: str) -> None:
    assert not has_phrase(phrase, "use TCP/IP now")


def test_a_phrase_does_not_depend_on_the_case_of_an_identifier() -> None:
    for written in ("getUserName", "GETUSERNAME", "getusername"):
        for asked in ("getUserName", "GETUSERNAME", "getusername"):
            assert has_phrase(f"call {asked} twice", f"please call {written} twice")


def test_words_are_required_in_any_order_and_runs_in_one_piece() -> None:
    assert has_words("塔 東京", "東京塔")
    assert has_words("now use now", "use TCP/IP now")
    assert not has_words("東京大学", "東京 京大 大学")
    assert requirements(SIMPLE, "b a b") == [[("a", 0)], [("b", 0)]]


def test_an_elision_leaves_its_neighbours_adjacent() -> None:
    assert has_phrase("homme politique", "l’homme politique")
    assert has_phrase("alzheimer disease", "Alzheimer's disease")
    assert has_phrase("alzheimer's disease", "Alzheimer disease", ENGLISH)


# --- forms that look the same ---


@pytest.mark.parametrize(
    "forms",
    [
        ["café", "cafe\u0301", "CAFÉ"],
        ["straße", "STRASSE", "strasse", "STRAẞE"],
        ["İstanbul", "I\u0307stanbul", "istanbul", "ISTANBUL"],
        ["ΣΊΣΥΦΟΣ", "Σίσυφος"],
        ["ＡＢＣ１２３", "abc123", "ABC123"],
        ["ﬁne", "fine", "FINE"],
        ["don’t", "don't", "donʼt", "DON‘T"],
        ["well-known", "well‐known", "well\u2011known", "well–known"],
        ["hy\u00adphen", "hyphen", "hy\u200bphen", "\ufeffhyphen", "hy\u2060phen"],
        ["می\u200cخواهم", "میخواهم"],
        ["ｶﾞﾗｽ", "ガラス", "カ\u3099ラス"],
        ["한국", unicodedata.normalize("NFD", "한국")],
        ["❤", "❤\ufe0f"],
    ],
)
def test_forms_agree(forms: list[str]) -> None:
    assert len({tuple(wholes(form)) for form in forms}) == 1
    for text in forms:
        for asked in forms:
            assert has_phrase(f"a {asked} b", f"x a {text} b y")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Привет, мир!", ["привет", "мир"]),
        ("مرحبا بالعالم", ["مرحبا", "بالعالم"]),
        ("שלום עולם", ["שלום", "עולם"]),
        ("हिन्दी में।", ["हिन्दी", "में"]),
        ("東京、大阪。", ["東京", "大阪"]),
        ("第3章", ["第", "3", "章"]),
        ("iPhoneを買う", ["iphone", "を買", "買う"]),
        ("ไทย", ["ไท", "ทย"]),
        ("កម្ពុជា", ["កម្", "ម្ពុ", "ពុជា"]),
        ("서울에서 왔다", ["서울", "울에", "에서", "왔다"]),
        ("👩‍💻👍🏽 🇩🇪", ["👩‍💻", "👍🏽", "🇩🇪"]),
    ],
)
def test_every_script_has_terms(text: str, expected: list[str]) -> None:
    assert wholes(text) == expected


def test_a_single_character_is_found_in_a_run_and_a_picture_in_a_sequence() -> None:
    assert has_phrase("京", "東京タワー")
    assert has_phrase("東京 大学", "東京大学")
    assert not has_phrase("東京大学", "東京 大学")
    assert has_phrase("👩", "👩‍💻")
    assert has_phrase("👍", "👍🏽")
    assert not has_phrase("👍🏽", "👍")


@given(TEXTS, ANY_ANALYSER)
@fuzz
def test_canonical_and_compatible_forms_agree(text: str, by: Analyser) -> None:
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert by.terms(unicodedata.normalize(form, text)) == by.terms(text)  # type: ignore[arg-type]


@given(TEXTS, ANY_ANALYSER)
@fuzz
def test_case_moves_no_whole(text: str, by: Analyser) -> None:
    assume("ı" not in text and "\u0345" not in text)  # their capitals are those of other letters
    text = unicodedata.normalize("NFC", text)
    expected = [(term.text, term.position) for term in by.terms(text) if term.whole]
    for other in (text.upper(), text.lower(), text.casefold(), text.swapcase()):
        assert [(term.text, term.position) for term in by.terms(other) if term.whole] == expected


@given(st.text(alphabet=[chr(code) for code in range(0x21, 0x7F)] + [" "], max_size=30))
@fuzz
def test_full_width_is_ascii(text: str) -> None:
    wide = text.translate({code: code + 0xFEE0 for code in range(0x21, 0x7F)} | {0x20: 0x3000})
    assert SIMPLE.terms(wide) == SIMPLE.terms(text)


# --- a word is the same everywhere ---


@given(TEXTS, TEXTS, ANY_ANALYSER)
@fuzz
def test_neighbours_change_nothing(left: str, right: str, by: Analyser) -> None:
    first, second = by.terms(left), by.terms(right)
    words = first[-1].word + 1 if first else 0
    alone = first + [term._replace(word=term.word + words) for term in second]
    beside = by.terms(f"{left} {right}")
    assert [term._replace(position=0) for term in alone] == [term._replace(position=0) for term in beside]
    assert [term.position for term in beside[: len(first)]] == [term.position for term in first]


@given(TEXTS)
@fuzz
def test_every_term_asked_again_is_itself(text: str) -> None:
    for term in SIMPLE.terms(text):
        again = SIMPLE.terms(term.text)
        assert term.text in texts_of(again)
        if term.whole:
            assert term.text in [each.text for each in again if each.whole]


@given(TEXTS, ANY_ANALYSER)
@fuzz
def test_every_token_is_required_and_found(text: str, by: Analyser) -> None:
    for token in text.split():
        if by.terms(token):
            assert has_phrase(token, text, by)
            assert has_words(token, text, by)


@given(st.text(alphabet="aBc1 2._-/:'+#@", max_size=20), ANY_ANALYSER)
@fuzz
def test_every_run_of_letters_and_digits_is_found(text: str, by: Analyser) -> None:
    for token in re.findall(r"\w+", text):
        asked = set(texts_of(by.terms(token)))
        assert not asked or asked & set(texts_of(by.terms(text)))


@given(TEXTS, ANY_ANALYSER)
@fuzz
def test_positions_are_dense_and_each_term_stands_once_at_its_own(text: str, by: Analyser) -> None:
    terms = by.terms(text)
    positions = [term.position for term in terms]
    assert positions == sorted(positions)
    assert sorted(set(positions)) == list(range(len(set(positions))))
    assert [term.word for term in terms] == sorted(term.word for term in terms)
    assert len({(term.text, term.position) for term in terms}) == len(terms)
    assert all(term.text for term in terms)
    firsts = {term.word: term for term in reversed(terms)}
    assert all(term.whole for term in firsts.values())


# --- English ---


def test_english_stems_words_and_parts_but_no_identifier() -> None:
    assert wholes("connections connecting the Connected", ENGLISH) == ["connect", "connect", "the", "connect"]
    assert [term.text for term in ENGLISH.terms("getUserNames std::vectors CVE-2024-3094s")] == [
        *("getusernam", "get", "user", "name"),
        *("std::vectors", "std", "vector"),
        *("cve-2024-3094s", "cve", "2024", "3094s", "3094", "s"),
    ]
    assert has_phrase("getusernames", "getUserNames", ENGLISH)


def test_english_leaves_no_word_out() -> None:
    assert len(wholes("to be or not to be", ENGLISH)) == 6


def test_threads_agree() -> None:
    texts = [f"threads stemming {number} different connections {'ab' * number}ings" for number in range(200)]
    expected = [ENGLISH.terms(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(analyser("english").terms, texts)) == expected


# --- size ---


def test_a_long_term_is_kept_short_told_apart_and_found() -> None:
    long, other = "ab" * 5000, "ab" * 5000 + "c"
    (term,) = SIMPLE.terms(long)
    assert len(term.text) <= MAX_TERM
    assert term.text.startswith("ab" * 32 + "…")
    assert has_phrase(long, f"x {long.upper()} y")
    assert not has_phrase(long, f"x {other} y")
    assert all(
        len(each.text) <= MAX_TERM for each in SIMPLE.terms("漢\u0301" * 300 + "a-" * 300 + "👩\u200d" * 300 + "👩")
    )


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "a-",
            "a.",
            "a/b-c.",
            "a..",
            "v1.",
            "1,",
            "a'",
            "a1",
            "aB",
            "a",
            "A",
            "+",
            ".",
            "(",
            "_",
            "-",
            "--",
            "/",
            "#",
            "@",
        ),
        *("'", "漢", "ก", "ᄀ", "👩\u200d", "🇩", "\u200d", "a\u0301", "\u0301", "\u00ad", "\ud800", "\0", "C++", "ﷺ"),
    ],
)
def test_repetition_takes_linear_time(unit: str) -> None:
    started = time.process_time()
    ENGLISH.terms(unit * (100_000 // len(unit)))
    assert time.process_time() - started < 10


def test_a_run_of_marks_takes_linear_time() -> None:
    started = time.process_time()
    assert len(SIMPLE.terms("a" + "\u0301\u0323" * 100_000)) == 1
    assert time.process_time() - started < 10


def test_two_megabytes_of_distinct_tokens() -> None:
    text = " ".join(f"token{number:07x}" for number in range(160_000)) + " last-word"
    assert len(text) > 2_000_000
    started = time.process_time()
    terms = ENGLISH.terms(text)
    assert time.process_time() - started < 30
    assert terms[-3:] == [
        Term("last-word", 160_000, 160_000, True),
        Term("last", 160_000, 160_000, False),
        Term("word", 160_001, 160_000, False),
    ]


# --- values ---


def test_analysers_are_values() -> None:
    assert analyser("simple") == SIMPLE
    assert {analyser("simple"), SIMPLE, ENGLISH} == {SIMPLE, ENGLISH}
    assert SIMPLE.identity == "simple-1"
    assert re.fullmatch(r"english-1-snowball-\d+\.\d+\.\d+", ENGLISH.identity)


@pytest.mark.parametrize("name", ["klingon", "", "SIMPLE"])
def test_an_unknown_analyser_names_the_choices(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"unknown analyser; expected one of simple, english; got .* \(str\)"):
        analyser(name)


def test_lexical_text_leaves_blank_parts_out() -> None:
    assert lexical_text("Title", ("One", "", " "), "body\n\ntext") == "Title\nOne\nbody\n\ntext"
    assert lexical_text("", (), "body") == "body"
    assert lexical_text("Title", (), "") == "Title"


# --- other processes, real text ---

_PRINT_DIGEST = """
import hashlib, json, sys
from holdstill.analysis import analyser
text = json.loads(sys.stdin.read())
print(hashlib.sha256(json.dumps([analyser(sys.argv[1]).terms(text)]).encode()).hexdigest())
"""
_SAMPLE = " ".join(
    [*IDENTIFIERS, "東京タワー ไทย 서울에서 हिन्दी Straße İstanbul don’t 👩‍💻 HTTPServer a3f5b2c9", "ab" * 200]
)


@pytest.mark.parametrize("name", ANALYSERS)
def test_processes_agree(name: str) -> None:
    expected = hashlib.sha256(json.dumps([analyser(name).terms(_SAMPLE)]).encode()).hexdigest()
    for seed in ("0", "1"):
        command = [sys.executable, "-c", _PRINT_DIGEST, name]
        environment = os.environ | {"PYTHONHASHSEED": seed}
        ran = subprocess.run(command, input=json.dumps(_SAMPLE), capture_output=True, text=True, env=environment)
        assert ran.stdout.strip() == expected, ran.stderr


def test_the_rules_have_not_moved_under_their_version() -> None:
    """Indexes on disk were built by these rules: whoever changes a term raises `_RULES`, and this digest with it."""
    digest = hashlib.sha256(json.dumps(SIMPLE.terms(_SAMPLE)).encode()).hexdigest()[:16]
    assert (SIMPLE.identity, digest) == ("simple-1", "6b29eed649c0f610")


def test_every_token_of_real_advisories_is_found(shared: Path) -> None:
    with (shared / "data/ir/advisories_ids/corpus.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for _, line in zip(range(150), lines, strict=False)]
    for row in rows:
        text = lexical_text(row["title"], (), row["text"])
        terms = SIMPLE.terms(text)
        places = {(term.text, term.position) for term in terms}
        for token in set(text.split()) | set(re.findall(r"\w+", text)):
            asked = SIMPLE.terms(token)
            assert not asked or {term.text for term in asked} & {text for text, _ in places}
        for identifier in row["metadata"]["aliases"]:
            assert has_phrase(identifier, text)
