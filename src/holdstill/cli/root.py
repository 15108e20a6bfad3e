"""The root of the command line: its commands, and the frame in which every command runs."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from holdstill._version import __version__
from holdstill.cli.adding import add
from holdstill.cli.blaming import blame
from holdstill.cli.demo import demo
from holdstill.cli.diagnosis import analyse, doctor, info
from holdstill.cli.documents import delete, show, update
from holdstill.cli.erasing import prune, purge
from holdstill.cli.exporting import export, import_
from holdstill.cli.failures import FAILURE, Interrupted, exit_code, report
from holdstill.cli.fuse import fuse
from holdstill.cli.generations import activate, drop_generation, generations, rebuild
from holdstill.cli.history import diff, history, tag
from holdstill.cli.rules import policy, schema
from holdstill.cli.searching import search
from holdstill.cli.setup import init
from holdstill.cli.warming import abandon, end, notices

HELP = """Hybrid retrieval that holds still: words, meaning and typed constraints, in answers that say what they prove.

A collection is a directory. `holdstill add people.hs people.jsonl` makes one and fills it, `holdstill search people.hs
"fintech backend"` searches it, and `holdstill demo` shows it at work.
"""


class Root(click.Group):
    """The group of all commands, which turns every failure into a message and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, in the order in which one comes to need them."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was named; an error of usage is told which command it is about."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            if error.ctx is None and ctx.invoked_subcommand is not None:
                name = ctx.invoked_subcommand
                error.ctx = click.Context(self.commands[name], parent=ctx, info_name=name)
            raise

    def main(self, args: Sequence[str] | None = None, **extra: Any) -> NoReturn:  # type: ignore[override]
        """Run one command and exit with its code."""
        # Arguments are passed on as they are: click would expand `*` in them on Windows, and a question may hold one.
        arguments = sys.argv[1:] if args is None else list(args)
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        extra = {"prog_name": "holdstill", **extra, "standalone_mode": False}
        with notices():
            code = self._run(arguments, extra)
            try:
                sys.stdout.flush()
            except OSError:
                _silence()
                code = FAILURE
            end(code)

    def _run(self, arguments: Sequence[str], extra: dict[str, Any]) -> int:
        try:
            return int(super().main(arguments, **extra) or 0)
        except BrokenPipeError:
            _silence()
            return FAILURE
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.ctx.get_help(), err=True)
            return error.exit_code
        except Exception as error:  # noqa: BLE001 - whatever it is, it ends here, as a message and an exit code
            if os.environ.get("HOLDSTILL_DEBUG") == "1":
                sys.excepthook(*sys.exc_info())
            try:
                report(error, as_json=wants_json(arguments))
            except OSError:  # standard output is what fails
                report(error, as_json=False)
            code = exit_code(error)
            if isinstance(error, (click.Abort, Interrupted)):
                abandon(code)
            return code


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether `--json` is among the options, which has to be known even where they cannot be parsed."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


def _silence() -> None:
    """The output can go nowhere any more: let the rest of it, and the flush at exit, do so quietly."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(cls=Root, help=HELP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="holdstill")
def main() -> None:
    """Run the command line."""


_ALL = (
    demo, init, add, search, show, update, delete, schema, policy, info, doctor,
    history, tag, diff, prune, purge, rebuild, generations, activate, drop_generation,
    blame, export, import_, analyse, fuse,
)  # fmt: skip

for command in _ALL:
    main.add_command(command)
