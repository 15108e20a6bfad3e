"""`fuse`: rank fusion over a table, without a collection."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from holdstill.cli.options import AS_JSON
from holdstill.cli.terminal import console, emit, neutral, print_indented, print_table, shortened
from holdstill.errors import InvalidQuery
from holdstill.tables.request import Duplicates, Ties

if TYPE_CHECKING:
    from holdstill.tables import FusedTable
    from holdstill.tables.stages import Stage

_SHOWN = 20  # rows for people, where nothing else was said
_WIDTH = 60  # characters of a cell
_LARGE = 0.2  # of the time: stages from there on are marked
# At most 6 digits behind the point: weights are exact.
_DECIMAL = re.compile(r"[0-9]{1,7}(\.[0-9]{1,6})?")


@click.command(short_help="Fuse rankings of a whole table.")
@click.argument("source", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--id", "id_", metavar="COLUMN", required=True, help="The column that names the rows.")
@click.option(
    "--rank",
    "ranks",
    metavar="NAME=EXPR desc|asc",
    multiple=True,
    required=True,
    help="A list: rows in the order of an SQL expression; NAME is the column of its ranks. Once for each list.",
)
@click.option("--table", metavar="NAME", help="The table of a DuckDB file; not needed if there is just one.")
@click.option("--rrf-k", type=int, default=60, show_default=True, help="K in weight / (K + rank).")
@click.option("--weights", metavar="N,...", help="A weight for each list, in order; 1 if not said.")
@click.option("--top", type=int, help="Only the first TOP rows.")
@click.option("--carry", metavar="COLUMN", multiple=True, help="A column to hand on; may be repeated.")
@click.option(
    "--ties",
    type=click.Choice(get_args(Ties)),
    default="row-number",
    show_default=True,
    help="row-number: rows of equal value are ranked by id; rank: they share a rank.",
)
@click.option("--round", "decimals", type=int, help="Round scores to so many decimals before they order the rows.")
@click.option(
    "--duplicates",
    type=click.Choice(get_args(Duplicates)),
    default="refuse",
    show_default=True,
    help="Ids that stand on several rows: refuse; keep the rows apart by position; join by id, as SQL does.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write all rows to .parquet or .csv."
)
@click.option("--profile", is_flag=True, help="Say what each stage took; those of 20% and more are marked.")
@AS_JSON
def fuse(
    source: Path,
    id_: str,
    ranks: tuple[str, ...],
    table: str | None,
    rrf_k: int,
    weights: str | None,
    top: int | None,
    carry: tuple[str, ...],
    ties: Any,
    decimals: int | None,
    duplicates: Any,
    output: Path | None,
    profile: bool,
    as_json: bool,
) -> int:
    """Rank the rows of a Parquet, CSV or DuckDB file by several expressions, and fuse the ranks.

    Each row of the result has its id, the carried columns, its rank in each list, and its score, the sum of
    weight / (K + rank). Rows are ordered by score, then by id. DuckDB evaluates the expressions. Rows whose value is
    null or NaN are absent from that list.

    Without -o and --top the first 20 rows are shown; with --json all of them.
    """
    from holdstill.tables import fuse as fuse_table

    for_people = output is None and not as_json
    fused = fuse_table(
        source,
        id=id_,
        ranks=ranks,
        table=table,
        rrf_k=rrf_k,
        weights=_weights(weights),
        top=_SHOWN if for_people and top is None else top,
        carry=carry,
        ties=ties,
        round=decimals,
        duplicates=duplicates,
    )
    if output is not None:
        fused.write(output)
    if as_json:
        emit(_as_dict(fused, output, profile=profile))
        return 0
    for note in fused.notes:
        click.echo(f"note: {neutral(note)}", err=True)
    if output is None:
        _print_rows(fused)
    else:
        print_indented(console(), f"wrote {len(fused)} rows to {output}", 0)
    if profile:
        _print_stages(fused.stages)
    return 0


def _weights(spec: str | None) -> list[Fraction] | None:
    """The weights that `1,0.5` says, exactly.

    Raises:
        holdstill.InvalidQuery: it is not of that form.
    """
    if spec is None:
        return None
    parts = [part.strip() for part in spec.split(",")]
    if not all(map(_DECIMAL.fullmatch, parts)):
        raise InvalidQuery(
            "weights cannot be read", field="weights", expected="a decimal number for each list, as in 1,0.5", got=spec
        )
    return [Fraction(part) for part in parts]


def _as_dict(fused: FusedTable, output: Path | None, *, profile: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {"total": fused.total, "returned": len(fused), "notes": list(fused.notes)}
    if output is None:
        shown["rows"] = [{name: _plain(value) for name, value in row.items()} for row in fused.rows()]
    else:
        shown["output"] = str(output)
    if profile:
        shown["stages"] = [
            {"stage": stage.name, "ms": round(stage.seconds * 1000, 1), "rows": stage.rows, "bytes": stage.bytes}
            for stage in fused.stages
        ]
    return shown


def _plain(value: Any) -> Any:
    """A value as JSON can hold it; numbers that are not finite are written as text."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _print_rows(fused: FusedTable) -> None:
    rows = fused.rows()
    page = console()
    cells = [["-" if value is None else shortened(str(value), _WIDTH) for value in row.values()] for row in rows]
    print_table(page, fused.columns, cells)
    if len(rows) < fused.total:
        rest = f"{len(rows)} of {fused.total} rows; --top N shows more, -o FILE writes them"
        print_indented(page, rest, 0, style="dim")


def _print_stages(stages: Sequence[Stage]) -> None:
    total = sum(stage.seconds for stage in stages) or 1.0
    cells = [
        [
            stage.name,
            f"{stage.seconds * 1000:.1f}",
            f"{stage.seconds / total:.0%}" + (" *" if stage.seconds >= _LARGE * total else ""),
            str(stage.rows),
            str(stage.bytes),
        ]
        for stage in stages
    ]
    print_table(console(), ["stage", "ms", "share", "rows", "bytes"], cells)
