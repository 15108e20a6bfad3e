"""What the log keeps of one search: JSON made of what was understood and what was answered, and nothing of documents.

Titles, texts, headings and fields of documents never get here: of a hit there are its ids, its ranks and its scores.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from holdstill.canonical import canonical_json
from holdstill.policy import Principal
from holdstill.predicate import Predicate
from holdstill.result import Hit, Result
from holdstill.understanding import Asked

Record = dict[str, Any]


def new_id(time: str) -> str:
    """An id that sorts by time and says nothing of other searches: `20261201T005148.123Z-7f3a9c21`."""
    return f"{time.replace('-', '').replace(':', '')}-{os.urandom(4).hex()}"


def timestamp(moment: datetime) -> str:
    """The moment in UTC, to the millisecond; as texts these sort by time."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def pseudonym(principal: Principal, secret: bytes) -> str:
    """The principal as the log names it: HMAC-SHA256, hexadecimal, under the collection's own secret.

    Groups in another order, and attributes that are None, make no other principal.
    """
    known = {name: value for name, value in principal.attributes.items() if value is not None}
    who = {"id": principal.id, "groups": sorted(set(principal.groups)), "attributes": known}
    return hmac.new(secret, canonical_json(who).encode(), hashlib.sha256).hexdigest()


def record_of(
    search_id: str,
    time: str,
    asked: Asked,
    result: Result,
    *,
    seen_at: int,
    principal: str | None,
    operator: bool,
    queries: bool,
) -> Record:
    """The record of one search.

    Args:
        search_id, time: its id, and its timestamp.
        asked: what was understood.
        result: what was answered.
        seen_at: the newest commit then.
        principal: the pseudonym of who asked; None for the operator, and where nobody was named.
        operator: whether the operator asked.
        queries: whether what was asked is kept.
    """
    query = asked.query
    return {
        "search_id": search_id,
        "time": time,
        "principal": principal,
        "operator": operator,
        "permission": _spelled(asked.permission),
        "seen_at": seen_at,
        "snapshot": {name: result.snapshot[name] for name in ("generation", "commit")},
        "k": query.k,
        "offset": query.offset,
        "by": query.by,
        "order_by": None if query.order_by is None else list(query.order_by),
        "settings": {
            "rrf_k": query.settings.rrf_k,
            "weights": {arm: str(weight) for arm, weight in query.settings.weights.items()},
            "depth": query.settings.depth,
            "syntax": query.settings.syntax,
        },
        "versions": dict(result.versions),
        "model": result.model,
        "arms": arms_of(result),
        "completeness": str(result.completeness),
        "ties_beyond": result.ties_beyond,
        "unknown": dict(result.unknown),
        "hits": [hit_of(hit) for hit in result.hits],
        "digest": result.digest,
        "query": _query(asked) if queries else None,
    }


def hit_of(hit: Hit) -> Record:
    """A hit as the log keeps it: all that a digest covers, and the document."""
    return {
        "id": hit.id,
        "document": hit.document,
        "rank": hit.rank,
        "tied": hit.tied,
        "ranks": dict(hit.ranks),
        "scores": dict(hit.scores),
    }


def arms_of(result: Result) -> list[Record]:
    """What each arm that was asked did, in the order of asking."""
    return [
        {
            "arm": arm.arm,
            "strategy": arm.strategy,
            "stop": arm.stop,
            "eligible": arm.eligible,
            "matched": arm.matched,
        }
        for arm in result.arms
    ]


def _query(asked: Asked) -> Record:
    query = asked.query
    return {
        "text": query.text,
        "must": list(query.must),
        "must_not": list(query.must_not),
        "where": _spelled(asked.where),
        "vector": None if asked.vector is None else base64.b64encode(asked.vector.astype("<i2").tobytes()).decode(),
        "terms": list(asked.terms),
    }


def _spelled(predicate: Predicate | None) -> str | None:
    return None if predicate is None else str(predicate)


# -- erasing -----------------------------------------------------------------------------------------


def is_whole(record: Any) -> bool:
    """Whether something that was read is a record, with all that every reader of it takes for granted."""
    return (
        _has(record, search_id=str, time=str, seen_at=int, snapshot=dict, k=int, offset=int, by=str, settings=dict)
        and _has(record, versions=dict, arms=list, completeness=str, ties_beyond=int, unknown=dict, hits=list)
        and _has(record["snapshot"], commit=int, generation=int)
        and _has(record["versions"], engine=str)
        and {"policy"} <= record["versions"].keys()
        and {"principal", "permission", "order_by", "model", "query", "operator", "digest"} <= record.keys()
        and all(_has(arm, arm=str, eligible=int, matched=int) for arm in record["arms"])
        and all(_is_hit(hit) for hit in record["hits"])
        and (record["query"] is None or _is_query(record["query"]))
    )


def _has(value: Any, **types: type) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(name), type_) for name, type_ in types.items())


def _is_hit(hit: Any) -> bool:
    whole = _has(hit, id=str, document=str, rank=int, tied=bool, ranks=dict, scores=dict)
    return whole or _has(hit, purged=bool, rank=int)


def _is_query(query: Any) -> bool:
    texts = ("text", "where", "vector")
    return (
        _has(query, must=list, must_not=list, terms=list)
        and all(name in query and isinstance(query[name], str | None) for name in texts)
        and all(isinstance(each, str) for name in ("must", "must_not", "terms") for each in query[name])
    )


def redacted(record: Mapping[str, Any], documents: frozenset[str]) -> Record | None:
    """The record without these documents; None where it names none of them.

    Their hits keep their ranks alone. A query in which the id of one occurs, even as a part of a word, is dropped
    whole.
    """
    hits = [
        {"purged": True, "rank": hit.get("rank")} if hit.get("document") in documents else hit for hit in record["hits"]
    ]
    query = record["query"]
    if query is not None and _mentions(query, documents):
        query = None
    if hits == record["hits"] and query == record["query"]:
        return None
    return {**record, "hits": hits, "query": query}


def _mentions(query: Mapping[str, Any], documents: frozenset[str]) -> bool:
    parts = [part for name, part in query.items() if name != "vector" and part is not None]
    text = "\n".join(each for part in parts for each in ([part] if isinstance(part, str) else part))
    return any(id_ in text or id_.replace("'", "''") in text for id_ in documents)
