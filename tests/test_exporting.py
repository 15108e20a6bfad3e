"""A commit as a file: equal bytes for equal commits, the same digests elsewhere, and nothing made of a bad file."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdstill as hs
from fakes import Hashed, whole_answer
from histories import History, budget, histories
from holdstill.stores.duckdb import copying
from observing import said

MEMBERS = ("manifest.json", "documents.jsonl", "passages.jsonl", "vectors.bin")
Files = dict[str, bytes]


def exported(collection: hs.Collection, **asked: Any) -> bytes:
    file = io.BytesIO()
    collection.export(file, operator=True, **asked)
    return file.getvalue()


def unpacked(export: bytes) -> Files:
    with tarfile.open(fileobj=io.BytesIO(export)) as tar:
        return {member.name: member_bytes(tar, member) for member in tar}


def member_bytes(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    assert file is not None
    return file.read()


def packed(files: Files) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name, data in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(data)
            tar.addfile(about, io.BytesIO(data))
    return file.getvalue()


def line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def sealed(files: Files, **changes: Any) -> bytes:
    """An export of these files whose checksums are right."""
    manifest = json.loads(files["manifest.json"]) | changes
    del manifest["sha256"]
    for name, member in manifest["members"].items():
        member |= {"bytes": len(files[name]), "sha256": hashlib.sha256(files[name]).hexdigest()}
    manifest["sha256"] = hashlib.sha256(line(manifest)).hexdigest()
    return packed(files | {"manifest.json": line(manifest)})


@contextmanager
def small_batches() -> Iterator[None]:
    """Many batches, however few the passages are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copying, "_READ", 2)
        patch.setattr(copying, "_WRITTEN", 3)
        yield


# -- the same elsewhere --------------------------------------------------------------------------


def stated(collection: hs.Collection, history: History, at: int | None, **asking: Any) -> list[dict[str, Any]]:
    answers = [said(collection.search(**each.arguments(), at=at, **asking)) for each in history.questions]
    return [{key: value for key, value in answer.items() if key not in ("snapshot", "versions")} for answer in answers]


@budget(40)
@given(histories(questions=6), st.data())
def test_every_answer_is_the_same_in_the_copy(history: History, data: st.DataObject) -> None:
    with (
        small_batches(),
        TemporaryDirectory() as folder,
        hs.create(Path(folder) / "first.hs", **history.making()) as first,
    ):
        for change in history.changes:
            change.do(first)
        if history.rule is not None:
            first.set_policy(history.rule.text)
        newest = first.info(operator=True).commit
        at = data.draw(st.integers(0, newest), label="at")
        # What was revoked since is not in an export: a principal's answer of an earlier commit is not the copy's.
        asking = history.asking() if at == newest else {"operator": True}
        (Path(folder) / "first.tar").write_bytes(exported(first, at=at))
        with hs.import_collection(Path(folder) / "first.tar", Path(folder) / "second.hs") as second:
            assert stated(second, history, None, **asking) == stated(first, history, at, **asking)
            assert [each.kind for each in second.history(operator=True)] == ["import"]
            assert second.check(operator=True) == []


@budget(20)
@given(histories(questions=0))
def test_the_export_of_a_copy_is_the_same_but_for_where_it_comes_from(history: History) -> None:
    with (
        small_batches(),
        TemporaryDirectory() as folder,
        hs.create(Path(folder) / "0.hs", **history.making()) as first,
    ):
        for change in history.changes:
            change.do(first)
        if history.rule is not None:
            first.set_policy(history.rule.text)
        exports = [exported(first)]
        assert exported(first) == exports[0]
        for number in (1, 2):
            (Path(folder) / "last.tar").write_bytes(exports[-1])
            with hs.import_collection(Path(folder) / "last.tar", Path(folder) / f"{number}.hs") as copy:
                exports.append(exported(copy))
        assert exports[1] == exports[2]
        original, again = unpacked(exports[0]), unpacked(exports[1])
        said, says = (json.loads(files.pop("manifest.json")) for files in (original, again))
        assert original == again
        for manifest in (said, says):
            del manifest["exported"], manifest["sha256"]
        assert said == says


