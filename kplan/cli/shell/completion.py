"""Completion of a line: which commands, options and values may follow."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from typing import Any, NamedTuple, get_args

from typer.main import get_command

from kplan.cli.app import GLOBAL_OPTIONS, GROUPS, VERBS, build_app
from kplan.cli.arguments import OptionSpec, rewrite_arguments, split_at_verb
from kplan.cli.shell.line import bash_reply, read_line
from kplan.cli.shell.values import Candidate, Request, Values
from kplan.cli.terminal import Session
from kplan.model.errors import UsageError

_FOLDER_OPTION = "--chdir"


def complete_line(shell: str, text: str, session: Session) -> str:
    """Return the candidates for a line up to the cursor, one a line, as the shell reads them.

    A candidate is the whole word, and behind a tab what it is; for bash the part that it inserts.
    """
    line = read_line(text)
    found = complete_words(line.words[1:], line.last, session)
    if shell == "bash":
        return "".join(f"{bash_reply(line, each.value)}\n" for each in found)
    return "".join(f"{each.value}\t{each.text}\n" for each in found)


def complete_words(words: Sequence[str], last: str, session: Session) -> list[Candidate]:
    """List what the last word may be, after the words of the command line before it."""
    before, path, rest = split_at_verb(words, GLOBAL_OPTIONS, frozenset(GROUPS))
    if " ".join(path) in VERBS:
        return _VerbCompletion(" ".join(path), before, session).candidates(rest, last)
    if path or rest:
        return _names(f"{' '.join(path)} ", last) if path and path[0] in GROUPS else []
    if before[-1:] in (["-chdir"], [_FOLDER_OPTION]):
        return _folders(last, session)
    name, equals, value = last.partition("=")
    if equals and f"-{name.lstrip('-')}" == "-chdir":
        return _with_prefix(f"{name}=", _folders(value, session))
    if last.startswith("-"):
        options = [_Option(name, spec.takes_value) for name, spec in GLOBAL_OPTIONS.items()]
        return _option_names(options, last)
    return _names("", last)


class _Option(NamedTuple):
    """An option or argument of a verb. `default` is that of a switch."""

    name: str
    takes_value: bool = True
    text: str = ""
    opposite: str = ""
    metavar: str = ""
    choices: tuple[str, ...] = ()
    is_repeatable: bool = False

    @property
    def spec(self) -> OptionSpec:
        return OptionSpec(self.takes_value, self.opposite)


class _VerbCompletion:
    def __init__(self, verb: str, before: Sequence[str], session: Session) -> None:
        self._verb = verb
        self._before = rewrite_arguments(before, GLOBAL_OPTIONS)
        for each in self._before:
            if each.startswith(f"{_FOLDER_OPTION}="):
                with suppress(OSError):
                    os.chdir(each.partition("=")[2])
        self._session = session
        options, self._arguments = _parameters(verb)
        self._options = {each.name: each for each in options}

    def candidates(self, rest: Sequence[str], last: str) -> list[Candidate]:
        """List candidates for the last word, after what is typed behind the verb."""
        specs = {each.name: each.spec for each in self._options.values()}
        specs |= {each.opposite: OptionSpec(False) for each in specs.values() if each.opposite}  # noqa: FBT003 - as in the class
        try:
            given = rewrite_arguments(rest, specs)
        except UsageError:
            return []
        is_operand = "--" in rest
        pending = self._options.get(given[-1]) if given else None
        if pending and pending.takes_value and not is_operand:
            return self._values(pending, last, given[:-1])
        if last.startswith("-") and not is_operand:
            return self._option(given, last)
        operands = [each for each in given if not each.startswith("-")]
        return self._operand(operands, given, last)

    def _option(self, given: Sequence[str], last: str) -> list[Candidate]:
        name, equals, value = last.partition("=")
        if not equals:
            used = {each.partition("=")[0] for each in given}
            free = [
                each
                for each in self._options.values()
                if each.is_repeatable or used.isdisjoint({each.name, each.opposite})
            ]
            return _option_names(free, last)
        option = self._options.get(f"--{name.lstrip('-')}")
        if option is None:
            return []
        if option.takes_value:
            return _with_prefix(f"{name}=", self._values(option, value, given))
        return [Candidate(f"{name}={each}") for each in ("false", "true") if each.startswith(value)]

    def _operand(self, operands: Sequence[str], given: Sequence[str], last: str) -> list[Candidate]:
        arguments = self._arguments
        if not arguments:
            return []
        at = min(len(operands), len(arguments) - 1)
        if len(operands) > at and not arguments[at].is_repeatable:
            return []
        found = self._values(arguments[at], last, given)
        return [each for each in found if each.value not in operands]

    def _values(self, option: _Option, typed: str, given: Sequence[str]) -> list[Candidate]:
        if option.choices:
            return [Candidate(each) for each in option.choices if each.startswith(typed)]
        request = Request(self._verb, option.name, option.metavar, typed, tuple(given))
        session = replace(self._session, args=(*self._before, *given))
        return Values(session).find(request)


def _names(prefix: str, last: str) -> list[Candidate]:
    """List the commands behind a prefix: `state ` for those of a group, "" for all."""
    found = {**GROUPS, **{name: text for name, (_, text) in VERBS.items()}}
    return [
        Candidate(name.removeprefix(prefix), text)
        for name, text in sorted(found.items())
        if name.startswith(f"{prefix}{last}") and " " not in name.removeprefix(prefix)
    ]


def _folders(typed: str, session: Session) -> list[Candidate]:
    return Values(session).find(Request("", _FOLDER_OPTION, "DIR", typed))


def _option_names(options: Iterable[_Option], last: str) -> list[Candidate]:
    """List options with as many dashes as are typed; one that takes a value ends in `=`."""
    dashes = "--" if last.startswith("--") else "-"
    found = (
        Candidate(f"{dashes}{name}{'=' if each.takes_value else ''}", each.text)
        for each in options
        for name in filter(None, (each.name[2:], each.opposite[2:]))
    )
    return sorted(each for each in found if each.value.startswith(last))


def _with_prefix(prefix: str, found: Iterable[Candidate]) -> list[Candidate]:
    return [Candidate(f"{prefix}{each.value}", each.text) for each in found]


def _parameters(verb: str) -> tuple[list[_Option], list[_Option]]:
    """Read the options and the arguments of a verb from typer."""
    command = get_command(build_app(verb.__eq__, (verb,)))
    for name in verb.split():
        command = getattr(command, "commands", {})[name]
    options = [_Option("--help", takes_value=False, text="Show the help of the command.")]
    arguments = []
    for each in _visible(command):
        if each.param_type_name == "option":
            options.append(_read_option(each))
        else:
            arguments.append(_read_parameter(each, each.name))
    return options, arguments


def _visible(command: Any) -> Iterator[Any]:  # noqa: ANN401 - a class typer keeps to itself
    return (each for each in command.params if not getattr(each, "hidden", False))


def _read_option(parameter: Any) -> _Option:  # noqa: ANN401 - as above
    found = _read_parameter(parameter, next(each for each in parameter.opts if each[:2] == "--"))
    opposite = next(iter(parameter.secondary_opts), "")
    return found._replace(takes_value=not parameter.is_flag, opposite=opposite)


def _read_parameter(parameter: Any, name: str) -> _Option:  # noqa: ANN401 - as above
    declared = parameter.type_descriptor.annotation
    inner = next((each for each in get_args(declared) if each is not type(None)), declared)
    is_choice = isinstance(inner, type) and issubclass(inner, StrEnum)
    return _Option(
        name,
        text=" ".join((parameter.help or "").split()),
        metavar=parameter.metavar or "",
        choices=tuple(inner) if is_choice else (),
        is_repeatable=bool(getattr(parameter, "multiple", False)) or parameter.nargs == -1,
    )
