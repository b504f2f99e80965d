"""Detect drift once, or again at every interval until a signal."""

import time
from dataclasses import field
from datetime import timedelta
from pathlib import Path
from typing import NoReturn

from kplan.cli import display, wiring
from kplan.cli.diagnostics import show_diagnostics, timestamp
from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, ReportOptions, StateOptions
from kplan.cli.plan import notification
from kplan.cli.progress import show_progress
from kplan.cli.report_option import RunReports
from kplan.cli.session import Session
from kplan.model.dataclass import dataclass
from kplan.model.errors import ConfigError, KplanError, UsageError
from kplan.plan.ignore import IgnorePattern, parse_patterns
from kplan.report import views
from kplan.report.format import Format
from kplan.report.report import FormatOptions, Report, render_report
from kplan.report.reports import drift_report, problems_report
from kplan.workflow.plan.drift import DriftResult, detect_drift


@dataclass(frozen=True, slots=True)
class DriftMonitor:
    """Options of a drift check. `interval` of None checks once."""

    session: Session
    inputs: InputOptions
    states: StateOptions
    output: ReportOptions
    reports: RunReports
    ignore_rules: tuple[IgnorePattern, ...] = ()
    lists_unmanaged: bool = False
    webhook_url: str = field(default="", repr=False)
    push_gateway_url: str = field(default="", repr=False)
    interval: timedelta | None = None

    def run(self) -> int:
        """Check once and return the exit code, or repeat until a signal ends the run.

        Raises:
            KplanError: drift cannot be determined, and the check is not repeated.

        """
        if self.interval is not None:
            self._watch(self.interval)
        try:
            found = self._detect()
        except KplanError as error:
            self._publish(self._error_report(error), is_news=True)
            raise
        self._show(found)
        return self._publish(
            self._report(found), _exit_code(found), is_news=_verdict(found) != _NO_DRIFT
        )

    def _watch(self, interval: timedelta) -> NoReturn:
        """Show what is new since the last check, including the end of drift or of an error."""
        before: object = _NO_DRIFT
        is_first = True
        while True:
            try:
                found = self._detect()
            except KplanError as error:
                now: object = str(error)
                if now != before:
                    self._show_error(error)
                self._publish(self._error_report(error), is_news=now != before)
            else:
                now = _verdict(found)
                if is_first or now != before:
                    self._show(found)
                self._publish(self._report(found), is_news=now != before)
            before, is_first = now, False
            time.sleep(interval.total_seconds())

    def _detect(self) -> DriftResult:
        project = wiring.build_project(self.session, self.states, self.inputs)
        with show_progress(self.session.terminal) as progress:
            ports = wiring.build_ports(self.session, "drift", self.states, progress)
            return detect_drift(project, ports, self.ignore_rules)

    def _show(self, found: DriftResult) -> None:
        if self.output.has_report_on_stdout:
            return
        coverage, terminal = (
            display.drift_coverage(found, lists=self.lists_unmanaged),
            self.session.terminal,
        )
        if not self.output.json:
            terminal.write_stdout(views.drift_text(found.changes, coverage, terminal.stdout_style))
        elif self.interval is None:
            terminal.write_stdout(views.drift_json(found.changes, coverage))
        else:
            terminal.write_stdout(views.drift_line(found.changes, coverage))

    def _show_error(self, error: KplanError) -> None:
        sources = error.sources if isinstance(error, ConfigError) else {}
        show_diagnostics(error.diagnostics, self.session.terminal, sources=sources)

    def _report(self, found: DriftResult) -> Report:
        coverage = display.drift_coverage(found, lists=self.lists_unmanaged)
        return drift_report(found.changes, coverage, timestamp())

    def _error_report(self, error: KplanError) -> Report:
        sources = error.sources if isinstance(error, ConfigError) else {}
        return problems_report("kplan drift", error.diagnostics, sources, timestamp())

    def _publish(self, report: Report, code: int = ExitCode.ERROR, *, is_news: bool) -> int:
        """Write reports and metrics every time, and notify of news."""
        code = self.reports.write(report, code)
        terminal = self.session.terminal
        if self.push_gateway_url:
            notification.push_metrics(
                terminal,
                self.push_gateway_url,
                render_report(report, Format.PROMETHEUS, FormatOptions()),
            )
        if self.webhook_url and is_news:
            notification.post_webhook(
                terminal, self.webhook_url, render_report(report, Format.SLACK, FormatOptions())
            )
        return code


_NO_DRIFT = ((), True)
"""The verdict that needs no notification."""


def _verdict(found: DriftResult) -> object:
    return found.changes, found.is_certain


def _exit_code(found: DriftResult) -> ExitCode:
    if found.changes:
        return ExitCode.CHANGES
    return ExitCode.DONE if found.is_certain else ExitCode.ERROR


def read_ignore_file(file: str) -> tuple[IgnorePattern, ...]:
    """Read the patterns to ignore; "" is no file. Raises UsageError."""
    if not file:
        return ()
    try:
        return parse_patterns(Path(file).read_text(encoding="utf-8"), file)
    except OSError as failure:
        raise UsageError(f"-ignore={file} cannot be read: {failure.strerror}.") from None
    except UnicodeDecodeError:
        raise UsageError(f"-ignore={file} is not UTF-8.") from None
