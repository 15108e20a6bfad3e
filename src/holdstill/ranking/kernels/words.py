"""BM25 over the postings of a query's terms, one window of rows after another.

A window's totals stay in the processor's second cache, and blocks of it that hold no match are passed over. The
arithmetic is that of `holdstill.ranking.bm25`; a table of its saturations serves all but unusual passages.

`terms` is for each term the addresses of its rows and of its frequencies, int32 both, how many they are, and its idf;
int64, shape (terms, 4). Numba has no list of arrays that is quick to make.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from holdstill.ranking.kernels.jit import BOOL, INT32, INT64, VOID, compiled, reads, writes

WINDOW, BLOCK = 32768, 64  #: rows
MATCH = 1 << 62  #: set in the total of every match, whose score may be 0; no score comes near it

# Numba asks of each signed index whether it counts from the end. Without a sign, a query takes two thirds of the time.
_UINT32 = types.uint32
_POINTER: Any = types.CPointer(_UINT32)  # type: ignore[no-untyped-call]
_PAIR: Any = types.UniTuple(INT64, 2)  # type: ignore[no-untyped-call]


def _from_address(_: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return _POINTER(address), generate


_items: Any = intrinsic(_from_address)


@compiled(INT64, reads(INT32))
def address(array: Any) -> Any:
    """Where an array's items begin; the caller keeps it alive."""
    return array.ctypes.data


@compiled(_PAIR, reads(INT32), reads(BOOL))
def total_length(lengths: Any, visible: Any) -> Any:
    """How many rows are visible, and the sum of their lengths."""
    count, total = 0, 0
    for row in range(len(lengths)):
        count += visible[row]
        total += visible[row] * np.int64(lengths[row])
    return count, total


@compiled(VOID, reads(INT64, 2), reads(BOOL), writes(INT64))
def count_visible(terms: Any, visible: Any, counts: Any) -> None:
    """How many of each term's rows are visible."""
    for term in range(len(terms)):
        rows, count = _items(terms[term, 0]), 0
        for at in range(terms[term, 2]):
            count += visible[rows[at]]
        counts[term] = count


@compiled(VOID, writes(INT64, 2), reads(BOOL), writes(INT32), writes(INT32))
def keep_eligible(terms: Any, eligible: Any, rows: Any, frequencies: Any) -> None:
    """Copy the terms' eligible rows and their frequencies, and make them the terms'.

    Each term is read from end to end, in which memory is quickest, and without a branch, which a filter of a half would
    make unpredictable. So there has to be room for one row more than are kept.
    """
    kept = 0
    for term in range(len(terms)):
        held, places, first = _items(terms[term, 0]), _items(terms[term, 1]), kept
        for at in range(terms[term, 2]):
            rows[np.uint64(kept)] = at
            kept += eligible[held[at]]
        for index in range(first, kept):
            at = rows[index]
            rows[index], frequencies[index] = held[at], places[at]
        offset = first * rows.itemsize
        terms[term, 0], terms[term, 1] = rows.ctypes.data + offset, frequencies.ctypes.data + offset
        terms[term, 2] = kept - first


@compiled(INT64, _UINT32, _UINT32, reads(INT32, 2), reads(INT64))
def _saturation(tf: Any, length: Any, table: Any, formula: Any) -> Any:
    """As `bm25.saturation`; -1 where 64 bits are too few."""
    if tf < table.shape[0] and length < table.shape[1]:
        return np.int64(table[tf, length])
    if tf > formula[2] or length > formula[3]:
        return -1
    count, total = formula[0], formula[1]
    norm = ((9 * count * np.int64(length) + 3 * total) << 16) // (10 * total)
    return ((11 * np.int64(tf)) << 36) // (5 * ((np.int64(tf) << 16) + norm))


@compiled(INT64, _POINTER, INT64, INT64, INT64)
def _first_from(rows: Any, low: int, high: int, bound: int) -> int:
    """Where in low to high the first row from `bound` stands; high if none does."""
    while low < high:
        middle = (low + high) >> 1
        if rows[middle] < bound:
            low = middle + 1
        else:
            high = middle
    return low


