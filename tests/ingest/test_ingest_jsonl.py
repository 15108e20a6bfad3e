"""JSON Lines: every bad line is refused with its reason, and every good line around it is kept."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdstill.errors import MalformedInput
from holdstill.ingest import Keys, Refused, Row, read
from holdstill.ingest.jsonl import MAX_NESTING, parse

DEFAULT = Keys()
GOOD = b'{"id": "good", "text": "words"}'


def read_lines(folder: Path, *lines: bytes | dict[str, Any], keys: Keys = DEFAULT) -> tuple[list[Row], list[Refused]]:
    path = folder / "data.jsonl"
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines))
    items = list(read([path], keys=keys))
    return [item for item in items if isinstance(item, Row)], [item for item in items if isinstance(item, Refused)]


def refusal(folder: Path, line: bytes | dict[str, Any], keys: Keys = DEFAULT) -> Refused:
    """What is said of a bad line between two good ones, which must both be kept."""
    around = {"id": "before", "text": "x", "doc": "before", "body": "x"}, {"id": "after", "doc": "after", "body": "x"}
    rows, refused = read_lines(folder, around[0], line, around[1] | {"text": "x"}, keys=keys)
    assert [row.document.id for row in rows] == ["before", "after"]
    (only,) = refused
    assert (only.row, only.source) == (2, str(folder / "data.jsonl"))
    return only


def test_a_line_becomes_a_document(tmp_path: Path) -> None:
    (row,), refused = read_lines(
        tmp_path, {"_id": "a", "title": "T", "text": "words", "vector": [1, 0.5], "metadata": {"n": 1}, "m": [True]}
    )
    assert not refused
    assert (row.number, row.source) == (1, str(tmp_path / "data.jsonl"))
    document = row.document
    assert (document.id, document.title, document.whole, dict(document.fields)) == (
        "a",
        "T",
        True,
        {"n": 1, "m": [True]},
    )
    (passage,) = document.passages
    assert passage.text == "words"
    assert passage.vector is not None
    assert passage.vector.tolist() == [1.0, 0.5]


def test_passages_are_kept_as_they_are(tmp_path: Path) -> None:
    passages = [
        {"text": "one", "vector": [1.0, 0.0], "headings": ["A", "B"], "pages": [1, 2]},
        {"text": "two", "headings": None, "pages": None},
    ]
    (row,), refused = read_lines(tmp_path, {"id": "a", "passages": passages})
    assert not refused
    first, second = row.document.passages
    assert (first.text, first.headings, first.pages) == ("one", ("A", "B"), (1, 2))
    assert (second.text, second.headings, second.pages, second.vector) == ("two", (), None, None)
    assert not row.document.whole


@pytest.mark.parametrize(
    ("line", "field", "reason"),
    [
        (b'{"id": "x" "text": 1}', None, "not JSON: Expecting ',' delimiter at column 12"),
        (b"{", None, "not JSON: Expecting property name enclosed in double quotes at column 2"),
        (b"[1]", None, "the row is not an object; expected an object with an id and a text; got [1] (list)"),
        (b"null", None, "the row is not an object"),
        (b'{"id": "x", "text": "\xff"}', None, "not UTF-8: byte 0xff at byte 22"),
        (b'{"id": "x", "text": "y", "n": NaN}', None, "not JSON: NaN is not a number"),
        (b'{"id": "x", "text": "y", "n": -Infinity}', None, "not JSON: -Infinity is not a number"),
        (b'{"id": "x", "text": "y", "n": 1e999}', None, "the number 1e999 is beyond a 64-bit float"),
        (b'{"id": "x", "text": "y", "n": ' + b"9" * 5000 + b"}", None, "a number of thousands of digits"),
        (b'{"id": "x", "text": "y", "text": "z"}', "text", "a key stands twice in one object; got 'text' (str)"),
        (b'{"id": "x", "text": "y", "m": ' + b"[" * 65 + b"]" * 65 + b"}", None, "nested too deeply"),
        (b"[" * 100_000, None, "nested too deeply"),
    ],
)
def test_a_line_that_is_not_json_costs_itself_alone(
    tmp_path: Path, line: bytes, field: str | None, reason: str
) -> None:
    refused = refusal(tmp_path, line)
    assert refused.field == field
    assert reason in refused.reason


@pytest.mark.parametrize(
    ("record", "field", "reason"),
    [
        ({"text": "y"}, "id", "the row has no id; expected 'id' or '_id'. Name the key that holds it with --id KEY"),
        ({"id": None, "text": "y"}, "id", "the row has no id"),
        ({"id": True, "text": "y"}, "id", "a document's id must be text; expected a string; got True (bool)"),
        ({"id": 1.5, "text": "y"}, "id", "got 1.5 (float)"),
        ({"id": " ", "text": "y"}, "id", "a document's id cannot be used"),
        ({"id": "a\0", "text": "y"}, "id", "a document's id cannot be used"),
        ({"id": "x", "_id": "z", "text": "y"}, "_id", "the row has two ids; expected 'x', as in 'id'; got 'z' (str)"),
        ({"id": "1", "_id": 1, "text": "y"}, "_id", "the row has two ids"),
        ({"id": "x"}, "text", "document 'x' is empty"),
        ({"id": "x", "text": 5}, "text", "text must be text; expected a string; got 5 (int)"),
        ({"id": "x", "text": "y", "title": 5}, "title", "title must be text; expected a string; got 5 (int)"),
        ({"id": "x", "text": "y", "metadata": [1]}, "metadata", "'metadata' is not an object"),
        ({"id": "x", "text": "y", "fields": "a"}, "fields", "'fields' is not an object"),
        ({"id": "x", "text": "y", "metadata": {"n": 1}, "fields": {"n": True}}, "n", "expected 1 in both places"),
        ({"id": "x", "text": "y", "metadata": {"n": 1}, "n": 1.0}, "n", "got 1.0 (float)"),
        ({"id": "x", "text": "y", "vector": "1"}, "vector", "a vector is not a list of numbers"),
        ({"id": "x", "text": "y", "vector": ["1"]}, "vector", "got ['1'] (list)"),
        ({"id": "x", "text": "y", "vector": [True]}, "vector", "got [True] (list)"),
        ({"id": "x", "text": "y", "vector": [None]}, "vector", "got [None] (list)"),
        ({"id": "x", "text": "y", "vector": [[1.0]]}, "vector", "got [[1.0]] (list)"),
        ({"id": "x", "text": "y", "vector": [10**400]}, "vector", "beyond a 64-bit float"),
        ({"id": "x", "text": "y", "passages": [{"text": "z"}]}, "passages", "has both passages and a text"),
        ({"id": "x", "vector": [1], "passages": [{"text": "z"}]}, "passages", "has both passages and a text"),
        ({"id": "x", "passages": {"text": "y"}}, "passages", "passages must be a list"),
        ({"id": "x", "passages": []}, "text", "document 'x' is empty"),
        ({"id": "x", "passages": ["y"]}, "passages[0]", "a passage is not an object"),
        ({"id": "x", "passages": [{"text": "y"}, {}]}, "passages[1].text", "passages[1].text: text must be text"),
        ({"id": "x", "passages": [{"text": "y", "page": 1}]}, "passages[0]", "a passage has a key that is not read"),
        ({"id": "x", "passages": [{"text": "y", "pages": 1}]}, "passages[0].pages", "pages must be a list"),
        ({"id": "x", "passages": [{"text": "y", "pages": [2, 1]}]}, "passages[0].pages", "pages must be a range"),
        ({"id": "x", "passages": [{"text": "y", "pages": [1, 2**31]}]}, "passages[0].pages", "to 2147483647"),
        ({"id": "x", "passages": [{"text": "y", "headings": "A"}]}, "passages[0].headings", "headings must be a list"),
        ({"id": "x", "passages": [{"text": "y", "vector": "A"}]}, "passages[0].vector", "not a list of numbers"),
    ],
)
def test_a_record_that_makes_no_document_is_refused(
    tmp_path: Path, record: dict[str, Any], field: str, reason: str
) -> None:
    refused = refusal(tmp_path, record)
    assert refused.field == field
    assert reason in refused.reason


def test_a_whole_number_may_be_an_id(tmp_path: Path) -> None:
    (row,), _ = read_lines(tmp_path, {"_id": 4983, "text": "x"})
    assert row.document.id == "4983"


def test_two_ids_that_agree_are_one(tmp_path: Path) -> None:
    (row,), _ = read_lines(tmp_path, {"id": "a", "_id": "a", "text": "x"})
    assert (row.document.id, dict(row.document.fields)) == ("a", {})


def test_equal_values_in_two_places_are_one(tmp_path: Path) -> None:
    one, same = {"n": [1], "o": {"a": 1, "b": 2}}, {"o": {"b": 2, "a": 1}, "n": [1]}
    (row,), _ = read_lines(tmp_path, {"id": "a", "text": "x", "metadata": one, "fields": same, "n": [1]})
    assert dict(row.document.fields) == one


def test_blank_lines_and_a_mark_are_passed_over_and_counted(tmp_path: Path) -> None:
    rows, refused = read_lines(tmp_path, b"\xef\xbb\xbf" + GOOD, b"", b" \t\r", b'{"id": "b", "text": "x"}\r', b"{")
    assert [(row.number, row.document.id) for row in rows] == [(1, "good"), (4, "b")]
    assert [item.row for item in refused] == [5]


def test_a_file_of_a_mark_alone_holds_nothing(tmp_path: Path) -> None:
    assert read_lines(tmp_path, b"\xef\xbb\xbf") == ([], [])


def test_unstorable_characters_are_cleaned_and_line_separators_break_nothing(tmp_path: Path) -> None:
    text = '{"id": "a", "text": "x\\u0000y\\ud800z\u2028w\x85v", "title": "\\ufefft"}'
    (row,), refused = read_lines(tmp_path, text.encode())
    assert not refused
    assert row.document.passages[0].text == "x\ufffdy\ufffdz\u2028w\x85v"
    assert row.document.title == "t"


def test_nesting_within_the_limit_is_kept(tmp_path: Path) -> None:
    inside = MAX_NESTING - 1
    (row,), _ = read_lines(tmp_path, b'{"id": "a", "text": "x", "m": ' + b"[" * inside + b"]" * inside + b"}")
    assert str(row.document.fields["m"]) == "[" * inside + "]" * inside


def test_brackets_in_text_are_no_nesting(tmp_path: Path) -> None:
    (row,), _ = read_lines(tmp_path, {"id": "a", "text": "[" * 1000})
    assert row.document.passages[0].text == "[" * 1000


def test_a_line_of_two_megabytes(tmp_path: Path) -> None:
    text = " ".join(f"w{number}" for number in range(300_000))
    (row,), refused = read_lines(tmp_path, {"id": "a", "text": text})
    assert not refused
    assert row.document.passages[0].text == text


def test_compressed_lines(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl.gz"
    path.write_bytes(gzip.compress(GOOD + b"\n{"))
    good, bad = read([path])
    assert isinstance(good, Row)
    assert good.document.id == "good"
    assert isinstance(bad, Refused)
    assert bad.row == 2


def test_a_compressed_file_that_breaks_off_keeps_what_came_before(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl.gz"
    whole = gzip.compress(b"\n".join(b'{"id": "%d", "text": "%d"}' % (n, n * n) for n in range(20_000)))
    path.write_bytes(whole[: len(whole) // 2])
    *rows, last = read([path])
    assert rows
    assert all(isinstance(row, Row) for row in rows)
    assert isinstance(last, Refused)
    assert last.row == len(rows) + 1
    assert "the file cannot be read from here on" in last.reason


def test_a_file_that_is_not_compressed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl.gz"
    path.write_bytes(GOOD)
    (refused,) = read([path])
    assert isinstance(refused, Refused)
    assert refused.row == 1
    assert "Not a gzipped file" in refused.reason


def test_named_keys_are_read_from_the_record_or_its_metadata(tmp_path: Path) -> None:
    record = {"slug": "s", "id": "other", "metadata": {"name": "N", "body": "B", "title": "t"}}
    (row,), _ = read_lines(tmp_path, record, keys=Keys(id="slug", title="name", text="body"))
    document = row.document
    assert (document.id, document.title, document.passages[0].text) == ("s", "N", "B")
    assert dict(document.fields) == {"id": "other", "title": "t"}


def test_one_key_may_have_two_roles(tmp_path: Path) -> None:
    (row,), _ = read_lines(tmp_path, {"name": "N", "text": "x"}, keys=Keys(id="name", title="name"))
    assert (row.document.id, row.document.title, dict(row.document.fields)) == ("N", "N", {})


def test_named_keys_must_be_there(tmp_path: Path) -> None:
    refused = refusal(tmp_path, {"id": "x", "title": "t", "text": "y"}, keys=Keys(text="body"))
    assert (refused.field, refused.reason) == ("body", "the row has no 'body'; expected the text, as --text says")
    _, (refused,) = read_lines(tmp_path, {"id": "x", "text": "y"}, keys=Keys(id="slug"))
    assert refused.field == "slug"
    assert "expected 'slug'. Name the key that holds it with --id KEY" in refused.reason


@pytest.mark.parametrize(
    ("rows", "keys", "note"),
    [
        (
            [{"title": "T", "body": "words"}],
            DEFAULT,
            ": no row has 'text' or 'passages', so only titles are searched; ",
        ),
        ([{"title": "T", "body": None}], Keys(text="body"), ": no row has 'body' or 'passages', so only titles are"),
        ([], DEFAULT, " holds no rows"),
        ([{"title": "T"}, {"text": "words"}], DEFAULT, None),
        ([{"title": "T"}, {"passages": [{"text": "words"}]}], DEFAULT, None),
        ([{"title": "T", "body": "words"}], Keys(text="body"), None),
    ],
)
def test_what_is_only_known_of_a_file_once_it_is_read_is_noted(
    tmp_path: Path, rows: list[dict[str, Any]], keys: Keys, note: str | None
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"id": number} | row) + "\n" for number, row in enumerate(rows)))
    reading = read([path], keys=keys)
    assert reading.notes == ()
    assert all(isinstance(row, Row) for row in reading)
    assert len(reading.notes) == (note is not None)
    assert all(each.startswith(f"{path}{note}") for each in reading.notes)
    assert ("--text KEY" in "".join(reading.notes)) == (note is not None and note.endswith("; "))


def test_a_row_without_a_text_is_told_which_key_may_hold_it(tmp_path: Path) -> None:
    row = {"id": "a", "lang": "en", "the body": "several words", "metadata": {"n": 5}}
    assert refusal(tmp_path, row).reason.endswith("If 'the body' holds the text, say --text 'the body'")
    assert "--text" not in refusal(tmp_path, {"id": "a", "n": 5}).reason
    assert "--text" not in refusal(tmp_path, {"id": "a", "text": " ", "lang": "en"}).reason
    assert "--text" not in refusal(tmp_path, {"id": "a", "body": "", "lang": "en"}, Keys(text="body")).reason


@pytest.mark.parametrize("line", [b'[{"id": "a", "text": "x"}]', b"[", b"  []"])
def test_a_list_in_a_file_of_lines_is_recognised(tmp_path: Path, line: bytes) -> None:
    assert refusal(tmp_path, line).reason.endswith("A file that holds one list of objects is JSON: name it .json")


def test_a_json_file_holds_a_list_or_one_object(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_text('[\n{"id": "a", "text": "x"},\n5,\n{"id": "b", "text": "x"}]')
    first, bad, second = read([path])
    assert isinstance(first, Row)
    assert isinstance(second, Row)
    assert (first.document.id, first.number, second.document.id, second.number) == ("a", 1, "b", 3)
    assert isinstance(bad, Refused)
    assert bad.row == 2
    path.write_text('{"id": "a", "text": "x"}')
    (only,) = read([path])
    assert isinstance(only, Row)


def test_json_lines_under_another_name_are_explained(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_bytes(GOOD + b"\n" + GOOD)
    (refused,) = read([path])
    assert isinstance(refused, Refused)
    assert refused.reason == (
        "not JSON: Extra data at line 2, column 1. If every line is an object of its own, say --format jsonl"
    )
    assert all(isinstance(item, Row) for item in read([path], format="jsonl"))


texts = st.text('a1 "\\{}[]\n\0\x7f\x85\u2028é漢😀', max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_what_json_can_write_is_read_back(value: Any) -> None:
    assert repr(parse(json.dumps(value))) == repr(value)


@given(st.text(alphabet='{}[]",:0123456789eE+-.truefalsn \\u', max_size=40))
def test_any_text_is_a_value_or_malformed(text: str) -> None:
    try:
        value = parse(text)
    except MalformedInput:
        return
    assert value == json.loads(text)


@given(st.lists(st.binary(max_size=30), max_size=6))
def test_no_bytes_stop_the_reader(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]) -> None:
    folder = tmp_path_factory.mktemp("bytes")
    rows, _ = read_lines(folder, *lines, b"", GOOD)
    assert rows[-1].document.id == "good"
