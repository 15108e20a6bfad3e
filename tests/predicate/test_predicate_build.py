"""Building predicates in Python: normal form, and misuse that must not pass quietly."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from datetime import UTC, date, datetime
from enum import IntEnum, StrEnum

import numpy as np
import pytest

from holdstill import errors
from holdstill.predicate import Predicate, f


class City(StrEnum):
    BERLIN = "Berlin"


class Level(IntEnum):
    SENIOR = 3


@pytest.mark.parametrize(
    ("predicate", "text"),
    [
        (f.x.between(3, 1), "x <= 1 and x >= 3"),
        (~f.x.between(1, 3), "x < 1 or x > 3"),
        (f.x.isin(["b", "a", "b"]), "x in ('a', 'b')"),
        (f.x.isin({"b", "a"}), "x in ('a', 'b')"),
        (f.x.isin(iter([2, 1])), "x in (1, 2)"),
        (f.x.isin([10, 9, 2]), "x in (2, 9, 10)"),
        (f.x.isin([1]), "x = 1"),
        (f.x.not_in([1]), "x != 1"),
        (f.x.not_in([]), "x not in ()"),
        (f.x.isin([True, 1, 1.0]), "x in (true, 1.0, 1)"),
        (f.x == -0.0, "x = 0.0"),
        (f.x == City.BERLIN, "x = 'Berlin'"),
        (f.x == Level.SENIOR, "x = 3"),
        (f.x == np.float64(0.5), "x = 0.5"),
        (f.x == "a\x00b\ud800", "x = 'a\ufffdb\ufffd'"),
        (f.x == "it's", "x = 'it''s'"),
        (f["in"] == 1, '"in" = 1'),
        (f["Null"] == 1, '"Null" = 1'),
        (f["a b"] == 1, '"a b" = 1'),
        (f['a"b'] == 1, '"a""b" = 1'),
        (f.naïve == 1, "naïve = 1"),
        (f.x == date(2018, 1, 1), "x = date '2018-01-01'"),
        (f.x == datetime(2018, 1, 1, tzinfo=UTC), "x = datetime '2018-01-01T00:00:00Z'"),
        ((f.b == 1) & (f.a == 2) & (f.b == 1), "a = 2 and b = 1"),
        (((f.c == 1) & (f.a == 1)) & ((f.b == 1) & (f.a == 1)), "a = 1 and b = 1 and c = 1"),
        (((f.a == 1) | (f.b == 2)) & (f.c == 3), "(a = 1 or b = 2) and c = 3"),
        ((f.a == 1) | ((f.b == 2) & (f.c == 3)), "a = 1 or b = 2 and c = 3"),
        (~((f.a == 1) & ~(f.b < 2)), "a != 1 or b < 2"),
        (~~f.x.has("a"), "has(x, 'a')"),
        (~f.x.has("a"), "not has(x, 'a')"),
        (f.x.has_all(["b", "a"]), "has_all(x, 'a', 'b')"),
        (f.x.has_any([]), "has_any(x)"),
        (~(f.x.has("a") & (f.x.has("b") | f.y.is_null())), "not has(x, 'a') or not has(x, 'b') and y is not null"),
        (~f.text.contains("python"), "not contains(text, 'python')"),
    ],
)
def test_normal_form(predicate, text):
    assert str(predicate) == text
    assert predicate.canonical() == text
    assert repr(predicate) == f"Predicate({text!r})"


def test_equality_is_equality_of_meaning_by_type_too():
    assert (f.x == 1) != (f.x == 1.0)
    assert (f.x == 1) != (f.x == True)  # noqa: E712
    assert (f.x == "1") != (f.x == 1)
    assert (f.x == 1) != "x = 1"
    assert len({(f.x == 1) & (f.y == 2), (f.y == 2) & (f.x == 1), f.x == 1}) == 2


def test_equal_predicates_are_made_alike():
    assert f.x.has_any(["a"]) == f.x.has_all(["a"]) == f.x.has("a")
    assert f.x.has_any(["a"]).every == f.x.has("a").every


def test_predicates_travel():
    predicate = (f.x == 1) & ~f.tags.has("a")
    assert pickle.loads(pickle.dumps(predicate)) == predicate
    assert copy.deepcopy(predicate) == predicate


def test_predicates_are_frozen():
    predicate = f.x == 1
    with pytest.raises(AttributeError):
        predicate.value = 2


def test_fields_and_text():
    predicate = (f.b == 1) & (f.a.is_null() | f.text.contains("x")) & ~f.c.has(1)
    assert predicate.fields() == ("a", "b", "c")
    assert predicate.has_text()
    assert not (f.b == 1).has_text()
    assert f.text.phrase("x y").fields() == ()


def test_wide_predicates_stay_flat():
    predicate = f.x == 0
    for n in range(300):
        predicate |= f.x == n
    assert len(predicate.parts) == 300


MISUSE = {
    "and": lambda: (f.x == 1) and (f.y == 2),
    "or": lambda: (f.x == 1) or (f.y == 2),
    "not": lambda: not f.x.is_null(),
    "chain": lambda: 1 < f.x < 5,
    "bool": lambda: bool(f.x),
    "precedence": lambda: f.x >= 5 & f.y == 3,
    "bare and": lambda: (f.x == 1) & f.y,
    "bare or": lambda: f.y | (f.x == 1),
    "bare not": lambda: ~f.y,
    "and a value": lambda: (f.x == 1) & True,
    "or a text": lambda: (f.x == 1) | "y = 2",
    "value and": lambda: True & (f.x == 1),
    "column": lambda: f.x == f.y,
    "none": lambda: f.x == None,  # noqa: E711
    "not none": lambda: f.x != None,  # noqa: E711
    "less than none": lambda: f.x < None,
    "none in list": lambda: f.x.isin(["a", None]),
    "has none": lambda: f.x.has(None),
    "nan": lambda: f.x == float("nan"),
    "infinite": lambda: f.x < float("inf"),
    "minus infinite in list": lambda: f.x.isin([float("-inf")]),
    "huge": lambda: f.x < 10**5_000,
    "string for list": lambda: f.x.isin("abc"),
    "dict for list": lambda: f.x.isin(OrderedDict(a=1)),
    "number for list": lambda: f.x.has_any(5),
    "list for value": lambda: f.x == [1],
    "bytes": lambda: f.x == b"a",
    "object": lambda: f.x == object(),
    "array": lambda: f.x == np.array([1, 2]),
    "naive datetime": lambda: f.x == datetime(2018, 1, 1),  # noqa: DTZ001
    "contains of a field": lambda: f.title.contains("x"),
    "phrase of a field": lambda: f.title.phrase("x"),
    "no words": lambda: f.text.contains("  "),
    "words that are no text": lambda: f.text.phrase(5),
    "no name": lambda: f[""],
    "number for name": lambda: f[5],
}  # fmt: skip


@pytest.mark.parametrize("misuse", MISUSE)
def test_misuse_raises(misuse):
    with pytest.raises(errors.InvalidPredicate):
        MISUSE[misuse]()


@pytest.mark.parametrize("misuse", ["naive datetime", "list for value", "string for list", "bytes"])
def test_values_that_no_field_holds_are_a_mismatch(misuse):
    with pytest.raises(errors.TypeMismatch):
        MISUSE[misuse]()


def test_messages_name_the_remedy():
    with pytest.raises(errors.InvalidPredicate, match=r"`x is null`, in Python `f.x.is_null\(\)`"):
        MISUSE["none"]()
    with pytest.raises(errors.InvalidPredicate, match=r"`&`, `\|` and `~`"):
        MISUSE["and"]()
    with pytest.raises(errors.InvalidPredicate, match="parentheses"):
        MISUSE["precedence"]()


def test_columns_have_no_hash_and_no_hidden_protocol():
    with pytest.raises(TypeError):
        hash(f.x)
    assert not hasattr(f, "__deepcopy__")
    assert isinstance(f.isin == 1, Predicate)
    assert repr(f.x) == "f['x']"
