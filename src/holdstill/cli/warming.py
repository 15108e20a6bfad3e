"""Compiled kernels on the command line: what is said of them, compiling ahead, the end of a command that compiles."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from holdstill.cli.terminal import console, neutral, print_indented, progress
from holdstill.ranking import compiled


class _Notices(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        print_indented(console(stderr=True), f"note: {neutral(record.getMessage())}", 0, hang=2)


@contextmanager
def notices() -> Iterator[None]:
    """Show on standard error what the engine logs meanwhile."""
    handler, log = _Notices(), logging.getLogger("holdstill")
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


def warm() -> compiled.Warmed:
    """Compile the kernels unless they are, with a bar where there is a terminal."""
    with progress() as show:
        return compiled.warm(lambda done, total: show("compiling", done, total) if show else None)


def end(code: int) -> NoReturn:
    """End the process with this exit code, after what it still compiles; Ctrl-C leaves that to another process."""
    try:
        compiled.await_compiling()
    except KeyboardInterrupt:
        abandon(code)
    sys.exit(code)


def abandon(code: int) -> None:
    """If the process compiles, end it at once."""
    if compiled.is_compiling():
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)
