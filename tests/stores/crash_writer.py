"""A writer to be killed, and what its collection holds after each of its commits."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import holdstill as hs
from fakes import Hashed

SCHEMA = {"n": "int"}


def documents(commit: int) -> list[hs.Document]:
    """What a commit adds: a few new documents, and a new text for one that an earlier commit added."""
    new = [_document(f"c{commit}-{number}", commit) for number in range(1 + commit % 5)]
    return [*new, _document(f"c{commit - 2}-0", commit)] if commit > 2 else new


def _document(id_: str, commit: int) -> hs.Document:
    passages = [
        hs.Passage(f"shared of{commit} {id_.replace('-', 'x')}p{part}v{commit}") for part in range(1 + commit % 3)
    ]
    return hs.Document(id_, passages=passages, title=f"title{commit}", fields={"n": commit})


def deleted(commit: int) -> list[str]:
    """What the commit after those documents deletes, if it is such a commit."""
    return [f"c{commit - 1}-0"] if commit % 4 == 0 else []


def step(collection: hs.Collection, commit: int) -> None:
    """Make the commit of that number."""
    if deleted(commit):
        collection.delete(deleted(commit))
    else:
        collection.add(documents(commit))


def after(commit: int) -> dict[str, hs.Document]:
    """The live documents after that many commits."""
    live: dict[str, hs.Document] = {}
    for number in range(1, commit + 1):
        if deleted(number):
            for id_ in deleted(number):
                live.pop(id_, None)
        else:
            live |= {document.id: document for document in documents(number)}
    return live


def write_until_killed(path: Path, log: Path) -> None:
    """Commit after commit; each is written to the log once it has been acknowledged."""
    handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with hs.open(path, embedder=Hashed()) as collection:
        os.write(handle, b"open\n")
        while True:
            commit = collection.info().commit + 1
            step(collection, commit)
            os.write(handle, b"%d\n" % commit)


def write_through_interrupts(path: Path, log: Path, enough: Path) -> None:
    """The same, but Ctrl-C only ends one commit, and the handle is used again; until a file appears."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with hs.open(path, embedder=Hashed()) as collection:
        os.write(handle, b"open\n")
        while not enough.exists():
            try:
                commit = collection.info().commit + 1
                step(collection, commit)
                os.write(handle, b"%d\n" % commit)
            except KeyboardInterrupt:
                os.write(handle, b"interrupted\n")
