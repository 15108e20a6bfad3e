"""A schema from the data, and cells read by it."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdstill.document import Document, Passage
from holdstill.errors import InvalidDocument
from holdstill.ingest import Cell, infer, typed
from holdstill.ingest.cells import parse
from holdstill.schema import FIELD_TYPES, Field, Schema

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
NAIVE = datetime(2024, 5, 1, 12)  # noqa: DTZ001


def column(*values: Any) -> list[Document]:
    return [Document(f"d{number}", "x", fields={"c": value}) for number, value in enumerate(values)]


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ((True, None, False), "bool"),
        ((1, -(2**63), 2**63 - 1), "int"),
        ((1, 0.5), "float"),
        ((0.5, 2**64), "float"),
        (("2024-05-01", None, date(2024, 5, 2)), "date"),
        (("2024-05-01T12:00:00Z", "2024-05-01 12:00:00+02:00", NOON), "datetime"),
        (("2024-05-01", "May"), "str"),
        (("2024-05-01", "2024-05-01T12:00:00Z"), "str"),
        (("2024-02-30",), "str"),
        (("2024-05-01T12:00:00",), "str"),
        (("1", "2"), "str"),
        ((["a"], [], None), "str[]"),
        (([1], []), "int[]"),
        (([], []), "str[]"),
        ((Cell("true"), Cell("FALSE")), "bool"),
        ((Cell("1"), None, Cell("-20")), "int"),
        ((Cell("1"), Cell("0.5"), Cell("1e3")), "float"),
        ((Cell("2024-05-01"),), "date"),
        ((Cell("2024-05-01T12:00:00Z"),), "datetime"),
        ((Cell("007"), Cell("8")), "str"),
        ((Cell("1"), Cell("9007199254740993"), Cell("0.5")), "str"),
        ((Cell("1"), Cell("123456789012345678901")), "str"),
        ((Cell("+1"),), "str"),
        ((Cell(" 1"),), "str"),
        ((Cell("1_000"),), "str"),
        ((Cell("١"),), "str"),
        ((Cell("1."),), "str"),
        ((Cell("nan"),), "str"),
        ((Cell("1e999"),), "str"),
        ((Cell("true"), Cell("1")), "str"),
        ((Cell("yes"),), "str"),
        ((Cell('["a"]'),), "str[]"),
        ((Cell("5"), 6), "int"),
    ],
)
def test_a_column_gets_the_first_type_that_takes_every_value(values: tuple[Any, ...], type_: str) -> None:
    inference = infer(column(*values))
    assert inference.schema.types() == {"c": type_}
    assert all("as the others can" in note for note in inference.notes)
    field = inference.schema["c"]
    for document in column(*values):
        field.accept(inference.typed(document).fields["c"])


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ((1, "a", True, None), ["1", "a", "true", None]),
        ((True, 0), ["true", "0"]),
        ((2**64 + 1, 1), ["18446744073709551617", "1"]),
        ((2**53 + 1, 0.5), ["9007199254740993", "0.5"]),
        ((date(2024, 5, 1), "May"), ["2024-05-01", "May"]),
        ((NAIVE,), ["2024-05-01T12:00:00"]),
    ],
)
def test_scalars_of_several_types_become_text_with_a_note(values: tuple[Any, ...], texts: list[str | None]) -> None:
    inference = infer(column(*values))
    assert inference.schema.types() == {"c": "str"}
    assert inference.as_text == {"c"}
    known = [value for value in values if value is not None]
    changed = sum(not isinstance(value, str) for value in known)
    (note,) = inference.notes
    assert note.startswith(f"field 'c' is str: no one type takes all {len(known)} values; ")
    assert note.endswith(f"; {changed} that are not text are kept as their JSON text")
    assert [inference.typed(document).fields["c"] for document in column(*values)] == texts


@pytest.mark.parametrize(
    "values", [({"a": 1},), (["a", 1],), (["a"], "a"), (["a"], [1]), ([None],), ([[1]],), ([0.5],)]
)
def test_what_no_field_holds_is_stored_with_a_note(values: tuple[Any, ...]) -> None:
    inference = infer(column(*values))
    assert inference.schema == Schema()
    assert inference.notes == ("'c' is stored, not filterable: it holds objects or values of several types",)
    (document, *_) = column(*values)
    assert inference.typed(document) is document


def test_names_that_no_field_may_have_are_stored_with_a_note() -> None:
    inference = infer([Document("d", "x", fields={"ok": 1, "two words": 1, "text": "y", "": 1, "\ud800": 1})])
    assert inference.schema.types() == {"ok": "int"}
    assert inference.notes == tuple(
        f"{name!r} is stored, not filterable: no field may have that name"
        for name in ("two words", "text", "", "\ud800")
    )


def test_a_column_of_nulls_is_text_with_a_note() -> None:
    inference = infer(column(None, None))
    assert inference.schema.types() == {"c": "str"}
    assert inference.notes == ("field 'c' is str: every value is null",)
    assert inference.as_text == frozenset()


def test_columns_stand_in_the_order_of_their_first_appearance() -> None:
    rows: list[dict[str, Any]] = [{"z": 1}, {"b": 1, "z": 2}, {"a": 1}]
    inference = infer(Document(f"d{n}", "x", fields=fields) for n, fields in enumerate(rows))
    assert list(inference.schema.types()) == ["z", "b", "a"]


def test_nothing_to_infer_from() -> None:
    assert infer([]).schema == Schema()


fields = st.dictionaries(
    st.sampled_from(["a", "b", "c d"]),
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("aé1", max_size=3)
    | st.dates()
    | st.datetimes(timezones=st.none() | st.just(UTC), min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1))  # noqa: DTZ001
    | st.lists(st.integers(-3, 3) | st.text("aé1", max_size=2), max_size=2)
    | st.sampled_from(
        ["2024-05-01", "2024-05-01T00:00:00Z", *map(Cell, ("1", "1.5", "true", "2024-05-01", "x", "01"))]
    ),
)


@given(st.lists(fields, max_size=6))
def test_every_document_fits_the_schema_inferred_from_it(rows: list[dict[str, Any]]) -> None:
    documents = [Document(f"d{number}", "x", fields=row) for number, row in enumerate(rows)]
    inference = infer(documents)
    for document in documents:
        fitted = inference.typed(document)
        for field in inference.schema:
            field.accept(fitted.fields.get(field.name))
        assert not any(isinstance(value, Cell) for value in fitted.fields.values())
        assert fitted.fields.keys() == document.fields.keys()


@given(st.lists(fields, max_size=6), st.randoms())
def test_the_order_of_rows_changes_no_type(rows: list[dict[str, Any]], random: Any) -> None:
    def types(shuffled: list[dict[str, Any]]) -> dict[str, str]:
        return infer(Document(f"d{number}", "x", fields=row) for number, row in enumerate(shuffled)).schema.types()

    shuffled = list(rows)
    random.shuffle(shuffled)
    assert types(rows) == types(shuffled)


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        ("int", "5", 5),
        ("float", "5", 5.0),
        ("float", "-1.25e2", -125.0),
        ("bool", "True", True),
        ("str", "5", "5"),
        ("date", "2024-05-01", date(2024, 5, 1)),
        ("datetime", "2024-05-01T14:00:00+02:00", NOON),
        ("str[]", '["a", "b"]', ("a", "b")),
        ("int[]", "[]", ()),
    ],
)
def test_a_cell_is_read_by_its_fields_type(type_: str, text: str, value: Any) -> None:
    document = Document("d", "x", fields={"c": Cell(text), "other": Cell("5"), "n": 5})
    fitted = typed(document, Schema.of({"c": type_}))
    assert (fitted.fields["c"], type(fitted.fields["c"])) == (value, type(value))
    assert (type(fitted.fields["other"]), type(fitted.fields["n"])) == (str, int)


@pytest.mark.parametrize(
    ("type_", "text", "expected"),
    [
        ("int", "5.0", "an integer of 64 bits"),
        ("int", "9223372036854775808", "an integer of 64 bits"),
        ("int", "9" * 5000, "an integer of 64 bits"),
        ("float", "9007199254740993", "a finite number that a 64-bit float holds exactly"),
        ("bool", "1", "true or false"),
        ("date", "01.05.2024", "a date, YYYY-MM-DD"),
        ("datetime", "2024-05-01T14:00:00", "a date and time with a time zone"),
        ("str[]", "a, b", "a list of strings"),
        ("str[]", "[1]", "a list of strings"),
        ("int[]", '{"a": 1}', "a list of integers"),
        ("int[]", "[" * 100_000, "a list of integers"),
    ],
)
def test_a_cell_that_spells_no_such_value_is_refused(type_: str, text: str, expected: str) -> None:
    with pytest.raises(InvalidDocument, match="field 'c' does not take this value") as caught:
        typed(Document("d", "x", fields={"c": Cell(text)}), Schema.of({"c": type_}))
    assert caught.value.field == "c"
    assert expected in str(caught.value)
    assert "(Cell)" not in str(caught.value)


def test_only_the_fields_change() -> None:
    schema = Schema.of({"n": "int"})
    whole = typed(Document("d", "x", title="T", fields={"n": Cell("1")}, vector=[1.0]), schema)
    assert (whole.id, whole.title, whole.whole, whole.passages[0].text) == ("d", "T", True, "x")
    assert whole.passages[0].vector is not None
    passages = [Passage("x", headings=("H",)), Passage("y", pages=(1, 2))]
    parted = typed(Document("d", passages=passages, title="T", fields={"n": Cell("1")}), schema)
    assert (parted.whole, parted.passages) == (False, tuple(passages))
    untyped = Document("d", "x", fields={"n": "1"})
    assert typed(untyped, schema) is untyped


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_whole_number_survives_its_spelling(value: int) -> None:
    assert parse(str(value), Field("c", "int")) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_survives_its_spelling(value: float) -> None:
    assert parse(repr(value), Field("c", "float")) == value


@given(st.text('0123456789+-.eE_ TZ:truefals[]"١é'), st.sampled_from(FIELD_TYPES))
def test_any_cell_is_read_or_refused(text: str, type_: Any) -> None:
    try:
        value = parse(text, Field("c", type_))
    except InvalidDocument:
        return
    assert value == Field("c", type_).accept(value)


def _inferred(*cells: str) -> tuple[dict[str, str], tuple[str, ...]]:
    found = infer(Document(str(number), "x", fields={"c": Cell(cell)}) for number, cell in enumerate(cells))
    return found.schema.types(), found.notes


@pytest.mark.parametrize(
    ("cells", "type_"), [(('["a"]', "[]"), "str[]"), (("[1]", "[2, 3]"), "int[]"), (("[]",), "str[]")]
)
def test_cells_that_all_spell_lists_are_a_list(cells: tuple[str, ...], type_: str) -> None:
    assert _inferred(*cells) == ({"c": type_}, ())


def test_a_column_of_cells_that_is_nearly_of_a_type_is_noted() -> None:
    types, notes = _inferred("2.5", "n/a", "7")
    assert types == {"c": "str"}
    assert notes == ("field 'c' is str: 1 of its 3 values cannot be read as float, as the others can",)
    assert _inferred("a name", "1984", "another") == ({"c": "str"}, ())
