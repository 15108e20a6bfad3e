"""A checked predicate as a DuckDB expression. Only its shape reaches the text; every value is bound."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime

from holdstill.errors import InvalidPredicate
from holdstill.predicate.literals import Value
from holdstill.predicate.nodes import Compare, Constant, Has, Junction, Member, Not, Null, Predicate


def to_sql(predicate: Predicate, column: Callable[[str], str]) -> tuple[str, list[object]]:
    """A boolean expression, NULL where the predicate is unknown, and the parameters of its question marks, in order.

    The columns are of the types BIGINT, DOUBLE, BOOLEAN, VARCHAR, DATE, TIMESTAMP (UTC), VARCHAR[], BIGINT[].

    Args:
        predicate: one that `check` returned, free of `contains` and `phrase`.
        column: the SQL expression of a field's column; the store's own, never a text that a user wrote.

    Raises:
        holdstill.InvalidPredicate: the predicate asks of the text, which is not a column.
    """
    params: list[object] = []
    return _expression(predicate, column, params), params


def _expression(predicate: Predicate, column: Callable[[str], str], params: list[object]) -> str:
    match predicate:
        case Junction():
            parts = [f"({_expression(part, column, params)})" for part in predicate.parts]
            return f" {predicate.word.upper()} ".join(parts)
        case Not():
            return f"NOT ({_expression(predicate.part, column, params)})"
        case Constant():
            return "TRUE" if predicate.value else "FALSE"
        case Null():
            return f"{column(predicate.field)} IS {'NOT ' if predicate.negated else ''}NULL"
        case Compare():
            params.append(_bound(predicate.value))
            return f"{column(predicate.field)} {predicate.operator} CAST(? AS {_type(predicate.value)})"
        case Member():
            return _member(predicate, column(predicate.field), params)
        case Has():
            return _has(predicate, column(predicate.field), params)
    raise InvalidPredicate("the text is not a column", field="text", expected="a predicate on fields", got=predicate)


def _member(leaf: Member, column: str, params: list[object]) -> str:
    if not leaf.values:
        return _same_for_all_known(column, leaf.negated)
    params.append([_bound(value) for value in leaf.values])
    return f"{'NOT ' if leaf.negated else ''}list_contains(CAST(? AS {_type(leaf.values[0])}[]), {column})"


def _has(leaf: Has, column: str, params: list[object]) -> str:
    if not leaf.values:
        return _same_for_all_known(column, leaf.every)
    params.append([_bound(value) for value in leaf.values])
    return f"list_has_{'all' if leaf.every else 'any'}({column}, CAST(? AS {_type(leaf.values[0])}[]))"


def _same_for_all_known(column: str, value: bool) -> str:
    return f"CASE WHEN {column} IS NULL THEN NULL ELSE {'TRUE' if value else 'FALSE'} END"


def _type(value: Value) -> str:
    """The column type whose values these are; bool before int and datetime before date, which they also are."""
    if isinstance(value, bool):
        return "BOOLEAN"
    if isinstance(value, datetime):
        return "TIMESTAMP"
    return next(name for class_, name in _TYPES.items() if isinstance(value, class_))


_TYPES: dict[type, str] = {int: "BIGINT", float: "DOUBLE", str: "VARCHAR", date: "DATE"}


def _bound(value: Value) -> object:
    """Datetimes go in as the database holds them: UTC, without saying so."""
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value
