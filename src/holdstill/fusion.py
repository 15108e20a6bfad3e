"""Reciprocal rank fusion over complete rankings, exact, with a proof that nothing unseen belongs on the page.

score = sum over arms of weight / (K + rank)     Cormack, Clarke, Buettcher, SIGIR 2009, section 2

A unit that an arm does not rank gets nothing from it. Scores compare as exact rationals: 1/61 + 1/549 is equal to
1/63 + 1/427, and float sums say otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from holdstill.ranking.ranks import count_ranks, top
from holdstill.result import Completeness, Stop

Proof = Literal["exhaustive", "depth"]
#: Puts units, all of equal score, into printed order.
Order = Callable[[NDArray[np.int64]], NDArray[np.int64]]

# A float score is a sum of correctly rounded quotients of positive numbers: its relative error is below
# (arms + 2) * 2^-53. Floats further apart than this are in the right order; nearer ones are settled exactly.
_NEAR = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """What one arm ranks: all of it, or the first of it where fusion needs no more.

    Args:
        arm: its name.
        units: the numbers of the passages or documents it ranks, ascending, each once.
        scores: their integer scores, higher is better.
        weight: above 0.
        total: how many units it ranks in all. Those not given score strictly lower than any given; the given ones are
            as many as `fuse` is asked for, of an only arm, or as many as the depth; and no arm ranks a unit that this
            one does not. None where `units` are all.
    """

    arm: str
    units: NDArray[np.int64]
    scores: NDArray[np.int64]
    weight: Fraction = Fraction(1)
    total: int | None = None

    @property
    def count(self) -> int:
        """How many units the arm ranks, given or not."""
        return len(self.units) if self.total is None else self.total


@dataclass(frozen=True, slots=True)
class Place:
    """One position of the fused list.

    Attributes:
        unit: the passage's or document's number.
        rank: 1 + the number of units with a strictly higher score.
        tied: whether any other unit has the same score.
        score: exact; `float(place.score)` is correctly rounded.
        ranks: its rank in every arm; None where the arm does not rank it, or not within the depth.
        scores: its integer score in every arm; None where its rank is.
    """

    unit: int
    rank: int
    tied: bool
    score: Fraction
    ranks: Mapping[str, int | None]
    scores: Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class Fusion:
    """A page of the fused list, and what is proven of it.

    Attributes:
        places: positions offset + 1 to offset + k, as far as the list goes.
        ties_beyond: how many units after the page have the score of its last place.
        completeness: `complete` if the page is full; otherwise `truncated` if a depth left units out that no arm
            brought in, and `exhausted` if none were.
        proof: the ranking that the page is proven to belong to: `exhaustive`, of everything the arms rank, or, whenever
            a depth is set, `depth`, of each arm's first ranks.
        stops: why each arm went no deeper: `budget` where the depth cut it, `exhausted` if all of it was taken, else
            `enough`.
        total: the length of the whole list, where all of it was taken.
    """

    places: tuple[Place, ...]
    ties_beyond: int
    completeness: Completeness
    proof: Proof
    stops: Mapping[str, Stop]
    total: int | None


def fuse(
    rankings: Sequence[Ranking], *, rrf_k: int, k: int, offset: int = 0, depth: int | None = None, order: Order
) -> Fusion:
    """Fuse the arms' rankings and give one page.

    Args:
        rankings: one or more; with one, its own order.
        rrf_k: K, from 1.
        k: how many places, from 1.
        offset: how many places to pass over.
        depth: fuse only each arm's first `depth` ranks, tie groups kept whole; None fuses all of them.
        order: puts units of equal score into printed order; called for the ties that touch the page.
    """
    ranked = [_cut(ranking, depth) for ranking in rankings] if depth is not None else list(rankings)
    taken = _take_enough(ranked, rrf_k, offset + k)
    places = tuple(_page(taken, offset, offset + k, order))
    cut = [
        depth is not None and len(short.units) < ranking.count for short, ranking in zip(ranked, rankings, strict=True)
    ]
    return Fusion(
        places=places,
        ties_beyond=_ties_beyond(taken.head, offset, len(places)),
        completeness=_completeness(len(places) == k, any(cut), taken, rankings),
        proof="exhaustive" if depth is None else "depth",
        stops={
            ranking.arm: "budget" if short else "exhausted" if whole else "enough"
            for ranking, short, whole in zip(rankings, cut, taken.whole, strict=True)
        },
        total=len(taken.members.units) if all(taken.whole) else None,
    )


def _cut(ranking: Ranking, depth: int) -> Ranking:
    # Whatever scores higher than a kept entry is kept, so ranks within the cut ranking are those of the whole.
    kept, _ = top(ranking.scores, depth)
    return replace(ranking, units=ranking.units[kept], scores=ranking.scores[kept], total=None)


@dataclass(frozen=True, slots=True, eq=False)
class _Members:
    """Units with their exact rank and score in every arm."""

    rankings: Sequence[Ranking]
    rrf_k: int
    units: NDArray[np.int64]  #: ascending, shape (m,)
    ranks: NDArray[np.int64]  #: shape (arms, m); 0 where the arm does not rank the unit
    scores: NDArray[np.int64]  #: shape (arms, m)

    def approximate(self) -> NDArray[np.float64]:
        total = np.zeros(len(self.units))
        for ranking, ranks in zip(self.rankings, self.ranks, strict=True):
            total += np.where(ranks > 0, float(ranking.weight) / (self.rrf_k + ranks), 0.0)
        return total

    def exact(self, ranks: Sequence[int]) -> Fraction:
        """The score of a unit with these ranks."""
        weighted = zip(self.rankings, ranks, strict=True)
        return sum((ranking.weight / (self.rrf_k + rank) for ranking, rank in weighted if rank), Fraction(0))

    def score(self, member: int) -> Fraction:
        return self.exact(self.ranks[:, member].tolist())


@dataclass(frozen=True, slots=True, eq=False)
class _Head:
    """The head of the fused list: groups of equal score, best first."""

    members: NDArray[np.intp]  #: indices of members
    starts: NDArray[np.intp]  #: where each group begins

    def group(self, position: int) -> tuple[int, int]:
        """Where the group that holds this position begins, and where it ends."""
        at = int(np.searchsorted(self.starts, position, side="right"))
        return int(self.starts[at - 1]), int(self.starts[at]) if at < len(self.starts) else len(self.members)


@dataclass(frozen=True, slots=True, eq=False)
class _Taken:
    """Members enough for the page, and for each arm whether all of it is among them."""

    members: _Members
    head: _Head
    whole: Sequence[bool]


def _take_enough(rankings: Sequence[Ranking], rrf_k: int, wanted: int) -> _Taken:
    """Take each arm's first entries until the bound proves that no other unit reaches the first `wanted` places.

    A unit not taken stands in each arm at the first rank left out, at best. Once the sum over arms at those ranks is
    strictly below the score at `wanted`, every unit up to there, and every one tied with it, is taken. The first
    depth suffices by itself if the heaviest arm ranks `wanted` units: each of its first ones scores
    w_max / (K + wanted) or more, and a unit not taken less than W / (K + depth).
    """
    weights = [ranking.weight for ranking in rankings]
    depth = ceil(sum(weights) / max(weights) * (rrf_k + wanted)) - rrf_k
    while True:
        kept = [top(ranking.scores, depth)[0] for ranking in rankings]
        nexts = [_next(ranking, some) for ranking, some in zip(rankings, kept, strict=True)]
        units = _union([ranking.units[some] for ranking, some in zip(rankings, kept, strict=True)])
        members = _locate(rankings, rrf_k, units)
        head = _sorted_head(members, wanted)
        bound = members.exact([following or 0 for following in nexts])
        if bound == 0 or (len(head.members) >= wanted and bound < members.score(int(head.members[wanted - 1]))):
            return _Taken(members, head, [following is None for following in nexts])
        depth *= 2


def _next(ranking: Ranking, kept: NDArray[np.intp]) -> int | None:
    """The rank of the best unit left out, ties being kept whole; None if none is."""
    return len(kept) + 1 if len(kept) < ranking.count else None


def _union(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    together = np.sort(np.concatenate(parts))
    fresh = np.ones(len(together), np.bool_)
    fresh[1:] = together[1:] != together[:-1]
    return together[fresh]


def _locate(rankings: Sequence[Ranking], rrf_k: int, units: NDArray[np.int64]) -> _Members:
    ranks, scores = np.zeros((2, len(rankings), len(units)), np.int64)
    for arm, ranking in enumerate(rankings):
        at = np.searchsorted(ranking.units, units)
        held = at < len(ranking.units)
        held[held] = ranking.units[at[held]] == units[held]
        scores[arm, held] = ranking.scores[at[held]]
        ranks[arm, held] = count_ranks(ranking.scores, scores[arm, held])
    return _Members(rankings, rrf_k, units, ranks, scores)


def _sorted_head(members: _Members, wanted: int) -> _Head:
    """The first `wanted` members and all that tie with the last of them, sorted exactly; perhaps some more."""
    values = members.approximate()
    chosen = np.arange(len(values))
    if wanted < len(values):
        least = np.partition(values, len(values) - wanted)[len(values) - wanted]
        chosen = np.flatnonzero(values >= least * (1 - _NEAR))
    chosen = chosen[np.argsort(-values[chosen], kind="stable")]
    opens = np.ones(len(chosen), np.bool_)
    opens[1:] = values[chosen[1:]] < values[chosen[:-1]] * (1 - _NEAR)
    for start, stop in _mixed_runs(members.ranks[:, chosen], opens):
        levels = _levels(members, chosen[start:stop])
        inner = np.argsort(levels, kind="stable")
        chosen[start:stop] = chosen[start:stop][inner]
        opens[start + 1 : stop] = np.diff(levels[inner]) > 0
    return _Head(chosen, np.flatnonzero(opens))


def _mixed_runs(ranks: NDArray[np.int64], opens: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """The runs of near-equals whose ranks are not all alike; those that are alike are equal beyond question."""
    unlike = np.zeros(len(opens), np.bool_)
    unlike[1:] = (ranks[:, 1:] != ranks[:, :-1]).any(axis=0)
    starts = np.flatnonzero(opens)
    run_of = np.cumsum(opens) - 1
    ends = np.append(starts[1:], len(opens))
    for run in np.unique(run_of[unlike & ~opens]).tolist():
        yield int(starts[run]), int(ends[run])


def _levels(members: _Members, chosen: NDArray[np.intp]) -> NDArray[np.int64]:
    """For each chosen member, how many distinct exact scores among them are higher."""
    keys = list(zip(*members.ranks[:, chosen].tolist(), strict=True))
    exact = {key: members.exact(key) for key in set(keys)}
    level = {score: at for at, score in enumerate(sorted(set(exact.values()), reverse=True))}
    return np.array([level[exact[key]] for key in keys], np.int64)


def _page(taken: _Taken, offset: int, end: int, order: Order) -> Iterator[Place]:
    members, position = taken.members, offset
    end = min(end, len(taken.head.members))
    while position < end:
        start, stop = taken.head.group(position)
        group = taken.head.members[start:stop]
        if len(group) > 1:
            group = np.searchsorted(members.units, order(members.units[group]))
        for member in group[position - start : end - start].tolist():
            yield _place(members, member, rank=start + 1, tied=len(group) > 1)
        position = stop


def _place(members: _Members, member: int, *, rank: int, tied: bool) -> Place:
    ranks, scores = members.ranks[:, member].tolist(), members.scores[:, member].tolist()
    arms = [ranking.arm for ranking in members.rankings]
    return Place(
        unit=int(members.units[member]),
        rank=rank,
        tied=tied,
        score=members.exact(ranks),
        ranks={arm: place or None for arm, place in zip(arms, ranks, strict=True)},
        scores={arm: score if place else None for arm, place, score in zip(arms, ranks, scores, strict=True)},
    )


def _ties_beyond(head: _Head, offset: int, returned: int) -> int:
    end = offset + returned
    return head.group(end - 1)[1] - end if returned else 0


def _completeness(full: bool, cut: bool, taken: _Taken, rankings: Sequence[Ranking]) -> Completeness:
    if full:
        return Completeness.COMPLETE
    # Short of a page, all of the cut rankings were taken; what they lack of the whole ones was left out.
    together = _union([ranking.units for ranking in rankings])
    everything = max(len(together), *(ranking.count for ranking in rankings)) if cut else 0
    return Completeness.TRUNCATED if everything > len(taken.members.units) else Completeness.EXHAUSTED
