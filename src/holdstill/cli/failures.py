"""From an exception to what is shown of it, and to the exit code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from holdstill import errors
from holdstill.cli.terminal import emit, neutral
from holdstill.refused import Refused

FAILURE, BAD_INPUT, INCOMPLETE = 1, 2, 3
SHOWN = 20  #: refused rows listed for people; `--json` lists all

_BAD_INPUT = (
    click.UsageError,
    errors.InvalidInput,
    errors.BatchRefused,
    errors.NotFound,
    errors.CollectionNotFound,
    errors.CollectionExists,
    errors.NotACollection,
    errors.NewerFormat,
    errors.PrincipalRequired,
    errors.OperatorRequired,
)


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
    where = f" ({shown['field']})" if shown["field"] and shown["field"] not in shown["message"] else ""
    click.echo(f"error: {neutral(shown['message'] + where)}", err=True)
    for name in ("expected", "got", "hint"):
        if shown[name] is not None:
            click.echo(f"  {name + ':':<10}{neutral(shown[name])}", err=True)
    if isinstance(error, errors.BatchRefused):
        for line in refused_lines(error.refused):
            click.echo(f"  {line}", err=True)


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
        return error.as_dict()
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
