"""A collection held by one process: its directory is locked from before its database is opened until it is closed.

DuckDB locks the file that it has open. But an erasure puts another file in its place, which nobody has locked yet, and
lets go of the old one before that. The lock of the directory stays throughout, so that no other process comes between.
"""

from __future__ import annotations

import os
import sys
import time
import weakref
from contextlib import suppress
from pathlib import Path

_held: weakref.WeakSet[Hold] = weakref.WeakSet()


class Hold:
    """The lock of a directory, for as long as this object lives. Processes that only read may share it."""

    def __init__(self, handle: int) -> None:
        self._handle: int | None = handle
        _held.add(self)

    def fileno(self) -> int:
        """The open directory."""
        assert self._handle is not None  # noqa: S101 - asked before it is released
        return self._handle

    def release(self) -> None:
        """Let go of it."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def __del__(self) -> None:
        self.release()


def hold(path: Path, lock_timeout: float, *, alone: bool) -> Hold | None:
    """Lock a directory, waiting up to `lock_timeout` seconds for another process; None where that cannot be done.

    Where the file system knows no such locks, or the directory cannot be listed, the database's own lock has to do.

    Raises:
        TimeoutError: another process has it.
    """
    if sys.platform == "win32":  # there an open file cannot be replaced at all
        return None
    import fcntl

    deadline = time.monotonic() + lock_timeout
    try:
        held = Hold(os.open(path, os.O_RDONLY | os.O_DIRECTORY))
        while True:
            try:
                fcntl.flock(held.fileno(), (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise TimeoutError from None
                time.sleep(0.02)
            else:
                return held
    except TimeoutError:
        raise
    except OSError:
        return None


def _forget() -> None:
    """A process that was forked has the collections of its parent open no more than the lock of them."""
    for held in list(_held):
        with suppress(OSError):
            held.release()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_forget)
