"""What every embedder offers, and the checks that are made of each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from holdstill.errors import EmbedderFailed, HoldstillError, InvalidInput
from holdstill.text import clean

MAX_DIMENSIONS = 4096
MIN_WINDOW = 16
_MEMBERS = ("name", "dimensions", "window", "digest", "count_tokens", "embed")


class Embedder(Protocol):
    """Turns texts into vectors, each text on its own: its neighbours in a batch must not move its vector.

    The metric is cosine, so the length of a vector means nothing; zero, NaN and infinite vectors are refused.

    An embedder may also have `query_prefix` and `passage_prefix`, texts that are put before what it embeds: see
    `as_query` and `as_passage`. Its digest covers them.
    """

    @property
    def name(self) -> str:
        """What people call it: `minilm`."""

    @property
    def dimensions(self) -> int:
        """The length of its vectors, 1 to 4,096."""

    @property
    def window(self) -> int | None:
        """The longest text it reads, in tokens, special ones included; at least 16. None: no limit."""

    @property
    def digest(self) -> str:
        """`sha256:...` over all that can move a vector: weights, tokenizer, pooling, normalisation, prefix, runtime.

        Rows and questions of different digests are never compared. It is asked for often and should be cheap.
        """

    def count_tokens(self, text: str) -> int:
        """How much of the window the text takes, special tokens included; never less for more words.

        A safe overestimate will do where the tokenizer is out of reach.
        """

    def embed(self, texts: Sequence[str]) -> NDArray[np.floating[Any]]:
        """One row a text, `(len(texts), dimensions)`, float32 or float64.

        Raises:
            holdstill.InvalidInput: a text is longer than the window; nothing is ever cut in silence.
            holdstill.EmbedderFailed: the model cannot be loaded or run.
        """


class NamedEmbedder(ABC):
    """What those embedders share that holdstill makes again by name and settings, as the command line has to."""

    @property
    @abstractmethod
    def settings(self) -> str:
        """How it is made again, as canonical JSON, which `holdstill.embedding.load` reads; it holds no secret."""

    @property
    @abstractmethod
    def runtime(self) -> str:
        """What runs it, with versions."""

    @abstractmethod
    def recalled(self, settings: str) -> Embedder:
        """The embedder to use with rows that one of these settings has made; itself, if the digest tells all."""

    @abstractmethod
    def renewed(self) -> Embedder:
        """The embedder for a new generation: the same name and settings, and the weights that go by them now."""

    @abstractmethod
    def uncached(self) -> Embedder:
        """The same embedder, computing every vector anew; itself, if it does so anyway."""


def other_model_hint(name: str) -> str:
    """What to do where the rows are of another model than the embedder of that name."""
    return (
        f"Vectors of two models are never compared. `holdstill rebuild COLLECTION --embedder {name}` makes a "
        "generation with its vectors; until then words alone can be asked (--arm lexical); "
        "in Python, `collection.rebuild(embedder=...)` and `arms=['lexical']`"
    )


def as_query(embedder: Embedder, text: str) -> str:
    """What is embedded for a question: the text behind the embedder's `query_prefix`, if it has one."""
    return _prefix(embedder, "query_prefix") + text


def as_passage(embedder: Embedder, text: str) -> str:
    """What is embedded for a passage: the text behind the embedder's `passage_prefix`, if it has one."""
    return _prefix(embedder, "passage_prefix") + text


def _prefix(embedder: Embedder, name: str) -> str:
    return checked_prefix(f"embedder.{name}", getattr(embedder, name, ""))


def checked_prefix(field: str, prefix: object) -> str:
    """The prefix, if it is text that can be stored.

    Raises:
        holdstill.InvalidInput: it is not.
    """
    if isinstance(prefix, str) and clean(prefix) == prefix:
        return prefix
    raise InvalidInput(f"{field} cannot be used", field=field, expected="a text, which may be empty", got=prefix)


