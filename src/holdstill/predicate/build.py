"""Predicates written in Python: `(f.years_exp >= 5) & f.location.isin(["Berlin", "Remote"])`."""

from __future__ import annotations

from typing import NoReturn

from holdstill.errors import InvalidPredicate
from holdstill.predicate.literals import accept
from holdstill.predicate.nodes import Compare, Null, Operator, Predicate, TextLeaf, has, join, member
from holdstill.text import clean


class Column:
    """A field, waiting for an operator. Comparing it gives a predicate; it is not one itself.

    Every operator raises `holdstill.InvalidPredicate` for null, NaN and infinities, and `holdstill.TypeMismatch` for
    values that no field can hold; whether a value fits the field is known when the predicate meets a schema.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __eq__(self, value: object) -> Predicate:  # type: ignore[override]
        return self._compare("=", value)

    def __ne__(self, value: object) -> Predicate:  # type: ignore[override]
        return self._compare("!=", value)

    def __lt__(self, value: object) -> Predicate:
        return self._compare("<", value)

    def __le__(self, value: object) -> Predicate:
        return self._compare("<=", value)

    def __gt__(self, value: object) -> Predicate:
        return self._compare(">", value)

    def __ge__(self, value: object) -> Predicate:
        return self._compare(">=", value)

    __hash__ = None  # type: ignore[assignment]

    def between(self, low: object, high: object) -> Predicate:
        """From `low` to `high`, both included."""
        return join("and", (self >= low, self <= high))

    def isin(self, values: object) -> Predicate:
        """Equal to one of the values; to none of an empty list."""
        return member(self._name, values)

    def not_in(self, values: object) -> Predicate:
        """Known, and equal to none of the values."""
        return member(self._name, values, negated=True)

    def is_null(self) -> Predicate:
        """Without a value."""
        return Null(self._name)

    def is_not_null(self) -> Predicate:
        """With a value."""
        return Null(self._name, negated=True)

    def has(self, value: object) -> Predicate:
        """A list that holds the value."""
        return has(self._name, (value,), every=True)

    def has_any(self, values: object) -> Predicate:
        """A list that holds one of the values."""
        return has(self._name, values, every=False)

    def has_all(self, values: object) -> Predicate:
        """A list that holds every one of the values."""
        return has(self._name, values, every=True)

    def contains(self, words: str) -> Predicate:
        """Only of `f.text`: a text that holds every term of the words."""
        self._only_text("contains")
        return TextLeaf("contains", words)

    def phrase(self, words: str) -> Predicate:
        """Only of `f.text`: a text that holds the terms of the words side by side, in order."""
        self._only_text("phrase")
        return TextLeaf("phrase", words)

    def __repr__(self) -> str:
        return f"f[{self._name!r}]"

    def _compare(self, operator: Operator, value: object) -> Predicate:
        if isinstance(value, Column):
            raise InvalidPredicate(
                "a field is compared with a value, not with another field", field=self._name, got=value
            )
        return Compare(self._name, operator, accept(self._name, value))

    def _only_text(self, name: str) -> None:
        if self._name != "text":
            raise InvalidPredicate(
                f"{name} searches the text, title and headings included, and no field",
                field=self._name,
                expected=f"f.text.{name}(...)",
                hint="A field's own value is compared with `==`, `isin` or, for lists, `has`",
            )

    def _no_predicate(self, _: object = None) -> NoReturn:
        raise InvalidPredicate(
            f"the field {self._name!r} alone is no condition",
            field=self._name,
            expected=f"a comparison, such as f.{self._name} == True",
            hint="Put each comparison in parentheses: (f.years_exp >= 5) & (f.work_auth == True)",
        )

    __bool__ = __invert__ = __and__ = __rand__ = __or__ = __ror__ = _no_predicate


class Fields:
    """The fields of any schema, by attribute or by key: `f.years_exp`, `f["years_exp"]`."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Column:
        if name.startswith("__"):
            raise AttributeError(name)
        return Column(name)

    def __getitem__(self, name: str) -> Column:
        if not isinstance(name, str) or not clean(name):
            raise InvalidPredicate("a field is named by a string", expected="a field's name", got=name)
        return Column(clean(name))

    def __repr__(self) -> str:
        return "f"


f = Fields()
