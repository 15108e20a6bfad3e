"""When the compiled kernels serve: for many rows, once they are compiled. Until then numpy does, with the same bits.

Compiling takes a while, once for each machine and version: a thread does it while searches go on, and what it made is
kept for later processes. Whatever goes wrong with it is logged, once, and no search fails for it.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

LARGE = 20_000  #: rows above which compiled kernels are worth loading

_LOG = logging.getLogger("holdstill")
_COMPILING = (
    "compiling what makes searches of more than 20,000 passages fast: once for this machine and version, some seconds "
    "of processor time. Until then numpy searches, with the same answers. It goes on in the background, and this "
    "process does not end before; `holdstill doctor --warm` does it ahead"
)
_UNUSABLE = (
    "searches of more than 20,000 passages are slower than need be in this process, with the same answers: the "
    "compiled kernels cannot be used: %s. `holdstill doctor --warm` tries again, and NUMBA_DISABLE_JIT=1 does without"
)

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Warmed:
    """What became of compiling ahead.

    Attributes:
        folder: where the compiled kernels are kept; None where that is not known.
        seconds: how long compiling took; None where nothing was compiled.
        fault: why the kernels cannot be used, or None.
    """

    folder: Path | None = None
    seconds: float | None = None
    fault: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        return asdict(self) | {"folder": None if self.folder is None else str(self.folder)}


def kernels(rows: int) -> ModuleType | None:
    """The module `holdstill.ranking.kernels`, or None where the numpy path serves; both give the same bits.

    Args:
        rows: how many rows there are to rank.
    """
    return _process.serving() if rows > LARGE else None


def warm(progress: Progress) -> Warmed:
    """Compile the kernels now, unless that was done already.

    Args:
        progress: told how many kernels are compiled, of how many.
    """
    return _process.warm(progress)


def await_compiling() -> None:
    """Wait until this process compiles nothing any more."""
    _process.join()


def is_compiling() -> bool:
    """Whether a thread of this process compiles the kernels."""
    return _process.is_compiling()


class _Process:
    """The kernels of this process: not asked for, or there, or being compiled, or not to be had."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked = False
        self._kernels: ModuleType | None = None
        self._thread: threading.Thread | None = None
        self._cut_off = False  # a fork came while another thread was in numba, whose locks are never let go then

    def serving(self) -> ModuleType | None:
        if not self._asked:
            with self._lock:
                if not self._asked:
                    self._ask()
                    self._asked = True
        return self._kernels

    def _ask(self) -> None:
        """Load what was compiled before, or begin to compile it."""
        try:
            # numba is imported on this thread: some modules refuse to be once a process has begun to end.
            from holdstill.ranking import kernel_cache as cache

            if cache.switched_off():
                return
            folder = cache.folder()
            if cache.PACKAGE in sys.modules or cache.is_complete(folder):
                self._kernels = cache.load(folder)
                return
            cache.require_writable(folder)
        except Exception as error:  # noqa: BLE001 - what numba and its libraries raise has no common type
            _LOG.warning(_UNUSABLE, _reason(error))
            return
        _LOG.warning(_COMPILING)
        # No daemon: were it cut off at the end of every short process, no process would ever complete it.
        self._thread = threading.Thread(target=self._compile, args=(folder,), name="holdstill-kernels")
        self._thread.start()

    def _compile(self, folder: Path) -> None:
        from holdstill.ranking import kernel_cache as cache

        try:
            self._kernels = cache.make(folder, lambda done, total: None)
        except Exception as error:  # noqa: BLE001 - as above
            _LOG.warning(_UNUSABLE, _reason(error))

    def warm(self, progress: Progress) -> Warmed:
        folder = None
        with self._lock:
            self._asked = True  # so that searches go on meanwhile, by numpy
            self.join()
            if self._cut_off:
                return Warmed(fault="this process was forked from one that was compiling or loading the kernels")
            try:
                from holdstill.ranking import kernel_cache as cache

                if cache.switched_off():
                    return Warmed(fault="NUMBA_DISABLE_JIT is set")
                folder = cache.folder()
                with suppress(Exception):  # a damaged folder is made anew
                    if cache.is_complete(folder):
                        self._kernels = cache.load(folder)
                        return Warmed(folder)
                begun = time.perf_counter()
                self._kernels = cache.make(folder, progress)
                return Warmed(folder, time.perf_counter() - begun)
            except Exception as error:  # noqa: BLE001 - as above
                return Warmed(folder, fault=_reason(error))

    def forked(self) -> None:
        """No thread goes on in a child process: what was being asked for or compiled is not had there."""
        self._cut_off = self._cut_off or self._lock.locked() or (self._thread is not None and self._kernels is None)
        self._asked = self._asked or self._cut_off
        self._lock = threading.Lock()
        self._thread = None

    def is_compiling(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def join(self) -> None:
        if self._thread is not None:
            self._thread.join()


def _reason(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


_process = _Process()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_process.forked)
