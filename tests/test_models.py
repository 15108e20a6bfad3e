"""Which embedder may be used with which rows."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdstill as hs
from fakes import Hashed


def test_declared_vectors_with_an_embedder_take_no_other_model_of_that_name(tmp_path: Path) -> None:
    embedder, other = Hashed(), Hashed()
    other.digest = "sha256:another"
    with hs.create(tmp_path / "c.hs", vector_model=embedder.name, embedder=embedder) as collection:
        collection.add([hs.Document("a", "text")])
        assert collection.info().model == embedder.digest
    with pytest.raises(hs.ModelMismatch, match="of another model than the embedder"):
        hs.open(tmp_path / "c.hs", embedder=other)
    with hs.open(tmp_path / "c.hs", embedder=Hashed()) as collection:
        assert collection.search("text")[0].document == "a"


def test_vectors_declared_by_a_name_alone_take_an_embedder_of_that_name(tmp_path: Path) -> None:
    hs.create(tmp_path / "c.hs", vector_model=Hashed().name).close()
    with hs.open(tmp_path / "c.hs", embedder=Hashed()) as collection:
        collection.add([hs.Document("a", "text")])
        assert collection.search("text")[0].document == "a"


@pytest.mark.parametrize("name", ["none", "minilm", "", "a\x00b"])
def test_a_model_of_brought_vectors_cannot_take_a_name_that_means_something_else(tmp_path: Path, name: str) -> None:
    with pytest.raises(hs.InvalidInput, match="the model of the vectors needs a name"):
        hs.create(tmp_path / "c.hs", vector_model=name)


def test_a_brought_vector_alone_makes_a_passage(tmp_path: Path) -> None:
    with hs.create(tmp_path / "c.hs", vector_model="mine") as collection:
        report = collection.add([hs.Document("a", vector=[1.0, 0.0]), hs.Document("b", vector=[0.0, 1.0])])
        assert report.added == 2
        assert [hit.document for hit in collection.search(vector=[0.1, 1.0])] == ["b", "a"]


def test_a_vector_that_no_arm_would_read_is_refused(tmp_path: Path) -> None:
    with hs.create(tmp_path / "c.hs", vector_model="mine") as collection:
        collection.add([hs.Document("a", "text", vector=[1.0, 0.0])])
        with pytest.raises(hs.InvalidQuery, match="the dense arm was not asked"):
            collection.search("text", vector=[0.0, 0.0], arms=["lexical"])


def test_of_two_rows_with_one_id_the_first_that_can_be_taken_stands(tmp_path: Path) -> None:
    rows = [hs.Document("a", "bad", vector=[0.0, 0.0]), hs.Document("a", "good", vector=[1.0, 2.0])]
    with hs.create(tmp_path / "c.hs", vector_model="mine") as collection:
        report = collection.add(rows)
        assert (report.added, [row.row for row in report.refused]) == (1, [1])
        assert collection.get("a").passages[0].text == "good"
