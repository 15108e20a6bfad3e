"""The index of a collection: its segments seen as one, in passage-row order."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from holdstill.errors import InvariantViolated
from holdstill.ranking.codes import Codes
from holdstill.ranking.dense import Block
from holdstill.stores.base import Postings, StoredPassage
from holdstill.stores.duckdb import records, segment
from holdstill.stores.duckdb.arrays import Arrays


@dataclass(frozen=True)
class Index:
    """Segments end to end; immutable, so that any number of threads may read it.

    Attributes:
        segments: the arrays of each segment, as `segment` lays them out.
    """

    segments: tuple[Arrays, ...]

    @cached_property
    def firsts(self) -> list[int]:
        """The first passage row of each segment, and the number of rows in all."""
        return [0, *np.cumsum([len(each["lengths"]) for each in self.segments]).tolist()]

    @property
    def rows(self) -> int:
        """How many passages the index holds, visible or not, live or not."""
        return self.firsts[-1]

    @cached_property
    def lengths(self) -> NDArray[np.int32]:
        """Occurrences of terms in each passage; shape (rows,)."""
        return _join([each["lengths"] for each in self.segments], np.dtype(np.int32))

    @cached_property
    def numbers(self) -> NDArray[np.int64]:
        """The number of each content in the database, ascending; shape (contents,).

        Everywhere else in the index a content goes by its place in this order.
        """
        return _join([each["contents"] for each in self.segments], np.dtype(np.int64))

    def places(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The places of contents, by their numbers in the database.

        Raises:
            holdstill.InvariantViolated: the index lacks one of them.
        """
        if self._gapless:
            places = numbers
            lacking = numbers[numbers >= len(self.numbers)]
        else:
            places = np.searchsorted(self.numbers, numbers)
            lacking = numbers[np.take(self.numbers, places, mode="clip") != numbers] if self.segments else numbers
        if len(lacking):
            raise InvariantViolated(
                "the index lacks the content of a document",
                field="content",
                got=int(lacking[0]),
                hint="`holdstill doctor` compares the index with the database",
            )
        return places

    @cached_property
    def _gapless(self) -> bool:
        return len(self.numbers) > 0 and int(self.numbers[-1]) == len(self.numbers) - 1

    @cached_property
    def contents(self) -> NDArray[np.int64]:
        """The place of the content each passage belongs to, non-decreasing, read-only; shape (rows,)."""
        numbers = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        numbers.flags.writeable = False
        return numbers

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The first passage row of each content, and the number of rows in all; shape (contents + 1,)."""
        parts = [each["starts"][:-1] + first for each, first in zip(self.segments, self.firsts, strict=False)]
        return np.append(_join(parts, np.dtype(np.int64)), self.rows)

    @property
    def single(self) -> bool:
        """Whether every content is one passage, of the same number; none has less than one."""
        return self.rows == len(self.starts) - 1

    def spread(self, contents: NDArray[np.int64]) -> NDArray[np.bool_]:
        """A mask over passages, bool (rows,), of those that belong to the contents."""
        mask = np.zeros(len(self.numbers), dtype=np.bool_)
        mask[contents] = True
        return mask if self.single else mask[self.contents]

    def passage(self, row: int) -> tuple[str, StoredPassage]:
        """The title of the document that the passage was stored with, and the passage.

        Raises:
            holdstill.InvariantViolated: its record is damaged.
        """
        number = bisect_right(self.firsts, row) - 1
        record = segment.record(self.segments[number], row - self.firsts[number])
        return records.decode(record, row - int(self.starts[self.contents[row]]))

    def postings(self, term: str) -> Postings:
        """Where the term stands: rows ascending, frequencies, and positions within each row."""
        key = term.encode()
        rows, frequencies, positions = [], [], []
        for each, first in zip(self.segments, self.firsts, strict=False):
            number = segment.find(each, key)
            if number is None:
                continue
            span = slice(*each["posting_ends"][number : number + 2])
            rows.append(each["rows"][span] + first if first else each["rows"][span])
            frequencies.append(each["frequencies"][span])
            positions.append(each["positions"][slice(*each["position_ends"][number : number + 2])])
        return Postings(*(_join(parts, np.dtype(np.int32)) for parts in (rows, frequencies, positions)))

    def vectors(self) -> Iterator[Block]:
        """The grid vectors, a block for each segment, with the codes that the segment has."""
        for each, first in zip(self.segments, self.firsts, strict=False):
            yield Block(first, each["vectors"], Codes.of(each))


def _join(parts: Sequence[NDArray[np.generic]], dtype: np.dtype[np.generic]) -> NDArray:  # type: ignore[type-arg]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0, dtype=dtype)
