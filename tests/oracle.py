"""The definitions, in plain Python: obvious, slow, exact. What the engine answers is compared with this.

Nothing here imports holdstill or numpy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, NamedTuple

# Vectors


def grid(vector: Sequence[float]) -> list[int]:
    """The unit vector in units of 2^-15, summed from left to right."""
    _, exponent = math.frexp(max(abs(x) for x in vector))
    scaled = [math.ldexp(x, -exponent) for x in vector]
    total = 0.0
    for x in scaled:
        total += x * x
    norm = math.sqrt(total)
    return [max(-32767, min(32767, round(x / norm * 32768))) for x in scaled]


def dot(a: Sequence[int], b: Sequence[int]) -> int:
    return sum(x * y for x, y in zip(a, b, strict=True))


# Words

K1, B = Fraction(6, 5), Fraction(3, 4)


def idf(count: int, df: int) -> int:
    half = Decimal("0.5")
    with localcontext() as context:
        context.prec = 60
        value = (1 + (count - df + half) / (df + half)).ln() * 2**20
    return round(value)


def contribution(count: int, total: int, df: int, tf: int, length: int) -> int:
    """What one term adds to a passage's score, in units of 2^-20."""
    norm = Fraction(math.floor(K1 * (1 - B + B * length * count / total) * 2**16), 2**16)
    saturation = math.floor(tf * (K1 + 1) / (tf + norm) * 2**20)
    return math.floor(Fraction(idf(count, df) * saturation, 2**20))


def bm25(
    terms: Sequence[str],
    passages: Sequence[Mapping[str, int]],
    lengths: Sequence[int],
    visible: Sequence[bool],
    eligible: Sequence[bool],
) -> dict[int, int]:
    """The score of every eligible passage that holds a term; statistics over the visible ones."""
    seen = [row for row in range(len(passages)) if visible[row]]
    total = sum(lengths[row] for row in seen)
    scores: dict[int, int] = {}
    for row, passage in enumerate(passages):
        for term in set(terms):
            if eligible[row] and term in passage:
                df = sum(term in passages[other] for other in seen)
                added = contribution(len(seen), total, df, passage[term], lengths[row])
                scores[row] = scores.get(row, 0) + added
    return scores


# Ranks and fusion


def ranks(scores: Mapping[int, int]) -> dict[int, int]:
    return {unit: 1 + sum(other > score for other in scores.values()) for unit, score in scores.items()}


def first(scores: Mapping[int, int], depth: int) -> dict[int, int]:
    """The first `depth` entries, and all that tie with the last of them."""
    return {unit: scores[unit] for unit, rank in ranks(scores).items() if rank <= depth}


class Arm(NamedTuple):
    name: str
    scores: Mapping[int, int]
    weight: Fraction = Fraction(1)


class Place(NamedTuple):
    unit: int
    rank: int
    tied: bool
    score: Fraction
    ranks: dict[str, int | None]
    scores: dict[str, int | None]


class Page(NamedTuple):
    places: list[Place]
    ties_beyond: int
    completeness: str


def fuse(arms: Sequence[Arm], rrf_k: int, k: int, offset: int, depth: int | None, key: Callable[[int], Any]) -> Page:
    """Score all of A, sort it, cut the page."""
    ranked = [arm if depth is None else arm._replace(scores=first(arm.scores, depth)) for arm in arms]
    everything = _fused(ranked, rrf_k, key)
    places = everything[offset : offset + k]
    after = everything[offset + k :]
    missing = {unit for arm in arms for unit in arm.scores} - {place.unit for place in everything}
    return Page(
        places,
        ties_beyond=sum(place.score == places[-1].score for place in after) if places else 0,
        completeness="complete" if len(places) == k else "truncated" if missing else "exhausted",
    )


def _fused(arms: Sequence[Arm], rrf_k: int, key: Callable[[int], Any]) -> list[Place]:
    ranked = {arm.name: ranks(arm.scores) for arm in arms}
    score = {
        unit: sum(
            (arm.weight / (rrf_k + ranked[arm.name][unit]) for arm in arms if unit in arm.scores), start=Fraction(0)
        )
        for unit in {unit for arm in arms for unit in arm.scores}
    }
    return [
        Place(
            unit,
            rank=1 + sum(other > score[unit] for other in score.values()),
            tied=sum(other == score[unit] for other in score.values()) > 1,
            score=score[unit],
            ranks={arm.name: ranked[arm.name].get(unit) for arm in arms},
            scores={arm.name: arm.scores.get(unit) for arm in arms},
        )
        for unit in sorted(score, key=lambda unit: (-score[unit], key(unit)))
    ]
