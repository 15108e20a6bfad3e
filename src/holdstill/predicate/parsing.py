"""Predicates written as SQL: `years_exp >= 5 and location in ('Berlin', 'Remote')`.

sqlglot reads the tokens; the grammar over them is small and is read here, because a general SQL parser accepts what
this language must refuse (`x = 12abc` as an alias, `'a' 'b'` as one string), gives up at some 45 parentheses, and
reserves words that people use as names of fields (`date`, `order`, `end`, `format`).

    predicate   = conjunction {"or" conjunction}
    conjunction = negation {"and" negation}
    negation    = {"not"} ("(" predicate ")" | condition)
    condition   = "true" | "false" | call | value OPERATOR field
                | field [OPERATOR value | "is" ["not"] "null"
                         | ["not"] "in" list | ["not"] "between" value "and" value]
    call        = ("has" | "has_any" | "has_all") "(" field {"," value} ")"
                | ("contains" | "phrase") "(" "text" "," value ")"
    list        = "(" [value {"," value}] ")" | ":" NAME | "principal" "." NAME
    value       = string | number | "true" | "false" | ("date" | "datetime" | "timestamp") string
                | ":" NAME | "principal" "." NAME
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import cast

from holdstill.errors import InvalidDocument, InvalidPredicate, PredicateSyntax
from holdstill.predicate.literals import KEYWORDS, MAX_DIGITS, Attribute, accept
from holdstill.predicate.nodes import (
    MAX_DEPTH,
    Compare,
    Constant,
    Null,
    Operator,
    Predicate,
    TextKind,
    TextLeaf,
    has,
    join,
    member,
)
from holdstill.predicate.tokens import Cursor
from holdstill.schema import Field, FieldType

_OPERATORS: dict[str | None, Operator] = {
    "=": "=", "==": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=",
}  # fmt: skip
_FLIPPED: dict[Operator, Operator] = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_CONSTANTS = {"true": True, "false": False, "null": None}
_MOMENTS: dict[str | None, FieldType] = {"date": "date", "datetime": "datetime", "timestamp": "datetime"}
_BARE_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_LIST_CALLS, _TEXT_CALLS = ("has", "has_any", "has_all"), ("contains", "phrase")


def parse(text: str, params: Mapping[str, object] | None = None) -> Predicate:
    """The predicate that a text in the SQL spelling says.

    Args:
        text: for example `years_exp >= :least and has_any(skills, :skills)`.
        params: the value of each `:name` in the text; where a list may stand, a list.

    Raises:
        holdstill.PredicateSyntax: the text cannot be read, or uses something outside the language.
        holdstill.InvalidPredicate: a parameter is missing or unused, or something is compared with null.
        holdstill.TypeMismatch: a parameter that no field can hold.
    """
    return _Reader(Cursor(text, "where"), dict(params or {}), policy=False).read()


def parse_policy(text: str) -> Predicate:
    """As `parse`, without parameters; `principal.NAME` may stand for a value or a list.

    Raises:
        holdstill.PredicateSyntax: the text cannot be read, or uses something outside the language.
        holdstill.InvalidPredicate: something is compared with null.
    """
    return _Reader(Cursor(text, "policy"), {}, policy=True).read()


class _Reader:
    """Reads one text from left to right; each method takes the tokens of one rule of the grammar."""

    def __init__(self, cursor: Cursor, params: Mapping[str, object], *, policy: bool) -> None:
        self._cursor = cursor
        self._params = params
        self._used: set[str] = set()
        self._policy = policy
        self._depth = 0

    def read(self) -> Predicate:
        predicate = self._predicate()
        if self._cursor.token.kind != "end":
            self._cursor.fail("`and`, `or` or the end")
        unused = sorted(str(name) for name in self._params if name not in self._used)
        if unused:
            raise InvalidPredicate(
                f"the parameter {unused[0]!r} is not used", field=unused[0], expected=f":{unused[0]} in the filter"
            )
        return predicate

    def _predicate(self) -> Predicate:
        parts = [self._conjunction()]
        while self._cursor.take("or"):
            parts.append(self._conjunction())
        return join("or", parts)

    def _conjunction(self) -> Predicate:
        parts = [self._negation()]
        while self._cursor.take("and"):
            parts.append(self._negation())
        return join("and", parts)

    def _negation(self) -> Predicate:
        negated = False
        while self._cursor.take("not"):
            negated = not negated
        predicate = self._parenthesised() if self._cursor.take("(") else self._condition()
        return ~predicate if negated else predicate

    def _parenthesised(self) -> Predicate:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise PredicateSyntax(
                "the filter is nested too deeply",
                field=self._cursor.source,
                expected=f"at most {MAX_DEPTH} parentheses within one another",
            )
        predicate = self._predicate()
        self._cursor.expect(")")
        self._depth -= 1
        return predicate

    def _condition(self) -> Predicate:
        if self._cursor.token.kind == "word" and self._cursor.peek().symbol == "(":
            return self._call()
        if self._value_ahead():
            return self._value_first()
        field = self._field()
        operator = _OPERATORS.get(self._cursor.token.symbol)
        if operator is not None:
            self._cursor.advance()
            return Compare(field, operator, accept(field, self._value()))
        if self._cursor.take("is"):
            negated = self._cursor.take("not")
            self._cursor.expect("null")
            return Null(field, negated)
        return self._range_or_list(field)

    def _range_or_list(self, field: str) -> Predicate:
        negated = self._cursor.take("not")
        if self._cursor.take("in"):
            return member(field, self._list(), negated=negated)
        if self._cursor.take("between"):
            low = Compare(field, ">=", accept(field, self._value()))
            self._cursor.expect("and")
            inside = low & Compare(field, "<=", accept(field, self._value()))
            return ~inside if negated else inside
        if negated:
            self._cursor.fail("`in` or `between`")
        token = self._cursor.token
        if token.kind != "end" and token.symbol != ")" and token.word not in ("and", "or"):
            self._cursor.fail("one of = != < <= > >=, between, in, is null")
        return Compare(field, "=", True)  # a bare name asks that a bool field be true

    def _value_first(self) -> Predicate:
        word = self._cursor.token.word
        value = self._value()
        operator = _OPERATORS.get(self._cursor.token.symbol)
        if operator is None:
            if word in ("true", "false"):
                return Constant(word == "true")
            self._cursor.fail("a comparison with a field")
        self._cursor.advance()
        if self._value_ahead():
            self._cursor.fail("a field: values are not compared with one another")
        field = self._field()
        return Compare(field, _FLIPPED[operator], accept(field, value))

    def _call(self) -> Predicate:
        name = self._cursor.token.word
        if name not in (*_LIST_CALLS, *_TEXT_CALLS):
            known = ", ".join((*_LIST_CALLS, *_TEXT_CALLS))
            self._cursor.fail(f"a condition; the only functions are {known}")
        self._cursor.advance()
        self._cursor.expect("(")
        predicate = self._text_call(cast(TextKind, name)) if name in _TEXT_CALLS else self._list_call(name)
        self._cursor.expect(")")
        return predicate

    def _text_call(self, name: TextKind) -> Predicate:
        if not self._cursor.take("text"):
            self._cursor.fail(f"`text`: {name} searches the text, title and headings included, and no field", hint=None)
        self._cursor.expect(",")
        return TextLeaf(name, cast(str, self._value()))

    def _list_call(self, name: str) -> Predicate:
        field = self._field()
        values: list[object] = []
        if name == "has":
            self._cursor.expect(",")
            token = self._cursor.token
            values = [self._value()]
            if _is_list(values[0]) or values[0] == Attribute("groups"):
                self._cursor.fail("one value; has_any and has_all take lists", token=token)
            return has(field, values, every=True)
        while self._cursor.take(","):
            values.append(self._value())
        return has(field, _flat(values), every=name == "has_all")

    def _list(self) -> object:
        if not self._cursor.take("("):
            self._check_principal()
            if self._cursor.token.symbol != ":" and not self._principal_ahead():
                self._cursor.fail("`(`")
            listed = self._value()
            return [listed] if isinstance(listed, Attribute) else listed
        values: list[object] = []
        if self._cursor.token.symbol != ")":
            values.append(self._value())
            while self._cursor.take(","):
                values.append(self._value())
        self._cursor.expect(")")
        return _flat(values)

    def _field(self) -> str:
        self._check_principal()
        token = self._cursor.token
        named = token.kind == "quoted" or (token.kind == "word" and token.word not in KEYWORDS)
        if not named or not token.text or self._cursor.peek().symbol in (".", "("):
            self._cursor.fail("a field")
        return self._cursor.advance().text

    def _value(self) -> object:
        self._check_principal()
        token = self._cursor.token
        if not self._value_ahead() and token.word != "null":
            self._cursor.fail("a value, not a field: 5, 'text' in single quotes, true, date '2018-01-01' or :name")
        if self._principal_ahead():
            return self._attribute()
        if bare := self._cursor.ahead(_BARE_DATE):
            self._cursor.fail(f"date '{bare}'", "a date is not in quotes", token._replace(text=bare), hint=None)
        self._cursor.advance()
        if token.kind == "string":
            return token.text
        if token.word in _MOMENTS:
            return self._moment(_MOMENTS[token.word])
        if token.word is not None:
            return _CONSTANTS[token.word]
        if token.symbol == ":":
            return self._param()
        return self._number(self._cursor.advance().text, sign="-") if token.symbol else self._number(token.text)

    def _number(self, digits: str, sign: str = "") -> int | float:
        if len(digits) > MAX_DIGITS:
            raise PredicateSyntax(
                "a number is too long", field=self._cursor.source, expected=f"at most {MAX_DIGITS} digits"
            )
        try:
            return int(sign + digits) if digits.isdecimal() else float(sign + digits)
        except ValueError:
            self._cursor.fail("a number before this", f"{digits!r} is no number")

    def _moment(self, type_: FieldType) -> object:
        token = self._cursor.advance()
        try:
            return Field("literal", type_).accept(token.text)
        except InvalidDocument as error:
            self._cursor.fail(f"{error.expected}, in quotes", f"this is no {type_}", token, hint=None)

    def _param(self) -> object:
        name = self._cursor.token.text
        if self._policy or self._cursor.token.kind != "word":
            self._cursor.fail("a value: a policy has no parameters" if self._policy else "a parameter's name")
        if name not in self._params:
            known = ", ".join(sorted(map(str, self._params))) or "nothing"
            raise InvalidPredicate(
                f"the parameter {name!r} has no value", field=name, expected=f"it in params, which hold {known}"
            )
        self._used.add(name)
        self._cursor.advance()
        return self._params[name]

    def _attribute(self) -> Attribute:
        if not self._policy:
            self._cursor.fail("a value", "only a policy knows the principal; the filter cannot be read")
        self._cursor.advance()
        self._cursor.expect(".")
        if self._cursor.token.kind not in ("word", "quoted"):
            self._cursor.fail("the name of an attribute")
        return Attribute(self._cursor.advance().text)

    def _value_ahead(self) -> bool:
        token, after = self._cursor.token, self._cursor.peek()
        if token.symbol == "-":
            return after.kind == "number"
        if token.word in _MOMENTS:
            return after.kind == "string"
        literal = token.kind in ("string", "number") or token.symbol == ":" or token.word in ("true", "false")
        return literal or self._principal_ahead()

    def _check_principal(self) -> None:
        misspelled = self._cursor.token.word not in (None, "principal") and self._cursor.peek().symbol == "."
        if self._policy and misspelled:
            self._cursor.fail("principal.NAME", hint="Did you mean `principal`?")

    def _principal_ahead(self) -> bool:
        return self._cursor.token.word == "principal" and self._cursor.peek().symbol == "."


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))


def _flat(values: list[object]) -> list[object]:
    """The values, with the members of those that are lists in their place."""
    flat: list[object] = []
    for value in values:
        flat.extend(cast(Iterable[object], value) if _is_list(value) else (value,))
    return flat
