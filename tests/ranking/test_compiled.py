"""When kernels are compiled, where they are kept, and that nothing shows of it but how long a search takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import holdstill as hs
from holdstill.ranking import kernel_cache

_PRELUDE = """
import json, os, sys, time
from pathlib import Path
from holdstill.ranking import compiled

def tiny():
    "Let a package of one small kernel stand for ours."
    from holdstill.ranking import kernel_cache
    kernel_cache.PACKAGE = "tiny_kernels"
    kernel_cache._SOURCES = [Path(os.environ["PYTHONPATH"].split(os.pathsep)[0], "tiny_kernels.py")]

def counted(kernels):
    "How many were compiled, and how many loaded."
    stats = [kernel.stats for kernel in vars(kernels).values() if hasattr(kernel, "stats")]
    return [sum(sum(each[at].values()) for each in stats) for at in (2, 1)]

def ask():
    first = compiled.kernels(compiled.LARGE + 1)
    compiled.await_compiling()
    last = compiled.kernels(compiled.LARGE + 1)
    print(json.dumps([first is not None, last is not None, *([] if last is None else counted(last))]))
"""
_TINY_KERNELS = """
import numba
from numba import types
from holdstill.ranking import kernel_cache

def _doubled(number):
    return number + number

doubled = kernel_cache.filed(lambda: numba.njit(cache=True)(_doubled), types.int64(types.int64))
"""
#: What `ask` prints: whether kernels serve at first and at last, and how many of those were compiled and loaded.
COLD, WARM, NONE = [False, True, 1, 0], [True, True, 0, 1], [False, False]


class Processes:
    """Python processes with the kernels' cache of this test."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "source" / "tiny_kernels.py"
        self.source.parent.mkdir()
        self.source.write_text(_TINY_KERNELS, encoding="utf-8")
        self.cache = folder / "cache"

    @property
    def folders(self) -> list[Path]:
        return sorted((self.cache / "holdstill" / "kernels").iterdir())

    def begin(self, program: str, *words: object, **settings: str) -> subprocess.Popen[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
        paths = {"PYTHONPATH": os.pathsep.join([str(self.source.parent), *sys.path])}
        return subprocess.Popen(
            [sys.executable, "-W", "error", "-c", _PRELUDE + program, *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=kept | paths | {"NUMBA_CACHE_DIR": str(self.cache)} | settings,
        )

    def end(self, process: subprocess.Popen[str]) -> tuple[object, list[str]]:
        """The JSON value that it printed, and what it said on standard error."""
        stdout, stderr = process.communicate(timeout=300)
        assert process.returncode == 0, stderr
        return json.loads(stdout), stderr.splitlines()

    def run(self, program: str, *words: object, **settings: str) -> tuple[object, list[str]]:
        return self.end(self.begin(program, *words, **settings))


@pytest.fixture
def processes(tmp_path: Path) -> Processes:
    return Processes(tmp_path)


def test_few_rows_never_load_numba(processes):
    loaded, said = processes.run("print(json.dumps([compiled.kernels(compiled.LARGE), 'numba' in sys.modules]))")
    assert (loaded, said) == ([None, False], [])


def test_one_process_compiles_and_says_so_and_another_loads(processes):
    asked, said = processes.run("tiny(); ask()")
    assert asked == COLD
    (notice,) = said
    for part in ("once", "seconds", "same answers", "in the background", "`holdstill doctor --warm`"):
        assert part in notice
    assert processes.run("tiny(); ask()") == (WARM, [])


def test_what_serves_for_what(processes):
    processes.run("tiny(); compiled.kernels(compiled.LARGE + 1); print(0)")  # ends at once, and completes it first
    os.utime(processes.source, (0, 0))
    assert processes.run("tiny(); ask()")[0] == WARM
    assert processes.run("tiny(); ask()", NUMBA_CPU_NAME="generic")[0] == COLD
    processes.source.write_text(_TINY_KERNELS.replace("number + number", "2 * number"), encoding="utf-8")
    assert processes.run("tiny(); ask()")[0] == COLD
    assert len(processes.folders) == 3


def test_two_processes_that_compile_at_once_do_not_meet(processes):
    # Both have compiled before either gives its folder the name.
    program = """
tiny()
from holdstill.ranking import kernel_cache
publish = kernel_cache._publish
def when_both_are_there(part, folder):
    (part / "done").touch()
    while len(list(folder.parent.glob("part-*/done"))) < 2 and not folder.exists():
        time.sleep(0.01)
    publish(part, folder)
kernel_cache._publish = when_both_are_there
ask()
"""
    both = [processes.begin(program), processes.begin(program)]
    assert [processes.end(each)[0] for each in both] == [COLD, COLD]
    assert len(processes.folders) == 1


def test_what_is_incomplete_or_damaged_is_made_again(processes):
    processes.run("tiny(); ask()")
    (code,) = processes.folders[0].rglob("*.nbc")
    code.unlink()
    assert processes.run("tiny(); ask()")[0] == COLD
    os.truncate(code, 100)
    assert processes.run("tiny(); ask()")[0] == COLD
    content = bytearray(code.read_bytes())
    content[len(content) // 2] ^= 1  # one bit, which may be of an instruction
    code.write_bytes(content)
    assert processes.run("tiny(); ask()")[0] == COLD
    assert processes.run("tiny(); ask()")[0] == WARM


@pytest.mark.parametrize("error", ["PermissionError", "OSError"])
def test_what_is_whole_but_cannot_be_used_now_is_kept(processes, error):
    processes.run("tiny(); ask()")
    program = f"""
tiny()
from holdstill.ranking import kernel_cache
def filed(*_): raise {error}("no space left")
kernel_cache.filed = filed
ask()
"""
    assert processes.run(program)[0] == NONE
    assert processes.run("tiny(); ask()")[0] == WARM


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_a_child_forked_while_kernels_are_asked_for_is_served(processes):
    program = """
import threading
holding = threading.Event()
def ask_slowly():
    with compiled._process._lock:
        holding.set()
        time.sleep(1)
threading.Thread(target=ask_slowly).start()
holding.wait()
child = os.fork()
if child == 0:
    os._exit(0 if compiled.kernels(compiled.LARGE + 1) is None else 1)
begun = time.monotonic()
while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
    if time.monotonic() - begun > 20:
        os.kill(child, 9)
    time.sleep(0.01)
print(json.dumps(ended[1]))
"""
    assert processes.run(program)[0] == 0


@pytest.mark.parametrize(
    ("obstacle", "reason"),
    [
        ("sys.modules['numba'] = None", "ModuleNotFoundError: "),
        ("tiny(); Path(os.environ['NUMBA_CACHE_DIR']).touch()", "Error: "),
    ],
)
def test_what_cannot_be_compiled_is_said_once_and_numpy_serves(processes, obstacle, reason):
    asked, said = processes.run(f"{obstacle}; ask(); compiled.kernels(1_000_000)")
    assert asked == NONE
    assert [reason in line for line in said if "cannot be used" in line] == [True]


def test_numba_switched_off_stays_off(processes):
    assert processes.run("tiny(); ask()", NUMBA_DISABLE_JIT="1") == (NONE, [])


def test_the_settings_that_the_callers_functions_are_compiled_with_are_left_alone(processes):
    program = "tiny(); compiled.warm(lambda done, total: None); import numba; print(json.dumps(numba.config.CACHE_DIR))"
    assert processes.run(program) == (str(processes.cache), [])


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="another folder is the user's there")
def test_the_cache_is_in_the_users_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(kernel_cache, "_THEIRS", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    assert kernel_cache.folder().parent == tmp_path / "mine" / "holdstill" / "kernels"
    monkeypatch.setenv("HOME", str(tmp_path))
    for nothing in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", nothing)
        assert kernel_cache.folder().parent == tmp_path / ".cache" / "holdstill" / "kernels"


def test_folders_that_nothing_used_for_long_are_removed(tmp_path):
    for name, age in (("new", 0), ("old", kernel_cache.UNUSED_FOR + 60)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    kernel_cache._sweep(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_the_bar_counts_every_kernel():
    shown = []
    kernel_cache._counting(lambda done, total: shown.append((done, total)))()
    assert shown == [(0, shown[0][1]), (1, shown[0][1])]
    assert shown[0][1] >= 1


# -- with the kernels ----------------------------------------------------------------------------

_SEARCHES = """
compiled.LARGE = 0
import hashlib
import numpy as np
import holdstill as hs

def digest():
    found = hashlib.sha256()
    vector = np.cos(np.arange(48))
    for asked in (
        {"text": "w3 w40 nowhere", "vector": vector, "k": 50},
        {"text": "w1", "vector": vector, "k": 5, "where": "even = true", "by": "document"},
        {"text": "w2 w5", "vector": -vector, "settings": hs.Settings(depth=7)},
        {"text": "w7", "arms": ["lexical"], "k": 20},
        {"vector": vector, "k": 300},
        {"vector": vector, "where": "even = false"},
    ):
        found.update(collection.search(**asked).digest.encode())
    return found.hexdigest()

with hs.open(sys.argv[1]) as collection:
    first, digests = compiled.kernels(1) is not None, {digest()}
    while compiled.is_compiling():
        digests.add(digest())
    digests.add(digest())
last = compiled.kernels(1)
print(json.dumps([first, last is not None, sorted(digests), None if last is None else counted(last)[0]]))
"""


@pytest.fixture(scope="module")
def collection(tmp_path_factory) -> Path:
    """Two thousand passages with vectors, among them many that are equal in words, in vectors or in both."""
    draws = np.random.default_rng(7)
    path = tmp_path_factory.mktemp("paths") / "c.hs"
    texts = [" ".join(f"w{word}" for word in draws.zipf(1.4, 12) % 50) for _ in range(500)]
    vectors = draws.standard_normal((300, 48))
    with hs.create(path, schema={"even": "bool"}, vector_model="drawn") as made:
        report = made.add(
            hs.Document(
                f"d{at // 2}-{at % 2}",
                passages=[hs.Passage(texts[int(draws.integers(500))], vector=vectors[int(draws.integers(300))])],
                fields={"even": at % 2 == 0},
            )
            for at in range(2000)
        )
    assert report.added == 2000
    return path


def test_numpy_kernels_and_the_moment_between_them_give_the_same_bits(processes, collection):
    numpy, *compiling = [
        processes.run(_SEARCHES, collection, **settings)[0]
        for settings in ({"NUMBA_DISABLE_JIT": "1"}, {}, {}, {"NUMBA_CPU_NAME": "generic"})
    ]
    assert numpy[:2] == NONE
    (digest,) = numpy[2]
    assert [each[:3] for each in compiling] == [
        [False, True, [digest]],
        [True, True, [digest]],
        [False, True, [digest]],
    ]
    cold, warm, generic = (each[3] for each in compiling)
    assert cold == generic > 0
    assert warm == 0
