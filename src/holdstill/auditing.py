"""What was searched, and whether it would be answered so again: the calls that read the search log."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from hmac import compare_digest

from holdstill._version import __version__
from holdstill.access import Asking, caller_of, permission
from holdstill.audit.blame import blame
from holdstill.audit.findings import Blame, Side
from holdstill.audit.record import pseudonym
from holdstill.audit.recorded import RecordedSearch, RecordedSearches
from holdstill.audit.replay import Replay, replay, replay_as
from holdstill.audit.sides import recorded, require_same_question, today
from holdstill.errors import InvalidQuery, NotFound
from holdstill.handle import Handle
from holdstill.policy import Principal
from holdstill.predicate import Predicate
from holdstill.timeline import moment


class Audited(Handle):
    """The calls that read the search log."""

    def searches(
        self, since: str | date | datetime | None = None, *, principal: Asking = None, operator: bool = False
    ) -> RecordedSearches:
        """The searches that were logged, the oldest first, to be gone through; `damaged` counts unreadable lines.

        Args:
            since: leave out those made before this time: UTC midnight of a date, or a time with its zone.
            principal: who asks.
            operator: whether the operator asks.

        Raises:
            holdstill.InvalidQuery: `since` is no time.
            holdstill.OperatorRequired: the collection has a policy and the caller is not the operator.
        """
        with self._operating(principal, operator=operator):
            return RecordedSearches(self._log.records(None if since is None else moment("since", since, days=True)))

    def replay(self, search_id: str, *, principal: Asking = None, operator: bool = False) -> Replay:
        """Make a logged search again, at its snapshot, and say whether the answer is the same.

        The operator makes it under the permission of then; a principal, whose own search it has to be, under today's.

        Raises:
            holdstill.NotFound: there is no such search, or it is another principal's.
            holdstill.PrincipalRequired: the collection has a policy and nobody was named.
        """
        with self._reading() as snapshot:
            allowed = permission(snapshot, principal, operator=operator)
            record = self._log.find(search_id)
            if allowed is None:
                return replay(self._store, _found(search_id, record))
            caller = caller_of(principal, operator=operator)
            own = record if record is not None and self._made_by(caller, record["principal"]) else None
            return replay_as(self._store, _found(search_id, own), allowed)

    def replay_all(
        self, since: str | date | datetime | None = None, *, principal: Asking = None, operator: bool = False
    ) -> Iterator[Replay]:
        """Make every logged search again, or those made since; the oldest first. Raises as `searches`."""
        searches = self.searches(since, principal=principal, operator=operator)
        return (self._replayed(each) for each in searches)

    def blame(
        self,
        search_id: str,
        other: str | None = None,
        *,
        asker: Asking = None,
        principal: Asking = None,
        operator: bool = False,
    ) -> Blame:
        """Say why the answer to a logged search is another today, or in another logged search of the same question.

        Every layer that may move an answer is brought forward alone: the corpus, what may be seen, the analyser, the
        embedding model, the splitting into passages, the settings of fusion, the engine.

        Args:
            search_id: the search.
            other: a later one of the same question; today's answer, where it is left out.
            asker: who made the search, where the policy is another one today: the log knows only a hash of it. Where
                nobody was named then, today's answer is that of the operator unless this says otherwise.
            principal: who asks this.
            operator: whether the operator asks.

        Raises:
            holdstill.NotFound: there is no such search.
            holdstill.InvalidQuery: what was asked was not kept; or the two asked different questions; or `asker` is
                not who made the search.
            holdstill.SnapshotPruned: the snapshot that was searched is not kept.
            holdstill.EmbedderRequired: the question has no vector of today's model, and nothing here can make one.
            holdstill.OperatorRequired: the collection has a policy and the caller is not the operator.
        """
        with self._operating(principal, operator=operator) as store, store.reading():
            search = _found(search_id, self._log.find(search_id))
            then = recorded(store, search)
            if other is not None:
                second = _found(other, self._log.find(other))
                require_same_question(search, second)
                return blame(store, search_id, then, recorded(store, second), other)
            permission, known = self._permission_today(search, then, asker)
            embedding = self._embedding(store.snapshot().generation)
            now = today(store, then, __version__, embedding, permission, permission_known=known)
            return blame(store, search_id, then, now)

    def _permission_today(self, search: RecordedSearch, then: Side, asker: Asking) -> tuple[Predicate | None, bool]:
        """What who made the search may see today, and whether that is known."""
        snapshot, made_by = self._store.snapshot(), search.record["principal"]
        caller = caller_of(asker, operator=False)
        if caller is not None and made_by is not None and not self._made_by(caller, made_by):
            raise InvalidQuery("another principal made this search", field="asker", expected="who made it", got=caller)
        if snapshot.policy is None or (caller is None and made_by is None):
            return None, True
        if caller is not None:
            return snapshot.policy.permission(caller), True
        return then.conditions.permission, snapshot.policy_version == then.policy

    def _replayed(self, search: RecordedSearch) -> Replay:
        with self._reading():
            return replay(self._store, search)

    def _made_by(self, caller: Principal | None, pseudonymous: str | None) -> bool:
        return (
            caller is not None
            and pseudonymous is not None
            and compare_digest(pseudonym(caller, self._recorder.secret), pseudonymous)
        )


def _found(search_id: str, record: dict[str, object] | None) -> RecordedSearch:
    if record is None:
        raise NotFound(
            "there is no such search",
            field="search_id",
            got=search_id,
            hint="`search_id` of a result, and `search --json`, give it; a search is kept for as long as its log is",
        )
    return RecordedSearch(record)
