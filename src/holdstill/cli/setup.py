"""`init`: make an empty collection."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from holdstill.analysis import ANALYSERS
from holdstill.cli.options import (
    AS_JSON,
    COLLECTION,
    VECTOR_MODEL,
    EmbedderChoice,
    check_vector_options,
    choosing_embedder,
    read_field,
)
from holdstill.cli.terminal import console, emit, print_indented, print_pairs
from holdstill.config import lock_timeout
from holdstill.schema import Schema


@click.command(short_help="Make an empty collection.")
@COLLECTION
@click.option("--field", "fields", metavar="NAME:TYPE", multiple=True, help="A field to filter on; once for each.")
@click.option(
    "--analyser", type=click.Choice(ANALYSERS), default="simple", help="How words are read; simple if not said."
)
@choosing_embedder
@VECTOR_MODEL
@AS_JSON
def init(
    collection: Path,
    fields: tuple[str, ...],
    analyser: str,
    choice: EmbedderChoice,
    vector_model: str | None,
    as_json: bool,
) -> int:
    """Make an empty collection.

    Field types are int, float, bool, str, date, datetime, str[] and int[]. It may be skipped: `add` makes the
    collection from the data.
    """
    from holdstill.embedding import DEFAULT
    from holdstill.opening import create

    check_vector_options(choice, vector_model)
    schema = Schema(tuple(map(read_field, fields)))
    made = create(
        collection,
        schema=schema,
        analyser=analyser,
        embedder=choice.embedder or DEFAULT,
        vector_model=vector_model,
        lock_timeout=lock_timeout(),
    )
    with made:
        about = made.info()
    if as_json:
        emit({"created": str(collection)} | about.as_dict())
        return 0
    page = console()
    print_indented(page, f"created {collection}", 0)
    print_pairs(page, {"analyser": about.analyser, "embedder": about.embedder} | dict(about.schema), indent=2)
    print_indented(page, f"next: holdstill add {shlex.quote(str(collection))} FILE_OR_FOLDER", 0, style="dim")
    return 0
