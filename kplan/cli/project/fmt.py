"""`kplan fmt`."""

from collections.abc import Iterable
from io import TextIOWrapper
from typing import TYPE_CHECKING, Annotated

import typer

from kplan.cli.diagnostics import show_diagnostics
from kplan.cli.exit_code import ExitCode
from kplan.cli.session import Session
from kplan.cli.terminal import Terminal
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError

if TYPE_CHECKING:  # help needs it not
    from kplan.workflow.project.fmt import FormatResult


@dataclass(frozen=True, slots=True)
class FormatOptions:
    """What becomes of files that are not laid out as they should be."""

    list: Annotated[
        bool, typer.Option("--list/--no-list", help="Name the files that change, or would.")
    ] = True
    write: Annotated[bool, typer.Option("--write/--no-write", help="Write the files.")] = True
    diff: Annotated[bool, typer.Option("--diff", help="Show what changes, line by line.")] = False
    check: Annotated[
        bool,
        typer.Option("--check", help="Write nothing; exit with 3 if a file is not laid out so."),
    ] = False
    recursive: Annotated[
        bool, typer.Option("--recursive", help="Go into the folders inside, too.")
    ] = False


@verb(
    ("kplan fmt", "The *.tf, *.hcl and *.tfvars files of this folder."),
    ("kplan fmt -check -diff -recursive", "For CI: what is not as it should be, and how."),
    ("kplan fmt - < main.tf", "From a pipe to a pipe, as editors do it."),
)
def fmt(
    session: Session,
    layout: FormatOptions,
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE|DIR", help="What to lay out; - for what is piped in."),
    ] = None,
) -> int:
    """Lay out files in one style.

    It is the style of terraform fmt, byte by byte. Only blanks and line ends change, and a few
    forms that are out of use, such as "${var.x}" for var.x. A file with a syntax error is left as
    it is, told of, and makes the exit code 1; the others are laid out all the same.
    """
    from kplan.workflow.project.fmt import STDIN, format_files, format_source  # noqa: PLC0415

    terminal = session.terminal
    if targets == ["-"]:
        piped = [format_source(STDIN, _read_stdin(terminal))]
        return _format_files(piped, terminal, layout, is_piped=True)
    found = format_files(targets or ["."], is_recursive=layout.recursive)
    return _format_files(found, terminal, layout, is_piped=False)


def _format_files(
    found: Iterable["FormatResult"], terminal: Terminal, layout: FormatOptions, *, is_piped: bool
) -> int:
    from kplan.workflow.project.fmt import write_formatted  # noqa: PLC0415 - as above

    lists = layout.list and not is_piped
    writes = layout.write and not is_piped and not layout.check
    are_sound, is_changed = True, False
    for each in found:
        show_diagnostics(each.diagnostics, terminal, sources={each.name: each.before})
        are_sound &= not each.diagnostics
        is_changed |= each.is_changed
        if each.is_changed:
            terminal.write_stdout(each.name if lists else "")
            terminal.write_stdout(each.diff if layout.diff else "")
            if writes:
                write_formatted(each)
        if not (lists or writes or layout.diff or layout.check or each.diagnostics):
            terminal.write_stdout(each.after, end="")
    if not are_sound:
        return ExitCode.ERROR
    return ExitCode.REFUSED if layout.check and is_changed else ExitCode.DONE


def _read_stdin(terminal: Terminal) -> str:
    """Read stdin as it is, line ends and all."""
    if isinstance(terminal.stdin, TextIOWrapper):
        terminal.stdin.reconfigure(encoding="utf-8", errors="strict", newline="")
    try:
        return terminal.stdin.read()
    except UnicodeDecodeError as failure:
        told = f"What comes in is not UTF-8 text: byte {failure.start} cannot be decoded."
        raise UsageError(told) from None
