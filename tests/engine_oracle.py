"""The whole engine in plain Python: a list of documents and a question, answered by the definitions.

No index, no statement of SQL, no numpy: `V` is every document that the policy admits, `E` every unit of it that
satisfies each constraint, an arm scores all of `E`, and the fused list is sorted whole. Words are analysed, and single
conditions on fields evaluated, by the functions that the engine has for it, which have oracles of their own.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import oracle
from holdstill.analysis import Analyser, analyser, requirement, requirements
from holdstill.document import Document, Passage
from holdstill.predicate import Predicate, evaluate
from holdstill.predicate.nodes import TextLeaf
from holdstill.query import Settings
from holdstill.result import json_value
from holdstill.schema import Schema

Run = Sequence[tuple[str, int]]
Allows = Callable[[Mapping[str, Any]], bool]


class Row(NamedTuple):
    """One passage of one document, analysed."""

    document: Document
    ordinal: int
    passage: Passage
    terms: list[tuple[str, int]]

    @property
    def id(self) -> str:
        return f"{self.document.id}#{self.ordinal}"

    def counts(self) -> Counter[str]:
        return Counter(text for text, _ in self.terms)

    def holds(self, run: Run) -> bool:
        """Whether, for some base, every term of the run stands at base + its position."""
        stands = set(self.terms)
        bases = {position - run[0][1] for text, position in self.terms if text == run[0][0]}
        return any(all((text, base + offset) in stands for text, offset in run) for base in bases)


@dataclass(frozen=True)
class Question:
    """The arguments of one search, as `Collection.search` takes them; `where` is a predicate."""

    text: str | None = None
    vector: Sequence[float] | None = None
    where: Predicate | None = None
    must: Sequence[str] = ()
    must_not: Sequence[str] = ()
    k: int = 10
    offset: int = 0
    arms: Sequence[str] | None = None
    by: str = "passage"
    order_by: str | None = None
    settings: Settings = field(default_factory=Settings)

    def arguments(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class Engine:
    """Documents, and what is to be known to search them.

    `allows` says of a document's fields whether whoever asks may see it; `words` is the analyser's name.
    """

    documents: Mapping[str, Document]
    schema: Schema
    words: str = "simple"
    allows: Allows = lambda fields: True

    def search(self, asked: Question) -> dict[str, Any]:
        """What an answer must say, in the shape of `Result.as_dict`; of `arms` the numbers only."""
        where = None if asked.where is None else asked.where.check(self.schema)
        visible = [row for row in self.rows if self.allows(self.fields(row.document))]
        eligible = self._eligible(visible, asked, where)
        ranked = asked.text is not None or asked.vector is not None
        answer = self._ranked(asked, visible, eligible) if ranked else self._listed(asked, eligible)
        units = {self._unit(row, asked.by) for row in eligible}
        return answer | {
            "k": asked.k,
            "offset": asked.offset,
            "returned": len(answer["hits"]),
            "arms": [arm | {"eligible": len(units)} for arm in answer["arms"]],
            "unknown": {} if where is None else self._unknown(visible, asked.by, where),
            "understood": {
                "text": asked.text,
                "must": list(asked.must),
                "must_not": list(asked.must_not),
                "where": None if where is None else str(where),
            },
        }

    def fields(self, document: Document) -> dict[str, Any]:
        return {column.name: column.accept(document.fields.get(column.name)) for column in self.schema}

    @cached_property
    def rows(self) -> list[Row]:
        """Every passage, in printed order."""
        return [
            Row(document, ordinal, passage, self._terms(document.title, *passage.headings, passage.text))
            for document in sorted(self.documents.values(), key=lambda document: document.id.encode())
            for ordinal, passage in enumerate(document.passages)
        ]

    @cached_property
    def _analyser(self) -> Analyser:
        return analyser(self.words)

    def _terms(self, *parts: str) -> list[tuple[str, int]]:
        """The terms of title, headings and text, with a hole between any two that no phrase can bridge."""
        found: list[tuple[str, int]] = []
        for part in parts:
            begin = max((position for _, position in found), default=-2) + 2
            found += [(term.text, begin + term.position) for term in self._analyser.terms(part)]
        return found

    def _unit(self, row: Row, by: str) -> str:
        return row.id if by == "passage" else row.document.id

    def _siblings(self, row: Row, by: str) -> list[Row]:
        """The passages of the row's unit."""
        return [other for other in self.rows if self._unit(other, by) == self._unit(row, by)]

    # Constraints

    def _eligible(self, visible: Sequence[Row], asked: Question, where: Predicate | None) -> list[Row]:
        must = [requirement(self._analyser, words) for words in asked.must]
        must_not = [requirement(self._analyser, words) for words in asked.must_not]

        def satisfies(row: Row) -> bool:
            unit = self._siblings(row, asked.by)
            return (
                (where is None or self._truth(row, asked.by, where) is True)
                and all(any(each.holds(run) for each in unit) for run in must)
                and not any(each.holds(run) for each in unit for run in must_not)
            )

        return [row for row in visible if satisfies(row)]

    def _truth(self, row: Row, by: str, where: Predicate) -> bool | None:
        unit = self._siblings(row, by)

        def says(leaf: TextLeaf) -> bool:
            if leaf.kind == "phrase":
                return any(each.holds(requirement(self._analyser, leaf.words)) for each in unit)
            words = requirements(self._analyser, leaf.words)
            return all(any(each.holds(word) for each in unit) for word in words)

        return evaluate(where, self.fields(row.document), says)

    def _unknown(self, visible: Sequence[Row], by: str, where: Predicate) -> dict[str, int]:
        undecided = {row.document.id: row.document for row in visible if self._truth(row, by, where) is None}
        return {
            name: sum(self.fields(document)[name] is None for document in undecided.values()) for name in where.fields()
        }

    # Answers

    def _ranked(self, asked: Question, visible: Sequence[Row], eligible: Sequence[Row]) -> dict[str, Any]:
        names = asked.arms or [
            name for name, given in (("lexical", asked.text), ("dense", asked.vector)) if given is not None
        ]
        terms = sorted({text for text, _ in self._terms(asked.text)}) if asked.text is not None else []
        scores = {
            name: self._lexical(terms, visible, eligible) if name == "lexical" else self._dense(asked, eligible)
            for name in names
        }
        units = sorted({self._unit(row, asked.by) for row in eligible})
        number = {unit: at for at, unit in enumerate(units)}
        best = {name: self._best(found, asked.by) for name, found in scores.items()}
        arms = [
            oracle.Arm(name, {number[unit]: score for unit, (score, _) in found.items()}, asked.settings.weight(name))
            for name, found in best.items()
        ]
        keys = {self._unit(row, asked.by): self._key(row) for row in reversed(eligible)}
        page = oracle.fuse(
            arms, asked.settings.rrf_k, asked.k, asked.offset, asked.settings.depth, lambda unit: keys[units[unit]]
        )
        known = {text for row in visible for text, _ in row.terms}
        return {
            "completeness": page.completeness,
            "ties_beyond": page.ties_beyond,
            "hits": [self._fused_hit(asked, arms, best, units[place.unit], place) for place in page.places],
            "arms": [{"arm": arm.name, "matched": len(arm.scores)} for arm in arms],
            "notes": ["no word of the question occurs in what may be searched"]
            if "lexical" in names and not known.intersection(terms)
            else [],
        }

    def _lexical(self, terms: Sequence[str], visible: Sequence[Row], eligible: Sequence[Row]) -> dict[str, int]:
        chosen = {row.id for row in eligible}
        found = oracle.bm25(
            terms,
            [row.counts() for row in visible],
            [len(row.terms) for row in visible],
            [True] * len(visible),
            [row.id in chosen for row in visible],
        )
        return {visible[at].id: score for at, score in found.items()}

    def _dense(self, asked: Question, eligible: Sequence[Row]) -> dict[str, int]:
        assert asked.vector is not None
        question = oracle.grid(list(asked.vector))
        return {
            row.id: oracle.dot(question, oracle.grid([float(x) for x in row.passage.vector]))
            for row in eligible
            if row.passage.vector is not None
        }

    def _best(self, scores: Mapping[str, int], by: str) -> dict[str, tuple[int, Row]]:
        """Each unit's best score in an arm, and the first of its passages that attains it."""
        best: dict[str, tuple[int, Row]] = {}
        for row in self.rows:
            unit = self._unit(row, by)
            if row.id in scores and (unit not in best or scores[row.id] > best[unit][0]):
                best[unit] = (scores[row.id], row)
        return best

    def _fused_hit(
        self,
        asked: Question,
        arms: Sequence[oracle.Arm],
        best: Mapping[str, Mapping[str, tuple[int, Row]]],
        unit: str,
        place: oracle.Place,
    ) -> dict[str, Any]:
        counted = {
            arm.name: arm.weight / (asked.settings.rrf_k + rank)
            for arm in arms
            if (rank := place.ranks[arm.name]) is not None
        }
        most = max(counted.values())
        shown = next(best[arm.name][unit][1] for arm in arms if counted.get(arm.name) == most)
        hit = self._hit(shown, rank=place.rank, tied=place.tied, score=_rounded(place.score))
        hit |= {"ranks": place.ranks, "scores": place.scores}
        return hit if asked.by == "passage" else hit | {"best": {name: best[name][unit][1].id for name in counted}}

    def _listed(self, asked: Question, eligible: Sequence[Row]) -> dict[str, Any]:
        first = {self._unit(row, asked.by): row for row in reversed(eligible)}
        rows = sorted(first.values(), key=self._key)
        if asked.order_by is not None:
            name, _, direction = asked.order_by.partition(" ")
            known = [row for row in rows if self.fields(row.document)[name] is not None]
            known = list(_sorted(known, lambda row: self.fields(row.document)[name], descending=direction == "desc"))
            rows = known + [row for row in rows if self.fields(row.document)[name] is None]
        page = rows[asked.offset : asked.offset + asked.k]
        return {
            "completeness": "complete" if len(page) == asked.k else "exhausted",
            "ties_beyond": 0,
            "hits": [
                self._hit(row, rank=asked.offset + at, tied=False, score=None) | {"ranks": {}, "scores": {}}
                for at, row in enumerate(page, start=1)
            ],
            "arms": [],
            "notes": [],
        }

    def _key(self, row: Row) -> tuple[bytes, int]:
        return row.document.id.encode(), row.ordinal

    def _hit(self, row: Row, **ranked: Any) -> dict[str, Any]:
        outside = {name: value for name, value in row.document.fields.items() if name not in self.schema}
        fields = {name: json_value(value) for name, value in self.fields(row.document).items()}
        return ranked | {
            "id": row.id,
            "document": row.document.id,
            "title": row.document.title,
            "headings": list(row.passage.headings),
            "pages": None if row.passage.pages is None else list(row.passage.pages),
            "text": row.passage.text,
            "fields": json.loads(json.dumps(outside)) | fields,
        }


def _rounded(score: Fraction) -> float:
    return score.numerator / score.denominator


def _sorted(rows: Sequence[Row], key: Callable[[Row], Any], *, descending: bool) -> Iterator[Row]:
    """By value, each group of equals in the order it came in; strings by their bytes."""

    def comparable(row: Row) -> Any:
        value = key(row)
        return value.encode() if isinstance(value, str) else value

    for value in sorted({comparable(row) for row in rows}, reverse=descending):
        yield from (row for row in rows if comparable(row) == value)
