"""Readers and whoever has a collection alone: nobody reads while rows are taken away, and nobody waits for ever."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import holdstill as hs
from holdstill.stores.duckdb.leases import Leases

LONG = 30  #: seconds after which a thread that should have gone on never will


@contextmanager
def threads(*work: Callable[[], object]) -> Iterator[None]:
    """Each in a thread; all of them end."""
    started = [threading.Thread(target=each, daemon=True) for each in work]
    for each in started:
        each.start()
    yield
    for each in started:
        each.join(LONG)
        assert not each.is_alive()


def reading(leases: Leases, before: Callable[[], object], after: Callable[[], object]) -> Callable[[], None]:
    """A reader: what it does as it begins, and as it ends."""

    def read() -> None:
        with leases.reading():
            before()
            after()

    return read


def usable(leases: Leases) -> bool:
    """Whether others can read, and be alone, and read again."""
    done: list[str] = []

    def others() -> None:
        with leases.reading(), leases.reading():
            done.append("read")
        with leases.alone():
            done.append("alone")
        with leases.reading():
            done.append("read")

    with threads(others):
        pass
    return done == ["read", "alone", "read"] and not leases._readers


def test_readers_read_at_once() -> None:
    leases, together = Leases(), threading.Barrier(3, timeout=LONG)
    with threads(*[reading(leases, together.wait, together.wait)] * 3):
        pass
    assert not together.broken
    assert usable(leases)


def test_whoever_is_alone_waits_for_readers_and_holds_off_new_ones() -> None:
    leases, order = Leases(), []
    begun, may_end, held_off = threading.Event(), threading.Event(), threading.Event()

    def first() -> None:
        with leases.reading():
            begun.set()
            may_end.wait(LONG)
            with leases.reading():  # whoever reads may read again, though somebody waits to be alone
                order.append("nested")
            order.append("first")

    def alone() -> None:
        with leases.alone():
            order.append("alone")
            held_off.wait(LONG)
            order.append("still alone")

    def second() -> None:
        with leases.reading():
            order.append("second")

    with threads(first):
        begun.wait(LONG)
        with threads(alone):
            while leases._alone is None:
                threading.Event().wait(0.001)
            with threads(second):
                may_end.set()
                held_off.set()
    assert order == ["nested", "first", "alone", "still alone", "second"]
    assert usable(leases)


def test_whoever_is_alone_may_read() -> None:
    leases = Leases()
    with leases.alone(), leases.reading(), leases.reading():
        pass
    assert usable(leases)


def test_a_reader_cannot_be_alone() -> None:
    leases = Leases()
    with leases.reading(), leases.reading():
        with pytest.raises(hs.CollectionBusy, match="from within a search"), leases.alone():
            pass
        assert leases._alone is None
    assert usable(leases)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_what_is_raised_within_leaves_no_trace(error: type[BaseException]) -> None:
    leases = Leases()
    for lease in (leases.reading, leases.alone):
        with pytest.raises(error), lease():
            raise error
        assert usable(leases)


@pytest.mark.parametrize("first", ["reading", "alone"])
def test_ctrl_c_while_waiting_leaves_no_trace(first: str) -> None:
    """Whoever waits is this thread, since only the main one is interrupted."""
    leases, begun, may_end = Leases(), threading.Event(), threading.Event()

    def hold() -> None:
        with getattr(leases, first)():
            begun.set()
            may_end.wait(LONG)

    def interrupt() -> None:
        while not leases._changed._waiters:  # type: ignore[attr-defined]
            threading.Event().wait(0.001)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    waiting = leases.alone if first == "reading" else leases.reading
    with threads(hold):
        begun.wait(LONG)
        with threads(interrupt), pytest.raises(KeyboardInterrupt), waiting():
            pass
        may_end.set()
    assert usable(leases)
