"""When the compiled kernels serve: for many rows. Below that numpy is quick enough, and numba need not be loaded."""

from __future__ import annotations

import importlib
from typing import Any

LARGE = 20_000  #: rows above which compiled kernels are worth loading


def kernels(rows: int) -> Any | None:
    """The module `holdstill.ranking.kernels`, or None where the numpy path serves; both give the same bits.

    Args:
        rows: how many rows there are to rank.
    """
    return importlib.import_module("holdstill.ranking.kernels") if rows > LARGE else None
