"""A recorded search made again: whether the answer is the same, and where it first differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from typing import Any, Literal

from holdstill.audit.conditions import Conditions, answered
from holdstill.audit.record import arms_of, hit_of
from holdstill.audit.recorded import RecordedSearch, conditions_of
from holdstill.errors import GenerationNotFound, InvalidInput, SnapshotNotFound
from holdstill.predicate import Predicate
from holdstill.result import Result
from holdstill.stores.base import Store

Outcome = Literal["identical", "different", "permission changed", "not replayable"]


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that is another now than was recorded.

    Attributes:
        what: `hit`, `completeness`, `ties_beyond`, `unknown`, or an arm with `eligible` or `matched`.
        position: of a hit, its place in the ranking, from 1; else None.
        recorded: what was recorded; None where a page ended earlier.
        now: what it is now; None where a page ends earlier.
    """

    what: str
    position: int | None
    recorded: Any
    now: Any


@dataclass(frozen=True, slots=True)
class Replay:
    """What became of a recorded search when it was made again.

    Attributes:
        search_id: the search.
        outcome: `identical`, `different`, `permission changed` or `not replayable`.
        reason: why it is not replayable, or what else explains the outcome; None where nothing has to be said.
        differences: the first hit that differs, then what else does; only of a `different` answer.
    """

    search_id: str
    outcome: Outcome
    reason: str | None = None
    differences: tuple[Difference, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The outcome as the `--json` output shows it."""
        return asdict(self) | {"differences": [asdict(each) for each in self.differences]}


class _NotReplayable(Exception):
    """The search cannot be made again; its text is the reason."""


def replay(store: Store, search: RecordedSearch) -> Replay:
    """Make a search again for the operator: what might be seen then, by the fields of then."""
    try:
        if search.purged or store.purged(search.commit):
            raise _NotReplayable(f"a document that was there at commit {search.commit} was purged since")
        conditions = _conditions(store, search)
        return _compared(search, _answered(store, conditions))
    except _NotReplayable as error:
        return Replay(search.search_id, "not replayable", str(error))


def replay_as(store: Store, search: RecordedSearch, allowed: Predicate) -> Replay:
    """Make a search again for the principal whose search it was: of its snapshot, what it may see today.

    That a document was purged is to a principal as any other that it may not see any more.
    """
    try:
        conditions = _conditions(store, search)
        today = replace(conditions, permission=allowed, seen_at=store.snapshot().commit)
        found = _compared(search, _answered(store, today))
        if found.outcome == "identical":
            return found
        changed = str(allowed) != str(conditions.permission) or store.purged(search.commit)
        return _changed(search) if changed or _was_so(store, search, conditions) else found
    except _NotReplayable as error:
        return Replay(search.search_id, "not replayable", str(error))


def _changed(search: RecordedSearch) -> Replay:
    return Replay(
        search.search_id, "permission changed", "what this principal may see of that snapshot is not what it was then"
    )


def _was_so(store: Store, search: RecordedSearch, conditions: Conditions) -> bool:
    """Whether the answer comes again under the conditions of then, so that only what may be seen has changed."""
    try:
        return _compared(search, _answered(store, conditions)).outcome == "identical"
    except _NotReplayable:
        return False


def _conditions(store: Store, search: RecordedSearch) -> Conditions:
    if not search.kept:
        raise _NotReplayable("what was asked was not kept")
    try:
        return conditions_of(search, store.snapshot().schema)
    except (ValueError, KeyError, TypeError) as error:  # holdstill.InvalidInput among them
        raise _NotReplayable(f"its record cannot be read: {error}") from error


def _answered(store: Store, conditions: Conditions) -> Result:
    # Where everything may be seen, the fields of then decide nothing, and their commit need not be kept.
    seen_at = conditions.commit if conditions.permission is None else conditions.seen_at
    try:
        return answered(store, replace(conditions, seen_at=seen_at))
    except (SnapshotNotFound, GenerationNotFound, InvalidInput) as error:
        raise _NotReplayable(error.message) from error


# -- comparing ---------------------------------------------------------------------------------------


def _compared(search: RecordedSearch, result: Result) -> Replay:
    differences = tuple(_differences(search.record, result))
    return Replay(search.search_id, "different" if differences else "identical", differences=differences)


def _differences(record: Mapping[str, Any], result: Result) -> Iterator[Difference]:
    """The first hit that differs, then what else does."""
    pairs = zip_longest(record["hits"], map(hit_of, result.hits))
    for position, (recorded, now) in enumerate(pairs, start=1 + record["offset"]):
        if recorded != now:
            yield Difference("hit", position, recorded, now)
            break
    now = {
        "completeness": str(result.completeness),
        "ties_beyond": result.ties_beyond,
        "unknown": dict(result.unknown),
    }
    for name, value in now.items():
        if record[name] != value:
            yield Difference(name, None, record[name], value)
    for before, after in zip(record["arms"], arms_of(result), strict=True):
        for name in ("eligible", "matched"):
            if before[name] != after[name]:
                yield Difference(f"{before['arm']} {name}", None, before[name], after[name])
