"""One run of the command: find the verb, carry it out, tell what went wrong."""

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import typer
from typer.main import get_command

from kplan.cli import exits, logs
from kplan.cli.app import GROUPS, OPTIONS, VERBS, application
from kplan.cli.arguments import Flag, Flags, from_environment, rewritten, verb_path
from kplan.cli.as_declared import spared
from kplan.cli.environment import unknown_variables
from kplan.cli.exits import Exit
from kplan.cli.problems import tell
from kplan.cli.session import Session
from kplan.cli.signals import Signals, Stopped
from kplan.cli.terminal import Terminal, silence
from kplan.model.errors import ConfigError, KplanError, UsageError
from kplan.model.version import VERSION

_LOG = logging.getLogger("kplan")
COMPLETION = "_KPLAN_COMPLETE"
"""What a shell sets to ask for completions; the name is typer's."""

_READ_HERE = ("--chdir=", "--no-color")
"""The global options that need nothing of typer."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command line as typer reads it, with typer's command to carry it out.

    `args` is all of it. The command takes `own` of them: a verb what is typed behind it, for to
    read what stands before it typer would load a library that takes longer than all else.
    """

    command: Any  # a class typer keeps to itself
    path: tuple[str, ...]
    args: tuple[str, ...]
    own: tuple[str, ...]
    called: str

    @property
    def name(self) -> str:
        """The verb as VERBS has it."""
        return " ".join(self.path)

    @property
    def known(self) -> str:
        """As much of the verb as there is, as it is typed."""
        is_known = self.name in VERBS or self.name in GROUPS
        return " ".join(("kplan", *(self.path if is_known else self.path[:-1])))

    @property
    def is_bare(self) -> bool:
        """Whether neither a verb is named nor anything else asked for."""
        asked = [each for each in self.args if not each.startswith(_READ_HERE)]
        return tuple(asked) == self.path and (not self.path or self.name in GROUPS)

    def has(self, option: str) -> bool:
        """Whether an option is given, wherever it stands."""
        return option in self.args

    def value(self, option: str) -> str:
        """Give the value of a global option, "" where it is not given."""
        found = [each for each in self.args if each.startswith(f"{option}=")]
        return found[0].partition("=")[2] if found else ""


def run(args: Sequence[str], environ: Mapping[str, str]) -> int:
    """Carry out a command line and give the exit code. No exception leaves."""
    terminal = Terminal(environ)
    with Signals().installed() as signals:
        try:
            return run_line(args, Session(environ, terminal, signals))
        except Stopped as stopped:
            terminal.talk("Interrupted.")
            return exits.of_signal(stopped.number)
        except KplanError as error:
            tell(error.diagnostics, terminal)
            return Exit.ERROR
        except BrokenPipeError:  # of typer's own help; the terminal knows how to go on without
            silence(terminal.stdout)
            return Exit.DONE
        except OSError as error:  # a full disk, a folder that may not be written
            _LOG.debug("Stopped by the operating system", exc_info=True)
            at = f" ({error.filename})" if error.filename else ""
            tell(KplanError(f"{error.strerror or error}{at}.").diagnostics, terminal)
            return Exit.ERROR
        except Exception as error:  # noqa: BLE001 - the last resort: no traceback reaches a user
            from kplan.cli import crash  # noqa: PLC0415 - hardly ever needed

            terminal.talk(crash.report(error))
            return Exit.ERROR


def command_line(args: Sequence[str], environ: Mapping[str, str]) -> CommandLine:
    """Read a command line, and load the verb it names.

    Raises:
        UsageError: what was typed, or KPLAN_CLI_ARGS, cannot be taken apart.

    """
    before, path, rest = verb_path(args, OPTIONS, frozenset(GROUPS))
    name = " ".join(path)
    root = spared(get_command(application(name.__eq__, _near(path))))
    ahead = rewritten(before, OPTIONS)
    given = rewritten([*from_environment(environ, path), *rest], _flags(root, path))
    every = (*ahead, *path, *given)
    if name in VERBS and all(each.startswith(_READ_HERE) for each in ahead):
        return CommandLine(_found(root, path), path, every, tuple(given), f"kplan {name}")
    return CommandLine(root, path, every, every, "kplan")


def run_line(args: Sequence[str], session: Session) -> int:
    """Carry out a command line in a session, and tell what went wrong.

    Raises:
        UsageError: the command line cannot be taken apart.

    """
    if COMPLETION in session.environ:
        get_command(application(lambda _: True)).main(prog_name="kplan")
    line = command_line(args, session.environ)
    terminal = replace(session.terminal, no_color=line.has("--no-color"))
    session = replace(session, terminal=terminal, args=line.args)
    try:
        return _carried_out(line, session)
    except KplanError as error:
        sources = error.sources if isinstance(error, ConfigError) else {}
        tell(error.diagnostics, session.terminal, is_stream=line.has("--json"), sources=sources)
        return exits.of_error(error, detailed=line.has("--detailed-exitcode"))


def _carried_out(line: CommandLine, session: Session) -> int:
    logs.configure(session.environ)
    for warning in unknown_variables(session.environ):
        session.terminal.talk(f"Warning: {warning}")
    if folder := line.value("--chdir"):
        _enter(folder)
    if line.has("--version") and not line.path:
        session.terminal.data(f"kplan {VERSION}")
        return Exit.DONE
    if line.is_bare:
        _invoked(line, (*line.own, "--help"), session)
        return Exit.ERROR
    try:
        return _invoked(line, line.own, session)
    except typer.TyperException as error:
        told = error.format_message().replace("Value error, ", "")  # pydantic's own words
        raise UsageError(told, hint=f"See `{line.known} -help`.") from None


def _invoked(line: CommandLine, args: Sequence[str], session: Session) -> int:
    try:
        with line.command.make_context(line.called, list(args), obj=session) as context:
            code: int = line.command.invoke(context)
            return code
    except typer.Exit as done:
        return done.exit_code


def _enter(folder: str) -> None:
    try:
        os.chdir(folder)
    except OSError as error:
        raise UsageError(f"-chdir={folder}: {error.strerror}.") from None


def _near(path: tuple[str, ...]) -> Iterable[str]:
    """Give the verbs that help, or an error, may name: typer takes its time for each."""
    if (name := " ".join(path)) in VERBS:
        return (name,)
    if path and path[0] in GROUPS:
        return [each for each in VERBS if each.startswith(f"{path[0]} ")]
    return {each.partition(" ")[0]: each for each in VERBS}.values()  # a group shows with any


def _flags(command: Any, path: tuple[str, ...]) -> Flags:  # noqa: ANN401 - as in CommandLine
    """Read from typer which options the verb has, and which of them take a value."""
    if " ".join(path) not in VERBS:
        return OPTIONS
    found = {"--help": Flag(takes_value=False)}
    for each in _found(command, path).params:
        if each.param_type_name == "option":
            on, off = each.opts, each.secondary_opts
            found |= {name: Flag(not each.is_flag, off[0] if off else "") for name in on}
            found |= {name: Flag(takes_value=False, opposite=on[0]) for name in off}
    return found


def _found(command: Any, path: tuple[str, ...]) -> Any:  # noqa: ANN401 - as in CommandLine
    for name in path:
        command = command.commands[name]
    return command
