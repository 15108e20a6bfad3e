"""The demo: reproducible, idempotent, careful with what is there, and true."""

from __future__ import annotations

import hashlib
import io
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console

import holdstill
from holdstill.demo import run_demo
from holdstill.demo.corpus import SCHEMA, guides, opened
from holdstill.demo.resumes import PEOPLE, Draws, resumes
from holdstill.demo.searches import SEARCHES, prove
from holdstill.demo.trades import TRADES
from holdstill.embedding.minilm import MINILM


def quiet() -> Console:
    return Console(file=io.StringIO(), width=100)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], str]:
    """The demo, run once: its directory, what it returned and what it printed."""
    directory = tmp_path_factory.mktemp("demo") / "people.hs"
    console = quiet()
    answer = run_demo(directory, console)
    return directory, answer, console.file.getvalue()  # type: ignore[attr-defined]


@pytest.fixture
def collection(made: tuple[Path, dict[str, Any], str]) -> Iterator[holdstill.Collection]:
    with holdstill.open(made[0]) as collection:
        yield collection


# -- the people ----------------------------------------------------------------------------------


def test_resumes_are_the_same_everywhere() -> None:
    text = "\n".join(
        f"{each.id}|{each.title}|{each.passages[0].text}|{sorted(each.fields.items(), key=lambda item: item[0])}"
        for each in resumes()
    )
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert digest == "ec4e54274c3bde91e229eafdf62cdfe93a93012472238565b0f6fb305f777cf6", (
        "the resumes changed: if that was meant, put the new digest here"
    )


def test_draws_do_not_depend_on_the_python_version() -> None:
    draws = Draws("seed")
    assert [draws.below(100) for _ in range(5)] == [
        int.from_bytes(hashlib.sha256(f"seed/{number}".encode()).digest()[:8], "big") % 100 for number in range(1, 6)
    ]


def test_no_two_people_share_a_name_or_a_text() -> None:
    people = list(resumes())
    assert len(people) == PEOPLE == 300
    assert len({each.title.split(",")[0] for each in people}) == PEOPLE
    assert len({each.passages[0].text for each in people}) == PEOPLE
    assert [each.id for each in people] == sorted(each.id for each in people)


def test_fields_and_text_agree() -> None:
    for each in resumes():
        text = each.passages[0].text
        years = each.fields["years_exp"]
        assert ("experience on request" in text.lower()) == (years is None)
        assert years is None or f"{years} year" in text
        assert years is None or f", since {2026 - years}" in text or f", {2026 - years} to " in text
        assert all(skill in text for skill in each.fields["skills"])
        assert "{" not in text


def test_every_skill_has_more_than_one_story() -> None:
    for trade in TRADES:
        assert len(trade.skills) >= 5
        assert all(len(sentences) >= 2 for sentences in trade.skills.values())


def test_some_values_are_unknown() -> None:
    people = list(resumes())
    assert 10 < sum(each.fields["years_exp"] is None for each in people) < 60
    assert 5 < sum(each.fields["work_auth"] is None for each in people) < 60


def test_guides_are_this_projects_documentation() -> None:
    pages = {page.id: page for page in guides()}
    assert {"docs/quickstart.md", "docs/completeness.md", "docs/filters.md"} <= pages.keys()
    assert any("exhausted" in passage.text for passage in pages["docs/completeness.md"].passages)
    assert all(dict(page.fields) == {"kind": "guide"} for page in pages.values())


# -- running it ----------------------------------------------------------------------------------


@pytest.mark.model
def test_four_searches_are_shown_with_their_proofs(made: tuple[Path, dict[str, Any], str]) -> None:
    directory, answer, printed = made
    assert [each["completeness"] for each in answer["searches"]] == ["complete", "complete", "complete", "exhausted"]
    assert [len(each["hits"]) for each in answer["searches"]] == [10, 10, 10, 3]
    assert answer["documents"] == answer["added"] == PEOPLE + len(list(guides()))
    assert json.loads(json.dumps(answer)) == answer
    unwrapped = " ".join(printed.split())
    for each in answer["searches"]:
        assert each["command"] in printed
        assert len(each["proves"]) >= 3
        for sentence in each["proves"]:
            assert f"✓ {sentence}" in unwrapped
    assert str(directory) in printed


@pytest.mark.model
def test_every_resume_is_one_passage(collection: holdstill.Collection) -> None:
    for each in resumes():
        assert len(collection.get(each.id).passages) == 1


@pytest.mark.model
def test_a_second_run_embeds_nothing_and_answers_the_same(
    made: tuple[Path, dict[str, Any], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, first, _ = made
    asked: list[str] = []
    embed = type(MINILM).embed
    monkeypatch.setattr(type(MINILM), "embed", lambda self, texts: asked.extend(texts) or embed(self, texts))
    again = run_demo(directory, quiet())
    assert again["searches"] == first["searches"]
    assert again["added"] == 0
    assert again["unchanged"] == first["documents"]
    assert set(asked) == {search.text for search in SEARCHES}


@pytest.mark.model
def test_the_commands_give_the_same_answers(made: tuple[Path, dict[str, Any], str]) -> None:
    from holdstill.cli import main

    for each in made[1]["searches"]:
        program, *arguments = shlex.split(each["command"])
        assert program == "holdstill"
        done = CliRunner().invoke(main, [*arguments, "--json"])
        assert done.exit_code == 0, done.output
        printed = json.loads(done.stdout)
        assert printed["digest"] == each["digest"]
        assert [hit["id"] for hit in printed["hits"]] == each["hits"]


@pytest.mark.model
def test_a_claim_that_does_not_hold_is_not_made(collection: holdstill.Collection) -> None:
    constraint, negation, identifier, end = SEARCHES
    for search, other in ((constraint, identifier), (negation, end), (identifier, negation), (end, constraint)):
        with pytest.raises(holdstill.InvariantViolated, match="claim of the demo"):
            prove(search, collection, other.run(collection))


# -- where it goes -------------------------------------------------------------------------------


def test_it_goes_into_an_empty_directory(tmp_path: Path) -> None:
    with opened(tmp_path) as collection:
        assert collection.schema.types() == SCHEMA


def test_a_directory_with_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("do not touch")
    with pytest.raises(holdstill.CollectionExists, match=r"was left alone.*holdstill demo DIR"):
        opened(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "demo"
    file.write_text("do not touch")
    with pytest.raises(holdstill.CollectionExists):
        opened(file)
    assert file.read_text() == "do not touch"


@pytest.mark.parametrize("schema", [{"years_exp": "int"}, SCHEMA])
def test_another_collection_is_left_alone(tmp_path: Path, schema: dict[str, str]) -> None:
    path = tmp_path / "mine.hs"
    with holdstill.create(path, schema=schema, embedder="none") as collection:
        collection.add([holdstill.Document("mine", "my own words")])
    with pytest.raises(holdstill.CollectionExists):
        opened(path)
    with holdstill.open(path) as collection:
        assert collection.get("mine").passages[0].text == "my own words"


@pytest.mark.model
def test_documents_of_another_kind_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "mine.hs"
    with holdstill.create(path, schema=SCHEMA) as collection:
        collection.add([holdstill.Document("mine", "my own words", fields={"kind": "letter"})])
    with pytest.raises(holdstill.CollectionExists):
        opened(path)
