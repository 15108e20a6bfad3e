"""`search`: ask a collection."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import click

from holdstill.cli.answer import print_answer
from holdstill.cli.failures import INCOMPLETE
from holdstill.cli.options import AS_JSON, AT, COLLECTION, WHERE, Asking, asking, opened, read_json
from holdstill.cli.terminal import console, emit
from holdstill.errors import InvalidQuery, InvalidVector
from holdstill.query import ARMS, Settings, Syntax, Unit
from holdstill.result import Completeness, Result

# At most 20 digits on either side: an exponent could ask for a number of any length.
_DECIMAL = re.compile(r"[0-9]{1,20}(\.[0-9]{1,20})?")
_WHOLLY_ANSWERED = (Completeness.COMPLETE, Completeness.EXHAUSTED)


class _Search(click.Command):
    """A command whose `--order-by` takes one word or two."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _joined_order(args))


def _joined_order(args: Sequence[str]) -> list[str]:
    """The arguments with `--order-by FIELD desc` made `--order-by "FIELD desc"`."""
    joined = list(args)
    for at, word in enumerate(args):
        last = at if word.startswith("--order-by=") else at + 1 if word == "--order-by" else len(args)
        if last + 1 < len(args) and args[last + 1].lower() in ("asc", "desc"):
            joined[last : last + 2] = [f"{args[last]} {args[last + 1]}"]
            break
    return joined


@click.command(cls=_Search, short_help="Search, and say what the answer proves.")
@COLLECTION
@click.argument("text", required=False)
@WHERE
@click.option("--must", multiple=True, metavar="TERM", help="A term or phrase that has to occur; may be repeated.")
@click.option("--must-not", multiple=True, metavar="TERM", help="A term or phrase that may not; may be repeated.")
@click.option("--k", type=int, default=10, show_default=True, help="How many hits.")
@click.option("--offset", type=int, default=0, show_default=True, help="How many hits to pass over.")
@click.option("--arm", "arms", type=click.Choice(ARMS), multiple=True, help="An arm to ask; all that can if not said.")
@click.option("--weights", metavar="ARM=N,...", help="Weights of the arms, as in lexical=1,dense=2; 1 if not said.")
@click.option(
    "--by", type=click.Choice(get_args(Unit)), default="passage", show_default=True, help="What is ranked and counted."
)
@click.option("--order-by", metavar="FIELD [desc]", help="The order of an answer without text; by id if not said.")
@click.option(
    "--vector",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help='The question\'s vector: a JSON list, {"model": NAME, "vector": [...]}, or .npy.',
)
@click.option("--rrf-k", type=int, default=60, show_default=True, help="K in weight / (K + rank).")
@click.option("--depth", type=int, help="Fuse only each arm's first DEPTH ranks; all of them if not said.")
@click.option(
    "--syntax",
    type=click.Choice(get_args(Syntax)),
    default="plain",
    show_default=True,
    help='web: "quoted" words must occur, -words may not; plain: no character is syntax.',
)
@AT
@click.option("--min-score", hidden=True, help="Refused: a fused score measures nothing.")
@click.option("--require", type=click.Choice(["complete"]), help="Exit with 3 unless complete or exhausted.")
@click.option("--explain", is_flag=True, help="Say what each arm did and where each score comes from.")
@asking
@AS_JSON
def search(
    collection: Path,
    text: str | None,
    where: str | None,
    must: tuple[str, ...],
    must_not: tuple[str, ...],
    k: int,
    offset: int,
    arms: tuple[Any, ...],
    weights: str | None,
    by: Any,
    order_by: str | None,
    vector: Path | None,
    rrf_k: int,
    depth: int | None,
    syntax: Any,
    at: str | None,
    min_score: Any,
    require: str | None,
    explain: bool,
    caller: Asking,
    as_json: bool,
) -> int:
    """Search, and say what the answer proves.

    TEXT is plain words. It may be left out where --where, --must or --must-not is given: the answer is then all that
    satisfies them, by id or as --order-by says.
    """
    settings = Settings(rrf_k=rrf_k, weights=_weights(weights), depth=depth, syntax=syntax, min_score=min_score)
    asked = None if vector is None else _vector(vector)
    with opened(collection) as handle:
        result = handle.search(
            text,
            vector=asked,
            where=where,
            must=must,
            must_not=must_not,
            k=k,
            offset=offset,
            arms=tuple(dict.fromkeys(arms)) or None,
            by=by,
            order_by=order_by,
            at=at,
            settings=settings,
            **caller,
        )
    result = replace(result, notes=result.notes + _idle(settings, result))
    return _show(result, require=require, explain=explain, as_json=as_json)


def _idle(settings: Settings, result: Result) -> tuple[str, ...]:
    """A note where a weight was given for an arm that did not rank."""
    idle = sorted(settings.weights.keys() - {arm.arm for arm in result.arms})
    return tuple(f"the weight of {arm} changes nothing: that arm did not take part" for arm in idle)


def _show(result: Result, *, require: str | None, explain: bool, as_json: bool) -> int:
    if as_json:
        emit(result.as_dict())
    else:
        print_answer(console(), result, explain=explain)
    if require is None or result.completeness in _WHOLLY_ANSWERED:
        return 0
    if not as_json:
        click.echo(f"the answer is {result.completeness}, and --require complete was asked", err=True)
    return INCOMPLETE


def _weights(spec: str | None) -> dict[str, Fraction]:
    """The weights that `lexical=1,dense=2` says, exactly: 0.1 is one tenth.

    Raises:
        holdstill.InvalidQuery: it is not of that form.
    """
    weights: dict[str, Fraction] = {}
    for part in [] if spec is None else spec.split(","):
        arm, _, number = (piece.strip() for piece in part.partition("="))
        if not _DECIMAL.fullmatch(number) or arm in weights:
            raise InvalidQuery(
                "weights cannot be read",
                field="weights",
                expected="each arm once, with a decimal number, as in lexical=1,dense=0.5",
                got=spec,
            )
        weights[arm] = Fraction(number)
    return weights


def _vector(path: Path) -> Any:
    """The vector in a file: a JSON list or object, or a NumPy array.

    Raises:
        holdstill.MalformedInput: the file cannot be read.
        holdstill.InvalidVector: what it holds is no vector.
    """
    if path.suffix.lower() != ".npy":
        value = read_json(path)
        if isinstance(value, (list, dict)):
            return value
        raise InvalidVector(
            f"{str(path)!r} holds no vector",
            field="vector",
            expected='a list of numbers, or {"model": NAME, "vector": [...]}',
            got=value,
        )
    import numpy as np

    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InvalidVector(f"{str(path)!r} cannot be read as a NumPy array: {error}", field="vector") from error
