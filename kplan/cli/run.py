"""One run of the command: find the verb, run it, and show errors."""

import logging
import os
import re
import shlex
import tempfile
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer
from typer.main import get_command

from kplan.cli import exit_code, logs
from kplan.cli.app import (
    GLOBAL_OPTIONS,
    GROUPS,
    STREAM_VERBS,
    TERRAFORM_VERBS,
    VERBS,
    build_app,
)
from kplan.cli.arguments import (
    OptionSpec,
    OptionSpecs,
    environment_arguments,
    rewrite_arguments,
    split_at_verb,
)
from kplan.cli.diagnostics import show_diagnostics, show_document
from kplan.cli.environment import unknown_variable_warnings
from kplan.cli.exit_code import ExitCode
from kplan.cli.help_text import closest, style_help, with_one_dash
from kplan.cli.signals import SignalInterrupt, Signals, find_interrupt
from kplan.cli.terminal import Session, Terminal, discard_output
from kplan.cli.terraform_option import option_answer
from kplan.cli.verb import skip_conversion
from kplan.model.dataclass import dataclass
from kplan.model.errors import ConfigError, KplanError, UsageError, os_failure_text
from kplan.model.version import VERSION

_LOG = logging.getLogger("kplan")
COMPLETION_VARIABLE = "_KPLAN_COMPLETE"
"""Names the shell that asks how its line can be completed; the line is the argument."""

_EARLY_OPTIONS = ("--chdir=", "--no-color")
"""The global options that need nothing of typer."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command line as typer reads it, with typer's command to run it.

    `args` is all of it. The command takes `own` of them: a verb what is typed behind it, for to
    read what is before it typer would load a library that takes longer than all else.
    """

    command: Any  # a class typer keeps to itself
    path: tuple[str, ...]
    args: tuple[str, ...]
    command_args: tuple[str, ...]
    program: str
    options: OptionSpecs

    @property
    def name(self) -> str:
        """The verb as VERBS has it."""
        return " ".join(self.path)

    @property
    def known_path(self) -> str:
        """As much of the verb as there is, as it is typed."""
        is_known = self.name in VERBS or self.name in GROUPS
        return " ".join(("kplan", *(self.path if is_known else self.path[:-1])))

    @property
    def is_bare(self) -> bool:
        """Whether the command line names neither a verb nor another option."""
        asked = [each for each in self.args if not each.startswith(_EARLY_OPTIONS)]
        return tuple(asked) == self.path and (not self.path or self.name in GROUPS)

    def has_option(self, option: str) -> bool:
        """Whether an option is given, before or after the verb."""
        return option in self.args

    def option_value(self, option: str) -> str:
        """Give the value of a global option, "" where it is not given."""
        found = [each for each in self.args if each.startswith(f"{option}=")]
        return found[0].partition("=")[2] if found else ""


