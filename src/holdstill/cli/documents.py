"""`show`, `delete`, `update`: documents by their ids, or by a filter."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdstill.cli.answer import spelled
from holdstill.cli.failures import BAD_INPUT
from holdstill.cli.options import AS_JSON, AT, COLLECTION, WHERE, Asking, asking, opened
from holdstill.cli.terminal import console, emit, print_indented, print_pairs, styled
from holdstill.errors import InvalidDocument, InvalidQuery, NotFound, UnknownField
from holdstill.ingest.cells import parse
from holdstill.result import json_value
from holdstill.schema import Schema

if TYPE_CHECKING:
    from holdstill.collection import Collection
    from holdstill.reports import ChangeReport
    from holdstill.stores.base import StoredDocument, StoredPassage


@click.command(short_help="Show a document or a passage.")
@COLLECTION
@click.argument("id_", metavar="ID")
@AT
@asking
@AS_JSON
def show(collection: Path, id_: str, at: str | None, caller: Asking, as_json: bool) -> int:
    """Show a document, whole, or one passage of it.

    ID is a document's id or a passage's, as in resume-7#0; where both exist, the document is shown.
    """
    with opened(collection) as handle:
        document, passages = _found(handle, id_, at, caller)
    if as_json:
        emit(
            {
                "id": document.id,
                "title": document.title,
                "fields": {name: json_value(value) for name, value in document.fields.items()},
                "metadata": dict(document.metadata),
                "passages": [_passage(document, passage) for passage in passages],
            }
        )
    else:
        _print(document, passages, at)
    return 0


def _found(
    handle: Collection, id_: str, at: str | None, caller: Asking
) -> tuple[StoredDocument, tuple[StoredPassage, ...]]:
    """The document, and those of its passages that the id names.

    Raises:
        holdstill.NotFound: there is no such document that the caller may see, or it has no such passage.
    """
    try:
        document = handle.get(id_, at=at, **caller)
    except NotFound as missing:
        whole, _, ordinal = id_.rpartition("#")
        try:
            document = handle.get(whole, at=at, **caller)
        except NotFound:
            raise missing from None
        passages = tuple(passage for passage in document.passages if str(passage.ordinal) == ordinal)
        if not passages:
            last = document.passages[-1].ordinal
            known = f"{whole}#0" + (f" to {whole}#{last}" if last else "")
            raise NotFound(f"document {whole!r} has no such passage", field="id", expected=known, got=id_) from None
        return document, passages
    return document, document.passages


def _passage(document: StoredDocument, passage: StoredPassage) -> dict[str, Any]:
    return {
        "id": f"{document.id}#{passage.ordinal}",
        "headings": list(passage.headings),
        "pages": None if passage.pages is None else list(passage.pages),
        "text": passage.text,
    }


def _print(document: StoredDocument, passages: tuple[StoredPassage, ...], at: str | None) -> None:
    page = console()
    print_indented(page, document.id, 0, style="bold")
    if document.title:
        print_indented(page, document.title, 0)
    if at is not None:
        print_indented(page, f"as of {'commit ' if at.isdecimal() else ''}{at}", 0, style="dim")
    values = {name: "(unknown)" if value is None else spelled(value) for name, value in document.fields.items()}
    print_pairs(page, values | {name: spelled(value) for name, value in document.metadata.items()}, indent=2)
    for passage in passages:
        shown = _passage(document, passage)
        where = [shown["id"], *passage.headings]
        page.print()
        print_indented(page, " > ".join(where) + (f"  pages {shown['pages']}" if passage.pages else ""), 0, style="dim")
        page.print(styled(passage.text))


@click.command(short_help="Delete documents.")
@COLLECTION
@click.argument("ids", metavar="[ID]...", nargs=-1)
@WHERE
@asking
@AS_JSON
def delete(collection: Path, ids: tuple[str, ...], where: str | None, caller: Asking, as_json: bool) -> int:
    """Delete documents, by id or all those that satisfy --where.

    Earlier commits still hold them, and can be searched with --at; `holdstill purge` erases them from there too.
    The exit code is 2 if one of the ids is not there; the others are deleted.
    """
    with opened(collection) as handle:
        report = handle.delete(ids, where=where, **caller)
    note = "earlier commits still hold them; `holdstill purge` erases them there too" if report.changed else None
    return _reported("deleted", report, note, as_json=as_json)


@click.command(short_help="Set fields of documents.")
@COLLECTION
@click.argument("ids", metavar="[ID]...", nargs=-1)
@WHERE
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="FIELD=VALUE",
    help="What to set. Text stands as it is; lists are written as JSON; null makes any field but text unknown.",
)
@click.option("--unset", multiple=True, metavar="FIELD", help="A field to make unknown; may be repeated.")
@asking
@AS_JSON
def update(
    collection: Path,
    ids: tuple[str, ...],
    where: str | None,
    assignments: tuple[str, ...],
    unset: tuple[str, ...],
    caller: Asking,
    as_json: bool,
) -> int:
    """Set fields of documents, by id or of all those that satisfy --where; their text is not touched.

    The exit code is 2 if one of the ids is not there; the others are updated.
    """
    with opened(collection) as handle:
        handle.policy(**caller)  # refuses whoever may not write, before anything of the schema is told
        fields = _fields(assignments, unset, handle.schema)
        report = handle.update(ids, fields=fields, where=where, **caller)
    return _reported("updated", report, None, as_json=as_json)


def _fields(assignments: tuple[str, ...], unset: tuple[str, ...], schema: Schema) -> dict[str, Any]:
    """The values to set, read by the types of their fields.

    Raises:
        holdstill.InvalidQuery: an assignment is not FIELD=VALUE, or a field is named twice.
        holdstill.UnknownField: the schema has no such field.
        holdstill.InvalidDocument: the text spells no value of the field's type.
    """
    values: dict[str, Any] = {}
    for name, spelling in [_assignment(each) for each in assignments] + [(name, None) for name in unset]:
        if name in values:
            raise InvalidQuery("a field is set twice", field=name, expected="each field once")
        values[name] = _value(spelling, name, schema)
    return values


def _assignment(text: str) -> tuple[str, str | None]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidQuery("what to set cannot be read", field="set", expected="FIELD=VALUE", got=text)
    return name.strip(), value


def _value(spelling: str | None, name: str, schema: Schema) -> Any:
    try:
        field = schema[name]
    except UnknownField as error:
        if name in ("title", "text"):
            error.hint = "Titles and texts change by `holdstill add`: a document of the same id replaces the one there"
        raise
    if spelling is None or (spelling == "null" and field.type != "str"):
        return None
    try:
        return parse(spelling, field)
    except InvalidDocument as error:
        if field.type.endswith("[]"):
            error.hint = """Write it as a JSON list: --set 'skills=["python", "sql"]'"""
        raise


def _reported(done: str, report: ChangeReport, note: str | None, *, as_json: bool) -> int:
    if as_json:
        emit({done: report.changed, "missing": list(report.missing), "commit": report.commit})
    else:
        page = console()
        documents = "document" if report.changed == 1 else "documents"
        print_indented(page, f"{done} {report.changed} {documents} (commit {report.commit})", 0)
        if note is not None:
            print_indented(page, note, 0, hang=2, style="dim")
        if report.missing:
            print_indented(page, "not there: " + ", ".join(map(repr, report.missing)), 0, hang=2)
    return BAD_INPUT if report.missing else 0
