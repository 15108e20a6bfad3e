"""The table that is fused, as DuckDB reads it, and the fused rows on their way back: `Source`."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from holdstill.errors import InvalidInput, InvalidQuery, MalformedInput, NotWritable, UnknownField
from holdstill.tables.request import SCORE, RankedBy, Request

_FILES = ".parquet, .csv, .tsv, .csv.gz, .tsv.gz, .duckdb or .db"
_INTEGERS = {f"{sign}{size}" for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")}
_AS_THEY_ARE = _INTEGERS | {"FLOAT", "DOUBLE", "BOOLEAN"}
# Types that numpy has no exact form of: DuckDB numbers their values in order, equal ones alike.
_NUMBERED = ("DECIMAL", "HUGEINT", "UHUGEINT", "DATE", "TIME", "TIMESTAMP", "INTERVAL")
_LISTS = ("FLOAT[]", "DOUBLE[]")

_FANS_OUT = re.compile(r"\b(unnest|unlist)\b", re.IGNORECASE)

Column = NDArray[Any]


class Source:
    """One table, open.

    Args:
        connection: its own.
        table: the SQL that names it.
        file: that it was read from, if it was.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, table: str, file: Path | None = None) -> None:
        self._connection = connection
        self._table = table
        self.file = file
        with _told(file):
            self.types = self._described(f"SELECT * FROM {table}")
        self._registered = 0

    def fetch(self, request: Request) -> tuple[Column, Column, list[Column]]:
        """The ids, an integer for each that differs where ids do, but for chance, and what each list ranks by.

        Raises:
            holdstill.UnknownField: there is no such column.
            holdstill.InvalidQuery: an expression cannot be evaluated, or gives what has no order.
            holdstill.InvalidInput: the column of ids has a type or values that name nothing.
            holdstill.MalformedInput: the file cannot be read to its end.
        """
        for field, column in [("id", request.id), *(("carry", name) for name in request.carry)]:
            if column not in self.types:
                raise UnknownField(
                    "there is no such column", field=field, expected="one of " + ", ".join(self.types), got=column
                )
        identity, text = self._identity(request.id)
        table, types = self._bound(request.ranks)
        chosen = [f"{identity} AS id", *([f"hash({identity}) AS code"] if text else [])]
        chosen += [
            f"{_ordered(ranked, type_)} AS by_{at}"
            for at, (ranked, type_) in enumerate(zip(request.ranks, types, strict=True))
        ]
        columns = self._fetched(f"SELECT {', '.join(chosen)} FROM {table}", table, request)
        ids = columns["id"]
        if isinstance(ids, np.ma.MaskedArray):
            missing = int(np.count_nonzero(np.ma.getmaskarray(ids)))
            rows = "1 row has" if missing == 1 else f"{missing} rows have"
            raise InvalidInput(f"{rows} no id", field=request.id, hint="Leave them out, or name another")
        by = [columns[f"by_{at}"] for at in range(len(request.ranks))]
        return ids, columns["code"] if text else ids, by

    def relation(self, columns: Mapping[str, Column], request: Request, *, unique: bool) -> duckdb.DuckDBPyRelation:
        """Fused rows as a relation, in order, with the carried columns of the table.

        Args:
            columns: `id`, `position` in the table, `rank_0` and so on, 0 where absent, and `score`.
            request: names them.
            unique: whether the ids are; they then find their rows, by whatever order the table is read.
        """
        self._registered += 1
        name = f"holdstill_fused_{self._registered}"
        numbers = np.arange(len(columns["id"]))
        self._connection.register(name, {**columns, "place": numbers})
        type_ = self.types[request.id]
        chosen = [f"f.id::{type_} AS {_quoted(request.id)}"]
        chosen += [f"t.{_quoted(column)}" for column in request.carry]
        chosen += [
            f"nullif(f.rank_{at}, 0)::BIGINT AS {_quoted(ranked.name)}" for at, ranked in enumerate(request.ranks)
        ]
        chosen.append(f"f.score AS {SCORE}")
        query = f"SELECT {', '.join(chosen)} FROM {name} f"
        if request.carry:
            query += f" JOIN {self._carried(name, request, unique=unique)} ORDER BY f.place"
        with _told(self.file):
            return self._connection.sql(query)

    def _carried(self, fused: str, request: Request, *, unique: bool) -> str:
        """What the fused rows are joined with, and how."""
        identity, _ = self._identity(request.id)
        if unique:
            return f"(SELECT {identity} AS holdstill_id, * FROM {self._table}) t ON t.holdstill_id = f.id"
        # DuckDB numbers rows as it reads them, and it reads a file or a table in its order.
        numbered = (
            f"(SELECT row_number() OVER () - 1 AS holdstill_row, {identity} AS holdstill_id, * FROM {self._table}) t "
            "ON t.holdstill_row = f.position"
        )
        moved = f"SELECT count(*) FROM {fused} f LEFT JOIN {numbered} WHERE t.holdstill_id IS DISTINCT FROM f.id"
        with _told(self.file):
            count = self._connection.execute(moved).fetchall()
        if count != [(0,)]:
            raise InvalidInput(
                "the table gives its rows in another order each time, so positions keep nothing apart",
                field="duplicates",
                expected="a file, a table, or rows in a fixed order",
            )
        return numbered

    def _identity(self, column: str) -> tuple[str, bool]:
        """The SQL of an id's comparable form, and whether it is text."""
        type_ = self.types[column]
        if type_ in _INTEGERS:
            return _quoted(column), False
        if type_ == "VARCHAR":
            return _quoted(column), True
        if type_ == "UUID":
            return f"{_quoted(column)}::VARCHAR", True
        raise InvalidInput(
            "a column of this type cannot name the rows",
            field=column,
            expected="integers of up to 64 bits, text or UUIDs",
            got=type_,
            hint="Cast it in a view, or name another column with --id",
        )

    def _bound(self, ranks: tuple[RankedBy, ...]) -> tuple[str, list[str]]:
        """The table to evaluate the expressions over, and the type of each."""
        for ranked in ranks:
            _check_one_expression(ranked)
        try:
            return self._table, [self._type(ranked, self._table) for ranked in ranks]
        except InvalidQuery:
            # Parquet has no arrays of fixed length, which DuckDB's functions of vectors take: lists can stand for them.
            arrays = self._with_arrays()
            if arrays is None:
                raise
            with suppress(InvalidQuery):
                return arrays, [self._type(ranked, arrays) for ranked in ranks]
            raise

    def _with_arrays(self) -> str | None:
        """The table with its lists of floats as arrays, as long as the first list of each; None if there are none."""
        replaced = []
        for column, type_ in self.types.items():
            if type_ in _LISTS:
                name = _quoted(column)
                with _told(self.file):
                    first = self._connection.execute(
                        f"SELECT len({name}) FROM {self._table} WHERE len({name}) > 0 LIMIT 1"
                    ).fetchall()
                if first:
                    replaced.append(f"{name}::{type_[:-2]}[{first[0][0]}] AS {name}")
        return f"(SELECT * REPLACE ({', '.join(replaced)}) FROM {self._table})" if replaced else None

    def _type(self, ranked: RankedBy, table: str) -> str:
        """The type of an expression.

        Raises:
            holdstill.InvalidQuery: it cannot be evaluated for each row, or has a type without an order of merit.
        """
        column = _quoted(next(iter(self.types)))
        try:
            types = self._described(f"SELECT {column} AS a, ({ranked.expression}\n) AS b FROM {table}")
        except duckdb.Error as error:
            raise _cannot_evaluate(ranked, error) from error
        type_ = types.get("b", "")
        if list(types) != ["a", "b"] or not (type_ in _AS_THEY_ARE or type_.startswith(_NUMBERED)):
            raise InvalidQuery(
                f"the ranking {ranked.name!r} orders by what has no order of merit",
                field="rank",
                expected="a number, a boolean, a date or a time for each row",
                got=type_ or ranked.expression,
                hint="Text that holds numbers is made numbers by TRY_CAST(... AS DOUBLE)",
            )
        return type_

    def _described(self, query: str) -> dict[str, str]:
        return {row[0]: row[1] for row in self._connection.execute(f"DESCRIBE {query}").fetchall()}

    def _fetched(self, query: str, table: str, request: Request) -> Mapping[str, Column]:
        try:
            with _interruptible():
                return self._connection.sql(query).fetchnumpy()
        except duckdb.Error as error:
            for ranked in request.ranks:
                try:
                    self._connection.execute(f"SELECT count({ranked.expression}\n) FROM {table}").fetchall()
                except duckdb.Error as own:
                    if not isinstance(own, duckdb.IOException):
                        raise _cannot_evaluate(ranked, own) from own
            raise _unreadable(self.file, error) from error


