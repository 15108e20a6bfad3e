"""What is opened and what is not: other things, other formats, other people's directories."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import holdstill as hs
from fakes import whole_answer
from holdstill.stores.base import FORMAT

FIXTURES = Path(__file__).parents[1] / "fixtures"
sys.path.insert(0, str(FIXTURES))

import build_format_1  # noqa: E402 - beside the file that it built


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with hs.create(tmp_path / "a.hs", schema={"n": "int"}, embedder="none") as collection:
        collection.add(hs.Document(f"d{number}", f"common only{number}", fields={"n": number}) for number in range(9))
    return tmp_path / "a.hs"


def contents(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


# -- not a collection --------------------------------------------------------------------------------


def test_nothing_is_there(tmp_path: Path) -> None:
    with pytest.raises(hs.CollectionNotFound, match=r"no collection at .*missing\.hs.*holdstill init"):
        hs.open(tmp_path / "missing.hs")
    with pytest.raises(LookupError):
        hs.open(tmp_path / "missing" / "deeper.hs")
    assert list(tmp_path.iterdir()) == []


def test_a_file_an_empty_folder_and_a_folder_of_other_things(tmp_path: Path) -> None:
    file = tmp_path / "file.hs"
    file.write_text("text")
    (tmp_path / "empty").mkdir()
    (tmp_path / "other" / "collection.duckdb").mkdir(parents=True)
    for path in (file, tmp_path / "empty", tmp_path / "other", tmp_path):
        before = contents(tmp_path)
        with pytest.raises(hs.NotACollection, match=r"is not a collection.*collection\.duckdb"):
            hs.open(path)
        with pytest.raises(hs.CollectionExists):
            hs.create(path, embedder="none")
        assert contents(tmp_path) == before


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE birds (name VARCHAR)",
        "CREATE TABLE meta (other INTEGER)",
        "CREATE TABLE meta (key VARCHAR, value VARCHAR); INSERT INTO meta VALUES ('format', 'one')",
        "CREATE TABLE meta (key VARCHAR, value BIGINT)",
        "CREATE TABLE meta (key VARCHAR, value BIGINT); INSERT INTO meta VALUES ('format', NULL)",
        "CREATE VIEW meta AS SELECT 1 AS key",
    ],
)
def test_a_database_of_something_else_is_left_as_it_is(tmp_path: Path, statement: str) -> None:
    folder = tmp_path / "other.hs"
    folder.mkdir()
    with duckdb.connect(folder / "collection.duckdb") as connection:
        connection.execute(statement)
    before = contents(folder)
    with pytest.raises(hs.NotACollection, match="DuckDB file that is not a collection"):
        hs.open(folder)
    assert contents(folder) == before


@pytest.mark.parametrize("size", [0, 1, 12, 4096, 20_000])
def test_random_bytes_are_no_database(path: Path, size: int) -> None:
    noise = bytes(number * 37 % 251 for number in range(size))
    (path / "collection.duckdb").write_bytes(noise)
    with pytest.raises(hs.CorruptCollection, match=r"cannot be opened.*Restore the directory from a backup"):
        hs.open(path)
    assert (path / "collection.duckdb").read_bytes() == noise


# -- formats -----------------------------------------------------------------------------------------


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    with zipfile.ZipFile(FIXTURES / "format-1.zip") as archive:
        archive.extractall(tmp_path)
    return tmp_path / "format-1.hs"


def expected(kept: Path) -> Any:
    return json.loads((kept.parent / "answers.json").read_text(encoding="utf-8"))


def test_a_collection_of_format_1_opens_and_answers_as_it_did(kept: Path) -> None:
    for layout in ("earlier", "present"):
        with hs.open(kept) as collection:
            assert collection.info(operator=True).format == FORMAT
            given = json.loads(json.dumps(build_format_1.answers(collection)))
            assert len(given) == len(expected(kept))
            for answer, before in zip(given, expected(kept), strict=True):
                assert {key: answer[key] for key in before} == before
            found = collection.check(operator=True)
            assert len(found) == (1 if layout == "earlier" else 0)
            assert all("rebuilt from the database when it was opened" in each for each in found)


def test_a_collection_of_format_1_can_be_written_to(kept: Path) -> None:
    with hs.open(kept) as collection:
        report = collection.add([build_format_1.document(number) for number in (0, 3, 20)], operator=True)
        assert (report.added, report.replaced, report.unchanged) == (1, 1, 1)
        assert collection.search(must=["number 20"], operator=True)[0].document == "d20"
        assert collection.get("d4", operator=True).fields["later"] == "set"


def test_a_collection_of_format_1_has_a_history(kept: Path) -> None:
    """Its commits, and what they did, were kept; the passages that it has are taken for those that were given."""
    before = build_format_1.QUESTIONS[0] | {"operator": True}
    with hs.open(kept) as collection:
        assert [
            (each.commit, each.generation, each.kind, each.added, each.replaced, each.removed, each.tags, each.pruned)
            for each in collection.history(operator=True)
        ] == [
            (1, 1, "add", 12, 0, 0, (), False),
            (2, 1, "add", 1, 1, 0, (), False),
            (3, 1, "delete", 0, 0, 1, (), False),
            (4, 1, "schema", 0, 0, 0, (), False),
            (5, 1, "add", 0, 1, 0, (), False),  # an update, which format 1 did not tell from an add
        ]
        digests = [collection.search(**before, at=at).digest for at in range(1, 6)]
        assert len(set(digests)) > 2
        assert collection.tag("of-format-1", 3, operator=True) == 3
        report = collection.rebuild(analyser="simple", operator=True)
        assert (report.generation, report.commit, report.documents) == (2, 6, 12)
        assert collection.search(**build_format_1.QUESTIONS[3], operator=True).digest == (
            collection.search(**build_format_1.QUESTIONS[3], operator=True, at=5).digest
        )
        assert [collection.search(**before, at=at).digest for at in range(1, 6)] == digests
        assert collection.count(at="of-format-1", operator=True) == 12
        assert collection.activate(1, operator=True).documents == 0
        assert collection.search(**before).digest == digests[-1]
        assert collection.get("d3", at=1, operator=True).passages[0].text == "Shared words, number 3 "
        changed = collection.diff(1, 5, operator=True)
        assert ([each.id for each in changed.changed], changed.added, changed.removed) == (
            ["d3", "d4"],
            ("d12",),
            ("d5",),
        )
    with hs.open(kept) as again:
        assert again.check(operator=True) == []
        assert [again.search(**before, at=at).digest for at in range(1, 6)] == digests


def test_the_script_still_builds_what_is_kept(tmp_path: Path, kept: Path) -> None:
    build_format_1.build(tmp_path / "again.hs")
    with hs.open(tmp_path / "again.hs") as again, hs.open(kept) as collection:
        assert build_format_1.answers(again) == build_format_1.answers(collection)
        assert again.info(operator=True).model == collection.info(operator=True).model


def test_a_greater_format_is_refused_and_left_as_it_is(path: Path) -> None:
    with duckdb.connect(path / "collection.duckdb") as connection:
        connection.execute("UPDATE meta SET value = ? WHERE key = 'format'", [FORMAT + 1])
        connection.execute("DROP TABLE segments")
    before = contents(path)
    with pytest.raises(hs.NewerFormat, match=rf"format {FORMAT + 1}, written by a newer holdstill.*Upgrade") as caught:
        hs.open(path)
    assert caught.value.field == "format"
    assert contents(path) == before


# -- directories that cannot be written, or read -----------------------------------------------------

_AS_NOBODY = """
import json, os, sys, tempfile
import holdstill as hs
with tempfile.TemporaryDirectory() as folder:  # imports all, while this user may still read where Python is installed
    with hs.create(os.path.join(folder, "a.hs"), schema={"n": "int"}, embedder="none") as collection:
        collection.add([hs.Document("x", "x")])
        collection.search("x", where="n > 1")
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)