@compiled(
    BOOL,
    *(reads(INT64, 2), writes(INT64), INT64, reads(INT32), reads(INT32, 2), reads(INT64), writes(INT64), writes(BOOL)),
)
def _add_up(
    terms: Any, cursors: Any, start: int, lengths: Any, table: Any, formula: Any, totals: Any, touched: Any
) -> bool:
    """Add the contributions to one window's rows; false where 64 bits are too few."""
    for term in range(len(terms)):
        rows, frequencies, idf = _items(terms[term, 0]), _items(terms[term, 1]), terms[term, 3]
        begin = cursors[term]
        end = _first_from(rows, begin, min(begin + WINDOW, terms[term, 2]), start + WINDOW)
        cursors[term] = end
        for at in range(begin, end):
            row = rows[at]
            units = _saturation(frequencies[at], np.uint32(lengths[row]), table, formula)
            if units < 0:
                return False
            within = np.uint32(row - start)
            totals[within] = (totals[within] + ((idf * units) >> 20)) | MATCH
            touched[within // np.uint32(BLOCK)] = True
    return True


@compiled(VOID, writes(INT64), INT64)
def _replace_least(heap: Any, total: int) -> None:
    """Put a total where the least one of a heap stood, and the heap in order again."""
    at, child = 0, 1
    while child < len(heap):
        if child + 1 < len(heap) and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= total:
            break
        heap[at] = heap[child]
        at, child = child, 2 * child + 1
    heap[at] = total


@compiled(_PAIR, *(writes(INT64), writes(BOOL), INT64, writes(INT64), writes(INT64), writes(INT64), INT64))
def _collect(totals: Any, touched: Any, start: int, best: Any, rows: Any, scores: Any, kept: int) -> tuple[int, int]:
    """Keep what may be among the best of one window, and empty it; how many are kept now, and how many match."""
    matched = 0
    for block in range(WINDOW // BLOCK):
        if not touched[block]:
            continue
        touched[block] = False
        first, highest, before = block * BLOCK, np.int64(0), kept
        for within in range(first, first + BLOCK):
            highest = max(highest, totals[within])
            matched += totals[within] >> 62
        # What is below the least of as many as are wanted is not among the best; what equals it ties with the last.
        floor = best[0] if len(best) else np.int64(MATCH)
        if highest >= floor:
            for within in range(first, first + BLOCK):
                rows[np.uint64(kept)] = start + within
                kept += totals[within] >= floor
            for at in range(before, kept):
                total = totals[np.uint64(rows[at] - start)]
                scores[at] = total - MATCH
                if len(best) and total > best[0]:
                    _replace_least(best, total)
        totals[first : first + BLOCK] = 0
    return kept, matched


@compiled(
    _PAIR,
    *(reads(INT64, 2), reads(INT32), reads(INT32, 2), reads(INT64)),
    *(writes(INT64), writes(INT64), writes(INT64)),
)
def best_matches(
    terms: Any, lengths: Any, table: Any, formula: Any, best: Any, rows: Any, scores: Any
) -> tuple[int, int]:
    """Score the rows that hold a term, and keep those that may be among the best.

    Args:
        terms: as above.
        lengths: each row's number of terms, shape (n,).
        table: the saturation for each frequency and length below its shape.
        formula: N, T, and the largest frequency and the largest length for which 64 bits suffice.
        best: as many times `MATCH` as best matches are wanted; empty to keep every match.
        rows: filled with the rows kept, ascending; its length is that of all matches and one more.
        scores: filled with their scores.

    Returns:
        How many are kept and how many match; -1 for both where 64 bits are too few.
    """
    totals, touched = np.zeros(WINDOW, np.int64), np.zeros(WINDOW // BLOCK, np.bool_)
    cursors = np.zeros(len(terms), np.int64)
    kept, matched = 0, 0
    for start in range(0, len(lengths), WINDOW):
        if not _add_up(terms, cursors, start, lengths, table, formula, totals, touched):
            return -1, -1
        kept, found = _collect(totals, touched, start, best, rows, scores, kept)
        matched += found
    return kept, matched
