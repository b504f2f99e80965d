"""Looking for drift once, or again and again until a signal comes."""

import time
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import NoReturn

from kplan.cli import notices, showing, wiring
from kplan.cli.exits import Exit
from kplan.cli.options import InputOptions, ResultOptions, StateOptions
from kplan.cli.problems import tell, timestamp
from kplan.cli.progress import progress
from kplan.cli.reporting import Reporting
from kplan.cli.session import Session
from kplan.model.errors import ConfigError, KplanError, UsageError
from kplan.plan.ignore import Ignored, ignored_by
from kplan.report import views
from kplan.report.format import Format
from kplan.report.report import Report, Setting, written
from kplan.report.reports import drift_report, problems_report
from kplan.workflow.drift import Drifted, drift


@dataclass(frozen=True, slots=True)
class Service:
    """What is looked for, and who is told. `interval` of None looks once."""

    session: Session
    inputs: InputOptions
    states: StateOptions
    answer: ResultOptions
    reports: Reporting
    ignored: tuple[Ignored, ...] = ()
    lists: bool = False
    notify: str = field(default="", repr=False)
    push: str = field(default="", repr=False)
    interval: timedelta | None = None

    def run(self) -> int:
        """Look once and give the exit code, or go on until a signal ends the run.

        Raises:
            KplanError: it cannot be told whether there is drift, and nobody looks again.

        """
        if self.interval is not None:
            self._watch(self.interval)
        try:
            found = self._looked()
        except KplanError as error:
            self._send(self._failed(error), is_news=True)
            raise
        self._show(found)
        return self._send(self._report(found), _code(found), is_news=_verdict(found) != _QUIET)

    def _watch(self, interval: timedelta) -> NoReturn:
        """Tell what is new since the last look; an end of drift, or of trouble, is news too."""
        before: object = _QUIET
        is_first = True
        while True:
            try:
                found = self._looked()
            except KplanError as error:
                now: object = str(error)
                if now != before:
                    self._complain(error)
                self._send(self._failed(error), is_news=now != before)
            else:
                now = _verdict(found)
                if is_first or now != before:
                    self._show(found)
                self._send(self._report(found), is_news=now != before)
            before, is_first = now, False
            time.sleep(interval.total_seconds())

    def _looked(self) -> Drifted:
        project = wiring.project(self.session, self.states, self.inputs)
        with progress(self.session.terminal) as shown:
            ports = wiring.ports(self.session, "drift", self.states, shown)
            return drift(project, ports, self.ignored)

    def _show(self, found: Drifted) -> None:
        if self.answer.is_silent:
            return
        told, terminal = showing.coverage(found, lists=self.lists), self.session.terminal
        if not self.answer.json:
            terminal.data(views.drift_text(found.changes, told, terminal.data_look))
        elif self.interval is None:
            terminal.data(views.drift_json(found.changes, told))
        else:
            terminal.data(views.drift_line(found.changes, told))

    def _complain(self, error: KplanError) -> None:
        sources = error.sources if isinstance(error, ConfigError) else {}
        tell(error.diagnostics, self.session.terminal, sources=sources)

    def _report(self, found: Drifted) -> Report:
        told = showing.coverage(found, lists=self.lists)
        return drift_report(found.changes, told, timestamp())

    def _failed(self, error: KplanError) -> Report:
        sources = error.sources if isinstance(error, ConfigError) else {}
        return problems_report("kplan drift", error.diagnostics, sources, timestamp())

    def _send(self, report: Report, code: int = Exit.ERROR, *, is_news: bool) -> int:
        """Write reports and numbers every time, and a notice where there is news."""
        code = self.reports.write(report, code)
        terminal = self.session.terminal
        if self.push:
            notices.push(terminal, self.push, written(report, Format.PROMETHEUS, Setting()))
        if self.notify and is_news:
            notices.notify(terminal, self.notify, written(report, Format.SLACK, Setting()))
        return code


_QUIET = ((), True)
"""The verdict that nobody has to hear of."""


def _verdict(found: Drifted) -> object:
    return found.changes, found.is_certain


def _code(found: Drifted) -> Exit:
    if found.changes:
        return Exit.CHANGES
    return Exit.DONE if found.is_certain else Exit.ERROR


def patterns(file: str) -> tuple[Ignored, ...]:
    """Read what is to be ignored; "" is no file. Raises UsageError."""
    if not file:
        return ()
    try:
        return ignored_by(Path(file).read_text(encoding="utf-8"), file)
    except OSError as failure:
        raise UsageError(f"-ignore={file} cannot be read: {failure.strerror}.") from None
    except UnicodeDecodeError:
        raise UsageError(f"-ignore={file} is no UTF-8.") from None
