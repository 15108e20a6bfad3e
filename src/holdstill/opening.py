"""Making and opening collections: `create`, `open`."""

from __future__ import annotations

import os
from collections.abc import Mapping

from holdstill.analysis import analyser as analyser_of
from holdstill.arguments import as_path, as_seconds
from holdstill.collection import Collection
from holdstill.config import LOCK_TIMEOUT, LogSettings, as_log_settings
from holdstill.embedding import DEFAULT, Embedder
from holdstill.making import generation
from holdstill.models import chosen, matching
from holdstill.schema import Schema


def create(
    path: str | os.PathLike[str],
    *,
    schema: Schema | Mapping[str, str] | None = None,
    analyser: str = "simple",
    embedder: str | Embedder = DEFAULT,
    vector_model: str | None = None,
    lock_timeout: float = LOCK_TIMEOUT,
    log: LogSettings | None = None,
) -> Collection:
    """Make an empty collection at a path where nothing is, and open it.

    Args:
        path: the directory to make.
        schema: the fields that can be filtered on: a `Schema`, or names and types.
        analyser: `simple` or `english`.
        embedder: `minilm` (bundled, offline), `none` (words only), `sentence-transformers:MODEL`, `openai:MODEL`, or an
            `Embedder`.
        vector_model: declares that the documents bring vectors, and names their model; 1 to 4,096 dimensions, as the
            first one has. Not together with an embedder's name; an `Embedder` object of that name may be given too, and
            then no embedder of another digest is taken.
        lock_timeout: seconds to wait for another process to let go.
        log: what is kept of searches made through this handle; searches are logged unless it says otherwise.

    Raises:
        holdstill.CollectionExists: something is at the path already.
        holdstill.InvalidSchema: a field has a bad name or an unknown type.
        holdstill.InvalidInput: an unknown analyser or embedder.
        holdstill.EmbedderFailed: the embedder cannot be used, or its vectors depend on their neighbours in a batch.
        holdstill.NotWritable: the directory cannot be made.
    """
    from holdstill.stores.duckdb.store import DuckDBStore

    directory, timeout = as_path("path", path), as_seconds("lock_timeout", lock_timeout)
    analyser_of(analyser)
    logged = as_log_settings(log)
    fields = schema if isinstance(schema, Schema) else Schema.of({} if schema is None else schema)
    model = chosen(embedder, vector_model)
    store = DuckDBStore.create(directory, generation(analyser, model, vector_model), fields, timeout)
    return Collection(directory, store, model, logged)


def open(  # noqa: A001 - reads `holdstill.open`, as `gzip.open` does
    path: str | os.PathLike[str],
    *,
    embedder: Embedder | None = None,
    lock_timeout: float = LOCK_TIMEOUT,
    log: LogSettings | None = None,
) -> Collection:
    """Open a collection.

    Args:
        path: its directory.
        embedder: embeds questions, and documents to be added, in place of the one that the collection was made with;
            needed where that was an object of your own, or where vectors are brought.
        lock_timeout: seconds to wait for another process to let go: one process at a time may have it open.
        log: what is kept of searches made through this handle; searches are logged unless it says otherwise.

    Raises:
        holdstill.CollectionNotFound: there is nothing at the path.
        holdstill.NotACollection: what is there is not a collection.
        holdstill.NewerFormat: a newer holdstill wrote it.
        holdstill.CollectionBusy: another process has it open.
        holdstill.ModelMismatch: the embedder is of another model than the rows.
    """
    from holdstill.stores.duckdb.store import DuckDBStore

    directory, logged = as_path("path", path), as_log_settings(log)
    store = DuckDBStore(directory, as_seconds("lock_timeout", lock_timeout))
    try:
        if embedder is not None:
            matching(store.snapshot().generation, embedder)
        return Collection(directory, store, embedder, logged)
    except BaseException:
        store.close()
        raise
