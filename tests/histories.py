"""Hypothesis strategies for whole collections: what was written to one in its life, who asks, and what.

Vocabularies are small, so that duplicates, ties, shared words and matching filters are the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

import strategies
from engine_oracle import Question
from holdstill import Collection, Document, Passage, Predicate, Schema, Settings
from holdstill.predicate import evaluate

WORDS = ("python", "null", "pointer", "null pointer", "it's", "C++", "日本", "日本語", "v2.14.1", "v2.14.0", "red",
         "running", "runs", "getUserName", "Ünïcode", "not")  # fmt: skip
IDS = ("a", "A", "b", "a#0", "10", "9", "é", "e\u0301", "日本", "\U0001f600", "\uffee", "' --", "a b", "%")
TENANTS, GROUPS = ("acme", "bolt"), ("staff", "board", "it's")


def budget(examples: int) -> settings:
    """So many examples; under `--heavy` thirty times as many, and other ones every time."""
    heavy = settings.get_current_profile_name() == "heavy"
    return settings(max_examples=examples * 30 if heavy else examples)


@dataclass(frozen=True)
class Rule:
    """A policy as the collection stores it, and as plain Python that decides the same."""

    text: str
    admits: Callable[[Mapping[str, Any], Mapping[str, Any]], bool]


def _same_tenant(who: Mapping[str, Any], fields: Mapping[str, Any]) -> bool:
    tenant = who["attributes"].get("tenant")
    return tenant is not None and fields["tenant"] == tenant


def _shares_group(who: Mapping[str, Any], fields: Mapping[str, Any]) -> bool:
    return fields["acl"] is not None and bool(set(fields["acl"]) & set(who["groups"]))


RULES = (
    Rule("tenant = principal.tenant", _same_tenant),
    Rule("has_any(acl, principal.groups)", _shares_group),
    Rule(
        "tenant = principal.tenant and has_any(acl, principal.groups)",
        lambda who, fields: _same_tenant(who, fields) and _shares_group(who, fields),
    ),
    Rule(
        # Whoever lacks an attribute that the policy names sees nothing, wherever the policy names it.
        "acl is null or tenant = principal.tenant",
        lambda who, fields: (
            who["attributes"].get("tenant") is not None and (fields["acl"] is None or _same_tenant(who, fields))
        ),
    ),
    Rule("tenant in principal.groups", lambda who, fields: fields["tenant"] in who["groups"]),
    Rule("not tenant = principal.id", lambda who, fields: fields["tenant"] not in (None, who["id"])),
)


def principals() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "id": st.sampled_from(("ana", *TENANTS)),
            "groups": st.lists(st.sampled_from((*GROUPS, *TENANTS)), max_size=2),
            "attributes": st.sampled_from([{}, {"tenant": None}, *({"tenant": tenant} for tenant in TENANTS)]),
        }
    )


def schemas() -> st.SearchStrategy[Schema]:
    """Any schema, with the two fields that the rules read."""
    return strategies.schemas(0).map(
        lambda schema: Schema((*Schema.of({"tenant": "str", "acl": "str[]"}), *schema.fields))
    )


def fields_of(schema: Schema) -> st.SearchStrategy[dict[str, Any]]:
    ours = {
        "tenant": st.none() | st.sampled_from(TENANTS),
        "acl": st.none() | st.lists(st.sampled_from(GROUPS), max_size=2),
    }
    others = Schema(tuple(column for column in schema if column.name not in ours))
    outside = st.fixed_dictionaries({}, optional={"colour": st.sampled_from(("red", None, 1))})
    return st.tuples(st.fixed_dictionaries(ours), strategies.rows(others), outside).map(
        lambda parts: parts[0] | parts[1] | parts[2]
    )


def settings_of(schema: Schema) -> st.SearchStrategy[dict[str, Any]]:
    """Some of the fields, as an update sets them."""
    names = st.sets(st.sampled_from([column.name for column in schema]), min_size=1)
    return st.tuples(fields_of(schema), names).map(lambda parts: {name: parts[0][name] for name in sorted(parts[1])})


def texts(min_words: int = 0, max_words: int = 4) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(WORDS), min_size=min_words, max_size=max_words).map(" ".join)


def vectors(dimensions: int) -> st.SearchStrategy[list[float]]:
    component = st.sampled_from((-1.0, 0.0, 0.5, 1.0, 2.0))
    return st.lists(component, min_size=dimensions, max_size=dimensions).filter(any)


def passages(dimensions: int | None) -> st.SearchStrategy[Passage]:
    return st.builds(
        Passage,
        texts(min_words=1),
        vector=st.none() if dimensions is None else vectors(dimensions),
        headings=st.lists(texts(max_words=1), max_size=2),
        pages=st.none() | st.just((1, 2)),
    )


def documents(schema: Schema, dimensions: int | None) -> st.SearchStrategy[Document]:
    return st.builds(
        Document,
        st.sampled_from(IDS),
        passages=st.lists(passages(dimensions), min_size=1, max_size=3),
        title=st.just("") | texts(max_words=2),
        fields=fields_of(schema),
    )


# What happens to a collection


@dataclass(frozen=True)
class Add:
    """One batch; of equal ids the first stands."""

    documents: tuple[Document, ...]

    def do(self, collection: Collection) -> None:
        collection.add(self.documents)

    def then(self, documents: Mapping[str, Document], schema: Schema) -> dict[str, Document]:
        return dict(documents) | {document.id: document for document in reversed(self.documents)}


@dataclass(frozen=True)
class Delete:
    ids: tuple[str, ...]

    def do(self, collection: Collection) -> None:
        collection.delete(self.ids)

    def then(self, documents: Mapping[str, Document], schema: Schema) -> dict[str, Document]:
        return {id_: document for id_, document in documents.items() if id_ not in self.ids}


@dataclass(frozen=True)
class DeleteWhere:
    where: Predicate

    def do(self, collection: Collection) -> None:
        collection.delete(where=self.where)

    def then(self, documents: Mapping[str, Document], schema: Schema) -> dict[str, Document]:
        return {id_: document for id_, document in documents.items() if not _satisfies(document, self.where, schema)}


@dataclass(frozen=True)
class Update:
    where: Predicate
    fields: Mapping[str, Any]

    def do(self, collection: Collection) -> None:
        collection.update(where=self.where, fields=self.fields)

    def then(self, documents: Mapping[str, Document], schema: Schema) -> dict[str, Document]:
        return {
            id_: with_fields(document, self.fields) if _satisfies(document, self.where, schema) else document
            for id_, document in documents.items()
        }


Change = Add | Delete | DeleteWhere | Update


def _satisfies(document: Document, where: Predicate, schema: Schema) -> bool:
    row = {column.name: column.accept(document.fields.get(column.name)) for column in schema}
    return evaluate(where, row) is True


def with_fields(document: Document, fields: Mapping[str, Any]) -> Document:
    return Document(
        document.id, passages=document.passages, title=document.title, fields=dict(document.fields) | dict(fields)
    )


def changes(schema: Schema, dimensions: int | None) -> st.SearchStrategy[Change]:
    add = st.lists(documents(schema, dimensions), min_size=1, max_size=5).map(lambda batch: Add(tuple(batch)))
    where = strategies.predicates(schema)
    return st.one_of(
        add,
        add,
        st.lists(st.sampled_from(IDS), min_size=1, max_size=3, unique=True).map(lambda ids: Delete(tuple(ids))),
        where.map(DeleteWhere),
        st.builds(Update, where, settings_of(schema)),
    )


@dataclass(frozen=True)
class History:
    """A collection's life, and what is asked of it at the end."""

    schema: Schema
    analyser: str
    dimensions: int | None  #: of the vectors the documents bring; None makes a collection of words
    changes: tuple[Change, ...]
    rule: Rule | None
    principal: dict[str, Any] | None
    questions: tuple[Question, ...]

    def left(self) -> dict[str, Document]:
        """The documents at the end, by id."""
        live: dict[str, Document] = {}
        for change in self.changes:
            live = change.then(live, self.schema)
        return live

    def making(self) -> dict[str, Any]:
        """The arguments of `holdstill.create`."""
        vectors = {"embedder": "none"} if self.dimensions is None else {"vector_model": "small"}
        return {"schema": self.schema, "analyser": self.analyser} | vectors

    def allows(self, fields: Mapping[str, Any]) -> bool:
        return self.rule is None or self.principal is None or self.rule.admits(self.principal, fields)

    def asking(self) -> dict[str, Any]:
        """The arguments that say who asks."""
        return {"operator": True} if self.principal is None else {"principal": self.principal}


