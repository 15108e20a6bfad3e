"""The exact engine's inner loops, compiled by numba: the same integers as the numpy path, in fewer passes.

Importing this package loads numba and compiles what its cache lacks: ask `holdstill.ranking.compiled` for it.
"""

from holdstill.ranking.kernels.ranks import sort_out

__all__ = ["sort_out"]
