"""`searches`, `replay`: what was searched, and whether it would be answered so again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdstill.cli.failures import DIFFERENT, FAILURE
from holdstill.cli.options import AS_JSON, COLLECTION, Asking, asking, opened
from holdstill.cli.terminal import console, emit, print_indented, shortened

if TYPE_CHECKING:
    from rich.console import Console

    from holdstill.audit.recorded import RecordedSearch
    from holdstill.audit.replay import Difference, Outcome, Replay
    from holdstill.collection import Collection

SINCE = click.option("--since", metavar="TIME", help="Leave out searches made before a date, or a time with its zone.")

_QUESTION = 200  # characters of a question
_STYLES: dict[Outcome, str] = {"identical": "bold green", "different": "bold red"}
_EXIT: dict[Outcome, int] = {"different": DIFFERENT, "permission changed": DIFFERENT, "not replayable": FAILURE}


@click.command(short_help="List the searches that were logged.")
@COLLECTION
@SINCE
@asking
@AS_JSON
def searches(collection: Path, since: str | None, caller: Asking, as_json: bool) -> int:
    """List the searches that were logged, the oldest first."""
    with opened(collection) as handle:
        logged = handle.searches(since, **caller)
        listed = list(logged)
    if as_json:
        emit({"searches": [each.as_dict() for each in listed], "damaged": logged.damaged})
        return 0
    page = console()
    for each in listed:
        print_indented(page, f"{each.search_id}  {each.time:%Y-%m-%d %H:%M:%S}Z  {_count(each.hits, 'hit')}", 0)
        print_indented(page, _question(each), 2, hang=2)
    if not listed:
        print_indented(page, "no search was logged" + ("" if since is None else f" since {since}"), 0)
    if logged.damaged:
        print_indented(page, f"{_count(logged.damaged, 'line')} of the log cannot be read, and left out", 0, hang=2)
    return 0


def _question(search: RecordedSearch) -> str:
    """What was asked, on one line."""
    asked: Mapping[str, Any] | None = search.record["query"]
    if asked is None:
        return "(not kept)"
    parts = [] if asked["text"] is None else [asked["text"]]
    parts += [f"must: {word}" for word in asked["must"]] + [f"must not: {word}" for word in asked["must_not"]]
    parts += [] if asked["where"] is None else [f"where {asked['where']}"]
    return shortened("; ".join(parts) or "(a vector)", _QUESTION)


@click.command(short_help="Make a logged search again, and compare.")
@COLLECTION
@click.argument("search_id", metavar="[ID]", required=False)
@click.option("--all", "every", is_flag=True, help="Make every logged search again, in place of one.")
@SINCE
@asking
@AS_JSON
def replay(
    collection: Path, search_id: str | None, every: bool, since: str | None, caller: Asking, as_json: bool
) -> int:
    """Make a logged search again, at its snapshot and as it was asked, and say whether the answer is the same.

    ID is the search_id of `search --json`; `holdstill searches` lists them. The exit code is 3 if an answer is
    different, and 1 if the one search cannot be made again.
    """
    context = click.get_current_context()
    if (search_id is None) != every:
        raise click.UsageError("name a search by its ID, or say --all", context)
    if since is not None and not every:
        raise click.UsageError("--since goes with --all", context)
    with opened(collection) as handle:
        if search_id is None:
            return _replay_all(handle, since, caller, as_json=as_json)
        found = handle.replay(search_id, **caller)
    if as_json:
        emit(found.as_dict())
    else:
        _print(console(), found)
    return _EXIT.get(found.outcome, 0)


def _replay_all(handle: Collection, since: str | None, caller: Asking, *, as_json: bool) -> int:
    page = console()
    page.quiet = as_json
    counts: Counter[Outcome] = Counter({"identical": 0, "different": 0, "not replayable": 0})
    reasons: Counter[str] = Counter()
    others: list[Replay] = []
    for each in handle.replay_all(since, **caller):
        counts[each.outcome] += 1
        if each.outcome == "not replayable":
            reasons[each.reason or ""] += 1
        if each.outcome == "different":
            _print(page, each)
        if each.outcome != "identical":
            others.append(each)
    if as_json:
        emit({"searches": counts.total(), "outcomes": dict(counts), "others": [each.as_dict() for each in others]})
    else:
        told = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        style = _STYLES["different" if counts["different"] else "identical"]
        print_indented(page, f"{_count(counts.total(), 'search', 'searches')} made again: {told}", 0, style=style)
        for reason, count in sorted(reasons.items()):
            print_indented(page, f"{count} not replayable: {reason}", 2, hang=2)
    return DIFFERENT if counts["different"] else 0


def _print(page: Console, found: Replay) -> None:
    explained = "" if found.reason is None else f": {found.reason}"
    style = _STYLES.get(found.outcome, "bold yellow")
    print_indented(page, f"{found.outcome}{explained}  {found.search_id}", 0, hang=2, style=style)
    for each in found.differences:
        place = each.what if each.position is None else f"place {each.position}"
        print_indented(page, place, 2)
        print_indented(page, f"recorded  {_told(each, each.recorded)}", 4, hang=10)
        print_indented(page, f"now       {_told(each, each.now)}", 4, hang=10)


def _told(difference: Difference, value: Any) -> str:
    if difference.what != "hit":
        return str(value)
    if value is None:
        return "nothing"
    if value.get("purged"):
        return f"rank {value['rank']}, its document was purged"
    places = [f"{arm} {_place(rank, value['scores'][arm])}" for arm, rank in value["ranks"].items()]
    return "; ".join([f"{value['id']}  rank {value['rank']}{' (tied)' if value['tied'] else ''}", *places])


def _place(rank: int | None, score: int | None) -> str:
    return "unranked" if rank is None else f"rank {rank}, score {score}"


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
