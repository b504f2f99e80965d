"""`kplan drift`."""

from datetime import timedelta
from typing import Annotated

import typer

from kplan.cli.options import InputOptions, ReportOptions, StateOptions, duration_s
from kplan.cli.report_option import prepare_reports
from kplan.cli.session import Session
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError


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

    kplan compares the state, which records the last apply, with the cluster. Nothing is changed.
    Exits with 0 without drift, 2 with drift, and 1 if drift cannot be determined. A webhook or
    gateway that fails is reported and does not change the exit code.
    """
    from kplan.cli.plan import (  # noqa: PLC0415 - help needs none of these
        drift_monitor,
        notification,
    )

    interval = duration_s("-interval", what.interval)
    if interval < 1:
        raise UsageError("-interval must be 1s or more.")
    notify = what.notify or session.environ.get("KPLAN_NOTIFY", "")
    push = what.push or session.environ.get("KPLAN_PUSH", "")
    notification.check_url("-notify", notify)
    notification.check_url("-push", push)
    return drift_monitor.DriftMonitor(
        session,
        inputs,
        states,
        answer,
        prepare_reports(session, "drift", answer.report, is_json=answer.json),
        drift_monitor.read_ignore_file(what.ignore),
        lists_unmanaged=what.unmanaged,
        webhook_url=notify,
        push_gateway_url=push,
        interval=timedelta(seconds=interval) if what.watch else None,
    ).run()
