"""Which commit is meant: by its number, by a tag, or by a time."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time

from holdstill.errors import InvalidInput, InvalidQuery, SnapshotNotFound
from holdstill.reports import Commit

At = int | str | datetime | None  #: a commit, a tag, a time, or None for the newest commit

#: A tag begins with a letter, so that it is neither a commit nor a time.
_TAG = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,99}")
_NUMBER = re.compile(r"[0-9]{1,18}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = "a time with its zone, as in 2026-11-01T00:00:00Z"


def resolve(history: Callable[[], Sequence[Commit]], at: int | str | datetime) -> int:
    """The number of the commit that is meant; of a time, that of the newest commit made by then.

    `history` gives all commits; it is not asked where the number was given.

    Raises:
        holdstill.SnapshotNotFound: no commit has that tag, or the time has not come yet.
        holdstill.InvalidQuery: it is none of these.
    """
    if isinstance(at, int) and not isinstance(at, bool):
        return at
    if isinstance(at, str) and _NUMBER.fullmatch(at):
        return int(at)
    if isinstance(at, str) and _TAG.fullmatch(at):
        return _tagged(history(), at)
    if isinstance(at, (str, datetime)):
        return _by(history(), moment("at", at))
    raise InvalidQuery("at names no snapshot", field="at", expected=f"a commit, a tag, or {_TIME}", got=at)


def _tagged(commits: Sequence[Commit], name: str) -> int:
    for each in commits:
        if name in each.tags:
            return each.commit
    raise SnapshotNotFound(
        "no commit has this tag", field="at", got=name, hint="`holdstill history` lists the commits and their tags"
    )


def _by(commits: Sequence[Commit], moment: datetime) -> int:
    if moment > datetime.now(UTC):  # what is committed until then would change the answer
        raise SnapshotNotFound("this time has not come yet", field="at", expected="a time in the past", got=moment)
    return max((each.commit for each in commits if each.committed <= moment), default=0)


def moment(name: str, value: object, *, days: bool = False) -> datetime:
    """A time, UTC; where `days` are allowed, a date is its first moment.

    Raises:
        holdstill.InvalidQuery: it is none, has no zone, or is in no year from 1 to 9999.
    """
    given = value
    if isinstance(given, str):
        try:
            given = (
                date.fromisoformat(given) if days and len(given) <= len("2026-11-01") else datetime.fromisoformat(given)
            )
        except ValueError:
            given = None
    if isinstance(given, date) and not isinstance(given, datetime) and days:
        given = datetime.combine(given, time(), UTC)
    if isinstance(given, datetime) and given.utcoffset() is not None:
        with suppress(OverflowError):
            return given.astimezone(UTC)
    expected = f"{_TIME}, or a date" if days else f"a commit, a tag, or {_TIME}"
    raise InvalidQuery(f"{name} is no time", field=name, expected=expected, got=value)


def check_tag(name: object) -> str:
    """A name that a commit can have.

    Raises:
        holdstill.InvalidInput: it is none.
    """
    if isinstance(name, str) and _TAG.fullmatch(name):
        return name
    raise InvalidInput(
        "a commit cannot have this name",
        field="tag",
        expected="a letter, then at most 99 letters, digits, dots, hyphens and underscores",
        got=name,
    )


def to_prune(commits: Sequence[Commit], keep_last: int | None, before: datetime | None) -> list[int]:
    """The commits that a prune takes: neither the newest one, nor any with a tag, nor those pruned already."""
    old = commits[: max(len(commits) - (1 if keep_last is None else keep_last), 0)]
    return [
        each.commit for each in old if not each.tags and not each.pruned and (before is None or each.committed < before)
    ]