def open_source(source: object, table: str | None) -> Source:
    """Open what a caller names.

    Args:
        source: the path of a file; a DuckDB connection; or an Arrow table, a DataFrame, a mapping of numpy arrays.
        table: in a database, its table or view; None if it has just one.

    Raises:
        holdstill.MalformedInput: a file does not exist, or is not what its name says.
        holdstill.InvalidInput: nothing that can be read as a table, or no such table.
    """
    if isinstance(source, duckdb.DuckDBPyConnection):
        connection = source.cursor()
        if connection.execute("SELECT current_setting('preserve_insertion_order')").fetchall() == [(False,)]:
            raise InvalidInput(
                "the connection does not keep rows in order",
                field="source",
                expected="preserve_insertion_order, DuckDB's default",
            )
        return Source(connection, _table_of(connection, table))
    if isinstance(source, (str, os.PathLike)):
        return _open_file(Path(source), table)
    _no_table(table)
    connection = duckdb.connect()
    try:
        connection.register("holdstill_source", source)
    except (duckdb.Error, ImportError) as error:
        raise InvalidInput(
            "this cannot be read as a table",
            field="source",
            expected="a path, a DuckDB connection, an Arrow table or a DataFrame",
            got=source,
            hint=str(error).splitlines()[0],
        ) from error
    return Source(connection, "holdstill_source")


