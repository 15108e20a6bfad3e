"""Compiled kernels on the command line: who loads numba, `doctor --warm`, notices, Ctrl-C while something compiles."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from holdstill.cli import warming
from holdstill.embedding import InvarianceReport
from holdstill.ranking import compiled, kernel_cache

_KERNELS = """
import numba
from numba import types
from holdstill.ranking import kernel_cache

def compiled(*types):
    return lambda function: kernel_cache.filed(lambda: numba.njit(cache=True)(function), types[0](*types[1:]))

@compiled(types.int64, types.int64)
def doubled(number):
    return number + number

@compiled(types.int64, types.int64)
def squared(number):
    return number * number
"""


@pytest.fixture
def two_kernels(monkeypatch, tmp_path):
    """A module of two small kernels for ours, a cache of its own, and a model that need not be loaded."""
    source = tmp_path / "two_kernels.py"
    source.write_text(_KERNELS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(kernel_cache, "PACKAGE", "two_kernels")
    monkeypatch.setattr(kernel_cache, "_SOURCES", [source])
    monkeypatch.setattr(kernel_cache, "_THEIRS", str(tmp_path / "cache"))
    monkeypatch.setattr(compiled, "_process", compiled._Process())
    monkeypatch.setattr("holdstill.embedding.check", lambda _: InvarianceReport("minilm", "sha256:x", 12, (), 0.0))
    yield source
    sys.modules.pop("two_kernels", None)


@pytest.mark.usefixtures("two_kernels")
def test_the_doctor_compiles_ahead(run, ask, tmp_path):
    assert "kernels" not in ask("doctor")
    report = ask("doctor", "--warm")
    assert report["ok"] is True
    assert report["checks"][-1]["detail"].startswith("compiled in ")
    assert report["kernels"]["seconds"] > 0
    (folder,) = (tmp_path / "cache" / "holdstill" / "kernels").iterdir()
    assert report["kernels"] == {"folder": str(folder), "seconds": report["kernels"]["seconds"], "fault": None}
    assert compiled.kernels(compiled.LARGE + 1).doubled(21) == 42
    again = ask("doctor", "--warm")
    assert again["kernels"] == {"folder": str(folder), "seconds": None, "fault": None}
    assert again["checks"][-1]["ok"] is True
    assert "ok     kernels: were compiled before, kept in" in run("doctor", "--warm").stdout


def test_the_doctor_says_why_it_cannot_compile(run, ask, two_kernels):
    two_kernels.write_text("raise OSError(28, 'No space left on device')", encoding="utf-8")
    report = ask("doctor", "--warm", code=1)
    assert report["kernels"]["fault"] == "OSError: [Errno 28] No space left on device"
    assert run("doctor", "--warm").stdout.splitlines()[-2].startswith("WRONG  kernels: OSError: [Errno 28] No space")


@pytest.mark.usefixtures("two_kernels")
def test_a_bar_counts_the_kernels(run, monkeypatch):
    shown = []

    @contextmanager
    def progress():
        yield lambda *step: shown.append(step)

    monkeypatch.setattr(warming, "progress", progress)
    assert run("doctor", "--warm").stderr == ""
    assert shown == [("compiling", done, 2) for done in range(3)]


def test_what_is_logged_is_a_note_on_standard_error(capsys):
    with warming.notices():
        logging.getLogger("holdstill").warning("slower than \x1b[1m %s", "need be")
    assert capsys.readouterr() == ("", "note: slower than \\x1b[1m need be\n")
    assert not logging.getLogger("holdstill").handlers


_COMMAND = """
import sys
from holdstill.cli import main
try:
    main(sys.argv[1:])
finally:
    assert not {"numba", "llvmlite"} & sys.modules.keys()
"""


def test_small_collections_never_load_numba(people):
    for words in (["--help"], ["add", people, people.parent / "people.jsonl"], ["search", people, "backend"]):
        done = subprocess.run([sys.executable, "-c", _COMMAND, *map(str, words)], capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")


_WHILE_COMPILING = """
import sys, threading, time
import holdstill as hs
from holdstill.cli import main
from holdstill.ranking import compiled

def search(*asked, **how):
    raise KeyboardInterrupt

if sys.argv.pop(1) == "during":
    hs.Collection.search = search
compiled._process._thread = threading.Thread(target=time.sleep, args=(600,))
compiled._process._thread.start()
main(sys.argv[1:])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to send")
@pytest.mark.parametrize(("when", "code", "said"), [("after", 0, ""), ("during", 1, "\nerror: interrupted\n")])
def test_ctrl_c_does_not_wait_for_what_compiles(people, when, code, said):
    process = subprocess.Popen(
        [sys.executable, "-c", _WHILE_COMPILING, when, "search", str(people), "backend"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if when == "after":
        assert process.stdout.readline().startswith("exhausted")
        time.sleep(0.5)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (code, said)
