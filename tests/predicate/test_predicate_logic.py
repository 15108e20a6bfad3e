"""What predicates mean: the guide's truth tables, Kleene's laws, the two ways to say one thing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdstill import errors
from holdstill.predicate import Truth, evaluate, f, parse
from holdstill.predicate.nodes import Constant
from strategies import asked, predicates, rows, schemas

GUIDE = Path(__file__).parents[2] / "docs" / "filters.md"
WORDS = {"true": True, "false": False, "unknown": None}
CELLS: dict[str, dict[str, Any]] = {
    "x is 3": {"x": 3},
    "x is 5": {"x": 5},
    "x is null": {"x": None},
    "tags is a, b": {"tags": ("a", "b")},
    "tags is empty": {"tags": ()},
    "tags is null": {"tags": None},
}
TABLES = re.findall(r"^\| filter \|(.+)\|\n\|[-|]+\|\n((?:\|.*\|\n)+)", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
LINES = [
    ([head.strip() for head in heads.split("|")], *re.fullmatch(r"\| `(.+)` \|(.+)\|", line).groups())
    for heads, body in TABLES
    for line in body.splitlines()
]


def test_the_guide_has_its_truth_tables():
    assert len(TABLES) == 2
    assert len(LINES) >= 30


@pytest.mark.parametrize(("heads", "spelling", "cells"), LINES, ids=[line[1] for line in LINES])
def test_the_truth_table_of_the_guide(heads, spelling, cells):
    predicate = parse(spelling)
    expected = [WORDS[cell.strip()] for cell in cells.split("|")]
    assert [evaluate(predicate, CELLS[head]) for head in heads] == expected
    assert [evaluate(~~predicate, CELLS[head]) for head in heads] == expected
    opposite = {True: False, False: True, None: None}
    assert [evaluate(~predicate, CELLS[head]) for head in heads] == [opposite[each] for each in expected]


def test_a_missing_key_is_a_missing_value():
    assert evaluate(f.x == 3, {}) is None
    assert evaluate(f.x.is_null(), {}) is True


def test_text_leaves_are_answered_by_the_caller():
    predicate = parse("contains(text, 'a') and not phrase(text, 'b c')")
    assert evaluate(predicate, {}, lambda leaf: leaf.kind == "contains") is True
    assert evaluate(predicate, {}, lambda leaf: True) is False
    with pytest.raises(errors.InvalidPredicate, match="asks of a text"):
        evaluate(predicate, {})


@given(schemas().flatmap(lambda schema: st.tuples(rows(schema), *[predicates(schema)] * 3)))
def test_kleene_laws(case):
    row, a, b, c = case

    def same(left, right):
        assert evaluate(left, row) == evaluate(right, row)
        assert left == right

    same(~(a & b), ~a | ~b)
    same(~(a | b), ~a & ~b)
    same(~~a, a)
    same(a & b, b & a)
    same((a & b) & c, a & (b & c))
    same((a | b) | c, a | (b | c))
    same(a & a, a)
    assert evaluate(a & (b | c), row) == evaluate((a & b) | (a & c), row)
    assert evaluate(a | (a & b), row) == evaluate(a, row)


@given(asked())
def test_negation_never_finds_what_was_unknown(case):
    _, table, predicate = case
    for row in table:
        answers = evaluate(predicate, row), evaluate(~predicate, row)
        assert answers in [(True, False), (False, True), (None, None)]


@given(asked(), st.data())
def test_one_more_condition_adds_no_row(case, data):
    schema, table, predicate = case
    other = data.draw(predicates(schema))
    for row in table:
        assert evaluate(predicate, row) is True or evaluate(predicate & other, row) is not True
        assert evaluate(predicate, row) is not True or evaluate(predicate | other, row) is True


THREE = [True, False, None]


def _truth(values: list[bool | None]) -> Truth:
    return Truth(np.array([each is True for each in values]), np.array([each is None for each in values]))


def _values(truth: Truth) -> list[bool | None]:
    assert not (truth.true & truth.unknown).any()
    return [None if unknown else bool(true) for true, unknown in zip(truth.true, truth.unknown, strict=True)]


def test_arrays_follow_the_same_logic():
    left = [a for a in THREE for _ in THREE]
    right = THREE * 3
    constants = {True: Constant(True), False: Constant(False), None: f.x == 1}
    pairs = list(zip(left, right, strict=True))
    assert _values(_truth(left) & _truth(right)) == [evaluate(constants[a] & constants[b], {}) for a, b in pairs]
    assert _values(_truth(left) | _truth(right)) == [evaluate(constants[a] | constants[b], {}) for a, b in pairs]
    assert _values(~_truth(THREE)) == [False, True, None]
    assert _values(Truth.known(np.array([True, False]))) == [True, False]
