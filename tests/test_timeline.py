"""Which commit is meant by a number, a tag or a time; what a tag may be called; what a prune takes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

import holdstill as hs
from holdstill.reports import Commit
from holdstill.timeline import check_tag, moment, resolve, to_prune

NOON = datetime(2024, 11, 1, 12, tzinfo=UTC)
NAIVE = NOON.replace(tzinfo=None)


def commits() -> list[Commit]:
    """An hour apart; the fourth in the same moment as the third; the second pruned, the third with two tags."""
    times = [NOON + timedelta(hours=hours) for hours in (0, 1, 2, 2, 4)]
    tags = {3: ("release", "v1.2")}
    return [
        Commit(number, 1, "add", time, 1, 0, 0, tags.get(number, ()), number == 2)
        for number, time in enumerate(times, start=1)
    ]


def unasked() -> Sequence[Commit]:
    raise AssertionError("the history was read")


@pytest.mark.parametrize(
    ("at", "commit"), [(3, 3), (0, 0), (-1, -1), (10**30, 10**30), ("3", 3), ("007", 7), ("9" * 18, int("9" * 18))]
)
def test_a_number_is_taken_as_it_is(at: int | str, commit: int) -> None:
    assert resolve(unasked, at) == commit


def test_a_tag_is_looked_up_byte_for_byte() -> None:
    assert resolve(commits, "release") == resolve(commits, "v1.2") == 3
    for name in ("Release", "v1.20", "v1"):
        with pytest.raises(hs.SnapshotNotFound, match=f"no commit has this tag.*{name}"):
            resolve(commits, name)


@pytest.mark.parametrize(
    ("at", "commit"),
    [
        (NOON, 1),
        (NOON - timedelta(microseconds=1), 0),
        (datetime(1, 1, 1, tzinfo=UTC), 0),
        (NOON + timedelta(minutes=59), 1),
        (NOON + timedelta(hours=1), 2),
        (NOON + timedelta(hours=2), 4),
        (NOON + timedelta(days=1), 5),
        ("2024-11-01T12:00:00Z", 1),
        ("2024-11-01 12:00:00+00:00", 1),
        ("2024-11-01T14:00:00+02:00", 1),
        ("2024-11-01T13:59:59.999999+02:00", 0),
        (NOON.astimezone(timezone(timedelta(hours=-5, minutes=-30))), 1),
    ],
)
def test_a_time_means_the_newest_commit_made_by_then(at: str | datetime, commit: int) -> None:
    assert resolve(commits, at) == commit


def test_a_time_to_come_is_refused() -> None:
    """What is committed until then would change the answer."""
    for at in (datetime.now(UTC) + timedelta(hours=1), "9999-12-31T23:59:59Z"):
        with pytest.raises(hs.SnapshotNotFound, match=r"has not come yet.*expected a time in the past"):
            resolve(commits, at)
    assert resolve(commits, datetime.now(UTC)) == 5


NONSENSE: tuple[Any, ...] = (
    "", " ", "-1", "+3", "1.0", "3 ", "９", "9" * 19, "not a tag", "é", "v1/2", "_x", ".5", "a" * 101, "v\n", "\ud800",
    "2024-11-01", "2024-11-01T00:00:00", "2024-13-01T00:00:00Z", NAIVE, date(2024, 11, 1),
    True, False, 1.0, float("nan"), b"3", [3], object,
)  # fmt: skip


@pytest.mark.parametrize("at", NONSENSE, ids=ascii)
def test_what_is_none_of_these_is_said_to_be_none(at: Any) -> None:
    with pytest.raises(hs.InvalidQuery, match="a time with its zone, as in 2026-11-01T00:00:00Z") as caught:
        resolve(commits, at)
    assert caught.value.field == "at"


#: Before the first moment of the year 1, and after the last of the year 9999, where it is UTC.
BEYOND: tuple[Any, ...] = (
    "0001-01-01T00:00:00+01:00",
    "9999-12-31T23:59:59-01:00",
    datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))),
    datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-2))),
)


@pytest.mark.parametrize("at", BEYOND, ids=str)
def test_a_time_that_no_calendar_has_in_utc_is_no_time(at: Any) -> None:
    with pytest.raises(hs.InvalidQuery, match="at is no time"):
        resolve(commits, at)


def test_days_are_their_first_moment_where_they_are_allowed() -> None:
    day = datetime(2024, 11, 1, tzinfo=UTC)
    for given in (date(2024, 11, 1), "2024-11-01", "2024-11-01T00:00:00Z", "2024-11-01T02:00:00+02:00", day):
        assert moment("before", given, days=True) == day
    for given in (NAIVE, "2024-11-01T00:00:00", "2024", "", 2024, None, "1 November 2024"):
        with pytest.raises(hs.InvalidQuery, match=r"before is no time.*or a date"):
            moment("before", given, days=True)


@pytest.mark.parametrize("name", ["a", "Z", "v1.2", "before-the-move_2", "a" * 100])
def test_names_that_a_commit_can_have(name: str) -> None:
    assert check_tag(name) == name


@pytest.mark.parametrize(
    "name",
    ["", "1", "17", "2024-11-01", "-a", ".a", "_a", "a b", "a/b", "a\n", "é", "a" * 101, None, 3, b"a", ["a"]],
    ids=ascii,
)
def test_names_that_it_cannot_have(name: Any) -> None:
    with pytest.raises(hs.InvalidInput, match="a letter, then at most 99") as caught:
        check_tag(name)
    assert caught.value.field == "tag"


def test_a_prune_takes_neither_the_newest_nor_what_has_a_tag_nor_what_is_gone() -> None:
    for keep_last, taken in ((1, [1, 4]), (2, [1]), (3, [1]), (4, [1]), (5, []), (99, [])):
        assert to_prune(commits(), keep_last, None) == taken
    for hours, taken in ((0, []), (1, [1]), (2, [1]), (2.5, [1, 4]), (99, [1, 4])):
        assert to_prune(commits(), None, NOON + timedelta(hours=hours)) == taken
    assert to_prune([], 1, None) == to_prune([], None, NOON) == []