def run(args: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run a command line and return the exit code. Raises nothing."""
    terminal = Terminal(environ)
    with Signals().install() as signals:
        try:
            return run_line(args, Session(environ, terminal, signals))
        except (SignalInterrupt, SystemError) as failure:
            if (stopped := find_interrupt(failure)) is None:
                terminal.write_stderr(write_crash_report(failure))
                return ExitCode.ERROR
            terminal.write_stderr("Interrupted.")
            return exit_code.signal_exit(stopped.number)
        except KplanError as error:
            show_diagnostics(error.diagnostics, terminal)
            return ExitCode.ERROR
        except BrokenPipeError:  # of typer's own help; the terminal knows how to go on without
            discard_output(terminal.stdout)
            return ExitCode.DONE
        except OSError as error:  # a full disk, a folder that may not be written
            _LOG.debug("Stopped by the operating system", exc_info=True)
            show_diagnostics(KplanError(f"{os_failure_text(error)}.").diagnostics, terminal)
            return ExitCode.ERROR
        except Exception as error:  # noqa: BLE001 - the last resort: no traceback reaches a user
            terminal.write_stderr(write_crash_report(error))
            return ExitCode.ERROR


def command_line(args: Sequence[str], environ: Mapping[str, str]) -> CommandLine:
    """Read a command line, and load the verb it names.

    Raises:
        UsageError: what was typed, or KPLAN_CLI_ARGS, cannot be taken apart.

    """
    before, path, rest = split_at_verb(args, GLOBAL_OPTIONS, frozenset(GROUPS))
    name = " ".join(path)
    root = style_help(skip_conversion(get_command(build_app(name.__eq__, _nearby_verbs(path)))))
    ahead = rewrite_arguments(before, GLOBAL_OPTIONS)
    options = _option_specs(root, path)
    given = rewrite_arguments([*environment_arguments(environ, path), *rest], options)
    every = (*ahead, *path, *given)
    if name in VERBS and all(each.startswith(_EARLY_OPTIONS) for each in ahead):
        command = _subcommand(root, path)
        return CommandLine(command, path, every, tuple(given), f"kplan {name}", options)
    return CommandLine(root, path, every, every, "kplan", {**options, **GLOBAL_OPTIONS})


def run_line(args: Sequence[str], session: Session) -> int:
    """Run a command line in a session, and show errors.

    Raises:
        UsageError: the command line cannot be taken apart.

    """
    if COMPLETION_VARIABLE in session.environ:
        return _complete(args[0] if args else "", session)
    line = command_line(args, session.environ)
    terminal = replace(session.terminal, no_color=line.has_option("--no-color"))
    session = replace(session, terminal=terminal, args=line.args)
    try:
        return _execute(line, session)
    except KplanError as error:
        _show_error(error, line, session.terminal)
        return exit_code.error_exit(error, detailed=line.has_option("--detailed-exitcode"))


def _show_error(error: KplanError, line: CommandLine, terminal: Terminal) -> None:
    """Show why a command came to no result; with -json in the form that the result would have."""
    sources = error.sources if isinstance(error, ConfigError) else {}
    is_json = line.has_option("--json")
    if is_json and line.name not in STREAM_VERBS:
        show_document(error.diagnostics, terminal, sources)
    else:
        show_diagnostics(error.diagnostics, terminal, is_stream=is_json, sources=sources)


def _complete(text: str, session: Session) -> int:
    """Complete the line of a shell up to the cursor."""
    from kplan.cli.shell.completion import complete_line  # noqa: PLC0415 - only shells ask for it

    shell = session.environ[COMPLETION_VARIABLE]
    session.terminal.write_stdout(complete_line(shell, text, session), end="")
    return ExitCode.DONE


def _execute(line: CommandLine, session: Session) -> int:
    logs.configure_logging(session.environ)
    for warning in unknown_variable_warnings(session.environ):
        session.terminal.write_stderr(f"Warning: {warning}")
    if folder := line.option_value("--chdir"):
        _change_folder(folder)
    if line.has_option("--version") and not line.path:
        session.terminal.write_stdout(f"kplan {VERSION}")
        return ExitCode.DONE
    if line.path and line.name not in VERBS and line.name not in GROUPS:
        raise _unknown_verb(line)
    if line.is_bare:
        _invoke(line, (*line.command_args, "--help"), session)
        return ExitCode.ERROR
    try:
        return _invoke(line, line.command_args, session)
    except typer.TyperException as error:
        raise _usage_error(error, line) from None


def _invoke(line: CommandLine, args: Sequence[str], session: Session) -> int:
    try:
        with line.command.make_context(line.program, list(args), obj=session) as context:
            code: int = line.command.invoke(context)
            return code
    except typer.Exit as done:
        return done.exit_code


def _unknown_verb(line: CommandLine) -> UsageError:
    for each in (line.name, line.path[0]):
        if each in TERRAFORM_VERBS:
            return UsageError(*TERRAFORM_VERBS[each])
    *group, name = line.path
    prefix = " ".join(group)
    names = [
        each.removeprefix(f"{prefix} ") if prefix else each.partition(" ")[0]
        for each in VERBS
        if each.startswith(prefix)
    ]
    meant = closest(name, names)
    suggestion = f" Did you mean {' '.join(('kplan', *group, meant))}?" if meant else ""
    return UsageError(
        f'{" ".join(("kplan", *group))} has no command "{name}".{suggestion}',
        hint=f"Run {' '.join(('kplan', *group))} -help for all commands.",
    )


def _usage_error(error: Any, line: CommandLine) -> UsageError:  # noqa: ANN401 - as in CommandLine
    """Put an error of typer in kplan's words."""
    hint = f"Run {line.known_path} -help for all options."
    option = getattr(error, "option_name", "") if type(error).__name__ == "NoSuchOption" else ""
    if (answer := option_answer(line.name, option)) is not None:
        shown = with_one_dash(option)
        return UsageError(f"{line.known_path} has no option {shown}: {answer[0]}.", answer[1])
    if option.startswith("--"):
        meant = closest(option, list(line.options))
        suggestion = f" Did you mean {with_one_dash(meant)}?" if meant else ""
        shown = with_one_dash(option)
        return UsageError(f"{line.known_path} has no option {shown}.{suggestion}", hint=hint)
    text = error.format_message().replace("Value error, ", "")  # pydantic's own words
    if surplus := _SURPLUS.fullmatch(text):
        words = surplus[1]  # one with spaces looks like several
        hint = _surplus_hint(words if Path(words).exists() else words.partition(" ")[0], line, hint)
        text = f"{line.known_path} has an unexpected extra argument: {words}."
    return UsageError(with_one_dash(text), hint=hint)


def _surplus_hint(word: str, line: CommandLine, hint: str) -> str:
    """Say how a word is given that is no argument of the command."""
    from kplan.state.plan_file import is_plan_file  # noqa: PLC0415 - only errors need it

    if Path(word).is_dir():
        command = shlex.join(["kplan", f"-chdir={word}", *line.path])
        return f"To work in another folder: {command}"
    if "--var-file" in line.options and word.endswith((".tfvars", ".tfvars.json")):
        command = shlex.join(["kplan", *line.path, f"-var-file={word}"])
        return f"To read the values of variables from a file: {command}"
    if line.name != "plan":
        return hint
    if is_plan_file(Path(word)):
        return f"To apply a saved plan: {shlex.join(['kplan', 'apply', word])}"
    return (
        "kplan plan takes no arguments: kplan -chdir=DIR plan plans another folder, and "
        "-target=ADDRESS plans only one resource."
    )


_SURPLUS = re.compile(r"Got unexpected extra argument(?:s|\(s\))? \((.*)\)")


def _change_folder(folder: str) -> None:
    try:
        os.chdir(folder)
    except OSError as error:
        raise UsageError(f"-chdir={folder}: {error.strerror}.") from None


def _nearby_verbs(path: tuple[str, ...]) -> Iterable[str]:
    """Give the verbs that help, or an error, may name: typer takes its time for each."""
    if (name := " ".join(path)) in VERBS:
        return (name,)
    if path and path[0] in GROUPS:
        return [each for each in VERBS if each.startswith(f"{path[0]} ")]
    return {each.partition(" ")[0]: each for each in VERBS}.values()  # a group shows with any


def _option_specs(command: Any, path: tuple[str, ...]) -> OptionSpecs:  # noqa: ANN401 - as in CommandLine
    """Read from typer which options the verb has, and which of them take a value."""
    if " ".join(path) not in VERBS:
        return GLOBAL_OPTIONS
    found = {"--help": OptionSpec(takes_value=False)}
    for each in _subcommand(command, path).params:
        if each.param_type_name == "option":
            on, off = each.opts, each.secondary_opts
            found |= {name: OptionSpec(not each.is_flag, off[0] if off else "") for name in on}
            found |= {name: OptionSpec(takes_value=False, opposite=on[0]) for name in off}
    return found


def _subcommand(command: Any, path: tuple[str, ...]) -> Any:  # noqa: ANN401 - as in CommandLine
    for name in path:
        command = command.commands[name]
    return command


def write_crash_report(error: BaseException) -> str:
    """Write the traceback to a file that only its owner can read, and return the message."""
    try:
        place = f"The traceback is in {_write_traceback(error)}"
    except OSError as failure:
        place = f"The traceback could not be written ({failure.strerror})"
    return (
        "Error: Internal error in kplan\n\n"
        f"{type(error).__name__} was raised unexpectedly in kplan {VERSION}. "
        "Requests sent before the error stay in effect; `kplan plan` shows the remaining "
        "changes.\n\n"
        f"{place}. Attach it to a bug report.\n"
    )


def _write_traceback(error: BaseException) -> str:
    descriptor, path = tempfile.mkstemp(prefix="kplan-crash-", suffix=".txt")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.writelines(traceback.format_exception(error))
    return path
