"""The reference: what a predicate means, in plain Python, one document at a time."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from holdstill.errors import InvalidPredicate
from holdstill.predicate.nodes import Compare, Constant, Has, Junction, Member, Not, Null, Operator, Predicate, TextLeaf

_OPERATORS: dict[Operator, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def evaluate(
    predicate: Predicate, row: Mapping[str, Any], text: Callable[[TextLeaf], bool] | None = None
) -> bool | None:
    """Whether a document satisfies a predicate of its schema; None where that is unknown (Kleene's strong logic).

    Args:
        predicate: one that fits the schema, before or after `check`: both mean the same.
        row: values by field, as the schema accepts them; a field without an entry is null.
        text: answers the leaves that ask of the text; needed only where there are any.

    Raises:
        holdstill.InvalidPredicate: the predicate asks of a text and there is none.
    """
    match predicate:
        case Junction():
            return _junction(predicate, [evaluate(part, row, text) for part in predicate.parts])
        case Not():
            return _negation(evaluate(predicate.part, row, text))
        case Constant():
            return predicate.value
        case TextLeaf():
            if text is None:
                raise InvalidPredicate("the filter asks of a text and there is none here", field="text", got=predicate)
            return text(predicate)
        case Null():
            return (row.get(predicate.field) is None) != predicate.negated
        case Compare() | Member() | Has():
            value = row.get(predicate.field)
            return None if value is None else _known(predicate, value)
    raise AssertionError(predicate)


def _known(leaf: Compare | Member | Has, value: Any) -> bool:
    match leaf:
        case Compare():
            return _OPERATORS[leaf.operator](value, leaf.value)
        case Member():
            return any(value == wanted for wanted in leaf.values) != leaf.negated
        case Has():
            return (all if leaf.every else any)(wanted in value for wanted in leaf.values)


def _junction(junction: Junction, values: list[bool | None]) -> bool | None:
    decisive = junction.word == "or"
    if decisive in values:
        return decisive
    return None if None in values else not decisive


def _negation(value: bool | None) -> bool | None:
    return None if value is None else not value
