"""Typed, three-valued conditions: built in Python or parsed from SQL, checked, compiled, evaluated."""

from holdstill.predicate.build import f
from holdstill.predicate.evaluate import evaluate
from holdstill.predicate.nodes import Predicate, TextLeaf
from holdstill.predicate.parsing import parse
from holdstill.predicate.plan import Plan, Truth, fields_only, split
from holdstill.predicate.sql import to_sql

__all__ = ["Plan", "Predicate", "TextLeaf", "Truth", "evaluate", "f", "fields_only", "parse", "split", "to_sql"]
