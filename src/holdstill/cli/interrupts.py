"""Ctrl-C during a write: what it left behind is read from the disk and said."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from holdstill.cli.failures import Interrupted

_PATIENCE = 3.0  # seconds for which the presses after one that was heard are not


@contextmanager
def heeding_interrupts(written: Callable[[], int | None]) -> Iterator[None]:
    """Let Ctrl-C end what runs inside.

    Args:
        written: tells the commit that was made nevertheless, or None.

    Raises:
        Interrupted: it did, saying whether anything was written.
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
        commit = written()
        if commit is None:
            raise Interrupted("interrupted: nothing of this add was written") from error
        raise Interrupted(f"interrupted, but the add was written already: it is commit {commit}") from error
    finally:
        # After an interrupt the process only has to say so and end: another one would cut off the message.
        signal.signal(signal.SIGINT, earlier if pressed is None else signal.SIG_IGN)