def attempt(call):
    try:
        return call()
    except hs.HoldstillError as error:
        return f"{type(error).__name__}: {error}"

path = sys.argv[1]
said = {}
said["create"] = attempt(lambda: repr(hs.create(os.path.join(os.path.dirname(path), "new.hs"), embedder="none")))
collection = attempt(lambda: hs.open(path, lock_timeout=5))
if isinstance(collection, str):
    said["open"] = collection
else:
    said["digest"] = attempt(lambda: collection.search("common only3", where="n > 1").digest)
    said["get"] = attempt(lambda: collection.get("d3").id)
    said["count"] = attempt(lambda: collection.count("n < 4"))
    said["add"] = attempt(lambda: str(collection.add([hs.Document("x", "x")])))
    said["update"] = attempt(lambda: str(collection.update("d3", fields={"n": 0})))
    said["delete"] = attempt(lambda: str(collection.delete(["d3"])))
    said["add_field"] = attempt(lambda: str(collection.add_field("m", "int")))
    said["set_policy"] = attempt(lambda: str(collection.set_policy("true")))
    said["again"] = attempt(lambda: collection.search("common only3", where="n > 1").digest)
    collection.close()
print(json.dumps(said))
"""


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that others may enter: pytest's own are closed to them."""
    if sys.platform == "win32":
        pytest.skip("Windows has other permissions")
    folder = Path(tempfile.mkdtemp(prefix="holdstill-"))
    folder.chmod(0o755)
    yield folder
    for each in [folder, *folder.rglob("*")]:
        each.chmod(0o755 if each.is_dir() else 0o644)
    shutil.rmtree(folder)


