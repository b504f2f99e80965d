"""Use case: lay out files as `terraform fmt` does, or show which are not laid out so."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import field
from difflib import unified_diff
from pathlib import Path

from kplan.config.declarations.file import read_text
from kplan.config.format.formatter import format_text
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic
from kplan.model.errors import ConfigError, UsageError
from kplan.state.atomic_file import real_path, write_temporary

STDIN = "<stdin>"
"""The name of what comes from a pipe."""

SUFFIXES = (".tf", ".hcl", ".tfvars")


@dataclass(frozen=True, slots=True)
class FormatResult:
    """A text as it was and as it is laid out; where it has a mistake, that is all there is."""

    name: str
    before: str = field(repr=False)
    after: str = field(repr=False)
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def is_changed(self) -> bool:
        """Whether it was not laid out so."""
        return not self.diagnostics and self.before != self.after

    @property
    def diff(self) -> str:
        """Both in the form of `diff -u`."""
        lines = unified_diff(
            self.before.splitlines(keepends=True),
            self.after.splitlines(keepends=True),
            f"old/{self.name}",
            f"new/{self.name}",
        )
        return "".join(each if each.endswith("\n") else f"{each}\n{_NO_END}\n" for each in lines)


_NO_END = "\\ No newline at end of file"


def format_source(name: str, text: str) -> FormatResult:
    """Format a text; its mistakes are among the diagnostics."""
    try:
        return FormatResult(name, text, format_text(text, name))
    except ConfigError as mistaken:
        return FormatResult(name, text, text, tuple(mistaken.diagnostics))


def format_files(targets: Sequence[str], *, is_recursive: bool) -> Iterator[FormatResult]:
    """Lay out the files that are named, and those in folders that are named.

    Raises:
        UsageError: there is no such file or folder, or it is no file to lay out.

    """
    for path in [
        each for target in targets for each in _files_of_target(Path(target), is_recursive)
    ]:
        text = read_text(path, str(path))
        if isinstance(text, Diagnostic):
            yield FormatResult(str(path), "", "", (text,))
        else:
            yield format_source(str(path), text)


def write_formatted(format_result: FormatResult) -> None:
    """Replace the file with the formatted text and keep its mode.

    Raises:
        UsageError: it cannot be written, and is as it was.

    """
    path = real_path(Path(format_result.name))
    try:
        temporary = write_temporary(path, format_result.after.encode())
        shutil.copymode(path, temporary)
        temporary.replace(path)
    except OSError as failure:
        raise UsageError(
            f"{format_result.name} cannot be written: {failure.strerror}. It is as it was."
        ) from failure


def _files_of_target(target: Path, is_recursive: bool) -> list[Path]:  # noqa: FBT001 - as the option has it
    if target.is_dir():
        return list(_files_in_folder(target, is_recursive))
    if not target.exists():
        raise UsageError(f"There is no file or folder {target}.")
    if not target.name.endswith(SUFFIXES):
        raise UsageError(f"{target}: only {', '.join(SUFFIXES)} files are laid out.")
    return [target]


def _files_in_folder(folder: Path, is_recursive: bool) -> Iterator[Path]:  # noqa: FBT001
    try:
        paths = sorted(folder.iterdir())
    except OSError as failure:
        raise UsageError(f"The folder {folder} cannot be read: {failure.strerror}.") from None
    for path in paths:
        if path.name.startswith((".", "#")) or path.name.endswith("~"):
            continue
        if path.is_dir():
            if is_recursive and not path.is_symlink():
                yield from _files_in_folder(path, is_recursive)
        elif path.name.endswith(SUFFIXES):
            yield path
