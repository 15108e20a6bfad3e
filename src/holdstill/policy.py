"""Who may see what: `Principal`, who asks, and `Policy`, which turns a principal into a predicate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, cast

from holdstill.errors import InvalidDocument, InvalidPredicate, InvalidPrincipal, TypeMismatch
from holdstill.frozen import FrozenDict
from holdstill.predicate.check import check
from holdstill.predicate.literals import Attribute, Value, accept
from holdstill.predicate.nodes import Compare, Constant, Has, Junction, Member, Not, Predicate, has, join, member
from holdstill.predicate.parsing import parse_policy
from holdstill.schema import Field, Schema
from holdstill.text import clean

_KEYS = ("id", "groups", "attributes")
_SHAPE = '{"id": "ana", "groups": ["staff"], "attributes": {"tenant": "acme"}}'
_ATTRIBUTE = "a string, a number, true, false, or a list of strings or of integers"


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks.

    Args:
        id: the principal's own name; `principal.id` in a policy.
        groups: the groups it belongs to; `principal.groups` in a policy.
        attributes: anything else that a policy may name, as `principal.NAME`: strings, numbers, bools, dates,
            datetimes, or lists of strings or of integers. None is the same as not having the attribute.

    Raises:
        holdstill.InvalidPrincipal: a part is not of that shape.
    """

    id: str
    groups: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_string("a principal's id", self.id, "id")
        if not self.id.strip():
            raise InvalidPrincipal("a principal must have a name", field="id", expected="a string", got=self.id)
        if not isinstance(self.groups, (list, tuple)) or not all(isinstance(group, str) for group in self.groups):
            raise InvalidPrincipal("groups must be a list of strings", field="groups", got=self.groups)
        for group in self.groups:
            _check_string("a principal's group", group, "groups")
        if not isinstance(self.attributes, Mapping):
            raise InvalidPrincipal(
                "attributes holds values by name", field="attributes", expected="an object", got=self.attributes
            )
        object.__setattr__(self, "groups", tuple(self.groups))
        values = {name: _attribute(name, value) for name, value in self.attributes.items()}
        object.__setattr__(self, "attributes", FrozenDict(values))

    @classmethod
    def from_dict(cls, obj: object) -> Principal:
        """The principal that a JSON object describes: `{"id", "groups": [], "attributes": {}}`.

        Raises:
            holdstill.InvalidPrincipal: it is not of that shape; `id` is missing, or a key is unknown.
        """
        if not isinstance(obj, Mapping):
            raise InvalidPrincipal("a principal is an object", field="principal", expected=_SHAPE, got=obj)
        for key in obj:
            if key not in _KEYS:
                raise InvalidPrincipal(
                    "a principal has no such key",
                    field="principal",
                    expected=", ".join(_KEYS),
                    got=key,
                    hint="What a policy names as principal.NAME stands under attributes",
                )
        if "id" not in obj:
            raise InvalidPrincipal("a principal must have an id", field="id", expected=_SHAPE, got=dict(obj))
        return cls(**obj)


def _check_string(what: str, value: object, field: str) -> None:
    if not isinstance(value, str):
        raise InvalidPrincipal(f"{what} must be a string", field=field, got=value)
    # What `clean` would change is refused rather than cleaned: two principals must never become one.
    if clean(value) != value:
        raise InvalidPrincipal(
            f"{what} cannot be used",
            field=field,
            expected="a string without NUL, lone surrogates or a byte-order mark",
            got=value,
        )