def as_nobody(path: Path) -> dict[str, Any]:
    """What a process finds that may read the directory, at most."""
    done = subprocess.run([sys.executable, "-c", _AS_NOBODY, str(path)], capture_output=True, text=True)
    if "PermissionError: [Errno 1]" in done.stderr:
        pytest.skip("this process may not become another user")
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def protect(folder: Path, *, files: int = 0o444, folders: int = 0o555) -> None:
    for each in [*folder.rglob("*"), folder]:
        each.chmod(folders if each.is_dir() else files)


def test_a_directory_that_cannot_be_written_is_searched_and_says_so_otherwise(path: Path, public: Path) -> None:
    with hs.open(path) as collection:
        digest = collection.search("common only3", where="n > 1").digest
    copy = Path(shutil.copytree(path, public / "a.hs"))
    protect(public)
    before = contents(copy)
    said = as_nobody(copy)
    assert (said["digest"], said["again"], said["get"], said["count"]) == (digest, digest, "d3", 4)
    for write in ("add", "update", "delete", "add_field", "set_policy"):
        assert said[write].startswith("NotWritable: ")
        assert "cannot be written" in said[write]
    assert said["create"].startswith(f"NotWritable: cannot create a collection at {public / 'new.hs'}")
    assert contents(copy) == before


def test_a_collection_of_format_1_that_cannot_be_written_says_what_to_do(kept: Path, public: Path) -> None:
    copy = Path(shutil.copytree(kept, public / "a.hs"))
    protect(public)
    before = contents(copy)
    assert as_nobody(copy)["open"] == (
        f"NotWritable: {copy} has format 1, and has to be written once to be read by this version; "
        f"expected format {FORMAT}, or a collection that can be written. "
        "Open it once with the right to write; it is brought to the present format then"
    )
    assert contents(copy) == before


