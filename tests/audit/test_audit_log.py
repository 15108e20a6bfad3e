"""The log's files: appended to, put aside, read past damage, rewritten; and a search that never fails for them."""

from __future__ import annotations

import errno
import json
import os
import stat
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import holdstill as hs
from holdstill.audit.log import FILE, SearchLog
from holdstill.audit.record import Record, timestamp

START = datetime(2026, 11, 1, tzinfo=UTC)


def record(number: int, *, days: float = 0, **more: Any) -> Record:
    made = {
        "search_id": f"id-{number}", "time": timestamp(START + timedelta(days=days)), "principal": None,
        "operator": False, "permission": None, "seen_at": 1, "snapshot": {"generation": 1, "commit": 1}, "k": 10,
        "offset": 0, "by": "passage", "order_by": None, "settings": {},
        "versions": {"engine": "0", "format": 2, "analyser": "simple-1", "policy": None}, "model": None, "arms": [],
        "completeness": "exhausted", "ties_beyond": 0, "unknown": {}, "hits": [], "digest": "sha256:", "query": None,
    }  # fmt: skip
    return made | more


def hit(document: str, rank: int = 1) -> Record:
    return {"id": f"{document}#0", "document": document, "rank": rank, "tied": False, "ranks": {}, "scores": {}}


def query(text: str | None = None, **more: Any) -> Record:
    asked = {"text": text, "must": [], "must_not": [], "where": None, "vector": None, "terms": []}
    return asked | more


def ids(log: SearchLog) -> list[str]:
    return [each["search_id"] for each in log.records()]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def log(tmp_path: Path) -> SearchLog:
    return SearchLog(tmp_path, hs.LogSettings())


# -- writing -----------------------------------------------------------------------------------------


def test_records_come_back_in_order(log: SearchLog) -> None:
    written = [record(number, text="a\nb\u2028\ud800") for number in range(3)]
    for each in written:
        log.append(each)
    assert list(log.records()) == written
    assert log.find("id-1") == written[1]
    assert log.find("id-9") is None
    log.close()


