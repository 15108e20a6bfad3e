"""Tables: CSV, whose values are text, and Parquet, whose values have types."""

from __future__ import annotations

import csv
import glob
import io
import math
import re
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from itertools import chain
from typing import Any

from holdstill.document import Document
from holdstill.errors import InvalidDocument, InvalidInput, MalformedInput
from holdstill.ingest.cells import Cell
from holdstill.ingest.files import Source
from holdstill.ingest.records import attempt, document_of
from holdstill.ingest.rows import Keys, Outcome

_ROLES = ("id", "_id", "title", "text")
_ESCAPED = re.compile("[\udc80-\udcff]")
_MAX_CELL = 2**31 - 1
_BATCH = 1024


def read_csv(source: Source, keys: Keys) -> Iterator[Outcome]:
    """One outcome for each row under the header; the number is that of the line where the row starts.

    Cells are separated by commas, or by tabs in a `.tsv` file, and quoted as RFC 4180 says. An empty cell is null.
    """
    # The limit belongs to the whole process; the default, 128 KB, refuses a long text.
    csv.field_size_limit(_MAX_CELL)
    with source.open() as raw:
        # Undecodable bytes become lone surrogates, which UTF-8 cannot hold: they name the row and the column at fault.
        lines = io.TextIOWrapper(raw, encoding="utf-8-sig", errors="surrogateescape", newline="")
        separator = "\t" if source.extension == ".tsv" else ","
        rows = _csv_rows(lines, separator)
        header = next(rows, (1, []))[1]
        if not isinstance(header, InvalidInput) and (problem := _header_problem(header, keys)):
            header = _other_separator(header, separator) or problem
        if isinstance(header, InvalidInput):
            yield 1, header
            return
        for number, row in rows:
            yield number, row if isinstance(row, InvalidInput) else attempt(_csv_document, header, row, keys)


def read_parquet(source: Source, keys: Keys) -> Iterator[Outcome]:
    """One outcome for each row, in the file's order; the number is that of the row.

    A column `vector` is the vector, or else a column `embedding` that holds lists of floats.
    """
    import duckdb

    number = 0
    try:
        with duckdb.connect() as connection:
            # Brackets in a file's name are no pattern, and `year=2024` in a folder's name is no column.
            query = "SELECT * FROM read_parquet(?, hive_partitioning = false)"
            connection.execute(query, [glob.escape(str(source.path))])
            columns = _parquet_columns(connection.description or ())
            problem = _header_problem(columns, keys)
            if problem is not None:
                yield 1, problem
                return
            rows = chain.from_iterable(iter(lambda: connection.fetchmany(_BATCH), []))
            for number, row in enumerate(rows, 1):
                yield number, attempt(_parquet_document, columns, row, keys)
    except duckdb.Error as error:
        yield number + 1, MalformedInput(f"not Parquet: {str(error).splitlines()[0]}")


def _csv_rows(lines: io.TextIOWrapper, delimiter: str) -> Iterator[tuple[int, list[str] | InvalidInput]]:
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        start = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield start, _csv_problem(error, start, reader.line_num)
            continue
        if row:
            yield start, _undecodable(row) or row


def _undecodable(row: Sequence[str]) -> MalformedInput | None:
    for cell, text in enumerate(row, 1):
        if escaped := _ESCAPED.search(text):
            byte = ord(escaped[0]) - 0xDC00
            return MalformedInput(f"not UTF-8: byte 0x{byte:02x} in cell {cell}", hint="Save it as UTF-8")
    return None


def _csv_problem(error: csv.Error, start: int, end: int) -> MalformedInput:
    if end > start:
        return MalformedInput(
            f"not CSV: {error}; lines {start} to {end} are lost", hint=f"See the quotes of line {start}"
        )
    return MalformedInput(f"not CSV: {error}", hint="A quote inside a quoted cell is written twice")


def _csv_document(header: Sequence[str], row: Sequence[str], keys: Keys) -> Document:
    if len(row) != len(header):
        raise MalformedInput("the row is not as wide as the header", expected=f"{len(header)} cells", got=len(row))
    cells = {name: Cell(text) if text else None for name, text in zip(header, row, strict=True)}
    record: dict[str, Any] = {name: cells.pop(name) for name in _ROLES if name in cells}
    # Every other column is a field, whatever it is called.
    return document_of(record | {"metadata": cells}, keys)


def _parquet_document(columns: Sequence[str], row: Sequence[Any], keys: Keys) -> Document:
    return document_of({name: _plain(value, name) for name, value in zip(columns, row, strict=True)}, keys)


def _parquet_columns(description: Sequence[Sequence[Any]]) -> list[str]:
    types = {column[0]: str(column[1]) for column in description}
    if "vector" not in types and types.get("embedding") in ("FLOAT[]", "DOUBLE[]"):
        return ["vector" if name == "embedding" else name for name in types]
    return list(types)


def _header_problem(columns: Sequence[str], keys: Keys) -> InvalidInput | None:
    """What is wrong with the names of the columns: said once, not once a row."""
    if not columns:
        return MalformedInput("there is no header", expected="a first row with the names of the columns")
    twice = [name for index, name in enumerate(columns) if name in columns[:index]]
    if twice:
        return MalformedInput("a column stands twice", field=twice[0], got=twice[0])
    if "metadata" in columns or "fields" in columns:  # the named keys may be in there
        return None
    ids = ("id", "_id") if keys.id is None and keys.document is None else ()
    if ids and not set(ids) & set(columns):
        return MalformedInput(
            "no column holds the id", field="id", expected="a column 'id' or '_id'", hint="Name one with --id COLUMN"
        )
    named = (keys.document,) if keys.document is not None else (keys.id,)
    for key in (*named, keys.title, keys.text):
        if key is not None and key not in columns:
            return MalformedInput(
                "there is no such column", field=key, expected="one of " + ", ".join(columns), got=key
            )
    return None


def _other_separator(header: Sequence[str], separator: str) -> MalformedInput | None:
    """What to say of a header that is one cell, and looks like several that something else separates."""
    found = [sign for sign in ",;\t|" if sign != separator and len(header) == 1 and sign in header[0]]
    if not found:
        return None
    return MalformedInput(
        f"the cells look separated by {found[0]!r}",
        expected=f"cells separated by {separator!r}",
        got=header[0],
        hint="Cells are separated by commas, in a file named .tsv by tabs",
    )


def _plain(value: object, name: str, *, inside: bool = False) -> Any:
    """A value of Parquet as JSON would hold it, except that dates and datetimes keep their type, unless inside a list.

    Raises:
        holdstill.InvalidDocument: a number is NaN or infinite, or bytes are not text.
    """
    if isinstance(value, (list, tuple)):
        if set(map(type, value)) == {float} and all(map(math.isfinite, value)):
            return list(value)  # vectors, which are long, are not taken apart
        return [_plain(item, name, inside=True) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item, name, inside=True) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidDocument("a number is not finite", field=name, expected="a finite number, or null", got=value)
    if isinstance(value, Decimal):
        return int(value) if value.as_tuple().exponent == 0 else float(value)
    if isinstance(value, date):
        return value.isoformat() if inside else value
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise InvalidDocument("bytes are not text", field=name, expected="UTF-8", got=value) from error
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
