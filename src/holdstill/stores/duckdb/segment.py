"""One segment of the index: a run of passages as records, term-major postings with positions, and grid vectors.

Array by array, for `n` passages of `c` contents holding `t` distinct terms in `p` postings and `o` occurrences:

    contents      int64[c]       the number of each content, ascending
    starts        int64[c + 1]   first passage of each, counted from the segment's first
    record_bytes  uint8[...]     what is shown of each passage, see `records`, end to end
    record_ends   int64[n + 1]   where each record's bytes begin and the last one's end
    lengths       int32[n]       occurrences of terms in each passage
    term_bytes    uint8[...]     the terms in byte order, UTF-8, end to end
    term_ends     int64[t + 1]   likewise each term's bytes
    posting_ends  int64[t + 1]   likewise its postings
    rows          int32[p]       passages holding the term, ascending, counted from the segment's first
    frequencies   int32[p]       how often each holds it
    position_ends int64[t + 1]   likewise its occurrences
    positions     int32[o]       where it stands in each passage, ascending within the passage
    vectors       int16[n, d]    the grid vectors; d = 0 where the collection has none
    codes.*                      what `holdstill.ranking.codes` keeps of them, where that pays
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdstill.analysis import Term
from holdstill.ranking import codes
from holdstill.stores.base import Progress
from holdstill.stores.duckdb.arrays import Arrays

Ints = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Every occurrence of every term: parallel arrays in order of row, then position."""

    terms: list[bytes]  #: the distinct terms, in any order
    term: Ints  #: which of `terms` each occurrence is of
    row: Ints
    position: Ints


@dataclass(frozen=True, slots=True)
class Strings:
    """Strings of bytes end to end: uint8, and where each begins and the last one ends: int64."""

    data: Ints
    ends: Ints

    @classmethod
    def of(cls, strings: Sequence[bytes]) -> Strings:
        """Those of a list, in its order."""
        ends = np.cumsum([0] + [len(string) for string in strings], dtype=np.int64)
        return cls(np.frombuffer(b"".join(strings), dtype=np.uint8), ends)


def build(
    passages: Iterable[Sequence[Term]],
    records: Iterable[bytes],
    contents: Ints,
    starts: Ints,
    vectors: NDArray[np.int16],
    progress: Progress | None = None,
) -> Arrays:
    """The arrays of a segment, from the analysed passages and their records in row order."""
    numbers: dict[bytes, int] = {}
    term, row, position, lengths = array("q"), array("q"), array("q"), array("i")
    for number, terms in enumerate(passages):
        for each in terms:
            term.append(numbers.setdefault(each.text.encode(), len(numbers)))
            position.append(each.position)
        row.extend([number] * len(terms))
        lengths.append(len(terms))
    occurrences = Occurrences(list(numbers), np.array(term), np.array(row), np.array(position))
    shown = Strings.of(list(records))
    return _assemble(occurrences, shown, contents, starts, np.array(lengths, dtype=np.int32), vectors, progress)


def merge(segments: Sequence[Arrays], progress: Progress | None = None) -> Arrays:
    """One segment from adjacent ones, the same arrays as if their passages had been built together."""
    rows = np.cumsum([0] + [len(each["lengths"]) for each in segments])
    starts = [each["starts"][:-1] + first for each, first in zip(segments, rows, strict=False)]
    numbers: dict[bytes, int] = {}
    term, row, position = [], [], []
    for each, first in zip(segments, rows, strict=False):
        mapping = np.array([numbers.setdefault(text, len(numbers)) for text in terms_of(each)], dtype=np.int64)
        term.append(np.repeat(mapping, np.diff(each["position_ends"])))
        row.append(np.repeat(each["rows"].astype(np.int64) + first, each["frequencies"]))
        position.append(each["positions"])
    occurrences = Occurrences(list(numbers), np.concatenate(term), np.concatenate(row), np.concatenate(position))
    return _assemble(
        occurrences,
        _records(segments),
        np.concatenate([each["contents"] for each in segments]),
        np.concatenate([*starts, rows[-1:]]),
        np.concatenate([each["lengths"] for each in segments]),
        np.concatenate([each["vectors"] for each in segments]),
        progress,
    )