def _attribute(name: object, value: object) -> object:
    _check_string("an attribute's name", name, "attributes")
    if name in ("id", "groups"):
        raise InvalidPrincipal(
            f"{name!r} is no attribute: principal.{name} is the principal's own {name}",
            field="attributes",
            expected="another name",
            got=name,
        )
    members = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    for each in members:
        if isinstance(each, str):
            _check_string(f"the attribute {name!r}", each, str(name))
    if isinstance(value, (list, tuple)):
        homogeneous = all(isinstance(each, str) for each in members) or all(_is_int(each) for each in members)
        if homogeneous:
            return members
    elif (
        value is None
        or isinstance(value, (str, bool, int, date))
        or (isinstance(value, float) and math.isfinite(value))
    ):
        return value
    raise InvalidPrincipal(f"the attribute {name!r} cannot be used", field=str(name), expected=_ATTRIBUTE, got=value)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class Policy:
    """A predicate that may name `principal.id`, `principal.groups` and, as `principal.NAME`, any attribute.

    `str(policy)` is its canonical text, which parses back to an equal policy. Made by `Policy.parse`.
    """

    predicate: Predicate
    schema: Schema

    @classmethod
    def parse(cls, text: str, schema: Schema) -> Policy:
        """The policy that a text says, for example `tenant = principal.tenant and has_any(acl, principal.groups)`.

        A list attribute stands where lists stand: `in principal.NAME`, `has_any(field, principal.NAME)`, `has_all`.

        Raises:
            holdstill.InvalidPredicate: it does not parse, names an unknown field, compares with a value of another type
                than the field's (`holdstill.PredicateSyntax`, `UnknownField`, `TypeMismatch`), or asks of the text.
        """
        predicate = parse_policy(text).check(schema)
        if predicate.has_text():
            raise InvalidPredicate(
                "a policy asks of fields, not of the text",
                field="policy",
                expected="a predicate without contains and phrase",
                hint="What a passage says must not decide who may read it; put what decides into a field",
            )
        for leaf in predicate.leaves():
            if isinstance(leaf, (Compare, Member, Has)):
                _check_references(leaf, schema[leaf.field])
        return cls(predicate, schema)

    def permission(self, principal: Principal) -> Predicate:
        """What the principal may see, checked against the schema.

        A principal that lacks an attribute the policy names, wherever it names it, may see nothing.

        Raises:
            holdstill.InvalidPrincipal: an attribute is of another type than the field it is compared with.
        """
        known = {**principal.attributes, "id": principal.id, "groups": principal.groups}
        named = {name for leaf in self.predicate.leaves() for name in _names(leaf)}
        if any(known.get(name) is None for name in named):
            return Constant(False)
        return self._fill(self.predicate, known)

    def __str__(self) -> str:
        return str(self.predicate)

    def _fill(self, predicate: Predicate, known: Mapping[str, Any]) -> Predicate:
        match predicate:
            case Junction():
                return join(predicate.word, [self._fill(part, known) for part in predicate.parts])
            case Not():
                return ~self._fill(predicate.part, known)
            case Compare() | Member() | Has() if _names(predicate):
                return self._fill_leaf(predicate, known)
        return predicate

    def _fill_leaf(self, leaf: Compare | Member | Has, known: Mapping[str, Any]) -> Predicate:
        column = self.schema[leaf.field]
        try:
            match leaf:
                case Compare():
                    filled: Predicate = Compare(leaf.field, leaf.operator, _scalar(leaf, column, known))
                case Member():
                    filled = member(leaf.field, _listed(leaf, column, known), negated=leaf.negated)
                case Has():
                    filled = has(leaf.field, _listed(leaf, column, known), every=leaf.every)
            return check(filled, self.schema)
        except (InvalidPredicate, InvalidDocument) as error:
            name = _names(leaf)[0]
            raise InvalidPrincipal(
                f"principal.{name} does not fit {leaf.field!r} ({column.type}), which the policy compares it with",
                field=name,
                expected=error.expected,
                got=known[name],
            ) from error


def _names(leaf: Predicate) -> tuple[str, ...]:
    """The attributes that a leaf names, `id` and `groups` included."""
    values: Iterable[object] = (leaf.value,) if isinstance(leaf, Compare) else ()
    if isinstance(leaf, (Member, Has)):
        values = leaf.values
    return tuple(value.name for value in values if isinstance(value, Attribute))


def _check_references(leaf: Compare | Member | Has, column: Field) -> None:
    """What is known of a principal before any asks: its id is a string, its groups a list of strings."""
    for name in _names(leaf):
        if name in ("id", "groups") and column.type not in ("str", "str[]"):
            raise TypeMismatch(
                f"field {column.name!r} is of type {column.type}, and principal.{name} is text",
                field=column.name,
                expected="a str or str[] field",
                got=f"principal.{name}",
            )
        if name == "groups" and isinstance(leaf, Compare):
            raise TypeMismatch(
                "principal.groups is a list",
                field=column.name,
                expected=f"{column.name} in principal.groups",
                got=str(leaf),
            )


def _scalar(leaf: Compare, column: Field, known: Mapping[str, Any]) -> Value:
    value = known[cast(Attribute, leaf.value).name]
    if isinstance(value, tuple):
        raise TypeMismatch("a list where one value stands", field=column.name, expected="one value", got=value)
    return _moment(column, value)


def _listed(leaf: Member | Has, column: Field, known: Mapping[str, Any]) -> list[Value]:
    values: list[Value] = []
    for value in leaf.values:
        filled = known[value.name] if isinstance(value, Attribute) else value
        values.extend(_moment(column, each) for each in (filled if isinstance(filled, tuple) else (filled,)))
    return values


def _moment(column: Field, value: Any) -> Value:
    """The value; for date and datetime fields, ISO 8601 text is read, since JSON has no type for them."""
    is_text = isinstance(value, str) and column.type in ("date", "datetime")
    return accept(column.name, column.accept(value) if is_text else value)