def test_documents_come_back_as_they_are(tmp_path: Path) -> None:
    fields = {"i": 2**63 - 1, "x": -0.0, "y": 1e308, "b": False, "s": "' \u2028\t", "d": "0001-01-01",
              "t": "9999-12-31T23:59:59.999999Z", "ss": ["", "é"], "ii": [-(2**63)]}  # fmt: skip
    types = {"i": "int", "x": "float", "y": "float", "b": "bool", "s": "str", "d": "date", "t": "datetime",
             "ss": "str[]", "ii": "int[]", "never": "str"}  # fmt: skip
    with hs.create(tmp_path / "a.hs", schema=types, embedder=Hashed(window=16)) as first:
        first.add(
            [
                hs.Document(
                    "a", "one two three. " * 30, title="Title", fields=fields | {"outside": {"n": [1e308, -0.0]}}
                ),
                hs.Document("b", passages=[hs.Passage("\ufeffx", headings=["H", "I"], pages=(1, 2)), hs.Passage("y")]),
            ]
        )
        before = [first.get(id_) for id_ in ("a", "b")]
        assert len(before[0].passages) > 3
        first.export(tmp_path / "a.tar")
    with hs.import_collection(tmp_path / "a.tar", tmp_path / "b.hs", embedder=Hashed(window=16)) as second:
        assert repr([second.get(id_) for id_ in ("a", "b")]) == repr(before)  # -0.0 == 0.0
        assert second.add([hs.Document("b", passages=[hs.Passage("x", headings=["H", "I"], pages=(1, 2)),
                                                      hs.Passage("y")])]).unchanged == 1  # fmt: skip


def test_a_copy_can_be_built_anew_and_added_to(tmp_path: Path) -> None:
    documents = [hs.Document(f"d{n}", f"running red {n} " * (1 + n % 5), title="T") for n in range(20)]
    with small_batches(), hs.create(tmp_path / "a.hs", embedder=Hashed(window=16)) as first:
        first.add(documents)
        first.export(tmp_path / "a.tar")
        with hs.import_collection(tmp_path / "a.tar", tmp_path / "b.hs", embedder=Hashed(window=16)) as second:
            for each in (first, second):
                each.rebuild(analyser="english")
                each.add([hs.Document("d3", "runs blue"), hs.Document("new", "red")])
            assert whole_answer(second, "run red 7", "blue") == whole_answer(first, "run red 7", "blue")


def test_brought_vectors_are_brought_along(tmp_path: Path) -> None:
    chance = np.random.default_rng(1)
    documents = [
        hs.Document(f"d{n}", passages=[hs.Passage("" if n % 3 else "word", vector=chance.normal(size=5)) for _ in "ab"])
        for n in range(20)
    ]
    with hs.create(tmp_path / "a.hs", vector_model="mine") as first:
        first.add(documents)
        first.export(tmp_path / "a.tar")
        with hs.import_collection(tmp_path / "a.tar", tmp_path / "b.hs") as second:
            assert second.add(documents).unchanged == 20
            for each in (first, second):
                each.rebuild(analyser="english")
            question = chance.normal(size=5)
            assert second.search(vector=question, k=99).digest == first.search(vector=question, k=99).digest


def test_a_commit_is_exported_from_its_own_generation(tmp_path: Path) -> None:
    with hs.create(tmp_path / "a.hs", embedder=Hashed()) as first:
        first.add([hs.Document("a", "running"), hs.Document("b", "run")])
        first.tag("before")
        first.rebuild(analyser="english", embedder="none")
        first.delete(["b"])
        first.export(tmp_path / "old.tar", "before")
        report = first.export(tmp_path / "new.tar")
        assert (report.commit, report.documents) == (3, 1)
        assert report.sha256 == hashlib.sha256((tmp_path / "new.tar").read_bytes()).hexdigest()
        with (
            hs.import_collection(tmp_path / "old.tar", tmp_path / "old.hs", embedder=Hashed()) as old,
            hs.import_collection(tmp_path / "new.tar", tmp_path / "new.hs") as new,
        ):
            assert old.search("run").digest == first.search("run", at="before", arms=["lexical", "dense"]).digest
            assert (old.info().analyser, old.info().generation) == ("simple-1", 1)
            assert new.search("run").digest == first.search("run").digest
    assert tuple(unpacked((tmp_path / "old.tar").read_bytes())) == MEMBERS
    assert tuple(unpacked((tmp_path / "new.tar").read_bytes())) == MEMBERS[:3]


def test_a_collection_without_documents(tmp_path: Path) -> None:
    with hs.create(tmp_path / "a.hs", schema={"n": "int"}, vector_model="mine") as first:
        first.export(tmp_path / "a.tar")
    with hs.import_collection(tmp_path / "a.tar", tmp_path / "b.hs") as second:
        assert (second.count(), second.schema.types()) == (0, {"n": "int"})
        second.add([hs.Document("a", "text", vector=[1, 2])])
        assert len(second.search("text", arms=["lexical"])) == 1


