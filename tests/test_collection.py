"""The handle: get, count, delete, update, fields, models; nothing given is changed, nothing got can be."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import holdstill as hs
from fakes import Hashed, vector, whole_answer

SCHEMA = {
    "n": "int", "share": "float", "open": "bool", "city": "str", "day": "date", "at": "datetime", "tags": "str[]",
    "codes": "int[]",
}  # fmt: skip
FULL = {
    "n": -(2**63), "share": 5e-324, "open": False, "city": "", "day": date(1, 1, 1),
    "at": datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), "tags": ["", "a", "a"], "codes": [2**63 - 1, 0],
}  # fmt: skip


@pytest.fixture
def people(tmp_path: Path) -> Iterator[hs.Collection]:
    with hs.create(tmp_path / "people.hs", schema=SCHEMA, embedder="none") as collection:
        collection.add(
            [
                hs.Document(
                    "ana", "python backend", title="Ana", fields={"n": 1, "city": "Berlin", "tags": ["a", "b"]}
                ),
                hs.Document("ben", "python frontend", fields={"n": 2, "city": "Remote"}),
                hs.Document("cid", "java", fields={"city": "Berlin"}),
                hs.Document("dora", "sql"),
            ]
        )
        yield collection


def ids(collection: hs.Collection, where: str) -> list[str]:
    return [hit.document for hit in collection.search(where=where)]


# -- get and count -----------------------------------------------------------------------------------


def test_get_gives_back_what_was_added(people: hs.Collection) -> None:
    passages = [
        hs.Passage("first", headings=["A", "B"], pages=(1, 3)),
        hs.Passage("second \n\t text  ", pages=(4, 4)),
        hs.Passage("日本語 \U0001f600"),
    ]
    outside = {"deep": {"list": [1, 2.5, None, True, "x"]}}
    people.add([hs.Document("full", passages=passages, title="A title", fields=FULL | outside)])
    stored = people.get("full")
    assert dict(stored.fields) == FULL | {"tags": ("", "a", "a"), "codes": (2**63 - 1, 0)}
    assert list(stored.fields) == list(SCHEMA)
    assert stored.metadata == outside
    assert (stored.id, stored.title, stored.added) == ("full", "A title", 2)
    assert [(each.ordinal, each.text, each.headings, each.pages) for each in stored.passages] == [
        (number, each.text, each.headings, each.pages) for number, each in enumerate(passages)
    ]
    assert dict(people.get("dora").fields) == dict.fromkeys(SCHEMA)


@pytest.mark.parametrize(
    "id_", ["", "Ana", "ana ", "ana#0", "an", "ana\x00", "\ufeffana", "\ud800", "%", "a" * 5000, "' or '1'='1", "ана"]
)
def test_ids_are_matched_byte_for_byte_or_not_found(people: hs.Collection, id_: str) -> None:
    with pytest.raises(hs.NotFound, match="no such document") as caught:
        people.get(id_)
    assert isinstance(caught.value, LookupError)
    assert people.delete([id_]).missing == (id_,)
    assert people.update(id_, fields={"n": 1}).missing == (id_,)
    assert people.info().commit == 1


@pytest.mark.parametrize("id_", [5, None, b"ana", 1.5, ("ana",)])
def test_an_id_is_text(people: hs.Collection, id_: Any) -> None:
    for call in (
        people.get,
        lambda id_: people.delete(["ana", id_]),
        lambda id_: people.update([id_], fields={"n": 1}),
    ):
        with pytest.raises(hs.InvalidQuery, match="an id is text; expected a string"):
            call(id_)
    assert people.count() == 4


def test_ids_that_a_document_may_have_all_work(people: hs.Collection) -> None:
    names = ["#", "a#0", "a b", "'", '"', "日本", "\U0001f600", "../x", "x" * 1024, "e\u0301", "é", "%", "--", "\t\\"]
    people.add(hs.Document(name, f"text of {number}") for number, name in enumerate(names))
    for number, name in enumerate(names):
        assert people.get(name).passages[0].text == f"text of {number}"
        assert people.search(f"{number} of", arms=["lexical"], must=[str(number)])[0].document == name
    assert people.delete(names).changed == len(names)
    assert people.count() == 4


def test_count(people: hs.Collection) -> None:
    assert people.count() == 4
    assert people.count("n >= 2") == 1
    assert people.count("city = :city", params={"city": "Berlin"}) == 2
    assert people.count(hs.f.n != 1) == 1
    assert people.count("contains(text, 'python')") == 2
    assert people.count("n in ()") == 0
    people.add([hs.Document("many", passages=[hs.Passage(f"python {number}") for number in range(5)])])
    assert people.count("contains(text, 'python')") == 3
    with pytest.raises(hs.InvalidQuery, match="params belong to a spelled filter"):
        people.count(hs.f.n == 1, params={"x": 1})
    with pytest.raises(hs.InvalidQuery, match="where cannot be used"):
        people.count(where=True)  # type: ignore[arg-type]


def test_info(people: hs.Collection) -> None:
    people.add([hs.Document("two", passages=[hs.Passage("one"), hs.Passage("two")])])
    people.delete(["ana"])
    info = people.info()
    assert info.as_dict() == dataclasses.asdict(info)
    assert (info.documents, info.passages, info.commit, info.generation, info.format) == (4, 5, 3, 1, 2)
    assert (info.embedder, info.model, info.dimensions, info.policy) == ("none", None, None, None)
    assert dict(info.schema) == SCHEMA
    assert info.analyser.startswith("simple")


# -- delete ------------------------------------------------------------------------------------------


def test_delete_by_id(people: hs.Collection) -> None:
    report = people.delete(["ben", "nobody", "ana", "ben", "Ana"])
    assert (report.changed, report.missing, report.commit) == (2, ("nobody", "Ana"), 2)
    assert ids(people, "n is null or n is not null") == ["cid", "dora"]
    assert len(people.search("python")) == 0
    assert people.delete(["ana"]).commit == 2
    assert people.delete("cid").changed == 1


def test_delete_by_predicate_leaves_what_is_unknown(people: hs.Collection) -> None:
    assert people.delete(where="n != 1").changed == 1
    assert ids(people, "n is null or n is not null") == ["ana", "cid", "dora"]
    assert people.delete(where="n = 5").commit == 2
    assert people.delete(where=hs.f.n.is_null(), params=None).changed == 2
    assert people.count() == 1


def test_a_write_says_which_documents_it_is_about(people: hs.Collection) -> None:
    for arguments in ({}, {"ids": []}, {"ids": ["ana"], "where": "n = 1"}):
        with pytest.raises(hs.InvalidQuery, match="either ids or `where`"):
            people.delete(**arguments)
        with pytest.raises(hs.InvalidQuery, match="either ids or `where`"):
            people.update(**arguments, fields={"n": 1})
    assert people.info().commit == 1


# -- update ------------------------------------------------------------------------------------------


def test_update_sets_fields_and_leaves_the_rest(people: hs.Collection) -> None:
    report = people.update(["ana", "nobody"], fields={"city": "Oslo", "n": None, "tags": ("x",)})
    assert (report.changed, report.missing, report.commit) == (1, ("nobody",), 2)
    ana = people.get("ana")
    assert (ana.fields["city"], ana.fields["n"], ana.fields["tags"]) == ("Oslo", None, ("x",))
    assert (ana.title, ana.passages[0].text) == ("Ana", "python backend")
    assert ids(people, "city = 'Oslo'") == ["ana"]
    assert ids(people, "city = 'Berlin'") == ["cid"]
    assert people.search("python", where="n is null")[0].document == "ana"
    assert people.update("ana", fields={"city": "Oslo"}).commit == 2


def test_update_by_predicate(people: hs.Collection) -> None:
    before = whole_answer(people, "python backend")
    assert people.update(where="n is null", fields={"n": 7}).changed == 2
    assert people.update(where="n < :limit", params={"limit": 5}, fields={"share": 1}).changed == 2
    assert ids(people, "n = 7") == ["cid", "dora"]
    assert ids(people, "share = 1.0") == ["ana", "ben"]
    people.update(where="share = 1.0", fields={"share": None})
    assert whole_answer(people, "python backend") == before


def test_update_refuses_what_does_not_fit_and_changes_nothing(people: hs.Collection) -> None:
    for fields, error in (
        ({}, hs.InvalidQuery), ({"nope": 1}, hs.UnknownField), ({"text": "x"}, hs.UnknownField),
        ({"city": "Oslo", "n": "1"}, hs.InvalidDocument), ({"day": "2024-13-01"}, hs.InvalidDocument),
        ({"n": 10**5000}, hs.InvalidDocument), ({"at": datetime(2024, 1, 1)}, hs.InvalidDocument),  # noqa: DTZ001
    ):  # fmt: skip
        with pytest.raises(error):
            people.update("ana", fields=fields)
    assert people.get("ana").fields["city"] == "Berlin"
    assert people.info().commit == 1


# -- fields ------------------------------------------------------------------------------------------


def test_a_new_field_is_null_in_old_rows_even_where_metadata_had_the_name(people: hs.Collection) -> None:
    people.add([hs.Document("eve", "go", fields={"level": "stored outside the schema"})])
    assert people.add_field("level", "str") == 3
    assert people.schema.types() == SCHEMA | {"level": "str"}
    assert people.count("level is null") == 5
    assert people.get("eve").fields["level"] is None
    assert people.search("go")[0].fields["level"] is None
    people.update("eve", fields={"level": "senior"})
    people.add([hs.Document("ana", "python backend", title="Ana", fields={"level": "junior"})])
    assert ids(people, "level in ('senior', 'junior')") == ["ana", "eve"]
    with hs.open(people.path) as again:
        assert again.count("level is not null") == 2


@pytest.mark.parametrize("type_", ["int", "float", "bool", "str", "date", "datetime", "str[]", "int[]"])
def test_a_field_of_every_type_can_be_added(people: hs.Collection, type_: Any) -> None:
    people.add_field("extra", type_)
    value = {key: FULL[key] for key in FULL}[next(name for name, each in SCHEMA.items() if each == type_)]
    people.update("ana", fields={"extra": value})
    stored = people.get("ana").fields["extra"]
    assert stored == (tuple(value) if isinstance(value, list) else value)
    assert people.count("extra is null") == 3


@pytest.mark.parametrize(
    "name", ["n", "text", "score", "principal", "", "a b", "1a", "a-b", "x" * 64, "a;--", "a'b", "\x00"]
)
def test_a_field_with_a_bad_name_is_refused(people: hs.Collection, name: str) -> None:
    with pytest.raises(hs.InvalidSchema):
        people.add_field(name, "int")
    assert people.schema.types() == SCHEMA
    assert people.info().commit == 1


# -- models ------------------------------------------------------------------------------------------


class Shifting(Hashed):
    def embed(self, texts: Any) -> NDArray[np.floating[Any]]:
        return super().embed(texts) + len(texts)


def test_an_embedder_that_looks_at_its_neighbours_is_refused_at_create(tmp_path: Path) -> None:
    with pytest.raises(hs.EmbedderFailed, match="do not hold still; they move when embedded in a batch"):
        hs.create(tmp_path / "a.hs", embedder=Shifting())
    assert list(tmp_path.iterdir()) == []


def test_another_model_than_the_rows_is_refused(tmp_path: Path) -> None:
    hs.create(tmp_path / "a.hs", embedder=Hashed()).close()
    for other in (Hashed(version="2"), Hashed(dimensions=8)):
        with pytest.raises(
            hs.ModelMismatch, match=r"of another model than the embedder 'hashed'.*Vectors of two models"
        ):
            hs.open(tmp_path / "a.hs", embedder=other)
    with hs.open(tmp_path / "a.hs", embedder=Hashed()) as collection:
        collection.add([hs.Document("a", "text")])
        with pytest.raises(hs.ModelMismatch, match="another model"):
            collection.search(vector={"model": "other", "vector": vector("text")})
        for model in ("hashed", Hashed().digest):
            assert len(collection.search(vector={"model": model, "vector": vector("text")})) == 1


def test_without_its_embedder_a_collection_is_searched_by_words_and_vectors(tmp_path: Path) -> None:
    with hs.create(tmp_path / "a.hs", embedder=Hashed()) as collection:
        collection.add([hs.Document("a", "some text"), hs.Document("b", "other text")])
    with hs.open(tmp_path / "a.hs") as collection:
        for ask in (
            lambda: collection.search("text"),
            lambda: collection.search("text", arms=["dense"]),
        ):
            with pytest.raises(hs.EmbedderRequired, match=r"`vector=`.*`arms=\['lexical'\]`"):
                ask()
        with pytest.raises(hs.EmbedderRequired):
            collection.add([hs.Document("c", "never embedded")])
        assert collection.search("some", arms=["lexical"])[0].document == "a"
        assert collection.search("other", vector=vector("some text")).arms[1].matched == 2
        assert collection.search(vector=vector("other text"))[0].document == "b"
        assert collection.count() == 2


def test_text_asked_of_brought_vectors_names_both_remedies(tmp_path: Path) -> None:
    with hs.create(tmp_path / "a.hs", vector_model="hashed") as collection:
        collection.add([hs.Document("a", "some text", vector=vector("some text"))])
        with pytest.raises(hs.EmbedderRequired) as caught:
            collection.search("some text")
        assert caught.value.field == "vector"
        assert "Give the question's vector" in str(caught.value)
        assert "open the collection with an embedder of that name" in str(caught.value)
        assert "--arm lexical" in str(caught.value)
        assert collection.search("some", arms=["lexical"])[0].document == "a"
    with hs.open(tmp_path / "a.hs", embedder=Hashed()) as collection:
        assert collection.search("some text")[0].ranks == {"lexical": 1, "dense": 1}
    with pytest.raises(hs.ModelMismatch):
        hs.open(tmp_path / "a.hs", embedder=Hashed(dimensions=8))
    with pytest.raises(hs.ModelMismatch, match="another model than the vectors"):
        hs.create(tmp_path / "b.hs", vector_model="mine", embedder=Hashed())


def test_a_words_only_collection_takes_and_asks_no_vectors(people: hs.Collection) -> None:
    with pytest.raises(hs.InvalidQuery, match="the collection has none to compare it with"):
        people.search(vector=[1.0, 2.0])
    with pytest.raises(hs.InvalidQuery, match="dense arm cannot answer"):
        people.search("python", arms=["dense"])
    with hs.open(people.path, embedder=Hashed()) as collection:
        assert collection.search("python").arms[0].arm == "lexical"
        assert collection.add([hs.Document("x", "text", vector=[1.0])]).refused[0].field == "vector"


# -- nothing given is changed, nothing got can be ----------------------------------------------------


def test_nothing_a_caller_passes_in_is_changed(tmp_path: Path) -> None:
    schema, tags, outside = dict(SCHEMA), ["b", "a"], {"deep": [{"x": [1]}]}
    numbers, headings = np.array([3.0, 4.0, 0.0]), ["H2", "H1"]
    given: dict[str, Any] = {
        "schema": schema, "fields": {"tags": tags, "n": 1} | outside, "numbers": numbers, "headings": headings,
        "principal": {"id": "ana", "groups": ["b", "a"], "attributes": {"tags": ["b", "a"]}},
        "params": {"x": ["b", "a"]}, "must": ["text"], "must_not": ["nothing"], "arms": ["dense", "lexical"],
        "weights": {"lexical": 2}, "ids": ["d", "d"], "update": {"tags": ["z", "y"]},
    }  # fmt: skip
    before = copy.deepcopy(given)
    with hs.create(tmp_path / "a.hs", schema=schema, vector_model="mine") as collection:
        document = hs.Document(
            "d", passages=[hs.Passage("text", vector=numbers, headings=headings)], fields=given["fields"]
        )
        rows = [document, document]
        collection.add(rows)
        assert rows == [document, document]
        collection.set_policy("has_any(tags, principal.tags)")
        collection.search(
            "text", vector=numbers, where="has_any(tags, :x)", params=given["params"], must=given["must"],
            must_not=given["must_not"], arms=given["arms"], principal=given["principal"],
            settings=hs.Settings(weights=given["weights"]),
        )  # fmt: skip
        collection.update(given["ids"], fields=given["update"], operator=True)
        collection.delete(given["ids"], operator=True)
    np.testing.assert_array_equal(given.pop("numbers"), before.pop("numbers"))
    assert given == before


def test_what_is_changed_after_it_was_given_changes_nothing(tmp_path: Path) -> None:
    numbers, fields, headings = np.array([1.0, 0.0]), {"tags": ["a"], "outside": {"x": [1]}}, ["H"]
    document = hs.Document("d", passages=[hs.Passage("text", vector=numbers, headings=headings)], fields=fields)
    numbers[:] = np.nan
    fields["tags"].append("b")
    fields["outside"]["x"].append(2)
    headings.append("H2")
    with hs.create(tmp_path / "a.hs", schema=SCHEMA, vector_model="mine") as collection:
        collection.add([document])
        stored = collection.get("d")
        assert (stored.fields["tags"], stored.metadata) == (("a",), {"outside": {"x": [1]}})
        assert stored.passages[0].headings == ("H",)
        result = collection.search("text", vector=[1.0, 0.0])
        with pytest.raises(TypeError, match="frozen"):
            result.hits[0].fields["tags"] = None  # type: ignore[index]
        stored.metadata["outside"]["x"].append(3)
        assert collection.get("d").metadata == {"outside": {"x": [1]}}
        assert collection.search("text", vector=[1.0, 0.0])[0].fields["tags"] == ("a",)


def test_values_are_frozen(people: hs.Collection) -> None:
    result = people.search("python", where="n > 0")
    document = hs.Document("a", "text", vector=[1.0], fields={"n": 1})
    report = people.add([hs.Document("x", "x", fields={"n": "1"})])
    values: list[Any] = [
        result, result[0], result.arms[0], document, document.passages[0], report, report.refused[0], people.info(),
        people.delete(["nobody"]), people.get("ana"), people.get("ana").passages[0], hs.Settings(), hs.Query("text"),
        hs.Field("n", "int"), people.schema, hs.Principal("ana"), hs.f.n == 1, hs.Policy.parse("n = 1", people.schema),
    ]  # fmt: skip
    for value in values:
        name = dataclasses.fields(value)[0].name
        with pytest.raises(AttributeError):
            setattr(value, name, None)
        with pytest.raises((AttributeError, TypeError)):
            delattr(value, name)
    with pytest.raises(TypeError):
        document.fields["n"] = 2  # type: ignore[index]
    with pytest.raises(ValueError, match="read-only"):
        document.passages[0].vector[0] = 2.0  # type: ignore[index]
    with pytest.raises(TypeError):
        hs.Settings(weights={"lexical": 2}).weights["lexical"] = 3  # type: ignore[index]
    with pytest.raises(TypeError):
        hs.Principal("ana", attributes={"a": 1}).attributes["a"] = 2  # type: ignore[index]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"passages": ["text"]}, "passages"), ({"text": "x", "fields": [1]}, "fields"),
        ({"text": "x", "fields": {1: 2}}, "fields"), ({"text": 5}, "text"), ({"text": " \n"}, "text"), ({}, "text"),
        ({"text": "x", "title": b"x"}, "title"), ({"text": "x", "passages": []}, "passages"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_document_is_refused_when_it_is_made(arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(hs.InvalidDocument) as caught:
        hs.Document("a", **arguments)
    assert caught.value.field == field


@pytest.mark.parametrize(
    "arguments",
    [
        {"order_by": 5, "where": "years_exp = 1"},
        {"text": "x", "arms": 5},
        {"text": "x", "arms": "lexical"},
        {"text": "x", "must": 5},
        {"text": "x", "must_not": "word"},
        {"text": "x", "settings": {}},
    ],
)
def test_an_argument_of_the_wrong_shape_is_a_typed_error(tmp_path: Path, arguments: dict[str, object]) -> None:
    with hs.create(tmp_path / "c.hs", embedder="none", schema={"years_exp": "int"}) as collection:
        with pytest.raises(hs.InvalidQuery) as caught:
            collection.search(**arguments)
        assert caught.value.field in arguments


def test_one_document_where_a_list_belongs_is_a_typed_error(tmp_path: Path) -> None:
    with hs.create(tmp_path / "c.hs", embedder="none") as collection:
        with pytest.raises(hs.InvalidInput, match="documents are added as a list"):
            collection.add(hs.Document("a", "text"))
        assert collection.count() == 0


def test_weights_that_are_no_mapping_are_a_typed_error() -> None:
    with pytest.raises(hs.InvalidInput, match="weights cannot be read"):
        hs.Settings(weights=5)


@pytest.mark.parametrize("operator", ["false", "no", 1, 0, None, {"id": "a"}])
def test_what_merely_counts_as_true_makes_no_operator(tmp_path: Path, operator: object) -> None:
    with hs.create(tmp_path / "c.hs", embedder="none", schema={"team": "str"}) as collection:
        collection.add([hs.Document("a", "memo", fields={"team": "x"})])
        collection.set_policy("team = principal.team")
        for call in (collection.search, collection.get, collection.delete):
            with pytest.raises(hs.InvalidInput, match="operator cannot be used"):
                call("a", operator=operator)
        assert collection.count(operator=True) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda path: hs.create(path, schema=["n"]),
        lambda path: hs.create(path, schema="n:int"),
        lambda path: hs.create(path, embedder=None),
        lambda path: hs.create(path, embedder=5),
        lambda path: hs.create(path, vector_model=5),
        lambda path: hs.create(path, vector_model=" "),
        lambda path: hs.create(path, lock_timeout="x"),
        lambda path: hs.create(5),
        lambda path: hs.create("a\0b"),
        lambda path: hs.open(None),
        lambda path: hs.open(path, lock_timeout=-1),
        lambda path: hs.read(None),
        lambda path: hs.read(5),
        lambda path: hs.read([5]),
    ],
)
def test_making_opening_and_reading_with_the_wrong_type_is_a_typed_error(tmp_path: Path, call: Any) -> None:
    with pytest.raises(hs.InvalidInput) as caught:
        call(tmp_path / "c.hs")
    assert caught.value.field is not None
    assert not list(tmp_path.iterdir())


def test_an_embedder_is_an_object_where_a_collection_is_opened(tmp_path: Path) -> None:
    hs.create(tmp_path / "c.hs", embedder="none").close()
    with pytest.raises(hs.InvalidInput, match="the embedder cannot be used"):
        hs.open(tmp_path / "c.hs", embedder="minilm")
    hs.open(tmp_path / "c.hs").close()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("update", {"ids": "a", "fields": ["n"]}),
        ("delete", {"ids": 5}),
        ("delete", {"ids": None}),
        ("delete", {"ids": ["a", 5]}),
        ("search", {"text": "x", "where": "team = :a", "params": [1]}),
        ("get", {"id": 5}),
    ],
)
def test_writing_and_asking_with_the_wrong_type_is_a_typed_error(
    tmp_path: Path, name: str, arguments: dict[str, Any]
) -> None:
    with (
        hs.create(tmp_path / "c.hs", embedder="none", schema={"team": "str"}) as collection,
        pytest.raises(hs.InvalidInput),
    ):
        getattr(collection, name)(**arguments)


def test_a_single_path_is_read_as_a_list_of_one(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("words")
    for paths in (tmp_path / "a.txt", str(tmp_path / "a.txt"), [str(tmp_path / "a.txt")]):
        assert [row.document.id for row in hs.read(paths)] == ["a.txt"]


def test_only_the_operator_has_files_rebuilt_where_there_is_a_policy(tmp_path: Path) -> None:
    with hs.create(tmp_path / "c.hs", embedder="none", schema={"team": "str"}) as collection:
        collection.set_policy("team = principal.team")
        with pytest.raises(hs.OperatorRequired):
            collection.check()
        assert collection.check(operator=True) == []


def test_asearch_takes_what_search_takes() -> None:
    asynchronous, plain = inspect.signature(hs.Collection.asearch), inspect.signature(hs.Collection.search)
    assert asynchronous.parameters == plain.parameters
    assert inspect.iscoroutinefunction(hs.Collection.asearch)


def test_an_update_counts_what_it_changed(people: hs.Collection) -> None:
    before = people.info().commit
    first = people.update(where="n is null or n is not null", fields={"city": "Oslo"})
    again = people.update(where="n is null or n is not null", fields={"city": "Oslo"})
    assert first.changed > 0
    assert (again.changed, again.commit) == (0, before + 1)


@pytest.mark.parametrize("value", [hs.Settings(weights={"dense": 2}), hs.Principal("ana", ("g",), {"team": "x"})])
def test_values_can_be_copied_and_sent(value: Any) -> None:
    assert copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value
