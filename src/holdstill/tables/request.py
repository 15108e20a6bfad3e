"""What is asked of a table: `RankedBy`, one list, and `Request`, all of it; frozen and checked once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from holdstill.errors import InvalidQuery
from holdstill.query import check_whole

Ties = Literal["row-number", "rank"]
Duplicates = Literal["refuse", "keep", "join"]

SCORE = "rrf_score"
_MAX_DECIMALS = 15
_MAX_LISTS = 64
_RANKED_BY = re.compile(r"\s*(?P<name>\w+)\s*=(?P<expression>.*?)\s(?P<order>asc|desc)\s*", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RankedBy:
    """One list to be fused.

    Args:
        name: of the column of its ranks.
        expression: what its rows are ordered by, as DuckDB reads it.
        descending: whether the highest value comes first.
    """

    name: str
    expression: str
    descending: bool

    @classmethod
    def parse(cls, spec: object) -> RankedBy:
        """Read `NAME=EXPRESSION desc` or `NAME=EXPRESSION asc`. Without a direction it is refused: SQL would put the
        lowest first, which is seldom meant.

        Raises:
            holdstill.InvalidQuery: it is of another form.
        """
        match = _RANKED_BY.fullmatch(spec) if isinstance(spec, str) else None
        if match is None or not match["expression"].strip():
            raise InvalidQuery(
                "a ranking cannot be read",
                field="rank",
                expected="NAME=EXPRESSION desc (highest first) or asc, as in 'bm25_rank=bm25_raw desc'",
                got=spec,
            )
        return cls(match["name"], match["expression"].strip(), match["order"].lower() == "desc")


@dataclass(frozen=True, slots=True)
class Request:
    """One fusion, checked.

    Args:
        id: the column that names the rows.
        ranks: the lists.
        rrf_k: K in weight / (K + rank), 1 or more.
        weights: a positive number for each list, exact; () is 1 for each.
        top: how many rows; None is all.
        carry: columns to hand on.
        ties: whether rows of equal value have ranks of their own, by id, or share one.
        decimals: the scores are rounded to so many before they order; None is not at all.
        duplicates: what becomes of ids that stand on several rows.

    Raises:
        holdstill.InvalidQuery: a value is out of range, or a name stands twice.
    """

    id: str
    ranks: tuple[RankedBy, ...]
    rrf_k: int = 60
    weights: tuple[Fraction, ...] = ()
    top: int | None = None
    carry: tuple[str, ...] = ()
    ties: Ties = "row-number"
    decimals: int | None = None
    duplicates: Duplicates = "refuse"

    def __post_init__(self) -> None:
        check_whole("rrf_k", self.rrf_k, 1)
        if self.top is not None:
            check_whole("top", self.top, 1)
        if self.decimals is not None and not check_whole("round", self.decimals, 0) <= _MAX_DECIMALS:
            raise InvalidQuery(
                "round is out of range", field="round", expected=f"0 to {_MAX_DECIMALS} decimals", got=self.decimals
            )
        _check_choice("ties", self.ties, get_args(Ties))
        _check_choice("duplicates", self.duplicates, get_args(Duplicates))
        self._check_names()
        weights = self.weights or (1,) * len(self.ranks)
        if len(weights) != len(self.ranks):
            raise InvalidQuery(
                "weights do not fit the rankings",
                field="weights",
                expected=f"{len(self.ranks)}, one for each --rank in order",
                got=len(weights),
            )
        object.__setattr__(self, "weights", tuple(map(_weight, weights)))

    @classmethod
    def of(cls, id: object, ranks: object, weights: object, carry: object, **rest: object) -> Request:  # noqa: A002
        """The request of a caller's lists, each of which may be anything.

        Raises:
            holdstill.InvalidQuery: as the class, or a list is none.
        """
        if isinstance(ranks, Mapping):
            ranks = [f"{name}={order}" for name, order in ranks.items()]
        return cls(
            id=_name("id", id),
            ranks=tuple(map(RankedBy.parse, _list("rank", ranks))),
            weights=() if weights is None else tuple(_list("weights", weights)),  # type: ignore[arg-type]  # they are checked
            carry=tuple(_name("carry", column) for column in _list("carry", carry)),
            **rest,  # type: ignore[arg-type]  # they are checked
        )

    def _check_names(self) -> None:
        if not 1 <= len(self.ranks) <= _MAX_LISTS:
            raise InvalidQuery(
                "rankings cannot be used", field="rank", expected=f"1 to {_MAX_LISTS} rankings", got=len(self.ranks)
            )
        # DuckDB tells names apart regardless of their case.
        names = [self.id, *self.carry, *(ranked.name for ranked in self.ranks), SCORE]
        folded = [name.lower() for name in names]
        twice = [name for at, name in enumerate(names) if name.lower() in folded[:at]]
        if twice:
            raise InvalidQuery(
                "a column of the result would stand twice",
                field=twice[0],
                expected=f"id, carried columns, rankings and {SCORE} to have names of their own",
                got=twice[0],
            )


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InvalidQuery(f"{name} cannot be used", field=name, expected="one of " + ", ".join(choices), got=value)


def _list(name: str, values: object) -> Sequence[object]:
    if isinstance(values, Sequence) and not isinstance(values, (str, bytes)):
        return values
    raise InvalidQuery(f"{name} cannot be used", field=name, expected="a list", got=values)


def _name(name: str, value: object) -> str:
    if isinstance(value, str) and value:
        return value
    raise InvalidQuery(f"{name} cannot be used", field=name, expected="the name of a column", got=value)


def _weight(weight: object) -> Fraction:
    """The weight as the fraction that it is written as: 0.1 is one tenth."""
    if isinstance(weight, (int, float, Fraction)) and not isinstance(weight, bool):
        try:
            exact = Fraction(repr(weight)) if isinstance(weight, float) else Fraction(weight)
        except ValueError:
            exact = Fraction(0)
        if 0 < exact <= 10**6 and exact.denominator <= 10**6:
            return exact
    raise InvalidQuery(
        "a weight cannot be used",
        field="weights",
        expected="a number above 0, at most 1,000,000, of at most 6 decimals",
        got=weight,
    )