def test_questions_are_for_the_owner_alone(log: SearchLog, tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        log.append(record(1))
        log.redact(["a"])
    finally:
        os.umask(old)
    log.append(record(2, hits=[hit("a")]))
    log.redact(["a"])
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    log.close()


def test_threads_and_handles_write_whole_lines(tmp_path: Path) -> None:
    settings = hs.LogSettings(max_bytes=5_000, keep=1_000)
    logs = [SearchLog(tmp_path, settings) for _ in range(2)]

    def write(first: int) -> None:
        for number in range(first, first + 50):
            logs[number % 2].append(record(number, text="x" * 200))

    threads = [threading.Thread(target=write, args=(first,)) for first in range(0, 400, 50)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    records = logs[0].records()
    assert sorted(each["search_id"] for each in records) == sorted(f"id-{number}" for number in range(400))
    assert records.damaged == 0
    assert len(names(tmp_path)) > 2
    for log in logs:
        log.close()


def test_a_file_that_someone_deleted_is_begun_again(log: SearchLog, tmp_path: Path) -> None:
    log.append(record(1))
    (tmp_path / FILE).unlink()
    log.append(record(2))
    assert ids(log) == ["id-2"]
    log.close()


# -- putting aside -----------------------------------------------------------------------------------


def test_a_full_file_is_put_aside_and_the_oldest_are_deleted(tmp_path: Path) -> None:
    size = len(json.dumps(record(0), separators=(",", ":"))) + 1
    log = SearchLog(tmp_path, hs.LogSettings(max_bytes=2 * size, keep=2))
    for number in range(9):
        log.append(record(number))
        assert all(file.stat().st_size <= 2 * size for file in tmp_path.iterdir())
    assert names(tmp_path) == ["searches-000003.jsonl", "searches-000004.jsonl", FILE]
    assert ids(log) == [f"id-{number}" for number in range(4, 9)]
    log.close()


def test_a_record_larger_than_a_file_is_written_nevertheless(tmp_path: Path) -> None:
    log = SearchLog(tmp_path, hs.LogSettings(max_bytes=10))
    for number in range(3):
        log.append(record(number))
    assert ids(log) == ["id-0", "id-1", "id-2"]
    log.close()


@pytest.mark.parametrize("reopened", [False, True])
def test_an_old_file_is_put_aside(tmp_path: Path, reopened: bool) -> None:
    log = SearchLog(tmp_path, hs.LogSettings(max_age_days=7))
    for number, days in enumerate((0, 6.9, 7, 13.9, 14)):
        log.append(record(number, days=days))
        if reopened:
            log.close()
            log = SearchLog(tmp_path, hs.LogSettings(max_age_days=7))
    assert names(tmp_path) == ["searches-000001.jsonl", "searches-000002.jsonl", FILE]
    assert len(ids(log)) == 5
    log.close()


def test_numbers_go_on_past_a_million_files(tmp_path: Path) -> None:
    (tmp_path / "searches-999999.jsonl").write_text(json.dumps(record(0)) + "\n")
    (tmp_path / "searches-1000000.jsonl").write_text(json.dumps(record(1)) + "\n")
    log = SearchLog(tmp_path, hs.LogSettings(max_bytes=1))
    log.append(record(2))
    log.append(record(3))
    assert "searches-1000001.jsonl" in names(tmp_path)
    assert ids(log) == ["id-0", "id-1", "id-2", "id-3"]
    log.close()


# -- reading -----------------------------------------------------------------------------------------


def test_since(log: SearchLog) -> None:
    for number in range(4):
        log.append(record(number, days=number))
    later = log.records(START + timedelta(days=2))
    assert [each["search_id"] for each in later] == ["id-2", "id-3"]
    log.close()


def test_a_torn_last_line_is_left_out_and_what_follows_is_on_its_own(log: SearchLog, tmp_path: Path) -> None:
    log.append(record(1))
    log.append(record(2))
    log.close()
    content = (tmp_path / FILE).read_bytes()
    for cut in range(1, len(content) // 2):
        (tmp_path / FILE).write_bytes(content[:-cut])
        log.append(record(3))
        log.append(record(4))
        log.close()
        read = log.records()
        found = [each["search_id"] for each in read]
        whole = cut == 1  # the line break alone is missing
        assert found == (["id-1", "id-2", "id-3", "id-4"] if whole else ["id-1", "id-3", "id-4"])
        assert read.damaged == (0 if whole else 1)


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"[]", b"1", b"\xff\xfe", b"{}", b'{"search_id": "x"}', b"[" * 100_000,
     json.dumps(record(9) | {"hits": [1]}).encode(), json.dumps(record(9) | {"time": "soon"}).encode(),
     json.dumps(record(9) | {"query": 1}).encode(), json.dumps(record(9) | {"search_id": 9}).encode(),
     json.dumps({"search_id": "id-9", "time": "2026-01-01T00:00:00Z", "hits": [], "query": None}).encode(),
     json.dumps(record(9) | {"hits": [hit("a") | {"document": []}]}).encode(),
     json.dumps(record(9) | {"query": query() | {"text": 5}}).encode(),
     json.dumps(record(9) | {"query": query() | {"must": [7]}}).encode(),
     json.dumps(record(9) | {"arms": [{"arm": 1}]}).encode()],
)  # fmt: skip
def test_a_damaged_line_is_left_out_and_counted(log: SearchLog, tmp_path: Path, line: bytes) -> None:
    (tmp_path / FILE).write_bytes(line + b"\n")
    log.append(record(1))
    read = log.records()
    assert [each["search_id"] for each in read] == ["id-1"]
    assert read.damaged == 1
    log.close()


def test_a_reader_misses_nothing_that_is_put_aside_meanwhile(tmp_path: Path) -> None:
    log = SearchLog(tmp_path, hs.LogSettings(max_bytes=1, keep=1))
    for number in range(3):
        log.append(record(number))
    reading = iter(log.records())
    assert next(reading)["search_id"] == "id-1"
    log.append(record(3))
    assert [each["search_id"] for each in reading] == ["id-2"]
    log.close()


# -- erasing -----------------------------------------------------------------------------------------


def test_a_purged_document_leaves_no_trace(tmp_path: Path) -> None:
    log = SearchLog(tmp_path, hs.LogSettings(max_bytes=1_000))
    others = record(1, hits=[hit("other")], query=query("kept"))
    log.append(others)
    log.append(record(2, hits=[hit("other"), hit("marker", 2)], query=query("kept too")))
    log.append(record(3, hits=[hit("x")], query=query("who is marker?")))
    log.append(record(4, query=query(must=["marker"])))
    log.append(record(5, query=query(where="name = 'marker'")))
    with (tmp_path / FILE).open("ab") as file:
        file.write(b'{"search_id": "torn", "hits": [{"id": "marker')
    assert len(names(tmp_path)) > 1
    assert log.redact(["marker", "absent"]) == 4
    assert all(b"marker" not in file.read_bytes() for file in tmp_path.iterdir())
    first, second, *rest = log.records()
    assert first == others
    assert second == record(2, hits=[hit("other"), {"purged": True, "rank": 2}], query=query("kept too"))
    assert [each["query"] for each in rest] == [None] * 3
    assert log.redact(["marker"]) == 0
    log.append(record(6))
    assert ids(log)[-1] == "id-6"
    log.close()


def test_an_id_with_quotes_is_found_in_a_filter(log: SearchLog) -> None:
    log.append(record(1, query=query(where="name = 'it''s'")))
    assert log.redact(["it's"]) == 1
    assert next(iter(log.records()))["query"] is None
    log.close()


def test_a_vector_is_no_text(log: SearchLog) -> None:
    log.append(record(1, query=query(vector="AAAA")))
    assert log.redact(["A"]) == 0
    log.close()


# -- failing -----------------------------------------------------------------------------------------


@pytest.fixture
def collection(tmp_path: Path) -> Any:
    with hs.create(tmp_path / "a.hs", embedder="none") as made:
        made.add([hs.Document("a", "some text")])
        yield made


def failing(number: int) -> Callable[..., Any]:
    def fail(*_args: object, **_more: object) -> Any:
        raise OSError(number, os.strerror(number), "/secret/place")

    return fail


@pytest.mark.parametrize("name", ["open", "write", "fstat"])
def test_a_log_that_cannot_be_written_fails_no_search(
    collection: hs.Collection, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(os, name, failing(errno.EROFS))
    found = collection.search("text")
    assert (found.search_id, len(found)) == (None, 1)
    assert found.notes == (f"this search was not logged: {os.strerror(errno.EROFS)}",)
    monkeypatch.undo()
    assert collection.search("text").notes == ()


def test_a_full_disk_leaves_no_half_a_record(collection: hs.Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    first = collection.search("text").search_id
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, line: real(handle, line[:100]))
    found = collection.search("text")
    assert found.search_id is None
    assert found.notes == (f"this search was not logged: {os.strerror(errno.ENOSPC)}",)
    monkeypatch.undo()
    second = collection.search("text").search_id
    listed = collection.searches()
    assert [each.search_id for each in listed] == [first, second]
    assert listed.damaged == 0


def test_a_log_in_the_way_of_which_is_a_folder(collection: hs.Collection) -> None:
    (collection.path / FILE).mkdir()
    found = collection.search("text")
    assert (found.search_id, len(found)) == (None, 1)
    assert str(collection.path) not in found.notes[0]


def test_a_log_that_cannot_be_read_is_said(collection: hs.Collection) -> None:
    search_id = collection.search("red").search_id
    assert search_id is not None
    collection._log.close()
    (collection.path / FILE).unlink()
    (collection.path / FILE).mkdir()
    for read in (
        lambda: list(collection.searches()),
        lambda: collection.replay(search_id),
        lambda: collection.blame(search_id),
    ):
        with pytest.raises(hs.AccessDenied, match=r"search log cannot be read: Is a directory.*searches\*\.jsonl"):
            read()
    assert "was not logged" in collection.search("red").notes[-1]


def test_what_a_killed_redaction_left_is_removed(tmp_path: Path) -> None:
    log = SearchLog(tmp_path, hs.LogSettings())
    log.append(record(1, hits=[hit("a")]))
    left = tmp_path / "searches-000004.jsonl.redacted"
    left.write_bytes(b"a")
    assert log.redact(["a"]) == 1
    assert names(tmp_path) == [FILE]


def test_a_redaction_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = SearchLog(tmp_path, hs.LogSettings())
    log.append(record(1, hits=[hit("a")]))

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        log.redact(["a"])
    assert names(tmp_path) == [FILE]