def test_nor_need_its_writer_have_closed_it(path: Path, public: Path) -> None:
    with hs.open(path) as collection:
        collection.add([hs.Document("late", "common only3", fields={"n": 5})])
        digest = collection.search("common only3", where="n > 1").digest
        copy = Path(shutil.copytree(path, public / "a.hs"))
    assert (copy / "collection.duckdb.wal").exists(), "the commit was to be in the log alone"
    protect(public)
    assert as_nobody(copy)["digest"] == digest


@pytest.mark.parametrize("layout", [None, b"HOLDSEG1"], ids=["missing", "earlier"])
def test_an_index_that_is_torn_and_cannot_be_written_is_made_again_in_memory(
    path: Path, public: Path, layout: bytes | None
) -> None:
    with hs.open(path) as collection:
        digest = collection.search("common only3", where="n > 1").digest
    copy = Path(shutil.copytree(path, public / "a.hs"))
    for file in (copy / "index").iterdir():
        if layout is None:
            file.unlink()
        else:
            file.write_bytes(layout + file.read_bytes()[8:])
    protect(public)
    before = contents(copy)
    assert as_nobody(copy)["digest"] == digest
    assert contents(copy) == before


def test_a_directory_of_which_only_the_index_cannot_be_written(path: Path, public: Path) -> None:
    copy = Path(shutil.copytree(path, public / "a.hs"))
    protect(public, files=0o666, folders=0o777)
    (copy / "index").chmod(0o555)
    said = as_nobody(copy)
    assert said["add"].startswith(f"NotWritable: the index cannot be written in {copy / 'index'}; nothing was changed")
    assert said["count"] == 4


def test_what_cannot_be_read_is_denied_not_corrupt(path: Path, public: Path) -> None:
    copy = Path(shutil.copytree(path, public / "a.hs"))
    (copy / "collection.duckdb").chmod(0)
    said = as_nobody(copy)
    assert said["open"] == f"AccessDenied: {copy} cannot be read. Check its owner and permissions"


def test_a_folder_that_cannot_be_entered_is_denied_too(path: Path, public: Path) -> None:
    copy = Path(shutil.copytree(path, public / "closed" / "a.hs"))
    (public / "closed").chmod(0)
    assert as_nobody(copy)["open"].startswith("AccessDenied: ")
    (public / "closed").chmod(0o755)
    copy.chmod(0)
    assert as_nobody(copy)["open"].startswith("AccessDenied: ")


# -- creating ----------------------------------------------------------------------------------------


def test_create_makes_missing_folders_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    with hs.create(tmp_path / "deep" / "er" / "a.hs", embedder="none") as collection:
        assert collection.count() == 0
    assert [each.name for each in (tmp_path / "deep" / "er").iterdir()] == ["a.hs"]
    with hs.open(str(tmp_path / "deep" / "er" / "a.hs")) as collection:
        assert collection.info().commit == 0


def test_create_refuses_what_exists_and_leaves_it(path: Path) -> None:
    before = contents(path)
    with pytest.raises(hs.CollectionExists, match="already exists"):
        hs.create(path, embedder="none")
    with hs.open(path) as collection:
        assert len(whole_answer(collection, "common")[0]["hits"]) == 9
        with pytest.raises(hs.CollectionExists):
            hs.create(path, embedder="none")
    assert contents(path).keys() == before.keys() | {"searches.jsonl"}


@pytest.mark.parametrize(
    "arguments",
    [
        {"schema": {"a b": "int"}}, {"schema": {"a": "integer"}}, {"schema": {"text": "str"}},
        {"schema": {"a'; DROP TABLE meta; --": "int"}}, {"analyser": "german"}, {"embedder": "other"},
    ],
    ids=str,
)  # fmt: skip
def test_create_with_bad_arguments_makes_nothing(tmp_path: Path, arguments: dict[str, Any]) -> None:
    with pytest.raises(hs.InvalidInput):
        hs.create(tmp_path / "a.hs", **({"embedder": "none"} | arguments))
    assert list(tmp_path.iterdir()) == []
