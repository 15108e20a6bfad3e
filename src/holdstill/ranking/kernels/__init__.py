"""The exact engine's inner loops, compiled by numba: the same integers as the numpy path, in fewer passes.

Importing this package loads numba and compiles what its cache lacks: ask `holdstill.ranking.compiled` for it.
"""

from holdstill.ranking.kernels.vectors import GROUP, bound_all, bound_rows, dot_rows

__all__ = ["GROUP", "bound_all", "bound_rows", "dot_rows"]
