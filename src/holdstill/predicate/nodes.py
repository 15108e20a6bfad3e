"""The predicate itself: a frozen tree in normal form, so that equal meaning is equal text.

Normal form, kept by every way of making one: negation is pushed down to the leaves and absorbed there where a leaf has
a complement (`not x < 3` is `x >= 3`, which in three-valued logic is the same predicate); `and` and `or` are flattened,
free of repetitions and sorted by text; members of lists are sorted and distinct. Two predicates are equal when their
canonical texts are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NoReturn

from holdstill.errors import InvalidPredicate, PredicateSyntax
from holdstill.predicate.literals import Attribute, Value, accept_all, identifier, spell
from holdstill.text import clean

if TYPE_CHECKING:
    from holdstill.schema import Schema

Operator = Literal["=", "!=", "<", "<=", ">", ">="]
Word = Literal["and", "or"]
TextKind = Literal["contains", "phrase"]

MAX_DEPTH = 64  #: `and` and `or` may alternate this often; deeper trees come from machines, and break other machines

COMPLEMENT: Mapping[Operator, Operator] = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


class Predicate:
    """A typed condition on a document, three-valued: true, false or unknown.

    Made with `f` or with `parse`, combined with `&`, `|` and `~`. Frozen and hashable; `str(predicate)` is the
    canonical SQL spelling, which parses back to an equal predicate.
    """

    def __and__(self, other: object) -> Predicate:
        return join("and", (self, _predicate(other)))

    def __or__(self, other: object) -> Predicate:
        return join("or", (self, _predicate(other)))

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> Predicate:
        raise NotImplementedError

    def __bool__(self) -> NoReturn:
        raise InvalidPredicate(
            "a predicate is neither true nor false before it meets a document",
            got=self,
            hint="Combine predicates with `&`, `|` and `~`, not `and`, `or` and `not`; instead of 1 < f.x < 5 write "
            "(f.x > 1) & (f.x < 5) or f.x.between(1, 5), which includes both ends",
        )

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if isinstance(other, Predicate) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Predicate({self._text!r})"

    def canonical(self) -> str:
        """The one spelling of this meaning, in the SQL form; `parse` reads it back to an equal predicate."""
        return self._text

    def check(self, schema: Schema) -> Predicate:
        """The predicate with every literal in its field's own type, once names and types are found right.

        Raises:
            holdstill.UnknownField: it names a field that the schema lacks.
            holdstill.TypeMismatch: a value or an operator does not fit the field's type.
            holdstill.FusedScoreThreshold: it thresholds the fused score.
        """
        from holdstill.predicate.check import check

        return check(self, schema)

    def fields(self) -> tuple[str, ...]:
        """The names of the fields it depends on, sorted."""
        return tuple(sorted({leaf.field for leaf in self.leaves() if not isinstance(leaf, (Constant, TextLeaf))}))

    def has_text(self) -> bool:
        """Whether it asks anything of the text, with `contains` or `phrase`."""
        return self._has_text

    def leaves(self) -> Iterator[Leaf]:
        """Its leaves, in canonical order."""
        raise NotImplementedError

    @cached_property
    def _text(self) -> str:
        return self._spell()

    @cached_property
    def _has_text(self) -> bool:
        return any(isinstance(leaf, TextLeaf) for leaf in self.leaves())

    def _spell(self) -> str:
        raise NotImplementedError

    @cached_property
    def _depth(self) -> int:
        return 0


@dataclass(frozen=True, eq=False, repr=False)
class Constant(Predicate):
    """`true` or `false`, whatever the document."""

    value: bool

    def __invert__(self) -> Predicate:
        return Constant(not self.value)

    def leaves(self) -> Iterator[Leaf]:
        """Itself."""
        yield self

    def _spell(self) -> str:
        return "true" if self.value else "false"


@dataclass(frozen=True, eq=False, repr=False)
class Compare(Predicate):
    """A field against one value; unknown where the field is null. `x != true` becomes `x = false`."""

    field: str
    operator: Operator
    value: Value

    def __post_init__(self) -> None:
        if isinstance(self.value, bool) and self.operator == "!=":
            object.__setattr__(self, "operator", "=")
            object.__setattr__(self, "value", not self.value)

    def __invert__(self) -> Predicate:
        return Compare(self.field, COMPLEMENT[self.operator], self.value)

    def leaves(self) -> Iterator[Leaf]:
        """Itself."""
        yield self

    def _spell(self) -> str:
        return f"{identifier(self.field)} {self.operator} {spell(self.value)}"


@dataclass(frozen=True, eq=False, repr=False)
class Member(Predicate):
    """A field in a list of values, or not in it; unknown where the field is null, even for the empty list.

    Made by `member`, which turns a list of one into a comparison.
    """

    field: str
    values: tuple[Value, ...]
    negated: bool = False

    def __invert__(self) -> Predicate:
        return Member(self.field, self.values, not self.negated)

    def leaves(self) -> Iterator[Leaf]:
        """Itself."""
        yield self

    def _spell(self) -> str:
        word = "not in" if self.negated else "in"
        return f"{identifier(self.field)} {word} ({', '.join(map(spell, self.values))})"


@dataclass(frozen=True, eq=False, repr=False)
class Null(Predicate):
    """Whether a field has no value; never unknown."""

    field: str
    negated: bool = False

    def __invert__(self) -> Predicate:
        return Null(self.field, not self.negated)

    def leaves(self) -> Iterator[Leaf]:
        """Itself."""
        yield self

    def _spell(self) -> str:
        return f"{identifier(self.field)} is {'not ' if self.negated else ''}null"


@dataclass(frozen=True, eq=False, repr=False)
class Has(Predicate):
    """A list field holds every one of the values, or any of them; unknown where the field is null.

    Made by `has`. Of no values, `has_all` is true and `has_any` false on every list.
    """

    field: str
    values: tuple[Value, ...]
    every: bool

    def __invert__(self) -> Predicate:
        return Not(self)

    def leaves(self) -> Iterator[Leaf]:
        """Itself."""
        yield self

    def _spell(self) -> str:
        name = "has_all" if self.every else "has_any"
        if len(self.values) == 1 and not isinstance(self.values[0], Attribute):
            name = "has"
        return f"{name}({', '.join([identifier(self.field), *map(spell, self.values)])})"


@dataclass(frozen=True, eq=False, repr=False)
class TextLeaf(Predicate):
    """The text holds every term of the words (`contains`) or the terms side by side (`phrase`), after analysis.

    Never unknown: a text is always there.
    """

    kind: TextKind
    words: str

    def __post_init__(self) -> None:
        if not isinstance(self.words, str) or not self.words.strip():
            raise InvalidPredicate(
                f"{self.kind} has no words to look for", field="text", expected="at least one word", got=self.words
            )
        object.__setattr__(self, "words", clean(self.words))

    def __invert__(self) -> Predicate:
        return Not(self)

    def leaves(self) -> Iterator[Leaf]:
        """Itself."""
        yield self

    def _spell(self) -> str:
        return f"{self.kind}(text, {spell(self.words)})"


@dataclass(frozen=True, eq=False, repr=False)
class Not(Predicate):
    """The negation of a leaf that has no complement among the operators; made by `~`."""

    part: Has | TextLeaf

    def __invert__(self) -> Predicate:
        return self.part

    def leaves(self) -> Iterator[Leaf]:
        """The leaf it negates."""
        yield self.part

    def _spell(self) -> str:
        return f"not {self.part}"


@dataclass(frozen=True, eq=False, repr=False)
class Junction(Predicate):
    """Two or more parts, all joined by `and` or all by `or`; made by `join`."""

    word: Word
    parts: tuple[Predicate, ...]

    def __post_init__(self) -> None:
        if self._depth > MAX_DEPTH:
            raise PredicateSyntax(
                "the filter is nested too deeply",
                expected=f"`and` and `or` within one another at most {MAX_DEPTH} deep",
                hint="A list of alternatives is written `field in (...)`",
            )

    def __invert__(self) -> Predicate:
        return join("or" if self.word == "and" else "and", [~part for part in self.parts])

    def leaves(self) -> Iterator[Leaf]:
        """The leaves of its parts."""
        for part in self.parts:
            yield from part.leaves()

    def _spell(self) -> str:
        if self.word == "or":
            return " or ".join(map(str, self.parts))
        return " and ".join(f"({part})" if isinstance(part, Junction) else str(part) for part in self.parts)

    @cached_property
    def _depth(self) -> int:
        return 1 + max(part._depth for part in self.parts)


Leaf = Constant | Compare | Member | Null | Has | TextLeaf


def join(word: Word, parts: Iterable[Predicate]) -> Predicate:
    """All of the parts (`and`; true of none) or any of them (`or`; false of none).

    Raises:
        holdstill.PredicateSyntax: the result would be nested more than 64 deep.
    """
    distinct: dict[str, Predicate] = {}
    for part in parts:
        inner = part.parts if isinstance(part, Junction) and part.word == word else (part,)
        distinct.update((str(piece), piece) for piece in inner)
    if len(distinct) < 2:
        return next(iter(distinct.values()), Constant(word == "and"))
    return Junction(word, tuple(distinct[text] for text in sorted(distinct)))


def member(field: str, values: object, *, negated: bool = False) -> Predicate:
    """`field in (values)`; of one value, `field = value`.

    Raises:
        holdstill.InvalidPredicate: a value is null, NaN or infinite.
        holdstill.TypeMismatch: not a list, or a value that no field can hold.
    """
    accepted = accept_all(field, values)
    if len(accepted) == 1 and not isinstance(accepted[0], Attribute):
        return Compare(field, "!=" if negated else "=", accepted[0])
    return Member(field, accepted, negated)


def has(field: str, values: object, *, every: bool) -> Predicate:
    """`has_all(field, values)` or `has_any(field, values)`; of one value the two are the same.

    Raises:
        holdstill.InvalidPredicate: a value is null, NaN or infinite.
        holdstill.TypeMismatch: not a list, or a value that no field can hold.
    """
    accepted = accept_all(field, values)
    one = len(accepted) == 1 and not isinstance(accepted[0], Attribute)
    return Has(field, accepted, every or one)


def _predicate(other: object) -> Predicate:
    if isinstance(other, Predicate):
        return other
    raise InvalidPredicate(
        "only predicates combine with `&` and `|`",
        expected="a predicate, such as f.years_exp >= 5",
        got=other,
        hint="Put each comparison in parentheses: (f.years_exp >= 5) & (f.location == 'Berlin')",
    )
