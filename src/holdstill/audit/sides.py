"""The two answers that blame compares: one that was recorded, and one of a later record or of today."""

from __future__ import annotations

from dataclasses import replace

from holdstill.audit.conditions import Conditions, Row, Vector, run
from holdstill.audit.findings import Side
from holdstill.audit.recorded import RecordedSearch, conditions_of
from holdstill.embedding import Embedding
from holdstill.errors import EmbedderFailed, EmbedderRequired, InvalidQuery, ModelMismatch
from holdstill.predicate import Predicate
from holdstill.stores.base import Snapshot, Store
from holdstill.understanding import understand


def recorded(store: Store, search: RecordedSearch) -> Side:
    """The answer that was given.

    Raises:
        holdstill.InvalidQuery: what was asked was not kept.
        holdstill.SnapshotPruned: its snapshot is not kept.
    """
    if not search.kept:
        raise InvalidQuery(
            f"what {search.search_id} asked was not kept, so that it cannot be asked again",
            field="search_id",
            hint="The log keeps questions unless `queries` is off",
        )
    snapshot = store.snapshot(search.commit)
    try:
        conditions = conditions_of(search, snapshot.schema)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidQuery(
            f"the record of {search.search_id} cannot be read: {error}", field="search_id", expected="a whole record"
        ) from error
    if conditions.permission is None:  # then the fields of then decide nothing, and need not be kept
        conditions = replace(conditions, seen_at=conditions.commit)
    versions = search.record["versions"]
    return Side(
        conditions=conditions,
        page=tuple(_row(hit, search.record["by"]) for hit in search.record["hits"]),
        engine=versions["engine"],
        policy=versions["policy"],
        generation=snapshot.generation,
    )


_QUESTION = ("k", "offset", "by", "order_by")
_ASKED = ("text", "must", "must_not", "where")


def require_same_question(first: RecordedSearch, second: RecordedSearch) -> None:
    """Refuse two searches that asked different things; by which settings arms were fused may differ.

    Raises:
        holdstill.InvalidQuery: they did, or what one asked was not kept.
    """
    one, two = first.record, second.record
    if not first.kept or not second.kept:
        raise InvalidQuery("what one of the two asked was not kept", field="search_id", expected="two whole records")
    differ = [name for name in _QUESTION if one[name] != two[name]]
    differ += [name for name in _ASKED if one["query"][name] != two["query"][name]]
    if [arm["arm"] for arm in one["arms"]] != [arm["arm"] for arm in two["arms"]]:
        differ.append("arms")
    if differ:
        raise InvalidQuery(
            f"the two searches asked different things: they differ in {', '.join(differ)}",
            field="other",
            expected="a search of the same question",
            got=second.search_id,
        )


def _row(hit: dict[str, object], by: str) -> Row:
    if hit.get("purged"):
        return Row("(purged)", hit["rank"], False, {}, {})  # type: ignore[arg-type]
    return Row(hit["document" if by == "document" else "id"], hit["rank"], hit["tied"], hit["ranks"], hit["scores"])  # type: ignore[arg-type]


def today(
    store: Store,
    then: Side,
    engine: str,
    embedding: Embedding,
    permission: Predicate | None,
    *,
    permission_known: bool,
) -> Side:
    """The answer to the same question of today.

    A search of an earlier commit is one of that commit today too: only what may be seen of it can have changed.

    Args:
        store: the collection.
        then: the answer that was recorded.
        engine: the version of holdstill.
        embedding: gives the embedder of today's model.
        permission: what who asked may see today.
        permission_known: False where that is not known, and `permission` is that of then.

    Raises:
        holdstill.EmbedderRequired: the question has no vector of today's model, and nothing here can make one.
    """
    snapshot = store.snapshot()
    travelled = then.conditions.commit != then.conditions.seen_at
    conditions = replace(
        then.conditions,
        commit=then.conditions.commit if travelled else snapshot.commit,
        seen_at=snapshot.commit,
        permission=permission,
    )
    if not travelled:
        conditions = replace(conditions, vectors=_vectors(snapshot, conditions, embedding))
    return Side(
        conditions=conditions,
        page=run(store, conditions),
        engine=engine,
        policy=snapshot.policy_version,
        generation=then.generation if travelled else snapshot.generation,
        permission_known=permission_known,
    )


def _vectors(snapshot: Snapshot, conditions: Conditions, embedding: Embedding) -> dict[str, Vector]:
    """The question's vectors, with that of the snapshot's model, where one can be made."""
    model = snapshot.generation.model
    if model is None or model in conditions.vectors or not conditions.vectors or conditions.query.text is None:
        return dict(conditions.vectors)
    try:
        asked = understand(snapshot, conditions.query, embedding, None)
    except (EmbedderRequired, EmbedderFailed, ModelMismatch):
        return dict(conditions.vectors)
    return dict(conditions.vectors) | ({} if asked.vector is None else {model: asked.vector})
