"""`kplan fmt`."""

from collections.abc import Iterable
from io import TextIOWrapper
from typing import TYPE_CHECKING, Annotated

import typer

from kplan.cli.diagnostics import show_diagnostics
from kplan.cli.exit_code import ExitCode
from kplan.cli.terminal import Session, Terminal
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError

if TYPE_CHECKING:  # help needs it not
    from kplan.workflow.project.fmt import FormatResult


@dataclass(frozen=True, slots=True)
class FormatOptions:
    """What to do with files that are not formatted."""

    list: Annotated[
        bool, typer.Option("--list/--no-list", help="List the files that differ from the format.")
    ] = True
    write: Annotated[
        bool, typer.Option("--write/--no-write", help="Write the formatted files.")
    ] = True
    diff: Annotated[bool, typer.Option("--diff", help="Show the changes as a diff.")] = False
    check: Annotated[
        bool,
        typer.Option("--check", help="Do not write files; exit with 3 if one is not formatted."),
    ] = False
    recursive: Annotated[
        bool, typer.Option("--recursive", help="Also format files in subfolders.")
    ] = False


@verb(
    ("kplan fmt", "Format the *.tf, *.hcl and *.tfvars files of this folder."),
    ("kplan fmt -check -diff -recursive", "Check the format in CI and show the differences."),
    ("kplan fmt - < main.tf", "Format stdin to stdout, for editors."),
)
def fmt(
    session: Session,
    layout: FormatOptions,
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE|DIR", help="Files or folders to format; - is stdin."),
    ] = None,
) -> int:
    """Format configuration files.

    The format is that of terraform fmt, byte for byte. kplan changes spaces, line ends, and a few
    deprecated forms such as "${var.x}" for var.x. A file with a syntax error is reported and not
    changed; the exit code is then 1.
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
            if writes:
                write_formatted(each)
            terminal.write_stdout(each.name if lists else "")
            terminal.write_stdout(each.diff if layout.diff else "")
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
        message = f"stdin is not UTF-8: byte {failure.start} cannot be decoded."
        raise UsageError(message) from None
