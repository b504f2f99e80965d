"""`-report FORMAT=FILE`: parse and check the option, and write the reports of a run."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kplan.cli.diagnostics import timestamp
from kplan.cli.exit_code import ExitCode
from kplan.cli.report.target import ReportTarget
from kplan.cli.terminal import Session
from kplan.model.ci_job import is_ci
from kplan.model.dataclass import dataclass
from kplan.model.errors import ConfigError, KplanError, UsageError
from kplan.model.place import link_target_outside

if TYPE_CHECKING:
    from kplan.report.format import Format
    from kplan.report.render import Report

FORMAT_ALIASES: Mapping[str, str] = {"md": "markdown", "txt": "text", "xml": "junit"}
_STDOUT = "-"


@dataclass(frozen=True, slots=True)
class RunReports:
    """Writes the requested reports; their targets were checked before."""

    session: Session
    verb: str
    targets: tuple[ReportTarget, ...]

    @property
    def takes_stdout(self) -> bool:
        """Whether a report takes the place of the text on stdout."""
        return any(each.path is None for each in self.targets)

    @property
    def is_requested(self) -> bool:
        """Whether a report is written: to a file, or for the CI service of this job."""
        return bool(self.targets) or is_ci(self.session.environ)

    @contextmanager
    def report_errors(self) -> Iterator[None]:
        """Write an error into the reports and raise it again."""
        from kplan.report.subject import problems_report  # noqa: PLC0415 - help needs it not

        try:
            yield
        except KplanError as error:
            sources = error.sources if isinstance(error, ConfigError) else {}
            title = f"kplan {self.verb}"
            cluster = self.session.environ.get("KPLAN_CLUSTER_NAME", "")
            found = problems_report(title, error.diagnostics, sources, timestamp(), cluster=cluster)
            self.write(found, ExitCode.ERROR)
            raise

    def write(self, report: "Report", code: int) -> int:
        """Write a report to every target and return the exit code.

        That is `code`, or 1 if only the writing failed.
        """
        if not self.is_requested:
            return code
        from kplan.cli.report import writer  # noqa: PLC0415 - help needs it not

        is_written = writer.write_report(self.session, self.targets, report)
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
    """Parse and check the targets of reports before any work; `formats` are those supported.

    Raises:
        UsageError: an unknown or unsupported format; a file that cannot be written; a target
            named twice.

    """
    targets = tuple(_parse_target(each) for each in asked)
    for each in targets:
        check_format(f"-report={each.format}", each.format, f"kplan {verb}", formats)
    places = [each.path for each in targets]
    twice = next((each for each in places if places.count(each) > 1), places)
    if twice is not places:
        raise UsageError(f"-report names {twice or 'stdout'} twice.")
    if is_json and None in places:
        raise UsageError("-json writes to stdout, so the report requires a file.")
    return RunReports(session, verb, targets)


def format_name(option: str, name: str) -> str:
    """Return the full name of a format. Raises UsageError."""
    from kplan.report.format import Format  # noqa: PLC0415 - help needs it not

    found = FORMAT_ALIASES.get(name, name)
    if found not in list(Format):
        known = ", ".join(Format)
        raise UsageError(f"{option} has no format {name!r}.", f"Use one of {known}.")
    return found


def check_format(
    option: str, name: str, subject: str, formats: "Collection[Format] | None"
) -> None:
    """Raise UsageError for a format that does not support the subject."""
    if formats is not None and name not in formats:
        known = ", ".join(sorted(formats))
        raise UsageError(f"{option} does not support {subject}.", f"Use one of {known}.")


def _parse_target(asked: str) -> ReportTarget:
    name, equals, file = asked.partition("=")
    if not equals or not file:
        raise UsageError(f"-report={asked} is not of the form FORMAT=FILE. FILE - is stdout.")
    format_ = format_name("-report", name)
    if file == _STDOUT:
        return ReportTarget(format_, None)
    check_writable(f"-report={asked}", Path(file))
    return ReportTarget(format_, Path(file))


def check_writable(asked: str, path: Path) -> None:
    """Raise UsageError for a file that cannot be written, before any work."""
    if not path.parent.is_dir():
        raise UsageError(f"{asked}: folder {path.parent} does not exist.")
    if path.is_dir():
        raise UsageError(f"{asked}: {path} is a folder.")
    if outside := link_target_outside(path):
        raise UsageError(
            f"{asked}: {path} is a link out of the repository, to {outside}.",
            "Name that file itself, or another one.",
        )
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"{asked}: no permission to write the file.")
