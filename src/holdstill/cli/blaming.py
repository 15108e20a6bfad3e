"""`blame`: why an answer is another than it was."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdstill.cli.options import AS_JSON, COLLECTION, Asking, asking, opened, read_principal
from holdstill.cli.terminal import console, emit, print_indented

if TYPE_CHECKING:
    from rich.console import Console

    from holdstill.audit.findings import Blame, Layer

_SHOWN = 10  # lines of evidence of a layer


@click.command(short_help="Say why an answer is another than it was.")
@COLLECTION
@click.argument("search_id", metavar="ID")
@click.argument("other", metavar="[ID2]", required=False)
@click.option(
    "--asker",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The principal that made the search, where the policy is another one today.",
)
@asking
@AS_JSON
def blame(
    collection: Path, search_id: str, other: str | None, asker: Path | None, caller: Asking, as_json: bool
) -> int:
    """Say why the answer to a logged search is another today, or in another logged search of the same question.

    ID is the search_id of `search --json`, or one that `holdstill searches` lists. Every layer that may move an answer
    is brought forward alone, and the answer made again.
    """
    who = None if asker is None else read_principal(asker)
    with opened(collection) as handle:
        found = handle.blame(search_id, other, asker=who, **caller)
    if as_json:
        emit(found.as_dict())
    else:
        _print(console(), found)
    return 0


def _print(page: Console, found: Blame) -> None:
    print_indented(page, found.sentence, 0, style="bold")
    page.print()
    for layer in found.layers:
        print_indented(page, f"{layer.layer:<9}{_state(layer)}", 0, hang=9, style="" if layer.changed else "dim")
        for line in layer.evidence[:_SHOWN]:
            print_indented(page, line, 9, hang=2)
        if len(layer.evidence) > _SHOWN:
            print_indented(page, f"and {len(layer.evidence) - _SHOWN} more; --json lists all", 9, style="dim")


def _state(layer: Layer) -> str:
    if not layer.changed and not layer.moved:
        return f"as it was: {layer.now}"
    effect = {True: "moved the answer", False: "changed, and did not move the answer", None: "changed; not tried alone"}
    return f"{effect[layer.moved]}: {layer.then}, now {layer.now}"