# -- another machine -----------------------------------------------------------------------------

_IMPORT_AND_ASK = """
import json, sys
import duckdb, numpy
sys.path.insert(0, sys.argv[1])
given = json.loads(sys.stdin.read())
connect = duckdb.connect
duckdb.connect = lambda file, config={}, **rest: connect(file, config={**config, "threads": given["threads"]}, **rest)
import holdstill as hs
from fakes import Hashed
with hs.import_collection(sys.argv[2], sys.argv[3], embedder=Hashed(64)) as collection:
    with collection._store._connection.reading() as cursor:
        assert cursor.execute("SELECT current_setting('threads')").fetchone() == (given["threads"],)
    for question in given["questions"]:
        print(collection.search(**question).digest)
"""


def cpu_features() -> list[str]:
    """What numpy would use on this machine beyond what it always does."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    return [name for name in __cpu_dispatch__ if __cpu_features__[name]]


def digests_elsewhere(
    export: Path, folder: Path, questions: list[dict[str, Any]], threads: int, seed: int
) -> list[str]:
    """What a process says that shares neither threads, hash seed nor instructions with this one, nor the kernels."""
    environment = os.environ | {
        "OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads),
        "NUMBA_DISABLE_JIT": "1", "NPY_DISABLE_CPU_FEATURES": " ".join(cpu_features()), "PYTHONHASHSEED": str(seed),
        "OPENBLAS_CORETYPE": "Nehalem",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", _IMPORT_AND_ASK, str(Path(__file__).parent), str(export), str(folder)],
        input=json.dumps({"questions": questions, "threads": threads}), env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def same_elsewhere(folder: Path, count: int, questions: int, machines: int) -> None:
    chance = random.Random(1)
    words = ["red", "green", "blue", "C++", "v2.14.1", "v2.14.0", "日本語", "running", "NX-42", *map(str, range(200))]
    documents = [
        hs.Document(
            f"d{n}", " ".join(chance.choices(words, k=chance.randint(1, 12))), fields={"n": chance.randint(0, 9)}
        )
        for n in range(count)
    ]
    asked: list[dict[str, Any]] = [
        {
            "text": " ".join(chance.choices(words, k=3)),
            "where": chance.choice([None, "n < 3", "not n in (1, 2)"]),
            "by": chance.choice(["passage", "document"]),
            "k": chance.choice([1, 10, 100]),
        }
        for _ in range(questions)
    ]
    with hs.create(folder / "here.hs", schema={"n": "int"}, embedder=Hashed(64)) as here:
        here.add(documents)
        here.delete([f"d{n}" for n in range(0, count, 5)])
        here.export(folder / "here.tar")
        digests = [here.search(**question).digest for question in asked]
    assert len(set(digests)) > questions // 2
    for number in range(machines):
        there = folder / f"elsewhere {number}" / "there.hs"
        there.parent.mkdir()
        assert digests_elsewhere(folder / "here.tar", there, asked, threads=1 + 2 * number, seed=number) == digests


def test_the_digests_of_another_machine_are_the_same(tmp_path: Path) -> None:
    same_elsewhere(tmp_path, 300, 12, machines=1)


@pytest.mark.heavy
def test_the_digests_of_other_machines_are_the_same_where_kernels_search(tmp_path: Path) -> None:
    same_elsewhere(tmp_path, 60_000, 60, machines=3)


# -- what cannot be imported ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def export() -> bytes:
    with TemporaryDirectory() as folder:
        model = Hashed()
        with hs.create(Path(folder) / "a.hs", schema={"n": "int", "t": "datetime"}, embedder=model) as collection:
            fields = {"n": 1, "t": "2026-11-01T00:00:00Z"}
            collection.add([hs.Document(f"d{n}", f"text {n}", fields=fields | {"n": n}) for n in range(4)])
            collection.set_policy("n = principal.n")
            return exported(collection)


@pytest.fixture
def refused(tmp_path: Path) -> Callable[..., hs.HoldstillError]:
    """Imports an export that has to be refused: nothing may be left of it."""

    def refuse(export: bytes, error: type[hs.HoldstillError] = hs.MalformedInput) -> hs.HoldstillError:
        (tmp_path / "bad.tar").write_bytes(export)
        with pytest.raises(error) as raised:
            hs.import_collection(tmp_path / "bad.tar", tmp_path / "bad.hs")
        assert [path.name for path in tmp_path.iterdir()] == ["bad.tar"]
        return raised.value

    return refuse


@budget(60)
@given(st.data())
def test_a_file_that_is_cut_off_is_refused(export: bytes, data: st.DataObject) -> None:
    end = export.rstrip(b"\0")
    cut = data.draw(st.integers(0, len(end) - 1))
    with TemporaryDirectory() as folder:
        (Path(folder) / "bad.tar").write_bytes(end[:cut])
        with pytest.raises(hs.MalformedInput, match=r"bad\.tar"):
            hs.import_collection(Path(folder) / "bad.tar", Path(folder) / "bad.hs")
        assert os.listdir(folder) == ["bad.tar"]  # noqa: PTH208 - names are enough


def test_what_is_cut_off_is_named(export: bytes, refused: Callable[..., hs.HoldstillError]) -> None:
    with tarfile.open(fileobj=io.BytesIO(export)) as tar:
        ends = {member.name: member.offset_data + member.size for member in tar}
    for name in MEMBERS:
        assert f"{name} is cut off" in str(refused(export[: ends[name] - 1]))
        if name != MEMBERS[-1]:
            following = MEMBERS[MEMBERS.index(name) + 1]
            assert f"{following} is missing" in str(refused(export[: ends[name] + 512]))


@budget(60)
@given(st.data())
def test_a_flipped_bit_is_refused_or_changes_nothing(export: bytes, data: st.DataObject) -> None:
    """Between members there are bytes that mean nothing."""
    place, bit = data.draw(st.integers(0, len(export) - 1)), data.draw(st.integers(0, 7))
    flipped = export[:place] + bytes([export[place] ^ 1 << bit]) + export[place + 1 :]
    with TemporaryDirectory() as folder:
        (Path(folder) / "bad.tar").write_bytes(flipped)
        try:
            collection = hs.import_collection(Path(folder) / "bad.tar", Path(folder) / "bad.hs")
        except hs.MalformedInput:
            assert os.listdir(folder) == ["bad.tar"]  # noqa: PTH208 - names are enough
        else:
            with collection:
                assert exported(collection) == export


@pytest.mark.parametrize("member", MEMBERS)
def test_damage_that_could_be_read_is_refused(
    export: bytes, refused: Callable[..., hs.HoldstillError], member: str
) -> None:
    """A letter of the policy or of a text, or the last place of a vector's component."""
    data = unpacked(export)[member]
    letter = {"manifest.json": b"n = principal.n", "vectors.bin": b""}.get(member, b"text 1")
    place = export.index(data) + data.index(letter)
    damaged = export[:place] + bytes([export[place] ^ 1]) + export[place + 1 :]
    assert f"{member} is damaged" in str(refused(damaged))


