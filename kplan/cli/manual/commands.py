"""The reference of commands, read from their options: one page in Markdown for each."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from kplan.cli.app import GROUPS, SECTIONS, VERBS, build_app, load_verb
from kplan.cli.help_text import with_one_dash
from kplan.model.dataclass import dataclass

_OPTION_WORD = re.compile(r"(?<![\w`-])(-[a-z][a-z-]+(?:=[A-Z][\w:,./*-]*)?)")


@dataclass(frozen=True, slots=True)
class Parameter:
    """An option or an argument as it is typed, what it is, and its default, "" for none."""

    typed: str
    text: str
    default: str = ""
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class CommandPage:
    """What the help of a command says."""

    name: str
    summary: str
    description: str
    arguments: tuple[Parameter, ...]
    options: tuple[Parameter, ...]
    examples: tuple[tuple[str, str], ...]

    @property
    def usage(self) -> str:
        """The command line in short."""
        words = [each.typed if each.is_required else f"[{each.typed}]" for each in self.arguments]
        return " ".join((f"kplan {self.name}", "[OPTIONS]", *words))


def read_command(name: str) -> CommandPage:
    """Read the page of a command by its name in VERBS."""
    command: Any = get_command(build_app(name.__eq__, (name,)))
    for word in name.split():
        command = command.commands[word]
    found = load_verb(name)
    said = (inspect.getdoc(found.run) or "").partition("\n\n")[2]
    shown = [each for each in command.params if not getattr(each, "hidden", False)]
    return CommandPage(
        name,
        VERBS[name][1],
        said,
        tuple(_argument(each) for each in shown if each.param_type_name == "argument"),
        tuple(_option(each) for each in shown if each.param_type_name == "option"),
        found.examples,
    )


def command_markdown(page: CommandPage) -> str:
    """Write the page of a command in Markdown."""
    return "\n".join(
        (
            f"# kplan {page.name}",
            "",
            page.summary,
            "",
            f"    {page.usage}",
            "",
            *([page.description, ""] if page.description else []),
            *_entries("Arguments", page.arguments),
            *_entries("Options", page.options),
            "## Examples",
            "",
            *(
                line
                for typed, why in page.examples
                for line in (why, "", "```sh", typed, "```", "")
            ),
        )
    )


def command_list_markdown(link: str = "") -> str:
    """Write the list of commands by subject; `link` is the folder of their pages, "" for none."""
    lines = ["# Commands", "", "Run `kplan COMMAND -help` for the options of a command.", ""]
    for title, names in SECTIONS.items():
        lines += [f"## {title}", ""]
        for name in (each for start in names for each in _commands_of(start)):
            shown = f"`kplan {name}`"
            target = f"{link}{command_file(name)}.md"
            lines.append(f"- {f'[{shown}]({target})' if link else shown}: {VERBS[name][1]}")
        lines.append("")
    return "\n".join(lines)


def command_file(name: str) -> str:
    """Return the name of the page of a command: `state-list`."""
    return name.replace(" ", "-")


def _commands_of(start: str) -> Iterator[str]:
    if start in VERBS:
        yield start
    if start in GROUPS:
        yield from (each for each in VERBS if each.startswith(f"{start} "))


def _entries(title: str, entries: tuple[Parameter, ...]) -> Iterator[str]:
    if not entries:
        return
    yield from (f"## {title}", "")
    for each in entries:
        default = f" Default: {each.default}." if each.default else ""
        yield from (f"`{each.typed}`", f":   {each.text}{default}", "")


def _argument(parameter: Any) -> Parameter:  # noqa: ANN401 - a class typer keeps to itself
    several = "..." if parameter.nargs == -1 else ""
    typed = f"{parameter.metavar or parameter.name.upper()}{several}"
    return Parameter(typed, _help_text(parameter), is_required=parameter.required)


def _option(parameter: Any) -> Parameter:  # noqa: ANN401 - as above
    name = next(each for each in parameter.opts if each.startswith("--"))[1:]
    typed = name if parameter.is_flag else f"{name}={_metavar(parameter)}"
    typed = "`, `".join((typed, *(each[1:] for each in parameter.secondary_opts)))
    return Parameter(typed, _help_text(parameter), _default(parameter))


def _metavar(parameter: Any) -> str:  # noqa: ANN401 - as above
    choices = parameter.type_descriptor.annotation
    return parameter.metavar or "|".join(getattr(choices, "__members__", {})).lower() or "TEXT"


def _help_text(parameter: Any) -> str:  # noqa: ANN401 - as above
    text = with_one_dash(" ".join((parameter.help or "").split()))
    return _OPTION_WORD.sub(r"`\1`", text)


def _default(parameter: Any) -> str:  # noqa: ANN401 - as above
    if isinstance(parameter.show_default, str):
        return parameter.show_default
    default = parameter.default
    if isinstance(default, bool) and parameter.secondary_opts:
        return "on" if default else "off"
    if isinstance(default, bool) or not isinstance(default, (str, int)) or default == "":
        return ""
    return f"`{getattr(default, 'value', default)}`"
