"""`kplan drift`: detect drift once or at every interval, with webhook and push gateway."""

import time
from dataclasses import field
from datetime import timedelta
from http.client import HTTPException
from pathlib import Path
from threading import Thread
from typing import Annotated, NoReturn
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import typer

from kplan.cli import wiring
from kplan.cli.diagnostics import show_diagnostics, timestamp
from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, ReportOptions, StateOptions, duration_s
from kplan.cli.progress import show_progress
from kplan.cli.report.option import RunReports, prepare_reports
from kplan.cli.terminal import Session, Terminal
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass
from kplan.model.errors import ConfigError, KplanError, UsageError
from kplan.model.version import VERSION
from kplan.plan.drift import IgnorePattern, parse_patterns
from kplan.report import views
from kplan.report.format import Format
from kplan.report.render import FormatOptions, Report, render_report
from kplan.report.subject import drift_report, problems_report
from kplan.workflow.plan.drift import DriftResult, detect_drift, drift_coverage


@dataclass(frozen=True, slots=True)
class DriftOptions:
    """What to ignore, how often to check, and where to send drift."""

    ignore: Annotated[
        str,
        typer.Option(
            "--ignore",
            metavar="FILE",
            help="Ignore drift that matches a line of this file: ADDRESS or KIND/NAME with * "
            "and ?, and optionally an attribute.",
        ),
    ] = ""
    unmanaged: Annotated[
        bool,
        typer.Option(
            "--unmanaged", help="List unmanaged objects by name instead of counting them."
        ),
    ] = False
    health: Annotated[
        bool,
        typer.Option(
            "--health",
            help="Also check that every partition of the owned topics has a leader and all its "
            "replicas in sync.",
        ),
    ] = False
    watch: Annotated[bool, typer.Option("--watch", help="Repeat the check and show new drift.")] = (
        False
    )
    interval: Annotated[
        str,
        typer.Option(
            "--interval", metavar="SPAN", help="Wait this long between the checks of -watch."
        ),
    ] = "5m"
    notify: Annotated[
        str,
        typer.Option(
            "--notify",
            metavar="URL",
            help="Post drift and its end to a Slack-compatible webhook; or KPLAN_NOTIFY.",
        ),
    ] = ""
    push: Annotated[
        str,
        typer.Option(
            "--push",
            metavar="URL",
            help="Push metrics to a Prometheus Pushgateway; or KPLAN_PUSH.",
        ),
    ] = ""


@verb(
    ("kplan drift", "Show drift; exit with 2 if there is any."),
    ("kplan drift -json", "The same as JSON."),
    ("kplan drift -report=html=drift.html", "Also write an HTML page."),
    (
        "kplan drift -ignore=drift.ignore -unmanaged",
        "Ignore accepted drift and list unmanaged objects.",
    ),
    ("kplan drift -report=prometheus=/var/lib/node_exporter/kplan.prom", "Also write metrics."),
    ("kplan drift -health", "Also find partitions without a leader or under-replicated."),
    ("kplan drift -watch -interval=10m", "Run as a service until a signal."),
)
def drift(
    session: Session,
    what: DriftOptions,
    inputs: InputOptions,
    states: StateOptions,
    answer: ReportOptions,
) -> int:
    """Detect changes made outside kplan.

    kplan compares the state, which records the last apply, with the cluster. Nothing is changed or
    locked; while an apply runs, the objects that it changes are not compared, and a note says so.
    Exits with 0 without drift, 2 with drift or, with -health, with topics that are not healthy, and
    1 if drift cannot be determined. A webhook or
    gateway that fails is reported and does not change the exit code.
    """
    interval = duration_s("-interval", what.interval)
    if interval < 1:
        raise UsageError("-interval must be 1s or more.")
    notify = what.notify or session.environ.get("KPLAN_NOTIFY", "")
    push = what.push or session.environ.get("KPLAN_PUSH", "")
    check_url("-notify", notify)
    check_url("-push", push)
    return DriftMonitor(
        session,
        inputs,
        states,
        answer,
        prepare_reports(session, "drift", answer.report, is_json=answer.json),
        read_ignore_file(what.ignore),
        lists_unmanaged=what.unmanaged,
        with_health=what.health,
        webhook_url=notify,
        push_gateway_url=push,
        interval=timedelta(seconds=interval) if what.watch else None,
    ).run()


TIMEOUT_S = 10.0


def check_url(option: str, url: str) -> None:
    """Raise UsageError for text that is not an HTTP URL."""
    if url and not _is_http_url(url):
        raise UsageError(
            f"{option} requires an http:// or https:// URL without spaces and credentials.",
            f"Write it as {option}=https://HOST/PATH.",
        )


def _is_http_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port  # whether it is a number is checked when it is read
    except ValueError:
        return False
    is_plain = url.isprintable() and " " not in url and "@" not in parts.netloc
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and is_plain


def post_webhook(terminal: Terminal, url: str, message: str) -> bool:
    """Post a message to a webhook and return whether it succeeded."""
    return _send_request(terminal, "notice", Request(url, message.encode(), _JSON, method="POST"))  # noqa: S310 - `check` has inspected the scheme


def push_metrics(terminal: Terminal, url: str, text: str) -> bool:
    """Replace the metrics of a push gateway and return whether it succeeded.

    A URL without a path is the gateway's own: the metrics go to its job `kplan_drift`.
    """
    place = url if urlsplit(url).path.strip("/") else f"{url.rstrip('/')}/metrics/job/kplan_drift"
    return _send_request(terminal, "metrics", Request(place, text.encode(), _TEXT, method="PUT"))  # noqa: S310 - as above


