"""The command line as a process: pipes, locales, a busy collection, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice

import pytest

import holdstill as hs
from holdstill.cli.failures import Interrupted
from holdstill.cli.interrupts import heeding_interrupts

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="no pipe in the file system, no SIGINT to send")
COMMAND = [sys.executable, "-m", "holdstill.cli"]


def execute(*words, **environment):
    return subprocess.run(
        [*COMMAND, *map(str, words)], capture_output=True, env={**os.environ, **environment}, timeout=60, check=False
    )


def test_exit_codes_and_streams(people):
    good = execute("search", people, "backend", "--json")
    assert (good.returncode, good.stderr) == (0, b"")
    assert json.loads(good.stdout)["completeness"] == "exhausted"
    bad = execute("search", people, "backend", "--k", "0")
    assert (bad.returncode, bad.stdout) == (2, b"")
    assert bad.stderr.startswith(b"error: k is out of range")


def test_no_escape_sequence_in_a_pipe(people):
    assert b"\x1b" not in execute("search", people, "backend", "--explain", TERM="xterm-256color").stdout


@pytest.mark.parametrize(
    "environment",
    [
        {"LANG": "C", "LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "latin-1"},
        {"PYTHONIOENCODING": "ascii"},
    ],
)
def test_any_locale_will_do(ask, tmp_path, write, environment):
    path = tmp_path / "u.hs"
    ask("add", path, write("u.jsonl", [{"id": "ü 🙂", "title": "東京", "text": "naïve words"}]), "--embedder", "none")
    result = execute("search", path, "words", **environment)
    assert (result.returncode, result.stderr) == (0, b"")
    answer = execute("search", path, "words", "--json", **environment).stdout.decode("utf-8")
    assert json.loads(answer)["hits"][0]["document"] == "ü 🙂"


def test_a_reader_that_goes_away_is_no_noise(people):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        result = subprocess.run(
            [*COMMAND, "search", str(people), "backend", "--json"], stdout=pipe, stderr=subprocess.PIPE, check=False
        )
    assert (result.returncode, result.stderr) == (1, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")  # noqa: PTH110
@pytest.mark.parametrize("words", [[], ["--json"]])
def test_a_full_disk_under_the_output_is_said(people, words):
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        result = subprocess.run(
            [*COMMAND, "search", str(people), "backend", *words], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert result.returncode == 1
    assert b"No space left" in result.stderr
    assert b"Traceback" not in result.stderr


def test_a_busy_collection_is_a_failure_that_says_what_to_do(people):
    with hs.open(people):
        result = execute("info", people, "--json", HOLDSTILL_LOCK_TIMEOUT="0.2")
    assert result.returncode == 1
    error = json.loads(result.stdout)["error"]
    assert error["type"] == "CollectionBusy"
    assert "close the other one" in error["hint"]


ROWS = 20_000


def rows() -> Iterator[bytes]:
    for row in range(ROWS):
        words = " ".join(f"w{(row * 7 + at * 13) % 5000}" for at in range(60))
        yield json.dumps({"id": f"d{row}", "text": words}).encode() + b"\n"


def interrupted(folder, path, *words, fed, after, presses=1):
    """Add rows from a pipe, and press Ctrl-C some seconds after so many of them were taken: the reader is at work."""
    pipe = folder / "pipe.jsonl"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [*COMMAND, "add", str(path), str(pipe), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with pipe.open("wb") as file:
        file.writelines(islice(rows(), fed))
        file.flush()
        if fed == ROWS:
            file.close()
        time.sleep(after)
        for _ in range(presses):
            process.send_signal(signal.SIGINT)
            time.sleep(0.01)
        stdout, stderr = process.communicate(timeout=60)
    pipe.unlink()
    return process.returncode, stdout, stderr


@POSIX
@pytest.mark.parametrize(("fed", "after", "presses"), [(100, 0.0, 1), (ROWS, 0.5, 1), (ROWS, 1.0, 6)])
def test_ctrl_c_leaves_the_collection_as_it_was(ask, people, tmp_path, fed, after, presses):
    before = ask("search", people, "backend")["digest"]
    code, stdout, stderr = interrupted(tmp_path, people, fed=fed, after=after, presses=presses)
    assert (code, stdout, stderr) == (1, "", "error: interrupted: nothing of this add was written\n")
    assert ask("search", people, "backend")["digest"] == before
    assert ask("doctor", people)["checks"][-1]["detail"] == "every file is whole"
    assert [path.suffix for path in (people / "index").iterdir()] == [".seg"]


@POSIX
@pytest.mark.parametrize(("fed", "after"), [(100, 0.0), (ROWS, 1.5)])
def test_ctrl_c_leaves_no_new_collection(tmp_path, fed, after):
    words = ["--embedder", "none", "--json"]
    code, stdout, _ = interrupted(tmp_path, tmp_path / "c.hs", *words, fed=fed, after=after)
    assert code == 1
    error = json.loads(stdout)["error"]
    assert (error["type"], error["message"]) == ("Interrupted", "interrupted: nothing of this add was written")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def _restored():
    handler = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, handler)


def pressed_twice():
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        signal.raise_signal(signal.SIGINT)  # a press in the clean-up is not heard
        raise RuntimeError("Query interrupted") from None  # what a library makes of it


@pytest.mark.usefixtures("_restored")
def test_an_interrupt_says_what_it_left_behind():
    with pytest.raises(Interrupted, match=r"^commit 3 it is$"), heeding_interrupts(lambda: "commit 3 it is"):
        pressed_twice()


def test_other_errors_pass_and_the_handler_is_put_back():
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(RuntimeError, match="other"), heeding_interrupts(str):
        raise RuntimeError("other")
    assert signal.getsignal(signal.SIGINT) is handler
