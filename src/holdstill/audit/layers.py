"""The layers that may move an answer, each brought forward alone: from the conditions of then to those of now.

A generation and the commits that belong to it go together: documents of now are not in the generation of then. So the
way from then to now is walked along the commits. Within a generation only the corpus moves; where one generation gives
way to another, the documents are the same before and after, and only how they are indexed moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from holdstill.audit.conditions import Conditions, Page, crossed, run
from holdstill.errors import EmbedderRequired, SnapshotPruned
from holdstill.reports import Commit
from holdstill.stores.base import Generation, Store

Step = tuple[int, int]  #: two commits


@dataclass(frozen=True, slots=True)
class Effect:
    """What the answer was without, and is with one layer brought forward; None where that cannot be tried."""

    before: Page | None
    after: Page | None

    @property
    def moved(self) -> bool | None:
        """Whether the layer moved the answer; None where that cannot be tried."""
        return None if self.before is None or self.after is None else self.before != self.after


@dataclass(frozen=True, slots=True)
class Path:
    """The commits from then to now.

    Attributes:
        corpus: spans of commits within one generation, in order.
        switches: the commits before and at each switch of generations.
    """

    corpus: tuple[Step, ...]
    switches: tuple[Step, ...]


def path(commits: Sequence[Commit], then: int, now: int, first: int) -> Path:
    """The way between two commits, the earlier one first; `first` is the generation before any commit."""
    generation = {0: first} | {each.commit: each.generation for each in commits}
    low, high = sorted((then, now))
    if generation[low] == generation[high]:  # whatever was tried in between, both are at home in it
        return Path(((low, high),), ())
    switches = [(a, b) for a, b in pairwise(range(low, high + 1)) if generation[a] != generation[b]]
    ends = [low, *(each for switch in switches for each in switch), high]
    return Path(tuple(zip(ends[::2], ends[1::2], strict=True)), tuple(switches))


def effects(store: Store, conditions: Conditions, steps: Sequence[Step], *, backwards: bool) -> Iterator[Effect]:
    """What each step does to the answer, all else as the conditions say."""
    for low, high in steps:
        before, after = (high, low) if backwards else (low, high)
        yield effect(store, replace(conditions, commit=before), replace(conditions, commit=after))


def effect(store: Store, before: Conditions, after: Conditions) -> Effect:
    """What it does to the answer to go from one set of conditions to another."""
    return Effect(_tried(store, before), _tried(store, after))


def _tried(store: Store, conditions: Conditions) -> Page | None:
    """The answer; None where its snapshot was pruned, or the question has no vector of its model."""
    try:
        return run(store, conditions)
    except (SnapshotPruned, EmbedderRequired):
        return None


@dataclass(frozen=True, slots=True)
class Switched:
    """What a switch of generations did to the answer.

    Attributes:
        whole: all that changed with it.
        analyser, model, index: that layer alone; None where it did not change, or cannot be told apart.
        split: whether texts were split anew; passages of the two sides are then not the same ones.
    """

    whole: Effect
    analyser: Effect | None
    model: Effect | None
    index: Effect | None
    split: bool


def switched(store: Store, before: Conditions, after: Conditions, old: Generation, new: Generation) -> Switched:
    """The effects of a switch, the same documents on both sides."""
    whole = effect(store, before, after)
    split = not store.alike(old.number, new.number, after.commit)
    words, meaning = old.analyser != new.analyser, old.model != new.model
    if words and meaning and not split and whole.moved is not None:
        return Switched(
            whole,
            analyser=Effect(whole.before, crossed(store, after, before)),
            model=Effect(whole.before, crossed(store, before, after)),
            index=None,
            split=False,
        )
    alone = sum((words, meaning, split)) == 1
    return Switched(
        whole,
        analyser=whole if words and alone else None,
        model=whole if meaning and alone else None,
        index=whole if split and alone else None,
        split=split,
    )
