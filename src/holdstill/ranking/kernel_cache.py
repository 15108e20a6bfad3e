"""Where compiled kernels are kept: a folder for each way they can come out, which is there complete or not at all.

Importing this module loads numba: ask `holdstill.ranking.compiled`.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core.registry import cpu_target

from holdstill import user_cache

config: Any = numba.config  # its variables are set when it is imported
_THEIRS: str = config.CACHE_DIR  # the user's; it is another while kernels are decorated

PACKAGE = "holdstill.ranking.kernels"
UNUSED_FOR = 30 * 24 * 3600  #: seconds after which a folder that no process used is removed
UNFINISHED_FOR = 3600  #: seconds after which a folder is removed that was not completed

_SOURCES = sorted((Path(__file__).parent / "kernels").glob("*.py"))
_UNFINISHED = "part-"
_CONTENTS = "contents"  # the file that lists the others
_filing: tuple[Path, Callable[[], None]] | None = None  # where kernels go that are decorated now, and who is told


def switched_off() -> bool:
    """Whether the user told numba to compile nothing."""
    return bool(config.DISABLE_JIT)


def folder() -> Path:
    """The folder of the machine code that numba would make here and now."""
    base = Path(_THEIRS).absolute() if _THEIRS else user_cache.folder()
    return base / "holdstill" / "kernels" / _name()


def _name() -> str:
    """A digest of all that decides the machine code, and of where the sources are, by which numba files it."""
    settings = {name: value for name, value in os.environ.items() if name.startswith("NUMBA_")}
    settings.pop("NUMBA_CACHE_DIR", None)
    parts = [
        sys.version,
        np.__version__,
        llvmlite.__version__,
        numba.__version__,
        cpu_target.target_context.codegen().magic_tuple(),  # platform, processor, its features
        sorted(settings.items()),
        [(str(source), hashlib.sha256(source.read_bytes()).hexdigest()) for source in _SOURCES],
    ]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def is_complete(folder: Path) -> bool:
    """Whether every file is there that was compiled for this folder, and as it was: it is run as machine code."""
    try:
        return (folder / _CONTENTS).read_bytes() == _contents(folder).encode()
    except OSError:
        return False


def _contents(folder: Path) -> str:
    files = sorted(folder.rglob("*.nb[ci]"))
    return "".join(
        f"{hashlib.sha256(file.read_bytes()).hexdigest()} {file.relative_to(folder).as_posix()}\n" for file in files
    )


def load(folder: Path) -> ModuleType:
    """Import the kernels from a complete folder; one that turns out to be damaged is removed.

    Raises:
        Exception: they cannot be loaded, for whatever reason numba, its libraries or the system may have.
    """
    with suppress(OSError):
        os.utime(folder)
    try:
        with _filed_in(folder, lambda: None):
            return importlib.import_module(PACKAGE)
    except OSError:  # it cannot be read or written by this user, and may be whole
        raise
    except Exception:
        _remove(folder)
        raise


def require_writable(folder: Path) -> None:
    """Make sure that the folder can be made.

    Raises:
        OSError: it cannot.
    """
    parent = folder.parent
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not os.access(parent, os.W_OK | os.X_OK):
        raise PermissionError(f"{parent} cannot be written")


def make(folder: Path, progress: Callable[[int, int], None]) -> ModuleType:
    """Compile the kernels into a folder, which gets its name when it is complete, and import them.

    So processes that compile at once do not meet: the first one to end gives its folder the name.

    Args:
        folder: the name.
        progress: told how many kernels are compiled, of how many.

    Raises:
        Exception: they cannot be compiled or kept, for whatever reason numba, its libraries or the system may have.
    """
    for name in [name for name in sys.modules if name.startswith(PACKAGE)]:
        del sys.modules[name]  # left by an import that failed: it would not be compiled again
    require_writable(folder)
    part = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=folder.parent))
    try:
        with _filed_in(part, _counting(progress)):
            kernels = importlib.import_module(PACKAGE)
        _publish(part, folder)
    finally:
        _remove(part)
    _sweep(folder.parent)
    return kernels


def _counting(progress: Callable[[int, int], None]) -> Callable[[], None]:
    total = sum(len(re.findall(r"^@compiled\(", source.read_text("utf-8"), re.MULTILINE)) for source in _SOURCES)
    done = iter(range(1, total + 1))
    progress(0, total)
    return lambda: progress(next(done, total), total)


def _publish(part: Path, folder: Path) -> None:
    (part / _CONTENTS).write_text(_contents(part), encoding="utf-8")
    try:
        part.rename(folder)
    except OSError:
        if not is_complete(folder):  # else another process was first
            _remove(folder)
            part.rename(folder)


def _sweep(parent: Path) -> None:
    """Remove what other versions left behind, and what was never completed."""
    with suppress(OSError):
        for other in parent.iterdir():
            kept_for = UNFINISHED_FOR if other.name.startswith(_UNFINISHED) else UNUSED_FOR
            if time.time() - other.stat().st_mtime > kept_for:
                _remove(other)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _filed_in(folder: Path, told: Callable[[], None]) -> Iterator[None]:
    global _filing
    _filing = folder, told
    try:
        yield
    finally:
        _filing = None


def filed(decorate: Callable[[], Any], signature: Any) -> Any:
    """A kernel for these types, compiled into the folder that is being made, or loaded from it.

    Where the kernels are imported without one, numba keeps them where it keeps everything.

    Args:
        decorate: makes numba's dispatcher.
        signature: the types.

    Raises:
        PermissionError: the folder cannot be written, which numba wants even to load from it.
    """
    folder, told = _filing or (config.CACHE_DIR, lambda: None)
    theirs, config.CACHE_DIR = config.CACHE_DIR, str(folder)
    try:
        kernel = decorate()
    finally:
        config.CACHE_DIR = theirs  # so that functions of the caller's own stay where they were
    if not kernel.stats.cache_path.startswith(str(folder)):
        raise PermissionError(f"{folder} cannot be written")
    kernel.compile(signature)
    kernel.disable_compile()
    told()
    return kernel
