"""Ctrl-C during a write: what it left behind is read from the disk and said."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from holdstill.cli.failures import Interrupted
from holdstill.cli.options import opened

if TYPE_CHECKING:
    from holdstill.collection import Collection

_PATIENCE = 3.0  # seconds for which the presses after one that was heard are not


@contextmanager
def heeding_interrupts(left: Callable[[], str]) -> Iterator[None]:
    """Let Ctrl-C end what runs inside.

    Args:
        left: says what it left behind, once what runs inside has ended.

    Raises:
        Interrupted: it did.
    """
    pressed: float | None = None

    def heed(_signal: int, _frame: FrameType | None) -> None:
        # The presses of an impatient finger would break the clean-up that the first one began.
        nonlocal pressed
        now = time.monotonic()
        if pressed is None or now - pressed > _PATIENCE:
            pressed = now
            raise KeyboardInterrupt

    earlier = signal.signal(signal.SIGINT, heed)
    try:
        yield
    except BaseException as error:
        # Libraries turn the interrupt into errors of their own: it is known by the press, not by the error.
        if pressed is None:
            raise
        raise Interrupted(left()) from error
    finally:
        # After an interrupt the process only has to say so and end: another one would cut off the message.
        signal.signal(signal.SIGINT, earlier if pressed is None else signal.SIG_IGN)


@contextmanager
def operating(path: Path, unfinished: str) -> Iterator[Collection]:
    """A collection for a call of the operator's that Ctrl-C may end.

    Args:
        path: the collection.
        unfinished: what an interrupt leaves behind if it comes before the end.

    Raises:
        Interrupted: it did, saying whether it came before the end.
    """
    before: object = None

    def left() -> str:
        if before is None:
            return f"interrupted: {unfinished}"
        with opened(path) as collection:
            done = _state(collection) != before
        return "interrupted, but it was done already" if done else f"interrupted: {unfinished}"

    with heeding_interrupts(left), opened(path) as collection:
        before = _state(collection)
        yield collection


def _state(collection: Collection) -> object:
    """What is different once a call of the operator's was done."""
    complete = [each.generation for each in collection.generations(operator=True) if each.complete]
    return collection.history(operator=True), complete
