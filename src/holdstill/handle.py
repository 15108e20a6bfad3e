"""What every call of a collection stands on: the store, the embedders at hand, and the snapshot that is meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from holdstill.access import Asking, require_operator
from holdstill.arguments import as_ids, as_mapping
from holdstill.audit.log import SearchLog
from holdstill.audit.recording import Recorder
from holdstill.config import LogSettings
from holdstill.embedding import DEFAULT, Embedder, Embedding
from holdstill.errors import InvalidQuery
from holdstill.models import matching, recalled
from holdstill.predicate import Predicate, parse
from holdstill.stores.base import Generation, Selection, Snapshot, Store, first_rows
from holdstill.text import clean
from holdstill.timeline import At, resolve

Where = Predicate | str | None


class Handle:
    """A collection, open: a context manager that any number of threads may share."""

    def __init__(self, path: Path, store: Store, embedder: Embedder | None, log: LogSettings) -> None:
        self.path = path
        self._store = store
        self._log = SearchLog(path.resolve(), log)
        self._recorder = Recorder(self._log, log, store.identity)
        self._embedders: list[Embedder] = [] if embedder is None else [embedder]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    def close(self) -> None:
        """Let go of the collection, so that another process can open it."""
        self._store.close()
        self._log.close()

    @contextmanager
    def _reading(self, at: At = None) -> Iterator[Snapshot]:
        """The snapshot that is meant, whose rows stay while it is read."""
        with self._store.reading():
            yield self._store.snapshot(None if at is None else resolve(self._store.history, at))

    @contextmanager
    def _operating(self, principal: Asking, *, operator: bool) -> Iterator[Store]:
        """The store, for the operator alone.

        Raises:
            holdstill.OperatorRequired: the collection has a policy and the caller is not the operator.
        """
        require_operator(self._store.snapshot(), principal, operator=operator)
        yield self._store

    def _embedding(self, generation: Generation) -> Embedding:
        return lambda: matching(generation, self._embedder(generation))

    def _embedder(self, generation: Generation) -> Embedder | None:
        """Of the embedders given, the one for the generation; None where none is needed, or it has a name to load."""
        for given in reversed(self._embedders):
            each = recalled(generation, given)
            if each.digest == generation.model or (generation.brought and each.name == generation.embedder):
                return each
        named = generation.embedder == DEFAULT or generation.settings is not None
        return self._embedders[-1] if self._embedders and not named and not generation.brought else None


def select(snapshot: Snapshot, where: Predicate | None, allowed: Predicate | None) -> Selection:
    """The documents that may be seen, and those of them that satisfy `where`."""
    return snapshot.select(allowed, None if where is None else where.check(snapshot.schema), by="document")


def named(snapshot: Snapshot, ids: str | Iterable[str], where: Predicate | None) -> tuple[list[str], tuple[str, ...]]:
    """The documents that a write is about, and the ids that are not there.

    Raises:
        holdstill.InvalidQuery: neither ids nor `where`, or both.
    """
    given = ids_or_where(ids, where)
    if where is not None:
        selection = select(snapshot, where, None)
        return snapshot.ids(first_rows(selection.eligible, selection.units)), ()
    live = snapshot.existing([id_ for id_ in given if storable(id_)])
    return [id_ for id_ in given if id_ in live], tuple(id_ for id_ in given if id_ not in live)


def ids_or_where(ids: str | Iterable[str], where: Predicate | None) -> list[str]:
    """The ids that a write names, if it says by them, or by `where`, which documents it is about; raises as `named`."""
    given = as_ids(ids)
    if bool(given) == (where is not None):
        raise InvalidQuery(
            "a write must say which documents it is about", field="ids", expected="either ids or `where`", got=given
        )
    return given


def storable(id: str) -> bool:  # noqa: A002 - the field's name everywhere
    """Whether a document could have this id at all."""
    return clean(id) == id


def as_predicate(where: Where, params: Mapping[str, object] | None) -> Predicate | None:
    """A filter, as a predicate."""
    if isinstance(where, str):
        return parse(where, None if params is None else as_mapping("params", params))
    if where is not None and not isinstance(where, Predicate):
        raise InvalidQuery("where cannot be used", field="where", expected="a predicate or its SQL spelling", got=where)
    if params:
        raise InvalidQuery("params belong to a spelled filter", field="params", expected="where as text", got=params)
    return where
