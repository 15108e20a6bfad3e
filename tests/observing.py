"""Everything that one caller can observe of a collection, as one value that can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from engine_oracle import Question
from holdstill import Collection, HoldstillError, Result


def said(result: Result) -> dict[str, Any]:
    """All that an answer says but for its id in the search log, which no two searches share."""
    return result.as_dict() | {"search_id": None}


def everything(
    collection: Collection, principal: Mapping[str, Any], questions: Iterable[Question], ids: Iterable[str]
) -> dict[str, Any]:
    """Answers whole but for the commit, counts, documents by id, what is known of the collection, and every error."""
    return {
        "answers": [_answer(collection, principal, question) for question in questions],
        "counts": [
            _attempt(lambda where=where: collection.count(where, principal=principal))
            for where in (None, *(question.where for question in questions))
        ],
        "shown": {id_: _attempt(lambda id_=id_: _shown(collection, principal, id_)) for id_ in ids},
        "info": asdict(collection.info(principal=principal)) | {"commit": None, "path": None},
    }


def _answer(collection: Collection, principal: Mapping[str, Any], question: Question) -> Any:
    def ask() -> Any:
        answer = collection.search(**question.arguments(), principal=principal).as_dict()
        return answer | {"snapshot": {"generation": answer["snapshot"]["generation"]}, "search_id": None}

    return _attempt(ask)


def _shown(collection: Collection, principal: Mapping[str, Any], id_: str) -> Any:
    return asdict(collection.get(id_, principal=principal)) | {"added": None}


def _attempt(ask: Any) -> Any:
    try:
        return ask()
    except HoldstillError as error:
        return error.as_dict()
