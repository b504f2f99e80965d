"""`-report FORMAT=FILE`: parse and check the option, and write the reports of a run."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kplan.cli.diagnostics import timestamp
from kplan.cli.environment import is_ci
from kplan.cli.exit_code import ExitCode
from kplan.cli.report_target import ReportTarget
from kplan.cli.session import Session
from kplan.model.dataclass import dataclass
from kplan.model.errors import ConfigError, KplanError, UsageError

if TYPE_CHECKING:
    from kplan.report.format import Format
    from kplan.report.report import Report

FORMAT_ALIASES: Mapping[str, str] = {"md": "markdown", "txt": "text", "xml": "junit"}
_STDOUT = "-"


@dataclass(frozen=True, slots=True)
class RunReports:
    """Writes reports to where they were asked for; all that can be checked was checked before."""

    session: Session
    verb: str
    targets: tuple[ReportTarget, ...]

    @property
    def takes_stdout(self) -> bool:
        """Whether a report takes the place of the text on stdout."""
        return any(each.path is None for each in self.targets)

    @property
    def is_requested(self) -> bool:
        """Whether anybody asked for a report: a file, or the CI service of this job."""
        return bool(self.targets) or is_ci(self.session.environ)

    @contextmanager
    def report_errors(self) -> Iterator[None]:
        """Report why there is nothing else to report, and let the error go on."""
        from kplan.report.reports import problems_report  # noqa: PLC0415 - help needs it not

        try:
            yield
        except KplanError as error:
            sources = error.sources if isinstance(error, ConfigError) else {}
            title = f"kplan {self.verb}"
            self.write(
                problems_report(title, error.diagnostics, sources, timestamp()), ExitCode.ERROR
            )
            raise

    def write(self, report: "Report", code: int) -> int:
        """Write a report everywhere, and give the exit code.

        That is `code`, unless all went well but the writing.
        """
        if not self.is_requested:
            return code
        from kplan.cli import report_writer  # noqa: PLC0415 - help needs it not

        is_written = report_writer.write_report(self.session, self.targets, report)
        return (
            code if is_written or code not in {ExitCode.DONE, ExitCode.CHANGES} else ExitCode.ERROR
        )


def prepare_reports(
    session: Session,
    verb: str,
    asked: Sequence[str],
    *,
    is_json: bool = False,
    formats: "Collection[Format] | None" = None,
) -> RunReports:
    """Say where reports go, before any work; `formats` are those that make sense here, or all.

    Raises:
        UsageError: a format nobody knows, or that says nothing here; a file that cannot be written;
            one place named twice.

    """
    targets = tuple(_parse_target(each) for each in asked)
    for each in targets:
        check_format(f"-report={each.format}", each.format, f"kplan {verb}", formats)
    places = [each.path for each in targets]
    twice = next((each for each in places if places.count(each) > 1), places)
    if twice is not places:
        raise UsageError(f"-report names {twice or 'stdout'} twice.")
    if is_json and None in places:
        raise UsageError("-json writes to stdout: name a file for the report.")
    return RunReports(session, verb, targets)


def format_name(option: str, name: str) -> str:
    """Give the whole name of a format. Raises UsageError."""
    from kplan.report.format import Format  # noqa: PLC0415 - help needs it not

    found = FORMAT_ALIASES.get(name, name)
    if found not in list(Format):
        known = ", ".join(Format)
        raise UsageError(f"{option} knows no format {name!r}.", f"There are {known}.")
    return found


def check_format(
    option: str, name: str, subject: str, formats: "Collection[Format] | None"
) -> None:
    """Refuse a format in which a subject cannot be told. Raises UsageError."""
    if formats is not None and name not in formats:
        known = ", ".join(sorted(formats))
        raise UsageError(f"{option} has nothing to tell of {subject}.", f"There are {known}.")


def _parse_target(asked: str) -> ReportTarget:
    name, equals, file = asked.partition("=")
    if not equals or not file:
        raise UsageError(f"-report={asked} is not of the form FORMAT=FILE; - as FILE is stdout.")
    format_ = format_name("-report", name)
    if file == _STDOUT:
        return ReportTarget(format_, None)
    check_writable(f"-report={asked}", Path(file))
    return ReportTarget(format_, Path(file))


def check_writable(asked: str, path: Path) -> None:
    """Refuse a file that cannot be written before any work is done for it. Raises UsageError."""
    if not path.parent.is_dir():
        raise UsageError(f"{asked}: there is no folder {path.parent}.")
    if path.is_dir():
        raise UsageError(f"{asked}: that is a folder.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"{asked}: the file may not be written.")
