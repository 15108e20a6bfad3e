"""The demo's collection: opened, or made where nothing is, and filled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import holdstill
from holdstill.collection import Collection
from holdstill.demo.resumes import resumes
from holdstill.document import Document
from holdstill.embedding import DEFAULT
from holdstill.errors import CollectionExists, NotACollection
from holdstill.ingest import Row, read
from holdstill.reports import AddReport
from holdstill.stores.base import Progress

SCHEMA = {
    "kind": "str",
    "years_exp": "int",
    "location": "str",
    "skills": "str[]",
    "work_auth": "bool",
    "available": "date",
}


def opened(directory: Path) -> Collection:
    """The demo's collection in a directory: a new one where nothing is, or where the directory is empty.

    Raises:
        holdstill.CollectionExists: something other than this demo is there; it is left alone.
    """
    if directory.is_dir() and not any(directory.iterdir()):
        directory.rmdir()
    if not directory.exists():
        return holdstill.create(directory, schema=SCHEMA)
    try:
        collection = holdstill.open(directory)
    except NotACollection as error:
        raise _occupied(directory) from error
    if not _is_demo(collection):
        collection.close()
        raise _occupied(directory)
    return collection


def build(collection: Collection, progress: Progress | None) -> AddReport:
    """Add the resumes and the guides, all that has changed of them, as one commit."""
    return collection.add([*resumes(), *guides()], operator=True, progress=progress)


def guides() -> Iterator[Document]:
    """The project's own documentation, a document for each page, a passage for each heading."""
    for row in read([_docs()]):
        if isinstance(row, Row):
            page = row.document
            yield Document(f"docs/{page.id}", passages=page.passages, title=page.title, fields={"kind": "guide"})


def _docs() -> Path:
    """Where the documentation is: inside an installed package, or beside the sources of an editable one."""
    package = Path(holdstill.__file__).parent
    installed = package / "docs"
    return installed if installed.is_dir() else package.parents[1] / "docs"


def _is_demo(collection: Collection) -> bool:
    info = collection.info(operator=True)
    if info.schema != SCHEMA or info.embedder != DEFAULT:
        return False
    return collection.count("kind in ('resume', 'guide')", operator=True) == info.documents


def _occupied(directory: Path) -> CollectionExists:
    return CollectionExists(
        f"{directory} holds something other than the demo, and was left alone",
        field="directory",
        expected="a directory that does not exist, an empty one, or the demo's own collection",
        hint="Name another place: holdstill demo DIR",
    )
