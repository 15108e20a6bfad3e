"""The last step of a search: its record goes into the log, and its id onto the result. It never fails the search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property

from holdstill.audit.log import SearchLog
from holdstill.audit.record import new_id, pseudonym, record_of
from holdstill.config import LogSettings
from holdstill.policy import Principal
from holdstill.result import Result
from holdstill.understanding import Asked


class Recorder:
    """Records the searches of one collection.

    Args:
        log: where to.
        settings: what is kept.
        identity: gives the collection's own secret.
    """

    def __init__(self, log: SearchLog, settings: LogSettings, identity: Callable[[], bytes]) -> None:
        self._log = log
        self._settings = settings
        self._identity = identity

    @cached_property
    def secret(self) -> bytes:
        """Under which principals are hashed."""
        return self._identity()

    def record(
        self, asked: Asked, result: Result, *, seen_at: int, principal: Principal | None, operator: bool
    ) -> Result:
        """The result with its id, once it is in the log; with a note in its place, where that cannot be written."""
        if not self._settings.enabled:
            return result
        moment = datetime.now(UTC)
        search_id = new_id(moment)
        record = record_of(
            search_id,
            moment,
            asked,
            result,
            seen_at=seen_at,
            principal=None if principal is None else pseudonym(principal, self.secret),
            operator=operator,
            queries=self._settings.queries,
        )
        try:
            self._log.append(record)
        except OSError as error:
            note = f"this search was not logged: {error.strerror}"
            return replace(result, notes=(*result.notes, note))
        return replace(result, search_id=search_id)
