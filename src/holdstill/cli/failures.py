"""From an exception to what is shown of it, and to the exit code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import click

from holdstill import errors
from holdstill.cli.terminal import console, emit, neutral, print_indented
from holdstill.refused import Refused

FAILURE, BAD_INPUT, INCOMPLETE = 1, 2, 3
DIFFERENT = INCOMPLETE  #: an answer, and not the one that was hoped for
SHOWN = 20  #: refused rows listed for people; `--json` lists all

_BAD_INPUT = (
    click.UsageError,
    errors.InvalidInput,
    errors.BatchRefused,
    errors.NotFound,
    errors.SnapshotNotFound,
    errors.GenerationNotFound,
    errors.CollectionNotFound,
    errors.CollectionExists,
    errors.NotACollection,
    errors.NewerFormat,
    errors.PrincipalRequired,
    errors.OperatorRequired,
)


#: The engine's arguments as the command line has them.
_SPELLED = {
    "analyser": "--analyser",
    "arms": "--arm",
    "at": "AT",
    "before": "--before",
    "by": "--by",
    "depth": "--depth",
    "embedder": "--embedder",
    "embedder_url": "--embedder-url",
    "fields": "--set",
    "file": "FILE",
    "ids": "ID",
    "k": "--k",
    "keep_last": "--keep-last",
    "lock_timeout": "HOLDSTILL_LOCK_TIMEOUT",
    "min_score": "--min-score",
    "must": "--must",
    "must_not": "--must-not",
    "offset": "--offset",
    "operator": "--operator",
    "order_by": "--order-by",
    "passage_prefix": "--passage-prefix",
    "path": "COLLECTION",
    "principal": "--as",
    "query_prefix": "--query-prefix",
    "rrf_k": "--rrf-k",
    "search_id": "ID",
    "since": "--since",
    "syntax": "--syntax",
    "tag": "NAME",
    "text": "TEXT",
    "vector": "--vector",
    "vector_model": "--vector-model",
    "weights": "--weights",
    "where": "--where",
}
#: What to do, by error and argument, where the engine's own hint is for Python.
_HINTS = {
    ("BatchRefused", None): "Mend them, or leave out --strict to keep the good ones",
    ("CollectionExists", "file"): "Choose another file, or replace it with --force",
    ("CollectionNotFound", "path"): 'The collection comes first, as in `holdstill search people.hs "your question"`; '
    "`holdstill init` or `holdstill add` makes one",
    ("InvalidQuery", "fields"): "Say what to set with --set FIELD=VALUE, or with --unset FIELD",
    ("NotFound", "search_id"): "`holdstill searches` lists those that were logged; a search is kept for as long as its "
    "log is",
    ("OperatorRequired", "operator"): "Say --operator",
    ("PrincipalRequired", "principal"): "Say who asks with --as principal.json, or --operator",
}
#: In backticks, or known by its underscore; not in quotes, nor in a path.
_ARGUMENT = re.compile(r"(?<![\w'/\\.-])(?:`(\w+)`|(\w+_\w+))(?![\w'/\\-])")
_ASIDE = re.compile(r"(^|[,;] )in Python,? .*", re.IGNORECASE)


class Interrupted(click.ClickException):
    """Ctrl-C, with what it left behind."""


def exit_code(error: Exception) -> int:
    """2 where what was given is at fault, 1 for every other failure."""
    return BAD_INPUT if isinstance(error, _BAD_INPUT) else FAILURE


def report(error: Exception, *, as_json: bool) -> None:
    """Show the error: one JSON object on stdout, or words on stderr."""
    shown = describe(error)
    if as_json:
        emit({"error": shown})
        return
    page = console(stderr=True)
    print_indented(page, f"error: {neutral(shown['message'] + _place(shown))}", 0, hang=2)
    for name in ("expected", "got", "hint"):
        if shown[name] is not None:
            print_indented(page, f"{name + ':':<10}{neutral(shown[name])}", 2, hang=10)
    if isinstance(error, errors.BatchRefused):
        for line in refused_lines(error.refused):
            print_indented(page, line, 2, hang=2)


def _place(shown: dict[str, Any]) -> str:
    """Which argument or field is at fault, where the message does not name it."""
    field, message = shown["field"], shown["message"]
    if field is None or shown["type"] == "UsageError":
        return ""
    named = _SPELLED.get(field, field)
    return "" if field in message or named in message else f" ({named})"


def refused_lines(rows: Sequence[Refused]) -> list[str]:
    """Refused rows for people: where, which field, why; the first of them."""
    lines = [
        neutral(f"{row.source + ':' if row.source else 'row '}{row.row}  {row.field or '-'}  {row.reason}")
        for row in rows[:SHOWN]
    ]
    return lines if len(rows) <= SHOWN else [*lines, f"and {len(rows) - SHOWN} more; --json lists all"]


def describe(error: Exception) -> dict[str, Any]:
    """The error as `--json` shows it."""
    if isinstance(error, errors.HoldstillError):
        return _in_its_words(error)
    shown: dict[str, Any] = dict.fromkeys(("type", "message", "field", "expected", "got", "hint"))
    shown |= {"type": type(error).__name__, "message": str(error)}
    match error:
        case click.Abort():
            return shown | {"type": "Interrupted", "message": "interrupted"}
        case click.UsageError():
            return shown | _usage(error)
        case click.ClickException():
            return shown | {"message": error.format_message()}
        case OSError():
            return shown | {"field": None if error.filename is None else str(error.filename)}
        case _:
            return shown | {
                "message": f"unexpected {type(error).__name__}: {error}",
                "hint": "This is a bug in holdstill: please report it with the versions from `holdstill doctor`; "
                "HOLDSTILL_DEBUG=1 shows where it happened",
            }


def _in_its_words(error: errors.HoldstillError) -> dict[str, Any]:
    """The error with its advice in the words of the command line."""
    shown = error.as_dict()
    if (shown["type"], error.field) in _HINTS:
        shown["hint"] = _HINTS[shown["type"], error.field]
    elif error.hint is not None:
        shown["hint"] = _ASIDE.sub("", error.hint) or None
    # An error of a filter or document speaks of fields, which may be called as arguments are.
    if not isinstance(error, (errors.InvalidPredicate, errors.InvalidDocument)):
        # So do messages that speak of a path or a field: what was typed comes back as it was typed.
        own = isinstance(error, errors.InvalidSchema) or error.field in ("path", "paths")
        for name in ("expected", "hint") if own else ("message", "expected", "hint"):
            if shown[name] is not None:
                shown[name] = _ARGUMENT.sub(lambda found: _SPELLED.get(found[1] or found[2], found[0]), shown[name])
    return shown


def _usage(error: click.UsageError) -> dict[str, Any]:
    message = error.format_message()
    command = error.ctx.command_path if error.ctx is not None else "holdstill"
    hint = f"`{command} --help` shows what it takes"
    field: str | None = None
    expected: str | None = None
    match error:
        case click.NoSuchOption():
            field, hint = error.option_name, f"{hint}; text that begins with a hyphen goes after a `--`"
        case click.BadOptionUsage():
            field = error.option_name
        case click.BadParameter(param=click.Parameter() as parameter):
            field = parameter.opts[0].lstrip("-").replace("-", "_")
            choices = getattr(parameter.type, "choices", None)
            expected = f"one of {', '.join(choices)}" if choices else parameter.type.name
        case _ if "extra argument" in message:
            hint = f"{hint}; text that holds spaces goes into quotes"
    return {"type": "UsageError", "message": message, "field": field, "expected": expected, "hint": hint}
