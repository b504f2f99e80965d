"""The help of a command: options with one dash, and the front page by subject."""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import partial
from typing import Any

from kplan.cli.app import SECTIONS

_TWO_DASHES = re.compile(r"(?<![\w-])--(?=[a-z])")


def with_one_dash(text: str) -> str:
    """Write options as Terraform does: `-out` for `--out`."""
    return _TWO_DASHES.sub("-", text)


def style_help(command: Any) -> Any:  # noqa: ANN401 - a class typer keeps to itself
    """Make a command of typer, with those below it, write its help in kplan's style."""
    _style_options(command)
    for each in getattr(command, "commands", {}).values():
        _style_options(each)
        for inner in getattr(each, "commands", {}).values():
            _style_options(inner)
    if hasattr(command, "commands"):
        command.format_commands = partial(_write_sections, command)
    return command


def _style_options(command: Any) -> None:  # noqa: ANN401 - as above
    read_params = command.get_params

    def params(context: Any) -> list[Any]:  # noqa: ANN401 - as above
        found: list[Any] = read_params(context)  # with -help, which typer adds itself
        for each in found:
            each.get_help_record = partial(_help_record, each)
        return found

    command.get_params = params


def _help_record(param: Any, context: Any) -> tuple[str, str] | None:  # noqa: ANN401 - as above
    record = type(param).get_help_record(param, context)
    return record and (with_one_dash(record[0]), record[1])


def _write_sections(command: Any, context: Any, formatter: Any) -> None:  # noqa: ANN401 - as above
    width = max((len(each) for each in command.commands), default=0)
    for title, names in SECTIONS.items():
        rows = list(_section_rows(command, context, names, formatter.width - 6 - width))
        if rows:
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), summary) for name, summary in rows])


def _section_rows(
    command: Any,  # noqa: ANN401 - as above
    context: Any,  # noqa: ANN401 - as above
    names: tuple[str, ...],
    limit: int,
) -> Iterator[tuple[str, str]]:
    for name in names:
        if found := command.get_command(context, name):
            yield name, found.get_short_help_str(limit)


def closest(name: str, names: list[str]) -> str:
    """Return the name that was probably meant, "" if none is close."""
    return next(iter(get_close_matches(name, names, n=1)), "")