def check_shape(embedder: Embedder) -> None:
    """Refuse an embedder whose own description cannot be right.

    Raises:
        holdstill.InvalidInput: its name, dimensions, window or digest is not what the protocol asks.
    """
    lacking = [member for member in _MEMBERS if not hasattr(embedder, member)]
    if lacking:
        raise InvalidInput(
            "the embedder cannot be used",
            field="embedder",
            expected="an object with " + ", ".join(_MEMBERS),
            got=embedder,
            hint="It lacks " + ", ".join(lacking),
        )
    name, digest, window = embedder.name, embedder.digest, embedder.window
    expectations = (
        ("name", name, isinstance(name, str) and bool(name.strip()), "a name that is not blank"),
        ("digest", digest, isinstance(digest, str) and bool(digest.strip()), "a string, as in 'sha256:...'"),
        (
            "dimensions",
            embedder.dimensions,
            _whole(embedder.dimensions) and 1 <= embedder.dimensions <= MAX_DIMENSIONS,
            f"a whole number from 1 to {MAX_DIMENSIONS}",
        ),
        (
            "window",
            window,
            window is None or (_whole(window) and window >= MIN_WINDOW),
            f"None, or a whole number of tokens, {MIN_WINDOW} or more",
        ),
    )
    for field, value, holds, expected in expectations:
        if not holds:
            raise InvalidInput(
                f"the embedder's {field} cannot be used", field=f"embedder.{field}", expected=expected, got=value
            )


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def token_count(embedder: Embedder, text: str) -> int:
    """How much of the window the text takes.

    Raises:
        holdstill.EmbedderFailed: the embedder raised, or did not give a number.
    """
    try:
        count = embedder.count_tokens(text)
    except HoldstillError:
        raise
    except Exception as error:  # another's code may raise anything
        raise _failed(embedder, f"raised {type(error).__name__}: {error}") from error
    if not _whole(count) or count < 0:
        raise _failed(embedder, "did not count tokens", expected="a whole number, 0 or more", got=count)
    return count


def fits(embedder: Embedder, text: str) -> bool:
    """Whether the embedder reads the text whole.

    Raises:
        holdstill.EmbedderFailed: it cannot count the text's tokens.
    """
    return embedder.window is None or token_count(embedder, text) <= embedder.window


def require_window(embedder: Embedder, counts: Iterable[int]) -> None:
    """Refuse texts that the embedder would have to cut, by the tokens that each has.

    Raises:
        holdstill.InvalidInput: a text is longer than the window.
    """
    for row, tokens in enumerate(counts):
        if embedder.window is not None and tokens > embedder.window:
            raise InvalidInput(
                f"text {row} is longer than the window of the model {embedder.name!r}",
                field="texts",
                expected=f"at most {embedder.window} tokens, the first and last included",
                got=tokens,
                hint="Split it first, as holdstill.splitting does; no text is cut in silence",
            )


def embed_rows(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float64]:
    """The vectors of the texts, `(len(texts), dimensions)`, checked: finite, and none of them zero.

    Raises:
        holdstill.EmbedderFailed: the embedder raised, or gave rows that cannot be used; the message says which.
        holdstill.InvalidInput: a text is longer than the embedder's window.
    """
    try:
        rows = np.asarray(embedder.embed(texts), dtype=np.float64)
    except HoldstillError:
        raise
    except Exception as error:  # another's code may raise anything
        raise _failed(embedder, f"raised {type(error).__name__}: {error}") from error
    wanted = (len(texts), embedder.dimensions)
    if rows.shape != wanted:
        raise _failed(embedder, "gave rows of the wrong shape", expected=str(wanted), got=rows.shape)
    unusable = ~np.isfinite(rows).all(axis=1) | ~rows.any(axis=1)
    if unusable.any():
        row = int(np.argmax(unusable))
        raise _failed(embedder, f"gave a zero, NaN or infinite vector for text {row}", got=texts[row])
    return rows


def _failed(embedder: Embedder, what: str, *, expected: str | None = None, got: object = None) -> EmbedderFailed:
    return EmbedderFailed(f"the embedder {embedder.name!r} {what}", field="embedder", expected=expected, got=got)
