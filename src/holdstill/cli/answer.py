"""An answer for people: what it proves, the hits, and what else they should know."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from holdstill.cli.terminal import print_hanging, print_indented, shortened, styled
from holdstill.result import Completeness, Hit, Result, json_value

if TYPE_CHECKING:
    from rich.console import Console

_INDENT = 6
_SNIPPET = 200  # characters of a passage
_VALUE = 48  # characters of a field's value
_FIELDS = 10  # fields of a hit
_STYLES = {Completeness.COMPLETE: "bold green", Completeness.EXHAUSTED: "bold green"}


def print_answer(page: Console, result: Result, *, explain: bool) -> None:
    """Print the whole answer; scores are left to `--explain`, since they measure nothing."""
    print_indented(
        page, headline(result) + _as_of(result), 0, hang=2, style=_STYLES.get(result.completeness, "bold yellow")
    )
    for line in _understood(result):
        print_indented(page, line, 2, hang=2, style="dim")
    for hit in result:
        page.print()
        _print_hit(page, hit)
    remarks = list(_remarks(result))
    if remarks:
        page.print()
    for remark in remarks:
        print_indented(page, remark, 0, hang=2)
    if explain:
        page.print()
        for line in result.explain().splitlines():
            print_indented(page, line, 0, hang=11)


def headline(result: Result) -> str:
    """What the answer proves, in one sentence."""
    returned, asked, first = len(result), result.k, result.offset + 1
    ranked = result.ranking["fusion"] is not None
    match result.completeness:
        case Completeness.COMPLETE:
            places = f"place {first}" if asked == 1 else f"places {first} to {result.offset + asked}"
            return f"complete: {places} of {'the ranking, proven' if ranked else 'all that satisfies what was asked'}"
        case Completeness.EXHAUSTED if not returned and result.offset:
            return f"exhausted: the answer ends before place {first}"
        case Completeness.EXHAUSTED if not returned:
            return "exhausted: nothing satisfies what was asked, proven"
        case Completeness.EXHAUSTED:
            return f"exhausted: {returned} of {asked} asked; nothing else satisfies what was asked"
        case Completeness.TRUNCATED:
            depth = result.ranking["depth"]
            return f"truncated: {returned} of {asked} asked; more may match beyond --depth {depth}"
        case Completeness.APPROXIMATE:
            return f"approximate: {returned} hits, not proven to be the first of the ranking"
        case Completeness.DEGRADED:
            return f"degraded: {returned} hits, found without all of the arms"


def _as_of(result: Result) -> str:
    commit, newest = result.snapshot["commit"], result.snapshot["seen_at"]
    return f"; as of commit {commit} of {newest}" if commit < newest else ""


def _understood(result: Result) -> Iterator[str]:
    understood = result.understood
    if understood["where"] is not None:
        yield f"where {understood['where']}"
    for name, label in (("must", "must"), ("must_not", "must not")):
        if understood[name]:
            yield f"{label} " + ", ".join(map(repr, understood[name]))
    for arm in result.arms:
        yield f"{arm.arm}: ranked {arm.matched} of {arm.eligible} eligible" + (f"; {arm.error}" if arm.error else "")


def _print_hit(page: Console, hit: Hit) -> None:
    line = styled(f"{hit.rank:>4}{'=' if hit.tied else ' '} ")
    line.append_text(styled(shortened(hit.document if hit.best is not None else hit.id, 1024), "bold"))
    if hit.title.strip() and hit.title != hit.document:
        line.append_text(styled("  " + shortened(hit.title, _SNIPPET)))
    print_hanging(page, line, 0, hang=_INDENT)
    for detail, style in _details(hit):
        print_indented(page, detail, _INDENT, style=style)


def _details(hit: Hit) -> Iterator[tuple[str, str]]:
    """The lines under a hit's name, each with its style."""
    where = [" > ".join(shortened(heading, 80) for heading in hit.headings)] if hit.headings else []
    if hit.best is not None:
        where.append(f"passage {shortened(hit.id, 1024)}")
    if hit.pages is not None:
        where.append(f"page {hit.pages[0]}" if hit.pages[0] == hit.pages[1] else f"pages {hit.pages[0]}-{hit.pages[1]}")
    if where:
        yield "; ".join(where), "dim"
    if shown := fields_line(hit.fields):
        yield shown, "cyan"
    if snippet := shortened(hit.text, _SNIPPET):
        yield snippet, ""
    if len(hit.ranks) > 1:
        yield "ranks: " + ", ".join(f"{arm} {'-' if rank is None else rank}" for arm, rank in hit.ranks.items()), "dim"


def fields_line(fields: Mapping[str, Any]) -> str:
    """Known fields and their values on one line, the long ones cut."""
    known = [
        f"{shortened(name, _VALUE)} {shortened(spelled(value), _VALUE)}"
        for name, value in fields.items()
        if value is not None
    ]
    more = [f"and {len(known) - _FIELDS} more"] if len(known) > _FIELDS else []
    return "; ".join(known[:_FIELDS] + more)


def spelled(value: object) -> str:
    """A field's value as people read it: `true`, `a, b`, `2024-05-01`; as JSON has it where that would be unclear."""
    plain = json_value(value)
    if isinstance(plain, list) and plain:
        members = [spelled(member) for member in plain]
        if not any("," in member for member in members):
            return ", ".join(members)
    return plain if isinstance(plain, str) and plain else json.dumps(plain, ensure_ascii=False)


def _remarks(result: Result) -> Iterator[str]:
    if result.ties_beyond:
        yield f"{result.ties_beyond} more tie with the last hit and are cut off by the page"
    for field, count in result.unknown.items():
        if count:
            left = "document has no {}, and was" if count == 1 else "documents have no {}, and were"
            yield f"{count} visible {left.format(field)} left out: the filter is neither true nor false there"
    for note in result.notes:
        yield f"note: {note}"
    if result.completeness == Completeness.TRUNCATED:
        yield "next: leave out --depth to rank everything"
