"""The handle a user holds: `Collection`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, cast

from numpy.typing import ArrayLike

from holdstill.access import Asking, permission, require_operator
from holdstill.adding import add
from holdstill.analysis import analyser as analyser_of
from holdstill.arguments import as_flag, as_ids, as_mapping
from holdstill.document import Document
from holdstill.embedding import Embedder, Embedding
from holdstill.errors import InvalidInput, InvalidQuery, InvalidVector, ModelMismatch, NotFound
from holdstill.ingest import Row
from holdstill.models import matching
from holdstill.policy import Policy
from holdstill.predicate import Predicate, parse
from holdstill.query import ArmName, Query, Settings, Unit, parse_order_by
from holdstill.refused import Refused
from holdstill.reports import AddReport, ChangeReport, Info
from holdstill.result import Result
from holdstill.schema import Field, FieldType, Schema
from holdstill.search import search
from holdstill.stores.base import (
    FORMAT,
    Generation,
    PreparedDocument,
    Progress,
    Selection,
    Snapshot,
    Store,
    StoredDocument,
    count_units,
    first_rows,
)
from holdstill.text import clean

Where = Predicate | str | None
P = ParamSpec("P")


def _off_the_loop(
    method: Callable[Concatenate[Collection, P], Result],
) -> Callable[Concatenate[Collection, P], Coroutine[Any, Any, Result]]:
    """The method as a coroutine function that runs it in a thread: the same arguments, the same answer."""

    @functools.wraps(method)
    async def asynchronous(self: Collection, /, *args: P.args, **kwargs: P.kwargs) -> Result:
        import asyncio

        return await asyncio.to_thread(method, self, *args, **kwargs)

    return asynchronous


class Collection:
    """A collection, open. A context manager; any number of threads may share it.

    Every call that touches rows takes `principal` or `operator`: who asks. Without a policy neither is needed.
    """

    def __init__(self, path: Path, store: Store, embedder: Embedder | None) -> None:
        self.path = path
        self._store = store
        self._embedder = embedder

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Collection({str(self.path)!r})"

    def close(self) -> None:
        """Let go of the collection, so that another process can open it."""
        self._store.close()

    # -- searching -------------------------------------------------------------------------------

    def search(
        self,
        text: str | None = None,
        *,
        vector: ArrayLike | Mapping[str, Any] | None = None,
        where: Where = None,
        params: Mapping[str, object] | None = None,
        must: Sequence[str] = (),
        must_not: Sequence[str] = (),
        k: int = 10,
        offset: int = 0,
        arms: Sequence[ArmName] | None = None,
        by: Unit = "passage",
        order_by: str | None = None,
        principal: Asking = None,
        operator: bool = False,
        settings: Settings | None = None,
    ) -> Result:
        """Search, and say what the answer proves.

        Args:
            text: the question, in plain words; no character of it is syntax. It may be left out where `where`, `must`
                or `must_not` is given: the answer is then all that satisfies them, unranked.
            vector: the question's vector, for the dense arm; or `{"model": NAME, "vector": [...]}`, checked against the
                collection's model.
            where: a filter, as a predicate or in its SQL spelling.
            params: values for the `:name`s of a spelled filter.
            must: terms or phrases that have to occur in the passage (or in the document, with `by="document"`).
            must_not: terms or phrases that may not.
            k: how many hits, 1 to 2^31 - 1.
            offset: how many hits to pass over.
            arms: the arms to ask, of `lexical` and `dense`; without it all that can answer.
            by: what is ranked and counted: `passage` or `document`.
            order_by: `FIELD` or `FIELD desc`, for an answer without text and vector; without it, by id.
            principal: who asks: a `Principal`, or `{"id", "groups", "attributes"}`.
            operator: whether the operator asks, who sees everything.
            settings: how arms are fused.

        Raises:
            holdstill.InvalidInput: an argument is out of range or does not fit the collection.
            holdstill.AccessDenied: the collection has a policy and nobody was named.
        """
        snapshot = self._store.snapshot()
        query = Query(
            text=text,
            vector=None if vector is None else _query_vector(vector, snapshot.generation),
            where=_predicate(where, params),
            must=cast(tuple[str, ...], must),
            must_not=cast(tuple[str, ...], must_not),
            k=k,
            offset=offset,
            arms=cast(tuple[ArmName, ...] | None, arms),
            by=by,
            order_by=None if order_by is None else parse_order_by(order_by),
            settings=Settings() if settings is None else settings,
        )
        return search(snapshot, query, self._embedding(snapshot), principal=principal, operator=operator)

    asearch = _off_the_loop(search)  #: `search`, off the event loop

    def get(self, id: str, *, principal: Asking = None, operator: bool = False) -> StoredDocument:  # noqa: A002
        """A document, whole.

        Raises:
            holdstill.NotFound: there is none of that id that the caller may see.
        """
        snapshot = self._store.snapshot()
        allowed = permission(snapshot, principal, operator=operator)
        (named,) = as_ids([id])
        found = snapshot.document(named, allowed) if _storable(named) else None
        if found is None:
            raise NotFound("there is no such document", field="id", got=id, hint="Ids are matched byte for byte")
        return found

    def count(
        self,
        where: Where = None,
        *,
        params: Mapping[str, object] | None = None,
        principal: Asking = None,
        operator: bool = False,
    ) -> int:
        """How many documents there are that the caller may see and that satisfy `where`."""
        snapshot = self._store.snapshot()
        allowed = permission(snapshot, principal, operator=operator)
        selection = _select(snapshot, _predicate(where, params), allowed)
        return count_units(selection.eligible, selection.units)

    def info(self, *, principal: Asking = None, operator: bool = False) -> Info:
        """What the collection is; counts are of what the caller may see."""
        snapshot = self._store.snapshot()
        selection = snapshot.select(permission(snapshot, principal, operator=operator), by="document")
        generation = snapshot.generation
        return Info(
            path=str(self.path),
            format=FORMAT,
            documents=count_units(selection.visible, selection.units),
            passages=selection.passages,
            commit=snapshot.commit,
            generation=generation.number,
            analyser=analyser_of(generation.analyser).identity,
            embedder=generation.embedder,
            brought=generation.brought,
            model=generation.model,
            dimensions=generation.dimensions,
            schema=snapshot.schema.types(),
            policy=snapshot.policy_version,
        )

    @property
    def schema(self) -> Schema:
        """The fields."""
        return self._store.snapshot().schema

    # -- writing ---------------------------------------------------------------------------------

    def add(
        self,
        documents: Iterable[Document | Row | Refused],
        *,
        strict: bool = False,
        principal: Asking = None,
        operator: bool = False,
        progress: Progress | None = None,
    ) -> AddReport:
        """Insert documents, or replace those of the same id, as one commit: all of it is visible, or none.

        A bad row is refused and listed, and the good ones are kept. Of rows with one id the first stands. A document
        that is stored already, just so, is not touched, and no text is embedded twice.

        Args:
            documents: documents, or what `holdstill.read` gives.
            strict: refuse the whole batch if one row is bad.
            principal: who writes; on a collection with a policy, only the operator may.
            operator: whether the operator writes.
            progress: called with what is being done, how much of it, and of how much.

        Raises:
            holdstill.BatchRefused: `strict`, and a row was refused; nothing was written.
            holdstill.OperatorRequired: the collection has a policy and the caller is not the operator.
            holdstill.NotWritable: the directory cannot be written.
        """
        if isinstance(documents, (Document, str)) or not isinstance(documents, Iterable):
            raise InvalidInput(
                "documents are added as a list", field="documents", expected="an iterable of documents", got=documents
            )
        snapshot = self._store.snapshot()
        require_operator(snapshot, principal, operator=operator)
        return add(
            self._store, documents, self._embedding(snapshot), strict=as_flag("strict", strict), progress=progress
        )

    def delete(
        self,
        ids: Iterable[str] = (),
        *,
        where: Where = None,
        params: Mapping[str, object] | None = None,
        principal: Asking = None,
        operator: bool = False,
    ) -> ChangeReport:
        """Remove documents by id, or all those that satisfy `where`.

        Raises:
            holdstill.InvalidQuery: neither ids nor `where`, or both.
            holdstill.OperatorRequired: the collection has a policy and the caller is not the operator.
        """
        require_operator(self._store.snapshot(), principal, operator=operator)
        with self._store.writing():
            snapshot = self._store.snapshot()
            found, missing = self._named(snapshot, ids, _predicate(where, params))
            commit = self._store.remove(found) if found else snapshot.commit
        return ChangeReport(len(found), missing, commit)

    def update(
        self,
        ids: str | Iterable[str] = (),
        *,
        fields: Mapping[str, Any],
        where: Where = None,
        params: Mapping[str, object] | None = None,
        principal: Asking = None,
        operator: bool = False,
    ) -> ChangeReport:
        """Set fields of documents, by id or by `where`; text, vectors and postings are not touched.

        Raises:
            holdstill.InvalidQuery: neither ids nor `where`, or both; or no fields.
            holdstill.UnknownField: a field that the schema lacks.
            holdstill.InvalidDocument: a value that its field does not take; nothing was changed.
            holdstill.OperatorRequired: the collection has a policy and the caller is not the operator.
        """
        require_operator(self._store.snapshot(), principal, operator=operator)
        given = as_mapping("fields", fields)
        if not given:
            raise InvalidQuery("an update sets nothing", field="fields", expected="at least one field")
        with self._store.writing():
            snapshot = self._store.snapshot()
            values = {name: snapshot.schema[name].accept(value) for name, value in given.items()}
            found, missing = self._named(snapshot, ids, _predicate(where, params))
            changed = _updated(snapshot, found, values)
            commit = self._store.put(changed) if changed else snapshot.commit
        return ChangeReport(len(changed), missing, commit)

    def add_field(
        self,
        name: str,
        type: FieldType,  # noqa: A002 - the word for it
        *,
        principal: Asking = None,
        operator: bool = False,
    ) -> int:
        """Add a field to the schema, null in every document so far; returns the commit.

        Raises:
            holdstill.InvalidSchema: a bad name, an unknown type, or a field of that name exists.
            holdstill.OperatorRequired: the collection has a policy and the caller is not the operator.
        """
        require_operator(self._store.snapshot(), principal, operator=operator)
        with self._store.writing():
            field = Field(name, type)
            Schema((*self._store.snapshot().schema, field))
            return self._store.add_field(field)

    # -- policy ----------------------------------------------------------------------------------

    def set_policy(self, text: str, *, principal: Asking = None, operator: bool = False) -> int:
        """Put a policy in force: one predicate over fields and `principal.NAME`; returns its version.

        Raises:
            holdstill.InvalidPredicate: it cannot be read, or does not fit the schema.
            holdstill.OperatorRequired: a policy is in force already and the caller is not the operator.
        """
        require_operator(self._store.snapshot(), principal, operator=operator)
        with self._store.writing():
            return self._store.set_policy(Policy.parse(text, self._store.snapshot().schema))

    def policy(self, *, principal: Asking = None, operator: bool = False) -> str | None:
        """The policy in force, or None.

        Raises:
            holdstill.OperatorRequired: there is one and the caller is not the operator.
        """
        snapshot = self._store.snapshot()
        require_operator(snapshot, principal, operator=operator)
        return None if snapshot.policy is None else str(snapshot.policy)

    def check(self, *, principal: Asking = None, operator: bool = False) -> list[str]:
        """What is wrong with the files derived from the database, in words; each is rebuilt.

        Raises:
            holdstill.OperatorRequired: the collection has a policy and the caller is not the operator.
            holdstill.NotWritable: the directory cannot be written.
        """
        require_operator(self._store.snapshot(), principal, operator=operator)
        return self._store.check()

    # -- shared ----------------------------------------------------------------------------------

    def _embedding(self, snapshot: Snapshot) -> Embedding:
        return lambda: matching(snapshot.generation, self._embedder)

    def _named(
        self, snapshot: Snapshot, ids: str | Iterable[str], where: Predicate | None
    ) -> tuple[list[str], tuple[str, ...]]:
        """The documents that a write is about, and the ids that are not there."""
        named = as_ids(ids)
        if bool(named) == (where is not None):
            raise InvalidQuery(
                "a write must say which documents it is about", field="ids", expected="either ids or `where`", got=named
            )
        if where is not None:
            selection = _select(snapshot, where, None)
            return snapshot.ids(first_rows(selection.eligible, selection.units)), ()
        live = snapshot.existing([id_ for id_ in named if _storable(id_)])
        return [id_ for id_ in named if id_ in live], tuple(id_ for id_ in named if id_ not in live)


def _select(snapshot: Snapshot, where: Predicate | None, allowed: Predicate | None) -> Selection:
    """The documents that may be seen, and those of them that satisfy `where`."""
    return snapshot.select(allowed, None if where is None else where.check(snapshot.schema), by="document")


def _storable(id: str) -> bool:  # noqa: A002 - the field's name everywhere
    """Whether a document could have this id at all."""
    return clean(id) == id


def _updated(snapshot: Snapshot, ids: Sequence[str], values: Mapping[str, Any]) -> list[PreparedDocument]:
    changed = []
    names = list(snapshot.schema.types())
    for id_, stored in snapshot.existing(ids).items():
        fields = tuple(values.get(name, old) for name, old in zip(names, stored.values, strict=True))
        if fields != stored.values:
            changed.append(PreparedDocument(id_, "", stored.content, fields, stored.metadata, None))
    return changed


def _predicate(where: Where, params: Mapping[str, object] | None) -> Predicate | None:
    if isinstance(where, str):
        return parse(where, None if params is None else as_mapping("params", params))
    if where is not None and not isinstance(where, Predicate):
        raise InvalidQuery("where cannot be used", field="where", expected="a predicate or its SQL spelling", got=where)
    if params:
        raise InvalidQuery("params belong to a spelled filter", field="params", expected="where as text", got=params)
    return where


def _query_vector(vector: ArrayLike | Mapping[str, Any], generation: Generation) -> Any:
    """The numbers of a query's vector, once its model, where it names one, is found to be the rows'."""
    if not isinstance(vector, Mapping):
        return vector
    if set(vector) != {"model", "vector"}:
        raise InvalidVector(
            "a vector with its model cannot be read",
            field="vector",
            expected='{"model": NAME, "vector": [...]}',
            got=dict(vector),
        )
    if vector["model"] not in (generation.embedder, generation.model):
        raise ModelMismatch(
            "the question's vector is of another model than the rows",
            field="vector",
            expected=generation.embedder,
            got=vector["model"],
            hint="Vectors of two models are never compared",
        )
    return vector["vector"]
