"""Complete orders of many rows: by value, best first, and then by id.

numpy sorts integers with vector instructions, several times faster than it sorts their indices. So the leading bits of
a row's value and the row's number go into one 64-bit integer; these are sorted, and the few rows whose leading bits
are alike are put in order afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]  #: numbers of rows, from 0

_FEW = 16  # for fewer rows than one in so many it does not pay to look at all ids


@dataclass(frozen=True)
class Ids:
    """The ids of all rows.

    Args:
        values: shape (n,); integers, or Python strings, which compare by code point as SQL's do by bytes.
    """

    values: NDArray[Any]

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def ascending(self) -> bool:
        """Whether the rows stand in the order of their ids."""
        return bool((self.values[1:] >= self.values[:-1]).all())

    @property
    def order(self) -> Rows:
        """The rows by id, then by position."""
        return self.arranged(np.arange(len(self)))

    def arranged(self, rows: Rows) -> Rows:
        """The places of these rows by id, then by row."""
        by_row = _by_key(rows.astype(np.uint64))
        if len(rows) > len(self) // _FEW and self.ascending:
            return by_row
        ids = self.values[rows[by_row]]
        if ids.dtype == object:
            return by_row[np.argsort(ids, kind="stable")]
        keys = ids.astype(np.uint64)  # differences are right modulo 2^64, whatever the signs
        keys -= ids.min().astype(np.uint64)
        return by_row[_by_key(keys)]


def best_first(values: NDArray[Any]) -> NDArray[np.uint64]:
    """A key for each value, equal values having equal ones, such that the best value has key 0 and worse ones more.

    Args:
        values: shape (n,), n at least 1; integers or floats without NaN, higher is better.
    """
    if values.dtype.kind == "f":
        size = values.dtype.itemsize
        signed = (values + values.dtype.type(0)).view(f"i{size}")  # adding 0 makes -0.0, which is equal to it, 0.0
        if signed.min() < 0:
            # The bits of floats sort as integers do, once those of negative numbers are turned round.
            turned = signed >> (8 * size - 1)
            turned &= np.iinfo(signed.dtype).max
            signed ^= turned
        values = signed
    keys = values.astype(np.int64).view(np.uint64) if values.dtype.kind == "i" else values.astype(np.uint64)
    np.subtract(keys.dtype.type(int(values.max()) % 2**64), keys, out=keys)  # right modulo 2^64, whatever the signs
    return keys


def order(keys: NDArray[np.uint64], rows: Rows | None, ids: Ids) -> Rows:
    """The places 0 to n - 1 in ascending order of their keys, then of their rows' ids, then of the rows.

    Args:
        keys: shape (n,).
        rows: the row at each place; None where it is the place itself.
        ids: of all rows.
    """
    if len(keys) < 2:
        return np.arange(len(keys))
    places, cut = _packed(keys)
    touched = _in_runs(cut)
    if len(touched):
        among = places[touched]
        among = among[ids.arranged(among if rows is None else rows[among])]
        places[touched] = among[_by_key(keys[among])]
    return places


def _by_key(keys: NDArray[np.uint64]) -> Rows:
    """The places in ascending order of their keys, then of the places."""
    if len(keys) < 2:
        return np.arange(len(keys))
    places, cut = _packed(keys)
    touched = _in_runs(cut)
    if len(touched):
        touched = _of_mixed_runs(touched, cut[touched], keys[places[touched]])
        among = places[touched]
        places[touched] = among[np.argsort(keys[among], kind="stable")]
    return places


def _packed(keys: NDArray[np.uint64]) -> tuple[Rows, NDArray[np.uint64]]:
    """The places by the leading bits of their keys, then by place, and these leading bits."""
    bits = (len(keys) - 1).bit_length()
    surplus = max(0, int(keys.max()).bit_length() + bits - 64)
    packed = keys >> np.uint64(surplus)
    packed <<= np.uint64(bits)
    packed |= np.arange(len(keys), dtype=np.uint64)
    packed.sort()
    places = (packed & np.uint64((1 << bits) - 1)).view(np.int64)
    packed >>= np.uint64(bits)
    return places, packed


def _in_runs(ascending: NDArray[Any]) -> Rows:
    """The positions of values that stand more than once."""
    alike = ascending[1:] == ascending[:-1]
    if not alike.any():
        return np.empty(0, np.int64)
    member = np.append(alike, False)
    member[1:] |= alike
    return np.flatnonzero(member)


def _of_mixed_runs(positions: Rows, cut: NDArray[np.uint64], keys: NDArray[np.uint64]) -> Rows:
    """The positions whose run of equal leading bits has keys that differ."""
    opens = np.append(True, cut[1:] != cut[:-1])
    run = np.cumsum(opens) - 1
    mixed = np.zeros(len(positions), np.bool_)
    mixed[run[1:][~opens[1:] & (keys[1:] != keys[:-1])]] = True
    return np.asarray(positions[mixed[run]])


def shared_ranks(ordered: NDArray[Any]) -> NDArray[np.int32]:
    """1 + the number of rows with a better key, for keys that are in order."""
    ranks = np.arange(1, len(ordered) + 1, dtype=np.int32)
    ranks[1:][ordered[1:] == ordered[:-1]] = 0
    np.maximum.accumulate(ranks, out=ranks)
    return ranks