_AGENT = {"User-Agent": f"kplan/{VERSION}"}
_JSON = {**_AGENT, "Content-Type": "application/json; charset=utf-8"}
_TEXT = {**_AGENT, "Content-Type": "text/plain; version=0.0.4; charset=utf-8"}


def _send_request(terminal: Terminal, what: str, request: Request) -> bool:
    failures: list[str] = []
    sending = Thread(target=_open_request, args=(request, failures), daemon=True)
    sending.start()
    sending.join(TIMEOUT_S)  # a socket's own bound begins again with every byte that comes
    if sending.is_alive():
        failures = [_failure_text(TimeoutError())]
    for why in failures:
        terminal.write_stderr(f"Warning: Cannot send the {what} to {request.host}: {why}.")
    return not failures


def _open_request(request: Request, failures: list[str]) -> None:
    try:
        with urlopen(request, timeout=TIMEOUT_S):  # noqa: S310 - as above
            pass  # what it says beside the status does not matter
    except HTTPError as failure:
        with failure:  # its answer is open
            failures.append(_failure_text(failure))
    except (OSError, HTTPException, ValueError) as failure:
        failures.append(_failure_text(failure))


def _failure_text(failure: Exception) -> str:
    """Return the reason without the address, which may hold a secret."""
    match failure:
        case HTTPError():
            return f"HTTP {failure.code}"
        case URLError(reason=OSError() as reason) if reason.strerror:
            return reason.strerror
        case TimeoutError() | URLError(reason=TimeoutError()):
            return f"no answer in {TIMEOUT_S:g} s"
        case _:
            return type(failure).__name__


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
    with_health: bool = False
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
            self._report(found), _exit_code(found), is_news=_findings(found) != _NO_DRIFT
        )

    def _watch(self, interval: timedelta) -> NoReturn:
        """Show changes since the last check, including the end of drift or of an error."""
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
                now = _findings(found)
                if is_first or now != before:
                    self._show(found)
                self._publish(self._report(found), is_news=now != before)
            before, is_first = now, False
            time.sleep(interval.total_seconds())

    def _detect(self) -> DriftResult:
        project = wiring.build_project(self.session, self.states, self.inputs)
        with show_progress(self.session.terminal) as progress:
            ports = wiring.build_ports(self.session, "drift", self.states, progress)
            return detect_drift(project, ports, self.ignore_rules, with_health=self.with_health)

    def _show(self, drift_result: DriftResult) -> None:
        if self.output.has_report_on_stdout:
            return
        coverage, terminal = (
            drift_coverage(drift_result, lists=self.lists_unmanaged),
            self.session.terminal,
        )
        if not self.output.json:
            terminal.write_stdout(
                views.drift_text(drift_result.changes, coverage, terminal.stdout_style)
            )
        elif self.interval is None:
            terminal.write_stdout(views.drift_json(drift_result.changes, coverage))
        else:
            terminal.write_stdout(views.drift_line(drift_result.changes, coverage))

    def _show_error(self, error: KplanError) -> None:
        sources = error.sources if isinstance(error, ConfigError) else {}
        show_diagnostics(error.diagnostics, self.session.terminal, sources=sources)

    def _report(self, drift_result: DriftResult) -> Report:
        coverage = drift_coverage(drift_result, lists=self.lists_unmanaged)
        return drift_report(drift_result.changes, coverage, timestamp())

    def _error_report(self, error: KplanError) -> Report:
        sources = error.sources if isinstance(error, ConfigError) else {}
        cluster = self.session.environ.get("KPLAN_CLUSTER_NAME", "")
        return problems_report(
            "kplan drift", error.diagnostics, sources, timestamp(), cluster=cluster
        )

    def _publish(self, report: Report, code: int = ExitCode.ERROR, *, is_news: bool) -> int:
        """Write reports and metrics every time, and notify of news."""
        code = self.reports.write(report, code)
        terminal = self.session.terminal
        if self.push_gateway_url:
            push_metrics(
                terminal,
                self.push_gateway_url,
                render_report(report, Format.PROMETHEUS, FormatOptions()),
            )
        if self.webhook_url and is_news:
            post_webhook(
                terminal, self.webhook_url, render_report(report, Format.SLACK, FormatOptions())
            )
        return code


_NO_DRIFT = ((), True, ())
"""The findings that need no notification."""


def _findings(drift_result: DriftResult) -> object:
    return drift_result.changes, drift_result.is_certain, drift_result.unhealthy_topics


def _exit_code(drift_result: DriftResult) -> ExitCode:
    if drift_result.changes or drift_result.unhealthy_topics:
        return ExitCode.CHANGES
    return ExitCode.DONE if drift_result.is_certain else ExitCode.ERROR


def read_ignore_file(file: str) -> tuple[IgnorePattern, ...]:
    """Read the patterns to ignore; "" is no file. Raises UsageError."""
    if not file:
        return ()
    try:
        return parse_patterns(Path(file).read_text(encoding="utf-8-sig"), file)
    except OSError as failure:
        raise UsageError(f"-ignore={file} cannot be read: {failure.strerror}.") from None
    except UnicodeDecodeError:
        raise UsageError(f"-ignore={file} is not UTF-8.") from None
