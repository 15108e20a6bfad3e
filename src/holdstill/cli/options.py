"""What several commands take: the collection, who asks, `--json`; and how a collection is opened."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import click

from holdstill.config import lock_timeout, log_settings
from holdstill.errors import InvalidInput, InvalidPrincipal, InvalidSchema, MalformedInput
from holdstill.ingest.files import decode
from holdstill.ingest.jsonl import parse
from holdstill.policy import Principal
from holdstill.schema import Field

if TYPE_CHECKING:
    from holdstill.collection import Collection
    from holdstill.embedding import Embedder

Command = Callable[..., int]

_PRINCIPAL = '{"id": "ana", "groups": ["staff"], "attributes": {"tenant": "acme"}}'

COLLECTION = click.argument("collection", type=click.Path(path_type=Path))
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on standard output.")
WHERE = click.option(
    "--where", metavar="EXPR", help="A filter, as in \"years_exp >= 5 and location in ('Berlin', 'Remote')\"."
)
AT = click.option("--at", metavar="AT", help="As of a commit, a tag, or a time with its zone (2026-11-01T00:00:00Z).")
VECTOR_MODEL = click.option(
    "--vector-model", metavar="NAME", help="The documents bring vectors; the name of the model that made them."
)


class Asking(TypedDict):
    """Who asks, as the engine's calls take it."""

    principal: Principal | None
    operator: bool


def asking(command: Command) -> Command:
    """Give a command `--as` and `--operator`, which reach it as `caller`."""

    @click.option(
        "--as",
        "principal",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Ask as the principal in this JSON file.",
    )
    @click.option("--operator", is_flag=True, help="Ask as the operator, who sees everything.")
    @functools.wraps(command)
    def wrapped(*args: Any, principal: Path | None, operator: bool, **options: Any) -> int:
        if principal is not None and operator:
            raise click.UsageError("--as and --operator exclude each other", click.get_current_context())
        who = None if principal is None else read_principal(principal)
        return command(*args, caller=Asking(principal=who, operator=operator), **options)

    return wrapped


@dataclass(frozen=True, slots=True)
class EmbedderChoice:
    """What is to embed the texts.

    Attributes:
        named: its name as it was typed; None where nothing was said.
        settings: what else was said of it, by the names of its arguments.
    """

    named: str | None
    settings: Mapping[str, str]

    @property
    def name(self) -> str | None:
        """The name of the embedder as a collection has it, which may be one that only Python can load."""
        try:
            made = self.embedder
        except InvalidInput:
            return self.named
        return made if made is None or isinstance(made, str) else made.name

    @property
    def embedder(self) -> str | Embedder | None:
        """What `create` and `rebuild` take as the embedder.

        Raises:
            holdstill.InvalidInput: no embedder has that name, or takes those settings.
        """
        from holdstill.canonical import canonical_json
        from holdstill.embedding import load

        if self.named in (None, "none"):
            return self.named
        return load(self.named, canonical_json(self.settings) if self.settings else None)


def choosing_embedder(command: Command) -> Command:
    """Give a command `--embedder` and what goes with it, which reach it as `choice`."""

    @click.option(
        "--embedder",
        metavar="NAME|none",
        help="What embeds the texts: minilm (bundled, offline; that of a new collection if not said), none, "
        "sentence-transformers:MODEL, or "
        "openai:MODEL, which an OpenAI-compatible endpoint runs.",
    )
    @click.option(
        "--embedder-url", "url", metavar="URL", help="The base of the endpoint, as in http://localhost:8000/v1."
    )
    @click.option("--query-prefix", metavar="TEXT", help="Embedded before every question, as in 'query: '.")
    @click.option("--passage-prefix", metavar="TEXT", help="Embedded before every passage, as in 'passage: '.")
    @functools.wraps(command)
    def wrapped(
        *args: Any,
        embedder: str | None,
        url: str | None,
        query_prefix: str | None,
        passage_prefix: str | None,
        **options: Any,
    ) -> int:
        said = {"url": url, "query_prefix": query_prefix, "passage_prefix": passage_prefix}
        settings = {name: value for name, value in said.items() if value is not None}
        if settings and embedder in (None, "none"):
            option = "--embedder-url" if "url" in settings else f"--{min(settings).replace('_', '-')}"
            raise InvalidInput(
                f"{option} says how an embedder is made, and none is named",
                field="embedder",
                expected="--embedder openai:MODEL or sentence-transformers:MODEL with it",
                got=embedder,
            )
        return command(*args, choice=EmbedderChoice(embedder, settings), **options)

    return wrapped


def check_vector_options(choice: EmbedderChoice, vector_model: str | None) -> None:
    """Refuse an embedder and brought vectors together.

    Raises:
        holdstill.InvalidInput: both are named.
    """
    if vector_model is not None and choice.named not in (None, "none"):
        raise InvalidInput(
            "the documents bring vectors, so nothing embeds them",
            field="embedder",
            expected="either --embedder or --vector-model",
            got=choice.named,
        )


def read_principal(path: Path) -> Principal:
    """The principal that a JSON file describes.

    Raises:
        holdstill.InvalidPrincipal: the file cannot be read, or is not `{"id", "groups", "attributes"}`.
    """
    try:
        return Principal.from_dict(read_json(path))
    except MalformedInput as error:
        raise _not_a_principal(f"no principal: {error.message}", error) from error
    except InvalidPrincipal as error:
        raise _not_a_principal(f"{str(path)!r} holds no principal: {error.message}", error) from error


def _not_a_principal(message: str, error: InvalidInput) -> InvalidPrincipal:
    named = InvalidPrincipal(message, field=error.field, expected=error.expected or _PRINCIPAL, hint=error.hint)
    named.got = error.got
    return named


def read_json(path: Path) -> Any:
    """The value in a small JSON file.

    Raises:
        holdstill.MalformedInput: it cannot be read, or is not JSON; named.
    """
    text = read_text(path)
    try:
        return parse(text)
    except MalformedInput as error:
        raise _named(path, error) from error


def read_text(path: Path) -> str:
    """The text of a small file.

    Raises:
        holdstill.MalformedInput: it cannot be read, or is not UTF-8; named.
    """
    try:
        return decode(path.read_bytes())
    except OSError as error:
        raise MalformedInput(f"{str(path)!r} cannot be read: {error.strerror}", field=str(path)) from error
    except MalformedInput as error:
        raise _named(path, error) from error


def _named(path: Path, error: MalformedInput) -> MalformedInput:
    return MalformedInput(f"{str(path)!r}: {error.message}", field=str(path), hint=error.hint)


def read_field(spec: str) -> Field:
    """The field that `NAME:TYPE` says.

    Raises:
        holdstill.InvalidSchema: it is not of that form, or no field can have that name or type.
    """
    name, colon, type_ = spec.rpartition(":")
    if not colon:
        raise InvalidSchema(
            "a field is written with its type", field="field", expected="NAME:TYPE, as in years_exp:int", got=spec
        )
    return Field(name, type_)  # type: ignore[arg-type]  # Field checks it


def opened(path: Path, embedder: Embedder | None = None) -> Collection:
    """The collection at the path, held until it is closed."""
    from holdstill.opening import open as open_collection

    return open_collection(path, embedder=embedder, lock_timeout=lock_timeout(), log=log_settings())
