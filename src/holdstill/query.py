"""What is asked: `Query` and `Settings`, frozen and checked once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from holdstill.arguments import as_mapping, as_strings
from holdstill.errors import EmptyQuery, FusedScoreThreshold, InvalidQuery
from holdstill.frozen import FrozenDict
from holdstill.text import blank

if TYPE_CHECKING:
    from holdstill.predicate import Predicate

ArmName = Literal["lexical", "dense"]
Unit = Literal["passage", "document"]
Syntax = Literal["plain", "web"]

ARMS: tuple[ArmName, ...] = get_args(ArmName)
MAX_K = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Settings:
    """How arms are fused. Weights are kept as exact fractions, read as written: 0.1 is one tenth.

    Args:
        rrf_k: K in weight / (K + rank), 1 or more (Cormack, Clarke, Buettcher, SIGIR 2009, section 2).
        weights: a positive number for each arm to be weighted; an arm not named has 1.
        depth: fuse only each arm's first `depth` ranks, tie groups kept whole; None fuses all of them.
        syntax: `plain` reads no character of the text as syntax; `web` reads quotes and a leading minus.
        min_score: not supported, and refused: a fused score orders results but measures nothing.

    Raises:
        holdstill.InvalidQuery: a value is out of range.
        holdstill.FusedScoreThreshold: `min_score` was given.
    """

    rrf_k: int = 60
    weights: Mapping[str, Fraction] = field(default_factory=dict)
    depth: int | None = None
    syntax: Syntax = "plain"
    min_score: None = None

    def __post_init__(self) -> None:
        if self.min_score is not None:
            raise FusedScoreThreshold(
                "a fused score cannot be thresholded",
                field="min_score",
                got=self.min_score,
                hint="It only orders hits: 1/61 is a first place whatever the match. "
                "Say what must hold with `where` or `must`, or cut by `k`",
            )
        check_whole("rrf_k", self.rrf_k, 1)
        if self.depth is not None:
            check_whole("depth", self.depth, 1)
        if not isinstance(self.syntax, str) or self.syntax not in get_args(Syntax):
            raise InvalidQuery("unknown syntax", field="syntax", expected="'plain' or 'web'", got=self.syntax)
        weights = {arm: _weight(arm, weight) for arm, weight in as_mapping("weights", self.weights).items()}
        object.__setattr__(self, "weights", FrozenDict(weights))

    def weight(self, arm: str) -> Fraction:
        """The arm's weight."""
        return self.weights.get(arm, Fraction(1))


def _weight(arm: str, weight: object) -> Fraction:
    if arm not in ARMS:
        raise InvalidQuery("a weight names no arm", field="weights", expected="one of " + ", ".join(ARMS), got=arm)
    if isinstance(weight, (int, float, Fraction)) and not isinstance(weight, bool):
        try:
            exact = Fraction(repr(float(weight))) if isinstance(weight, float) else Fraction(weight)
        except ValueError:
            exact = Fraction(0)
        if 0 < exact <= 10**6 and exact.denominator <= 10**9:
            return exact
    raise InvalidQuery(
        f"the weight of {arm!r} cannot be used",
        field="weights",
        expected="a number above 0, at most 1,000,000, of 9 decimals at most",
        got=str(weight) if isinstance(weight, Fraction) else weight,
    )


def check_whole(name: str, value: object, least: int) -> int:
    """The value, if it is a whole number from `least` to 2^31 - 1.

    Raises:
        holdstill.InvalidQuery: it is not.
    """
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= MAX_K:
        return value
    raise InvalidQuery(
        f"{name} is out of range", field=name, expected=f"a whole number from {least} to {MAX_K}", got=value
    )


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """One search, checked: what is asked, what must hold, and which page of the ranking.

    Raises:
        holdstill.InvalidQuery: an argument is out of range, or they contradict each other.
        holdstill.EmptyQuery: the text is blank, or nothing at all is asked.
    """

    text: str | None = None
    vector: NDArray[np.float64] | None = None
    where: Predicate | None = None
    must: tuple[str, ...] = ()
    must_not: tuple[str, ...] = ()
    k: int = 10
    offset: int = 0
    arms: tuple[ArmName, ...] | None = None
    by: Unit = "passage"
    order_by: tuple[str, bool] | None = None  #: a field, and whether the order is descending
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        check_whole("k", self.k, 1)
        check_whole("offset", self.offset, 0)
        if not isinstance(self.by, str) or self.by not in get_args(Unit):
            raise InvalidQuery("unknown unit", field="by", expected="'passage' or 'document'", got=self.by)
        if not isinstance(self.settings, Settings):
            raise InvalidQuery("settings cannot be used", field="settings", expected="a Settings", got=self.settings)
        for name, words in (("must", self.must), ("must_not", self.must_not)):
            object.__setattr__(self, name, as_strings(name, words))
        self._check_arms()
        self._check_asked()

    @property
    def ranked(self) -> bool:
        """Whether arms rank the answer; otherwise it is all of `E`, in order."""
        return self.text is not None or self.vector is not None

    def _check_arms(self) -> None:
        if self.arms is None:
            return
        object.__setattr__(self, "arms", as_strings("arms", self.arms))
        known = all(arm in ARMS for arm in self.arms)
        if not self.arms or not known or len(set(self.arms)) != len(self.arms):
            raise InvalidQuery(
                "arms cannot be used", field="arms", expected="some of " + ", ".join(ARMS), got=self.arms
            )

    def _check_asked(self) -> None:
        if self.text is not None and not isinstance(self.text, str):
            raise InvalidQuery("the question must be text", field="text", expected="a string", got=self.text)
        if self.text is not None and blank(self.text):
            raise EmptyQuery("the question is empty", field="text", expected="at least one word", got=self.text)
        if not self.ranked and self.where is None and not self.must and not self.must_not:
            raise EmptyQuery(
                "nothing is asked",
                field="text",
                expected="a text, a vector, `where`, `must` or `must_not`",
                got=self.text,
            )
        if self.ranked and self.order_by is not None:
            raise InvalidQuery(
                "order_by orders an answer that has no ranking", field="order_by", expected="no text and no vector"
            )


def parse_order_by(order: object) -> tuple[str, bool]:
    """Read `FIELD`, `FIELD asc` or `FIELD desc`.

    Raises:
        holdstill.InvalidQuery: it is none of these.
    """
    parts = order.split() if isinstance(order, str) else []
    if len(parts) in (1, 2) and (len(parts) == 1 or parts[1].lower() in ("asc", "desc")):
        return parts[0], len(parts) == 2 and parts[1].lower() == "desc"
    raise InvalidQuery(
        "order_by cannot be read", field="order_by", expected="FIELD, FIELD asc or FIELD desc", got=order
    )
