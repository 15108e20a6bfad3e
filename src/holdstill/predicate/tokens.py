"""The text of a filter as tokens, and a cursor over them. sqlglot reads the quoting, numbers and symbols of SQL."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple, NoReturn

from holdstill.errors import PredicateSyntax
from holdstill.predicate.literals import PLAIN_NAME
from holdstill.text import clean

if TYPE_CHECKING:
    from sqlglot.tokens import Tokenizer

Kind = Literal["word", "quoted", "string", "number", "symbol", "end"]

_KINDS: dict[str, Kind] = {"VAR": "word", "IDENTIFIER": "quoted", "STRING": "string", "NUMBER": "number"}
_HINT = (
    "A filter has = != < <= > >=, between, in, is null, has, has_any, has_all, contains, phrase, and, or, not; "
    "no arithmetic, casts, comments, subqueries or other functions"
)


class Token(NamedTuple):
    """One token: `text` without its quotes, `start` counted from 0."""

    kind: Kind
    text: str
    start: int

    @property
    def word(self) -> str | None:
        """The word in lower case; None for anything else, a name in quotes included."""
        return self.text.lower() if self.kind == "word" else None

    @property
    def symbol(self) -> str | None:
        """The symbol; None for anything else."""
        return self.text if self.kind == "symbol" else None


class Cursor:
    """A place in the tokens of a text; `token` is the one that comes next.

    Args:
        text: the filter.
        source: the argument it came in, for messages.

    Raises:
        holdstill.PredicateSyntax: not a string, or a quote is never closed.
    """

    def __init__(self, text: str, source: str) -> None:
        self.source = source
        self._tokens = _tokens(text, source)
        self._text = clean(text)
        self._at = 0

    @property
    def token(self) -> Token:
        """The next token; after the last, one of kind `end`."""
        return self._tokens[self._at]

    def peek(self) -> Token:
        """The token after the next."""
        return self._tokens[min(self._at + 1, len(self._tokens) - 1)]

    def ahead(self, pattern: re.Pattern[str]) -> str | None:
        """What the pattern finds in the text where the next token begins; None where it finds nothing."""
        found = pattern.match(self._text, self.token.start)
        return None if found is None else found[0]

    def advance(self) -> Token:
        """Take the next token."""
        token = self.token
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def take(self, text: str) -> bool:
        """Take the next token if it is this word or symbol."""
        found = text in (self.token.word, self.token.symbol)
        if found:
            self.advance()
        return found

    def expect(self, text: str) -> None:
        """Take this word or symbol, or fail."""
        if not self.take(text):
            self.fail(f"`{text}`")

    def fail(
        self,
        expected: str,
        message: str = "the filter cannot be read",
        token: Token | None = None,
        hint: str | None = _HINT,
    ) -> NoReturn:
        """Say where the text stops making sense: at `token`, or at the next one."""
        token = token or self.token
        where = "at its end" if token.kind == "end" else f"at character {token.start + 1}"
        raise PredicateSyntax(
            f"{message} {where}",
            field=self.source,
            expected=expected,
            got=None if token.kind == "end" else token.text,
            hint=hint,
        )


def _tokens(text: str, source: str) -> list[Token]:
    if not isinstance(text, str):
        raise PredicateSyntax("a filter is a text", field=source, expected="a string", got=text)
    from sqlglot.errors import SqlglotError

    text = clean(text)
    try:
        found = _tokenizer()().tokenize(text)
    except SqlglotError as error:
        raise PredicateSyntax(
            "the filter cannot be read: a quote is never closed",
            field=source,
            expected="'text' or \"name\", with a quote inside doubled",
            got=text,
        ) from error
    tokens = [Token(_kind(token.token_type.name, token.text), token.text, token.start) for token in found]
    for token in found:
        if token.comments:  # Jinja's {# #}, which sqlglot skips whatever it is told
            raise PredicateSyntax(
                "the filter holds a comment", field=source, expected="no comments", got=token.comments[0], hint=_HINT
            )
    return [*tokens, Token("end", "", len(text))]


def _kind(type_: str, text: str) -> Kind:
    kind = _KINDS.get(type_, "symbol")
    return "symbol" if kind == "word" and not PLAIN_NAME.fullmatch(text) else kind


@cache
def _tokenizer() -> type[Tokenizer]:
    """sqlglot's tokenizer without SQL's hundreds of keywords, so that a field may be called `order` or `end`."""
    from sqlglot import Tokenizer, TokenType

    class FilterTokenizer(Tokenizer):
        KEYWORDS = {  # noqa: RUF012 - sqlglot's own declaration
            "<=": TokenType.LTE, ">=": TokenType.GTE, "<>": TokenType.NEQ, "!=": TokenType.NEQ, "==": TokenType.EQ,
        }  # fmt: skip
        COMMENTS = []  # noqa: RUF012
        COMMANDS = set()  # noqa: RUF012

    return FilterTokenizer
