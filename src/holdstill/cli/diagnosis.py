"""`info`, `doctor`, `analyse`: what a collection is, whether all is well, and what becomes of a text."""

from __future__ import annotations

import platform
import unicodedata
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdstill._version import __version__
from holdstill.analysis import ANALYSERS
from holdstill.analysis import analyser as analyser_of
from holdstill.cli.failures import FAILURE
from holdstill.cli.options import AS_JSON, AT, COLLECTION, Asking, asking, opened
from holdstill.cli.terminal import console, emit, print_indented, print_pairs, print_table
from holdstill.cli.warming import warm as warm_kernels
from holdstill.errors import HoldstillError, OperatorRequired

if TYPE_CHECKING:
    from holdstill.collection import Collection
    from holdstill.embedding import Embedding
    from holdstill.ranking.compiled import Warmed
    from holdstill.reports import Info

_PACKAGES = ("duckdb", "numpy", "numba", "onnxruntime", "tokenizers", "sqlglot", "regex", "PyStemmer", "click", "rich")


@click.command(short_help="Say what a collection is.")
@COLLECTION
@AT
@asking
@AS_JSON
def info(collection: Path, at: str | None, caller: Asking, as_json: bool) -> int:
    """Say what a collection is; documents and passages are counted as the caller sees them."""
    with opened(collection) as handle:
        about = handle.info(at=at, **caller).as_dict()
    if as_json:
        emit(about)
        return 0
    if about.pop("brought"):
        about["embedder"] += " (vectors come with the documents)"
    fields = ", ".join(f"{name}:{type_}" for name, type_ in about.pop("schema").items())
    if at not in (None, str(about["commit"])):
        about["commit"] = f"{about['commit']} (as of {at})"
    shown = {name: "-" if value is None else value for name, value in about.items()}
    print_pairs(console(), shown | {"fields": fields or "-"})
    return 0


@click.command(short_help="Show the terms that a text becomes.")
@click.argument("text")
@click.option(
    "--analyser", type=click.Choice(ANALYSERS), default="simple", show_default=True, help="How words are read."
)
@AS_JSON
def analyse(text: str, analyser: str, as_json: bool) -> int:
    """Show the terms that a text becomes, in documents and in questions alike.

    A term is the whole of a word or identifier, or a part of one, which is kept so that more is found.
    """
    words = analyser_of(analyser)
    terms = words.terms(text)
    if as_json:
        shown = [{"text": term.text, "position": term.position, "whole": term.whole} for term in terms]
        emit({"analyser": words.identity, "terms": shown})
    elif terms:
        rows = [(term.text, str(term.position), "whole" if term.whole else "part") for term in terms]
        print_table(console(), ("term", "position", ""), rows)
    else:
        print_indented(console(), "no terms: the text holds no letter, digit or emoji", 0)
    return 0


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: whether it is well, and what was found."""

    check: str
    ok: bool
    detail: str


@click.command(short_help="Check the installation and a collection.")
@click.argument("collection", required=False, type=click.Path(path_type=Path))
@click.option("--warm", is_flag=True, help="Compile ahead what makes searches of more than 20,000 passages fast.")
@asking
@AS_JSON
def doctor(collection: Path | None, warm: bool, caller: Asking, as_json: bool) -> int:
    """Check the installation and, where one is named, a collection; mend what can be mended.

    Says the versions that answers depend on, whether the embedding model holds still, and whether the index files of
    the collection are whole; torn ones are built again from the database. The exit code is 1 if something is wrong and
    could not be mended.

    With --warm it also compiles the kernels that search large collections, unless that was done: once for each machine
    and version. Otherwise the first search that needs them does it.
    """
    versions = _versions()
    checks = list(_checks(collection, caller))
    warmed = warm_kernels() if warm else None
    if warmed is not None:
        checks.append(_kernels(warmed))
    well = all(check.ok for check in checks)
    if as_json:
        kernels = {} if warmed is None else {"kernels": warmed.as_dict()}
        emit({"ok": well, "versions": versions, "checks": [asdict(check) for check in checks], **kernels})
    else:
        page = console()
        print_pairs(page, versions)
        page.print()
        for check in checks:
            style = "" if check.ok else "bold red"
            print_indented(
                page, f"{'ok   ' if check.ok else 'WRONG'}  {check.check}: {check.detail}", 0, hang=7, style=style
            )
    return 0 if well else FAILURE


def _kernels(warmed: Warmed) -> Check:
    """Whether the kernels are compiled."""
    if warmed.fault is not None:
        return Check("kernels", False, f"{warmed.fault}; large collections are searched without them, more slowly")
    when = "were compiled before" if warmed.seconds is None else f"compiled in {warmed.seconds:.1f} s"
    return Check("kernels", True, f"{when}, kept in {warmed.folder}")


def _versions() -> dict[str, str]:
    """The versions of everything that could move an answer."""
    versions = {"holdstill": __version__, "python": platform.python_version(), "unicode": unicodedata.unidata_version}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return versions


def _checks(path: Path | None, caller: Asking) -> Iterator[Check]:
    from holdstill.embedding import load

    if path is None:
        yield _holds_still(load)
        return
    with opened(path) as handle:
        index = _index(handle, caller)
        about = handle.info(**caller)
        yield Check("collection", True, f"format {about.format}, commit {about.commit}, {about.documents} documents")
        yield _embedder(handle, about)
        yield index


def _index(handle: Collection, caller: Asking) -> Check:
    """Whether the index files were whole; torn ones are mended."""
    try:
        mended = handle.check(**caller)
    except OperatorRequired:
        raise
    except HoldstillError as error:
        return Check("index", False, f"not checked: {error}")
    return Check("index", True, "; ".join(mended) or "every file is whole")


def _embedder(handle: Collection, about: Info) -> Check:
    """Whether the embedder of the collection is at hand, is the rows', and holds still."""
    if about.brought:
        return Check("embedder", True, "none: the documents bring their vectors")
    if about.model is None:
        return Check("embedder", True, "none: the collection is searched by words")
    own = f"{about.embedder}: one of your own, checked where it is given to `holdstill.open`"
    return _holds_still(lambda: handle.embedder, own)


def _holds_still(embedding: Embedding, otherwise: str = "none") -> Check:
    """Whether the embedder can be had and gives each text one vector."""
    from holdstill.embedding import check

    try:
        embedder = embedding()
        if embedder is None:
            return Check("embedder", True, otherwise)
        report = check(embedder)
    except HoldstillError as error:
        return Check("embedder", False, str(error))
    name = embedder.name
    if report.invariant:
        return Check(
            "embedder", True, f"{name} holds still: {report.texts} texts, the same bits in every way; {report.digest}"
        )
    return Check(
        "embedder", False, f"{name} moves by {report.largest_difference:g} when embedded {', '.join(report.moved)}"
    )
