"""`export` and `import`: a commit as a file, and a collection made from one."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from holdstill.cli.options import AS_JSON, AT, COLLECTION, Asking, asking, opened
from holdstill.cli.terminal import console, emit, print_indented, progress
from holdstill.config import lock_timeout, log_settings

_STDOUT = Path("-")


@click.command(short_help="Write a commit to a file, to be imported elsewhere.")
@COLLECTION
@AT
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    required=True,
    help="The file to write; - for standard output.",
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@asking
@AS_JSON
def export(collection: Path, at: str | None, output: Path, force: bool, caller: Asking, as_json: bool) -> int:
    """Write the documents of one commit, with fields, vectors and the policy, to a tar file.

    A collection that is imported from it answers with the same digests. Equal commits give equal files. History,
    other generations, tags and recorded searches are not exported. Only the operator may export.
    """
    piped = output == _STDOUT
    if piped and as_json:
        raise click.UsageError("--json prints to standard output, where -o - writes the export")
    if piped and sys.stdout.isatty():
        raise click.UsageError("an export is no text for a terminal: name a file, or pipe it somewhere")
    with opened(collection) as handle, progress() as bars:
        target = sys.stdout.buffer if piped else output
        report = handle.export(target, at, overwrite=force, progress=bars, **caller)
    if as_json:
        emit(report.as_dict() | {"output": str(output)})
        return 0
    page = console(stderr=piped)
    print_indented(
        page,
        f"exported {report.documents} documents, {report.passages} passages (commit {report.commit}) to {output}",
        0,
    )
    print_indented(page, f"{report.bytes} bytes, sha256 {report.sha256}", 0, style="dim")
    return 0


@click.command("import", short_help="Make a collection from an exported file.")
@click.argument("file", type=click.Path(path_type=Path))
@COLLECTION
@click.option("--trust", is_flag=True, help="Take over how its embedder is reached: an endpoint, or a model's name.")
@AS_JSON
def import_(file: Path, collection: Path, trust: bool, as_json: bool) -> int:
    """Make a collection from what `export` wrote, at a path where nothing is.

    Nothing is embedded: the vectors come along. So does the policy. A file that is cut off or damaged is refused, and
    nothing is made.

    Where an endpoint embeds the questions, a search sends them there, and the key that is named: --trust says that you
    know whose it is. Without it such a collection is searched by words, or by vectors.
    """
    from holdstill.importing import import_collection

    with (
        progress() as bars,
        import_collection(
            file, collection, trust=trust, lock_timeout=lock_timeout(), log=log_settings(), progress=bars
        ) as made,
    ):
        about = made.info(operator=True)
    if as_json:
        emit({"created": str(collection)} | about.as_dict())
        return 0
    page = console()
    print_indented(page, f"created {collection}: {about.documents} documents, {about.passages} passages", 0)
    if about.policy is not None:
        print_indented(page, "its policy came with it: searches say who asks", 0)
    print_indented(page, f'next: holdstill search {shlex.quote(str(collection))} "your question"', 0, style="dim")
    return 0
