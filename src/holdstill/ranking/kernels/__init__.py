"""The exact engine's inner loops, compiled by numba: the same integers as the numpy path, in fewer passes.

Importing this package loads numba and compiles what its cache lacks: ask `holdstill.ranking.compiled` for it.
"""

from holdstill.ranking.kernels.ranks import sort_out
from holdstill.ranking.kernels.vectors import GROUP, bound_all, bound_rows, dot_rows
from holdstill.ranking.kernels.words import MATCH, address, best_matches, count_visible, keep_eligible, total_length

__all__ = [
    "GROUP",
    "MATCH",
    "address",
    "best_matches",
    "bound_all",
    "bound_rows",
    "count_visible",
    "dot_rows",
    "keep_eligible",
    "sort_out",
    "total_length",
]
