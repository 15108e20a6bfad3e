"""Settings: what a log keeps, and where the command line reads that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import holdstill as hs
from holdstill.config import log_settings


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory, and an environment that says nothing."""
    for name in ("HOLDSTILL_CONFIG", "HOLDSTILL_LOG", "HOLDSTILL_LOG_QUERIES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "value"),
    [("enabled", "off"), ("enabled", 1), ("queries", None), ("max_bytes", 0), ("max_bytes", 1.5), ("keep", True),
     ("max_age_days", -1), ("keep", 2**31)],
)  # fmt: skip
def test_a_setting_that_cannot_be_used(name: str, value: Any) -> None:
    with pytest.raises(hs.InvalidInput) as caught:
        hs.LogSettings(**{name: value})
    assert caught.value.field == name


def test_a_log_is_a_log_settings(folder: Path) -> None:
    with pytest.raises(hs.InvalidInput) as caught:
        hs.create(folder / "a.hs", embedder="none", log=False)  # type: ignore[arg-type]
    assert caught.value.field == "log"
    assert not (folder / "a.hs").exists()


def test_without_a_file_the_defaults_hold() -> None:
    assert log_settings() == hs.LogSettings()


def test_the_file_of_the_working_directory(folder: Path) -> None:
    (folder / "holdstill.toml").write_text("[log]\nqueries = false\nkeep = 3\n")
    assert log_settings() == hs.LogSettings(queries=False, keep=3)


def test_a_named_file_is_read_in_its_place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "holdstill.toml").write_text("[log]\nkeep = 3\n")
    (folder / "other.toml").write_text("[log]\nmax_age_days = 7\n")
    monkeypatch.setenv("HOLDSTILL_CONFIG", "other.toml")
    assert log_settings() == hs.LogSettings(max_age_days=7)


def test_the_environment_has_the_last_word(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "holdstill.toml").write_text("[log]\nenabled = true\nqueries = true\nkeep = 3\n")
    monkeypatch.setenv("HOLDSTILL_LOG", "off")
    monkeypatch.setenv("HOLDSTILL_LOG_QUERIES", " off ")
    assert log_settings() == hs.LogSettings(enabled=False, queries=False, keep=3)
    monkeypatch.setenv("HOLDSTILL_LOG", "")
    assert log_settings() == hs.LogSettings(queries=False, keep=3)


def test_a_switch_is_on_or_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDSTILL_LOG", "yes")
    with pytest.raises(hs.InvalidInput) as caught:
        log_settings()
    assert caught.value.field == "HOLDSTILL_LOG"


@pytest.mark.parametrize(
    ("content", "key"),
    [
        ("[log]\nkept = 1\n", "log.kept"),
        ("[lock]\ntimeout = 1\n", "lock"),
        ("log = 1\n", "log"),
        ("[log]\nkeep = 0\n", "log.keep"),
        ("[log]\nqueries = 'off'\n", "log.queries"),
        ("[log]\nmax_bytes = 1e6\n", "log.max_bytes"),
    ],
)
def test_a_key_that_cannot_be_used_is_named_with_its_file(folder: Path, content: str, key: str) -> None:
    (folder / "holdstill.toml").write_text(content)
    with pytest.raises(hs.InvalidInput) as caught:
        log_settings()
    assert caught.value.field == key
    assert "holdstill.toml" in caught.value.message


@pytest.mark.parametrize("content", [b"[log", b"[log]\nkeep = '\xff'\n"])
def test_a_file_that_is_no_toml(folder: Path, content: bytes) -> None:
    (folder / "holdstill.toml").write_bytes(content)
    with pytest.raises(hs.MalformedInput, match="not TOML"):
        log_settings()


def test_a_named_file_has_to_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDSTILL_CONFIG", "none.toml")
    with pytest.raises(hs.MalformedInput, match=r"none\.toml"):
        log_settings()


def test_the_library_reads_no_file(folder: Path) -> None:
    (folder / "holdstill.toml").write_text("[log]\nenabled = false\n")
    with hs.create(folder / "a.hs", embedder="none") as collection:
        collection.add([hs.Document("a", "text")])
        assert collection.search("text").search_id is not None
