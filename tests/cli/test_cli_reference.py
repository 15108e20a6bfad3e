"""The page of the reference is what the commands say of themselves."""

from __future__ import annotations

from pathlib import Path

import click

from holdstill.cli.reference import reference
from holdstill.cli.root import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli.md"


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == reference(), "run: python -m holdstill.cli.reference > docs/cli.md"


def options(command: click.Command) -> list[click.Option]:
    if isinstance(command, click.Group):
        return [option for each in command.commands.values() for option in options(each)]
    return [parameter for parameter in command.params if isinstance(parameter, click.Option)]


def test_every_command_and_option_is_on_the_page():
    page = reference()
    for name, command in main.commands.items():
        assert f"### holdstill {name}" in page
        for option in options(command):
            assert option.help, f"{name} {option.name} has no help"
            assert (f"`{option.opts[0]}" in page) is not option.hidden