def test_a_newer_format_is_refused(export: bytes, refused: Callable[..., hs.HoldstillError]) -> None:
    error = refused(packed(unpacked(export) | {"manifest.json": b'{"format": 2, "all": "else"}'}), hs.NewerFormat)
    assert "format 2" in str(error)


def test_words_that_are_read_otherwise_are_refused(export: bytes, refused: Callable[..., hs.HoldstillError]) -> None:
    files = unpacked(export)
    about = json.loads(files["manifest.json"])["generation"] | {"analysis": "simple-0"}
    error = refused(sealed(files, generation=about), hs.AnalyserMismatch)
    assert (error.field, error.expected) == ("analyser", "simple-0")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"documents": 3}, "does not count"),
        ({"documents": 5}, "does not count"),
        ({"passages": 3}, "vectors.bin has to have"),
        ({"documents": -1}, "no number"),
        ({"documents": True}, "no number"),
        ({"policy": "no such field = 1"}, "manifest.json cannot be read"),
        ({"schema": [{"name": "n", "type": "int"}]}, "the fields are not those of the schema"),
        ({"schema": [{"name": "n", "type": "thing"}]}, "unknown type"),
        ({"generation": {}}, "made_with"),
        ({"members": {}}, "the members are"),
        ({"format": 0}, "no export"),
    ],
)
def test_a_manifest_that_is_wrong_is_refused(
    export: bytes, refused: Callable[..., hs.HoldstillError], change: dict[str, Any], said: str
) -> None:
    assert said in str(refused(sealed(unpacked(export), **change)))


