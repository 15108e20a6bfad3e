"""How a store answers a predicate: fields by its columns, words by its postings, and the two put together again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_

import numpy as np
from numpy.typing import NDArray

from holdstill.predicate.nodes import Junction, Not, Predicate, TextLeaf, join


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """One three-valued answer for each of many documents: true, unknown, or else false (Kleene's strong logic).

    Attributes:
        true: where it holds; bool, shape (n,).
        unknown: where it is unknown; bool, shape (n,), nowhere together with `true`.
    """

    true: NDArray[np.bool_]
    unknown: NDArray[np.bool_]

    @classmethod
    def known(cls, true: NDArray[np.bool_]) -> Truth:
        """An answer that is nowhere unknown."""
        return cls(true, np.zeros_like(true))

    @property
    def false(self) -> NDArray[np.bool_]:
        """Where it is known not to hold."""
        return ~(self.true | self.unknown)

    def __and__(self, other: Truth) -> Truth:
        true = self.true & other.true
        return Truth(true, (self.true | self.unknown) & (other.true | other.unknown) & ~true)

    def __or__(self, other: Truth) -> Truth:
        true = self.true | other.true
        return Truth(true, (self.unknown | other.unknown) & ~true)

    def __invert__(self) -> Truth:
        return Truth(self.false, self.unknown)


@dataclass(frozen=True, slots=True)
class Plan:
    """A predicate in the parts that a store answers one by one.

    Attributes:
        predicate: the whole.
        fields: its largest parts that ask nothing of the text, each for `to_sql`.
        texts: the leaves that ask of the text, each for the postings.
    """

    predicate: Predicate
    fields: tuple[Predicate, ...]
    texts: tuple[TextLeaf, ...]

    def combine(self, fields: Sequence[Truth], texts: Sequence[NDArray[np.bool_]]) -> Truth:
        """The answer of the whole from the answers of its parts, given in the order of `fields` and `texts`."""
        answers: dict[Predicate, Truth] = dict(zip(self.fields, fields, strict=True))
        answers.update(zip(self.texts, map(Truth.known, texts), strict=True))
        return _combine(self.predicate, answers)


def split(predicate: Predicate) -> Plan:
    """The parts of a checked predicate; those that stand in it twice are named once."""
    parts = list(dict.fromkeys(_parts(predicate)))
    return Plan(
        predicate,
        tuple(part for part in parts if not isinstance(part, TextLeaf)),
        tuple(part for part in parts if isinstance(part, TextLeaf)),
    )


def fields_only(predicate: Predicate) -> tuple[Predicate, ...]:
    """Those of its parts, all of which have to hold, that ask nothing of the text."""
    parts = predicate.parts if isinstance(predicate, Junction) and predicate.word == "and" else (predicate,)
    return tuple(part for part in parts if not part.has_text())


def _parts(predicate: Predicate) -> Iterator[Predicate]:
    if isinstance(predicate, TextLeaf) or not predicate.has_text():
        yield predicate
    for piece in _pieces(predicate) if predicate.has_text() else ():
        yield from _parts(piece)


def _pieces(predicate: Predicate) -> list[Predicate]:
    """What a predicate that asks of the text is made of; all parts of a junction that do not ask are one piece."""
    if isinstance(predicate, Not):
        return [predicate.part]
    if not isinstance(predicate, Junction):
        return []
    silent = [part for part in predicate.parts if not part.has_text()]
    asking = [part for part in predicate.parts if part.has_text()]
    return [join(predicate.word, silent), *asking] if silent else asking


def _combine(predicate: Predicate, answers: Mapping[Predicate, Truth]) -> Truth:
    if predicate in answers:
        return answers[predicate]
    pieces = [_combine(piece, answers) for piece in _pieces(predicate)]
    if isinstance(predicate, Not):
        return ~pieces[0]
    return reduce(and_ if isinstance(predicate, Junction) and predicate.word == "and" else or_, pieces)