def without(segment: Arrays, gone: Ints, progress: Progress | None = None) -> Arrays:
    """The segment without some contents: the same arrays as if the others had been built together.

    Args:
        segment: its arrays.
        gone: numbers of contents, of which the segment need not hold all.
        progress: called with what is being done, how much of it, and of how much.
    """
    kept = ~np.isin(segment["contents"], gone)
    spans = np.diff(segment["starts"])
    passages = np.repeat(kept, spans)
    row = np.repeat(segment["rows"], segment["frequencies"])
    stays = passages[row]
    term = np.repeat(np.arange(len(segment["term_ends"]) - 1), np.diff(segment["position_ends"]))[stays]
    used, every = np.unique(term), terms_of(segment)
    occurrences = Occurrences(
        [every[number] for number in used.tolist()],
        np.searchsorted(used, term),
        (np.cumsum(passages) - 1)[row[stays]],
        segment["positions"][stays],
    )
    sizes = np.diff(segment["record_ends"])
    shown = Strings(segment["record_bytes"][np.repeat(passages, sizes)], np.append(0, np.cumsum(sizes[passages])))
    starts = np.append(0, np.cumsum(spans[kept]))
    lengths, vectors = segment["lengths"][passages], segment["vectors"][passages]
    return _assemble(occurrences, shown, segment["contents"][kept], starts, lengths, vectors, progress)


def terms_of(segment: Arrays) -> list[bytes]:
    """The segment's terms, in byte order."""
    data, ends = segment["term_bytes"].tobytes(), segment["term_ends"].tolist()
    return [data[begin:end] for begin, end in itertools.pairwise(ends)]


def record(segment: Arrays, row: int) -> bytes:
    """The record of a passage, counted from the segment's first."""
    begin, end = segment["record_ends"][row : row + 2].tolist()
    return segment["record_bytes"][begin:end].tobytes()


def find(segment: Arrays, term: bytes) -> int | None:
    """The number of a term in a segment, by binary search; None where no passage holds it."""
    data, ends = segment["term_bytes"], segment["term_ends"]
    low, high = 0, len(ends) - 1
    while low < high:
        middle = (low + high) // 2
        if data[ends[middle] : ends[middle + 1]].tobytes() < term:
            low = middle + 1
        else:
            high = middle
    return low if low < len(ends) - 1 and data[ends[low] : ends[low + 1]].tobytes() == term else None


def _assemble(
    found: Occurrences,
    records: Strings,
    contents: Ints,
    starts: Ints,
    lengths: Ints,
    vectors: NDArray[np.int16],
    progress: Progress | None,
) -> Arrays:
    coded = codes.encode(vectors, progress)
    order = sorted(range(len(found.terms)), key=found.terms.__getitem__)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    term = ranks[found.term] if len(order) else found.term
    by_term = np.lexsort((found.position, found.row, term))
    term, row, position = term[by_term], found.row[by_term], found.position[by_term]
    first = np.flatnonzero(_changes(term) | _changes(row))
    terms = Strings.of([found.terms[number] for number in order])
    return {
        "contents": contents.astype(np.int64),
        "starts": starts.astype(np.int64),
        "record_bytes": records.data,
        "record_ends": records.ends,
        "lengths": lengths.astype(np.int32),
        "term_bytes": terms.data,
        "term_ends": terms.ends,
        "posting_ends": np.searchsorted(term[first], np.arange(len(order) + 1)).astype(np.int64),
        "rows": row[first].astype(np.int32),
        "frequencies": np.diff(np.append(first, len(term))).astype(np.int32),
        "position_ends": np.searchsorted(term, np.arange(len(order) + 1)).astype(np.int64),
        "positions": position.astype(np.int32),
        "vectors": vectors,
        **(coded.arrays() if coded is not None else {}),
    }


def _records(segments: Sequence[Arrays]) -> Strings:
    lengths = np.concatenate([np.diff(each["record_ends"]) for each in segments])
    return Strings(np.concatenate([each["record_bytes"] for each in segments]), np.append(0, np.cumsum(lengths)))


def _changes(values: Ints) -> NDArray[np.bool_]:
    changes = np.ones(len(values), dtype=np.bool_)
    changes[1:] = values[1:] != values[:-1]
    return changes