@pytest.mark.parametrize(
    ("member", "old", "new", "said"),
    [
        ("documents.jsonl", b'"id":"d1"', b'"id":"d9"', "in their order"),
        ("documents.jsonl", b'"id":"d1"', b'"id":"\\u0000"', "id cannot be used"),
        ("documents.jsonl", b'"n":1', b'"n":"1"', "does not take this value"),
        ("documents.jsonl", b'"n":1', b'"m":1', "not those of the schema"),
        ("documents.jsonl", b'"metadata":{}', b'"metadata":[]', "documents.jsonl cannot be read"),
        ("documents.jsonl", b'"given"', b'"taken"', "KeyError: 'given'"),
        ("documents.jsonl", b'{"content"', b'["content"', "documents.jsonl cannot be read"),
        ("passages.jsonl", b'"document":"d3"', b'"document":"d4"', "in their order"),
        ("passages.jsonl", b'"ordinal":0', b'"ordinal":1', "in their order"),
        ("passages.jsonl", b'"text":"text 1"', b'"text":"\\ud800"', "cannot be stored"),
        ("passages.jsonl", b'"text":"text 1"', b'"text":1', "text must be text"),
        ("passages.jsonl", b'"pages":null', b'"pages":[2,1]', "pages must be a range"),
    ],
)
def test_lines_that_are_wrong_are_refused(
    export: bytes, refused: Callable[..., hs.HoldstillError], member: str, old: bytes, new: bytes, said: str
) -> None:
    files = unpacked(export)
    assert old in files[member]
    assert said in str(refused(sealed(files | {member: files[member].replace(old, new, 1)})))


def test_members_that_do_not_fit_together_are_refused(export: bytes, refused: Callable[..., hs.HoldstillError]) -> None:
    files = unpacked(export)
    documents, passages = files["documents.jsonl"].splitlines(True), files["passages.jsonl"].splitlines(True)
    fewer = files | {"documents.jsonl": b"".join(documents[:-1])}
    assert "a passage of 'd3', which documents.jsonl lacks" in str(refused(sealed(fewer)))
    lacking = files | {"passages.jsonl": b"".join(passages[:-1])}
    assert "the passages of 'd3'" in str(refused(sealed(lacking)))
    twice = {
        "documents.jsonl": documents[0] + documents[1] + documents[0],
        "vectors.bin": files["vectors.bin"][: 3 * 32],
    }
    twice |= {"passages.jsonl": passages[0] + passages[1] + passages[0]}
    refused(sealed(files | twice, documents=3, passages=3), hs.DuplicateId)


