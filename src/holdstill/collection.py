"""The handle a user holds: `Collection`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, cast

from numpy.typing import ArrayLike

from holdstill.access import Asking, permission, require_operator
from holdstill.adding import add
from holdstill.analysis import analyser as analyser_of
from holdstill.arguments import as_flag, as_ids, as_mapping
from holdstill.auditing import Audited
from holdstill.document import Document
from holdstill.embedding import Embedder
from holdstill.errors import InvalidInput, InvalidQuery, InvalidVector, ModelMismatch, NotFound
from holdstill.handle import Where, as_predicate, named, select, storable
from holdstill.ingest import Row
from holdstill.operating import Operated
from holdstill.policy import Policy
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
    Snapshot,
    StoredDocument,
    count_units,
)
from holdstill.timeline import At

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


class Collection(Operated, Audited):
    """A collection, open. A context manager; any number of threads may share it.

    Every call that touches rows takes `principal` or `operator`: who asks. Without a policy neither is needed.
    """

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
        at: At = None,
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
            at: search what was visible at a commit, by its number, a tag or a time, with the statistics of then; but
                nothing that the principal may not see today.
            principal: who asks: a `Principal`, or `{"id", "groups", "attributes"}`.
            operator: whether the operator asks, who sees everything.
            settings: how arms are fused.

        Raises:
            holdstill.InvalidInput: an argument is out of range or does not fit the collection.
            holdstill.AccessDenied: the collection has a policy and nobody was named.
            holdstill.SnapshotNotFound: `at` names no commit; `holdstill.SnapshotPruned`: one that was pruned.
        """
        with self._reading(at) as snapshot:
            query = Query(
                text=text,
                vector=None if vector is None else _query_vector(vector, snapshot.generation),
                where=as_predicate(where, params),
                must=cast(tuple[str, ...], must),
                must_not=cast(tuple[str, ...], must_not),
                k=k,
                offset=offset,
                arms=cast(tuple[ArmName, ...] | None, arms),
                by=by,
                order_by=None if order_by is None else parse_order_by(order_by),
                settings=Settings() if settings is None else settings,
            )
            embedding = self._embedding(snapshot.generation)
            return search(snapshot, query, embedding, self._recorder, principal=principal, operator=operator)

    asearch = _off_the_loop(search)  #: `search`, off the event loop

    def get(
        self,
        id: str,  # noqa: A002 - the field's name everywhere
        *,
        at: At = None,
        principal: Asking = None,
        operator: bool = False,
    ) -> StoredDocument:
        """A document, whole; as it was at a commit, where `at` names one.

        Raises:
            holdstill.NotFound: there is none of that id that the caller may see.
            holdstill.SnapshotNotFound: `at` names no commit, or one that was pruned.
        """
        with self._reading(at) as snapshot:
            allowed = permission(snapshot, principal, operator=operator)
            (given,) = as_ids([id])
            found = snapshot.document(given, allowed) if storable(given) else None
        if found is None:
            raise NotFound("there is no such document", field="id", got=id, hint="Ids are matched byte for byte")
        return found

    def count(
        self,
        where: Where = None,
        *,
        params: Mapping[str, object] | None = None,
        at: At = None,
        principal: Asking = None,
        operator: bool = False,
    ) -> int:
        """How many documents there are, or were `at` a commit, that the caller may see and that satisfy `where`."""
        with self._reading(at) as snapshot:
            allowed = permission(snapshot, principal, operator=operator)
            selection = select(snapshot, as_predicate(where, params), allowed)
            return count_units(selection.eligible, selection.units)

    def info(self, *, at: At = None, principal: Asking = None, operator: bool = False) -> Info:
        """What the collection is, or was `at` a commit; counts are of what the caller may see."""
        with self._reading(at) as snapshot:
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

    @property
    def embedder(self) -> Embedder | None:
        """What embeds questions and documents here; None where nothing does, or only an object that is not given.

        Raises:
            holdstill.ModelMismatch: what is at hand is another model than the rows', or another version of it.
            holdstill.EmbedderFailed: what the model needs is not installed, or not there.
        """
        return self._embedding(self._store.snapshot().generation)()

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
        return add(self._store, documents, self._embedding, strict=as_flag("strict", strict), progress=progress)

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
            found, missing = named(snapshot, ids, as_predicate(where, params))
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
            found, missing = named(snapshot, ids, as_predicate(where, params))
            changed = _updated(snapshot, found, values)
            commit = self._store.put(changed, kind="update") if changed else snapshot.commit
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


def _updated(snapshot: Snapshot, ids: Sequence[str], values: Mapping[str, Any]) -> list[PreparedDocument]:
    changed = []
    names = list(snapshot.schema.types())
    for id_, stored in snapshot.existing(ids).items():
        fields = tuple(values.get(name, old) for name, old in zip(names, stored.values, strict=True))
        if fields != stored.values:
            changed.append(PreparedDocument(id_, "", stored.content, fields, stored.metadata, None))
    return changed


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
