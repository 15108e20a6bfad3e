"""`schema` and `policy`: what documents have, and who may see them."""

from __future__ import annotations

from pathlib import Path

import click

from holdstill.cli.options import AS_JSON, COLLECTION, Asking, asking, opened, read_field, read_text
from holdstill.cli.terminal import console, emit, print_indented, print_table
from holdstill.errors import MalformedInput


@click.command(short_help="List the fields, or add one.")
@COLLECTION
@click.argument("action", required=False, type=click.Choice(["add-field"]))
@click.argument("field", metavar="[NAME:TYPE]", required=False)
@asking
@AS_JSON
def schema(collection: Path, action: str | None, field: str | None, caller: Asking, as_json: bool) -> int:
    """List the fields, or add one with `add-field NAME:TYPE`.

    Types are int, float, bool, str, date, datetime, str[] and int[]. Documents that are there have null in a new field.
    """
    if action is not None and field is None:
        raise click.UsageError("add-field needs NAME:TYPE, as in years_exp:int", click.get_current_context())
    added: dict[str, object] = {}
    with opened(collection) as handle:
        if field is not None:
            new = read_field(field)
            added = {"added": new.name, "commit": handle.add_field(new.name, new.type, **caller)}
        types = handle.schema.types()
    if as_json:
        emit({"schema": types} | added)
        return 0
    page = console()
    if added:
        print_indented(page, f"added {added['added']} (commit {added['commit']})", 0)
    if types:
        print_table(page, ("field", "type"), list(types.items()))
    else:
        print_indented(page, "no fields; `holdstill schema COLLECTION add-field NAME:TYPE` adds one", 0)
    return 0


@click.group(short_help="Say who may see what.")
def policy() -> None:
    """Say who may see what, or show what is said."""


@policy.command("set")
@COLLECTION
@click.argument("file", type=click.Path(path_type=Path))
@asking
@AS_JSON
def set_policy(collection: Path, file: Path, caller: Asking, as_json: bool) -> int:
    """Put the policy in FILE in force.

    It is one predicate over fields and the principal, as in
    tenant = principal.tenant and has_any(acl, principal.groups).
    From then on every command says who asks, with --as or --operator, and only the operator writes.
    """
    try:
        text = read_text(file)
    except MalformedInput as error:
        error.hint = error.hint or "The policy goes into a file, and the file's name stands here"
        raise
    with opened(collection) as handle:
        version = handle.set_policy(text, **caller)
        canonical = handle.policy(operator=True)
    if as_json:
        emit({"policy": canonical, "version": version})
    else:
        page = console()
        print_indented(page, f"policy {version} is in force: {canonical}", 0, hang=2)
        print_indented(page, "next: say who asks with --as principal.json, or --operator", 0, hang=6, style="dim")
    return 0


@policy.command("show")
@COLLECTION
@asking
@AS_JSON
def show_policy(collection: Path, caller: Asking, as_json: bool) -> int:
    """Show the policy in force."""
    with opened(collection) as handle:
        canonical = handle.policy(**caller)
        version = handle.info(**caller).policy
    if as_json:
        emit({"policy": canonical, "version": version})
    elif canonical is None:
        print_indented(console(), "no policy: every caller is the operator", 0)
    else:
        print_indented(console(), f"policy {version}: {canonical}", 0, hang=2)
    return 0