@st.composite
def histories(draw: st.DrawFn, *, max_changes: int = 5, questions: int = 10) -> History:
    schema = draw(schemas())
    dimensions = draw(st.none() | st.integers(1, 3))
    first = st.lists(documents(schema, dimensions), min_size=1, max_size=8).map(lambda batch: Add(tuple(batch)))
    rest = st.lists(changes(schema, dimensions), max_size=max_changes)
    rule = draw(st.none() | st.sampled_from(RULES))
    return History(
        schema,
        draw(st.sampled_from(("simple", "english"))),
        dimensions,
        (draw(first), *draw(rest)),
        rule,
        None if rule is None else draw(st.none() | principals()),
        tuple(draw(asked(schema, dimensions)) for _ in range(questions)),
    )


# What is asked


@st.composite
def asked(draw: st.DrawFn, schema: Schema, dimensions: int | None) -> Question:
    """A question that the collection can answer: ranked by the arms it has, or a listing."""
    arms = draw(st.sampled_from([("lexical",)] if dimensions is None else _ARMS)) if draw(st.integers(0, 3)) else ()
    constrained = draw(st.sets(st.sampled_from(("where", "must", "must_not")), min_size=0 if arms else 1))
    filters = strategies.predicates(schema, text=True) | strategies.text_leaves()
    some_words = st.lists(texts(1, 2), min_size=1, max_size=2)
    question = Question(
        text=draw(texts(1, 3)) if "lexical" in arms else None,
        vector=draw(vectors(dimensions)) if "dense" in arms and dimensions else None,
        where=draw(filters) if "where" in constrained else None,
        must=draw(some_words) if "must" in constrained else (),
        must_not=draw(some_words) if "must_not" in constrained else (),
        k=draw(st.integers(1, 8)),
        offset=draw(st.sampled_from((0, 0, 1, 3))),
        arms=arms or None,
        by=draw(st.sampled_from(("passage", "document"))),
        settings=draw(rankings()),
    )
    if not arms:
        return replace(question, order_by=draw(orders(schema)))
    named = draw(st.booleans()) or (dimensions is not None and question.vector is None)
    return question if named else replace(question, arms=None)


#: A text alone must name the lexical arm where there are vectors: the dense one would need an embedder.
_ARMS = (("lexical",), ("dense",), ("lexical", "dense"), ("dense", "lexical"))


def rankings() -> st.SearchStrategy[Settings]:
    weight = st.sampled_from((1, 2, 0.1, 0.5))
    return st.builds(
        Settings,
        rrf_k=st.sampled_from((60, 60, 1, 7)),
        weights=st.fixed_dictionaries({}, optional={"lexical": weight, "dense": weight}),
        depth=st.sampled_from((None, None, 1, 2, 3)),
    )


def orders(schema: Schema) -> st.SearchStrategy[str | None]:
    names = [column.name for column in schema if not column.type.endswith("[]")]
    return st.none() | st.tuples(st.sampled_from(names), st.sampled_from(("", " desc"))).map("".join)