@pytest.mark.parametrize("component", [0, 20_000, -32_768])
def test_vectors_that_no_model_can_have_made_are_refused(
    export: bytes, refused: Callable[..., hs.HoldstillError], component: int
) -> None:
    files = unpacked(export)
    vectors = np.full(len(files["vectors.bin"]) // 2, component, dtype="<i2").tobytes()
    assert "no vector of length 1" in str(refused(sealed(files | {"vectors.bin": vectors})))


def test_members_of_another_name_or_kind_are_refused(export: bytes, refused: Callable[..., hs.HoldstillError]) -> None:
    files = unpacked(export)
    assert "'../evil'" in str(refused(packed(files | {"../evil": b""})))
    assert "'/etc/x' where documents.jsonl" in str(
        refused(packed({"manifest.json": files["manifest.json"], "/etc/x": b""}))
    )
    assert "'vectors.bin' where" in str(refused(packed(dict(reversed(files.items())))))
    assert "is no export" in str(refused(b"id,text\n" * 200))
    assert "is no export" in str(refused(b""))
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        link = tarfile.TarInfo("manifest.json")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    assert "where manifest.json was expected" in str(refused(file.getvalue()))


def test_what_is_in_the_way_stays(tmp_path: Path, export: bytes) -> None:
    (tmp_path / "a.tar").write_bytes(export)
    (tmp_path / "taken").mkdir()
    with pytest.raises(hs.CollectionExists):
        hs.import_collection(tmp_path / "a.tar", tmp_path / "taken")
    with pytest.raises(hs.MalformedInput, match="cannot be read"):
        hs.import_collection(tmp_path / "none.tar", tmp_path / "b.hs")
    with pytest.raises(hs.ModelMismatch):
        hs.import_collection(tmp_path / "a.tar", tmp_path / "b.hs", embedder=Hashed(version="2"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar", "taken"]


# -- what cannot be exported ---------------------------------------------------------------------


def test_a_file_is_replaced_only_if_that_is_said(tmp_path: Path) -> None:
    file = tmp_path / "a.tar"
    with hs.create(tmp_path / "a.hs", embedder="none") as collection:
        collection.add([hs.Document("a", "text")])
        file.write_text("mine")
        with pytest.raises(hs.CollectionExists, match="already exists"):
            collection.export(file)
        assert file.read_text() == "mine"
        collection.export(file, overwrite=True)
        assert file.read_bytes() == exported(collection)
        with pytest.raises(hs.InvalidInput, match="is a directory"):
            collection.export(tmp_path / "a.hs", overwrite=True)
        with pytest.raises(hs.NotWritable):
            collection.export(tmp_path / "no such folder" / "a.tar")
        with pytest.raises(hs.HoldstillError, match="no commit 9"):
            collection.export(tmp_path / "b.tar", 9)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.hs", "a.tar"]


def test_an_export_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> bytes:
        raise OSError("no space left on device")

    with hs.create(tmp_path / "a.hs", embedder="none") as collection:
        collection.add([hs.Document("a", "text")])
        (tmp_path / "a.tar").write_text("mine")
        monkeypatch.setattr("holdstill.exporting.encode_passage", full)
        with pytest.raises(hs.NotWritable, match="no space left"):
            collection.export(tmp_path / "a.tar", overwrite=True)
    assert (tmp_path / "a.tar").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.hs", "a.tar"]


def test_only_the_operator_exports(tmp_path: Path) -> None:
    with hs.create(tmp_path / "a.hs", schema={"n": "int"}, embedder="none") as collection:
        collection.add([hs.Document(str(n), "text", fields={"n": n}) for n in range(3)])
        collection.set_policy("n = principal.n")
        with pytest.raises(hs.AccessDenied):
            collection.export(tmp_path / "a.tar")
        with pytest.raises(hs.OperatorRequired):
            collection.export(tmp_path / "a.tar", principal={"id": "ana"})
        assert not (tmp_path / "a.tar").exists()
        collection.export(tmp_path / "a.tar", operator=True)
    with hs.import_collection(tmp_path / "a.tar", tmp_path / "b.hs") as copy:
        with pytest.raises(hs.PrincipalRequired):
            copy.search("text")
        found = copy.search("text", principal={"id": "ana", "attributes": {"n": 1}})
        assert [hit.document for hit in found] == ["1"]
        assert (copy.policy(operator=True), copy.info(operator=True).policy) == ("n = principal.n", 1)


def test_deleted_documents_and_other_commits_are_not_in_it(tmp_path: Path) -> None:
    with hs.create(tmp_path / "a.hs", embedder="none") as collection:
        collection.add([hs.Document("a", "kept"), hs.Document("b", "secret-marker")])
        collection.delete(["b"])
        collection.tag("tag-marker")
        assert b"marker" not in exported(collection)
        assert b"secret-marker" in exported(collection, at=1)
        collection.purge(["b"])
        assert b"secret-marker" not in exported(collection, at=1)


def test_what_is_left_after_erasing_is_the_same_in_the_copy(tmp_path: Path) -> None:
    with small_batches(), hs.create(tmp_path / "a.hs", embedder=Hashed()) as first:
        for begin in range(0, 30, 6):
            first.add([hs.Document(f"d{n}", f"red {n % 4} blue") for n in range(begin, begin + 6)])
        first.delete(["d3", "d4", "d20"])
        first.rebuild(analyser="english")
        first.purge(["d0", "d7", "d29"])
        first.prune(keep_last=2)
        first.export(tmp_path / "a.tar")
        with hs.import_collection(tmp_path / "a.tar", tmp_path / "b.hs", embedder=Hashed()) as second:
            assert second.count() == 24
            assert whole_answer(second, "red 2", "blues") == whole_answer(first, "red 2", "blues")


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    with hs.create(tmp_path / "a.hs", embedder="none") as collection:
        collection.add([hs.Document(str(n), "text") for n in range(3)])
        collection.export(tmp_path / "a.tar", progress=lambda *each: told.append(each))
    with hs.import_collection(tmp_path / "a.tar", tmp_path / "b.hs", progress=lambda *each: told.append(each)):
        pass
    assert told[0] == ("exporting", 1, 3)
    assert ("exporting", 3, 3) in told
    assert ("checking", 2, 2) in told
    assert ("importing", 3, 3) in told
