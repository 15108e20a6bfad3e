"""Who reads a collection, and who has it alone: rows are taken away only while nobody reads them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from holdstill.errors import CollectionBusy


class Leases:
    """Any number of threads read; one at a time has it alone. Whoever reads may read again within."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._readers: Counter[int] = Counter()
        self._alone: int | None = None

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Waits for whoever has it alone, or is about to; a thread that reads already does not."""
        me = threading.get_ident()
        with self._changed:
            self._changed.wait_for(lambda: self._alone in (None, me) or me in self._readers)
            self._readers[me] += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers[me] -= 1
                if not self._readers[me]:
                    del self._readers[me]
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Holds off new readers, and waits for those at work. Two threads must not ask for it at once.

        Raises:
            holdstill.CollectionBusy: this very thread is reading.
        """
        me = threading.get_ident()
        with self._changed:
            if me in self._readers:
                raise CollectionBusy(
                    "nothing can be erased from within a search", hint="Do it after the search has returned"
                )
            self._alone = me
        try:
            with self._changed:
                self._changed.wait_for(lambda: not self._readers)
            yield
        finally:
            with self._changed:
                self._alone = None
                self._changed.notify_all()