def write(relation: duckdb.DuckDBPyRelation, path: Path, source: Source) -> int:
    """Write a relation to a file, whole or not at all, and give its size in bytes.

    Raises:
        holdstill.InvalidInput: neither Parquet nor CSV, or the file that the relation reads.
        holdstill.NotWritable: the file system refuses it.
    """
    kind = path.suffix.lower()
    if kind not in (".parquet", ".csv"):
        raise InvalidInput("cannot tell what to write", field="output", expected=".parquet or .csv", got=str(path))
    if source.file is not None and path.exists() and path.samefile(source.file):
        raise InvalidInput("that is the file to be read", field="output", expected="another file", got=str(path))
    building = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with _interruptible():
            if kind == ".parquet":
                relation.write_parquet(str(building))
            else:
                relation.write_csv(str(building), header=True)
        building.replace(path)
        return path.stat().st_size
    except (OSError, duckdb.IOException) as error:
        raise NotWritable(f"{str(path)!r} cannot be written", field="output", hint=_line(error)) from error
    finally:
        with suppress(OSError):
            building.unlink(missing_ok=True)


def _open_file(path: Path, table: str | None) -> Source:
    name = path.name.lower()
    if not path.is_file():
        raise MalformedInput(f"there is no file {str(path)!r}", field="source")
    if name.endswith((".duckdb", ".db")):
        try:
            connection = duckdb.connect(str(path), read_only=True)
        except duckdb.Error as error:
            raise _unreadable(path, error) from error
        return Source(connection, _table_of(connection, table), path)
    _no_table(table)
    # Brackets in a file's name are no pattern, and `year=2024` in a folder's name is no column.
    literal = "'" + glob.escape(str(path)).replace("'", "''") + "'"
    if name.endswith(".parquet"):
        return Source(duckdb.connect(), f"read_parquet({literal}, hive_partitioning = false)", path)
    if name.removesuffix(".gz").endswith((".csv", ".tsv")):
        return Source(duckdb.connect(), f"read_csv({literal}, header = true, hive_partitioning = false)", path)
    raise MalformedInput(
        f"the name of {str(path)!r} does not tell what it holds", field="source", expected=_FILES, got=path.suffix
    )


def _no_table(table: str | None) -> None:
    if table is not None:
        raise InvalidInput("only a database has tables", field="table", expected="no --table", got=table)


def _table_of(connection: duckdb.DuckDBPyConnection, table: str | None) -> str:
    found = connection.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = current_database() UNION ALL "
        "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = current_database() AND NOT internal "
        "ORDER BY ALL"
    ).fetchall()
    named = {name if schema == "main" else f"{schema}.{name}": (schema, name) for schema, name in found}
    if table is None and len(named) == 1:
        (table,) = named
    if table not in named:
        raise InvalidInput(
            "name the table" if table is None else "there is no such table",
            field="table",
            expected="one of " + ", ".join(named) if named else "a database that has tables",
            got=table,
        )
    schema, name = named[table]
    return f"{_quoted(schema)}.{_quoted(name)}"


def _ordered(ranked: RankedBy, type_: str) -> str:
    expression = f"({ranked.expression}\n)"
    if type_ in _AS_THEY_ARE:
        return expression
    return f"CASE WHEN {expression} IS NOT NULL THEN dense_rank() OVER (ORDER BY {expression} NULLS LAST) END"


def _check_one_expression(ranked: RankedBy) -> None:
    if _FANS_OUT.search(ranked.expression):
        raise _cannot_evaluate(ranked, ValueError("unnest makes several rows of one"))
    try:
        duckdb.SQLExpression(ranked.expression)
    except duckdb.Error as error:
        raise _cannot_evaluate(ranked, error) from error


def _cannot_evaluate(ranked: RankedBy, error: Exception) -> InvalidQuery:
    return InvalidQuery(
        f"DuckDB cannot evaluate the ranking {ranked.name!r}: {_line(error)}",
        field="rank",
        expected="an expression over the columns of one row",
        got=ranked.expression,
    )


def _unreadable(file: Path | None, error: Exception) -> MalformedInput:
    what = "the table" if file is None else repr(str(file))
    return MalformedInput(f"{what} cannot be read: {_line(error)}", field="source")


@contextmanager
def _told(file: Path | None) -> Iterator[None]:
    try:
        with _interruptible():
            yield
    except duckdb.Error as error:
        raise _unreadable(file, error) from error


@contextmanager
def _interruptible() -> Iterator[None]:
    try:
        yield
    except duckdb.InterruptException as error:
        raise KeyboardInterrupt from error
    except RuntimeError as error:
        if type(error) is RuntimeError and str(error) == "Query interrupted":
            raise KeyboardInterrupt from error
        raise


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
