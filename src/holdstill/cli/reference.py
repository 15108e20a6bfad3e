"""The reference of the command line, made from the commands themselves: `python -m holdstill.cli.reference`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from holdstill.cli.root import main

_INTRODUCTION = """\
# The command line

This page is made from the commands themselves: `python -m holdstill.cli.reference > docs/cli.md`.

## Exit codes

| code | meaning |
|---|---|
| 0 | an answer, whatever its completeness; what was asked is done |
| 1 | failure: the collection is busy or damaged, a file cannot be written, the model fails, Ctrl-C, a purge that was \
not confirmed |
| 2 | usage or bad input; from `add`, a row was refused; from `delete`, `update` and `purge`, an id is not there |
| 3 | `search --require complete` gave an answer that is neither complete nor exhausted; `replay` found an answer that \
is another now |

## Output

Answers go to standard output, errors and progress to standard error. With `--json` a command prints one JSON object on
one line of standard output, in UTF-8 whatever the locale, and a failure prints
`{"error": {"type", "message", "field", "expected", "got", "hint"}}` there. `type` is the name of a class of
`holdstill`'s errors, `UsageError`, `Interrupted`, or that of an error of the system.

What documents hold is never sent to a terminal as it is: control characters, escape sequences and marks that turn the
direction of text are written out, as in `\\x1b`. `--json` has them unchanged, as JSON's escapes.

What `--json` prints:

| command | keys |
|---|---|
| `init` | `created`, and those of `info` |
| `add` | `added`, `replaced`, `unchanged`, `refused` (each with `row`, `field`, `reason`, `source`), `commit`, \
`notes`, `created`; `schema` where the collection was made |
| `search` | the answer: `search_id`, `completeness`, `hits`, `arms`, `ranking`, `understood`, `unknown`, `notes`, \
`digest`, ... |
| `show` | `id`, `title`, `fields`, `metadata`, `passages` (each with `id`, `headings`, `pages`, `text`) |
| `update` | `updated`, `missing`, `commit` |
| `delete` | `deleted`, `missing`, `commit` |
| `history` | `commits` (each with `commit`, `generation`, `kind`, `committed`, `added`, `replaced`, `removed`, \
`tags`, `pruned`) |
| `tag` | `tag`, `commit`, `deleted` |
| `diff` | `first`, `second`, `added`, `removed`, `changed` (each with `id`, `text`, `fields`, `metadata`) |
| `prune`, `drop-generation` | `commits`, `versions`, `bytes_before`, `bytes_after` |
| `purge` | `purged`, `missing`, `commit`, `snapshots`, `searches` |
| `rebuild`, `activate` | `generation`, `commit`, `documents`, `passages`, `resumed` |
| `generations` | `generations` (each with `generation`, `active`, `complete`, `analyser`, `embedder`, `model`, \
`dimensions`, `profile`, `made_with`, `passages`, `missing`, `commits`, `bytes`) |
| `searches` | `searches` (each a record of the log, as in log.md), `damaged` |
| `replay` | `search_id`, `outcome`, `reason`, `differences` (each with `what`, `position`, `recorded`, `now`); with \
`--all` `searches`, `outcomes`, `others` |
| `blame` | `search_id`, `other`, `identical`, `entered`, `left`, `layers` (each with `layer`, `changed`, `moved`, \
`then`, `now`, `evidence`), `moved`, `sentence` |
| `schema` | `schema`; with `add-field` also `added` and `commit` |
| `policy` | `policy`, `version` |
| `info` | `path`, `format`, `documents`, `passages`, `commit`, `generation`, `analyser`, `embedder`, `model`, \
`dimensions`, `schema`, `policy` |
| `doctor` | `ok`, `versions`, `checks` (each with `check`, `ok`, `detail`); with `--warm` also `kernels` (`folder`, \
`seconds`, `fault`) |
| `export` | `output`, `commit`, `documents`, `passages`, `bytes`, `sha256` |
| `import` | `created`, and those of `info` |
| `analyse` | `analyser`, `terms` (each with `text`, `position`, `whole`) |
| `fuse` | `total`, `returned`, `notes`, `rows`; in place of the rows `output`, if they were written to a file; with \
`--profile` also `stages` |
| `demo` | `collection`, `documents`, `passages`, `searches`, ... |

## Environment

| variable | meaning |
|---|---|
| `HOLDSTILL_LOCK_TIMEOUT` | seconds to wait while another process has the collection open; 10 if not set |
| `HOLDSTILL_LOG` | `on` or `off`: whether searches are logged |
| `HOLDSTILL_LOG_QUERIES` | `on` or `off`: whether the log keeps what was asked |
| `HOLDSTILL_CONFIG` | the file of settings; `holdstill.toml` in the working directory if not set |
| `HOLDSTILL_DEBUG` | `1` prints the traceback of a failure to standard error |
| `NO_COLOR` | any value: no colours; there are none in a pipe |

A command holds the collection for as long as it runs; another one that needs it waits.

## Commands
"""


def reference() -> str:
    """The whole page, in Markdown."""
    root = click.Context(main, info_name="holdstill")
    return "\n".join([_INTRODUCTION, *_commands(main, root)])


def _commands(group: click.Group, context: click.Context) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.commands[name]
        inside = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            yield from _commands(command, inside)
        else:
            yield "\n".join(_command(command, inside))


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f"### {context.command_path}\n"
    yield f"    {context.command_path} {' '.join(command.collect_usage_pieces(context))}\n"
    yield f"{_help(command)}\n"
    yield "| option | |"
    yield "|---|---|"
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            names, text = parameter.get_help_record(context) or ("", "")
            yield f"| `{_cell(names)}` | {_cell(text)} |"
    yield ""


def _help(command: click.Command) -> str:
    paragraphs = (command.help or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    click.echo(reference(), nl=False)
