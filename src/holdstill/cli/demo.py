"""`demo`: a small collection, four searches, and what each answer proves."""

from __future__ import annotations

from pathlib import Path

import click

from holdstill.cli.options import AS_JSON
from holdstill.cli.terminal import console, emit


@click.command(short_help="Try it on a small collection.")
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@AS_JSON
def demo(directory: Path | None, as_json: bool) -> int:
    """Make a small collection in DIR, search it four times, and say what each answer proves.

    DIR is holdstill-demo in the current directory if not said. A second run finds everything there and is quick.
    """
    from holdstill.demo import run_demo

    page = console()
    page.quiet = as_json
    summary = run_demo(directory, page)
    if as_json:
        emit(summary)
    return 0
