"""Rank fusion over a whole table: one that the user already has, and not a collection.

    source (DuckDB evaluates the expressions) -> scores -> ordering (ranks) -> rrf (fused scores) -> FusedTable
                                                       `-> leaders (the first few, without sorting everything)

Only `source` and `result` speak to DuckDB; the rest is arrays.
"""

from holdstill.tables.fusing import fuse
from holdstill.tables.result import FusedTable

__all__ = ["FusedTable", "fuse"]
