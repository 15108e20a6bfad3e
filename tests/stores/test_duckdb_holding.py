"""One process holds a collection; one that was forked from it does not."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import holdstill as hs

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")

_HOLD = """
import sys, fcntl, os
handle = os.open(sys.argv[1], os.O_RDONLY)
fcntl.flock(handle, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with hs.create(tmp_path / "held.hs", embedder="none") as made:
        made.add([hs.Document("a", "text")])
    return tmp_path / "held.hs"


def test_the_directory_is_locked_also_while_no_file_is(path: Path) -> None:
    """As it is in the moment in which an erasure has let go of one file and not taken the next."""
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        begun = time.monotonic()
        with pytest.raises(hs.CollectionBusy, match=r"another process has .*free within 0.2 s"):
            hs.open(path, lock_timeout=0.2)
        assert time.monotonic() - begun < 30
        other.communicate("\n")
    with hs.open(path, lock_timeout=0) as collection, hs.open(path, lock_timeout=0) as second:
        assert collection.count() == second.count() == 1


def test_where_no_directory_can_be_locked_the_database_locks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def unknown(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", unknown)
    asked = [sys.executable, "-c", "import sys, holdstill as hs; hs.open(sys.argv[1], lock_timeout=0.1)", str(path)]
    with hs.open(path) as collection:
        assert collection.count() == 1
        assert b"CollectionBusy" in subprocess.run(asked, capture_output=True, check=False).stderr
    monkeypatch.setattr(os, "open", unknown)
    with hs.open(path) as collection:
        assert collection.count() == 1


def test_the_last_handle_lets_go(path: Path) -> None:
    first, second = hs.open(path), hs.open(path)
    first.close()
    asked = [sys.executable, "-c", "import sys, holdstill as hs; hs.open(sys.argv[1], lock_timeout=0.1)", str(path)]
    assert b"CollectionBusy" in subprocess.run(asked, capture_output=True, check=False).stderr
    second.close()
    assert subprocess.run(asked, capture_output=True, check=False).returncode == 0


def in_a_fork(check: object) -> str:
    """What a forked process says of it: the error's type, or ok."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            said = check() or "ok"  # type: ignore[operator]
        except BaseException as error:  # noqa: BLE001 - it is what is asked for
            said = f"{type(error).__name__}: {error}"
        os.write(write, str(said).encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read, "rb") as pipe:
        return pipe.read().decode()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_cannot_use_what_its_parent_has_open(path: Path) -> None:
    with hs.open(path) as collection:
        for use in (
            collection.count,
            lambda: collection.add([hs.Document("b", "lost")]),
            lambda: collection.purge(["a"]),
        ):
            assert in_a_fork(use).startswith("CollectionClosed: ")
        assert in_a_fork(collection.close) == "ok"
        assert in_a_fork(lambda: hs.open(path, lock_timeout=0)).startswith("CollectionBusy: ")
        assert collection.count() == 1
        assert collection.add([hs.Document("b", "kept")]).commit == 2
    assert in_a_fork(lambda: hs.open(path, lock_timeout=0).count()) == "2"
