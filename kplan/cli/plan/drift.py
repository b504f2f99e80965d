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
    """What is no drift, how often is looked, and who hears of it."""

    ignore: Annotated[
        str,
        typer.Option(
            "--ignore",
            metavar="FILE",
            help="Leave out what the lines of this file fit, ADDRESS or KIND/NAME with * and ?, "
            "and maybe an attribute.",
        ),
    ] = ""
    unmanaged: Annotated[
        bool, typer.Option("--unmanaged", help="Name what is not managed, and not only count it.")
    ] = False
    watch: Annotated[
        bool, typer.Option("--watch", help="Look again and again, and tell what is new.")
    ] = False
    interval: Annotated[
        str, typer.Option("--interval", metavar="SPAN", help="How long -watch waits between looks.")
    ] = "5m"
    notify: Annotated[
        str,
        typer.Option(
            "--notify",
            metavar="URL",
            help="Post drift, and its end, to a webhook in Slack's form; or KPLAN_NOTIFY.",
        ),
    ] = ""
    push: Annotated[
        str,
        typer.Option(
            "--push",
            metavar="URL",
            help="Put metrics to a Prometheus push gateway; or KPLAN_PUSH.",
        ),
    ] = ""


@verb(
    ("kplan drift", "What somebody changed by hand. Exits with 2 when there is something."),
    ("kplan drift -json", "The same for an alert."),
    ("kplan drift -report=html=drift.html", "With a page to look at."),
    ("kplan drift -ignore=drift.ignore -unmanaged", "Without what is accepted; with what is not."),
    ("kplan drift -report=prometheus=/var/lib/node_exporter/kplan.prom", "With metrics."),
    ("kplan drift -watch -interval=10m", "As a service; a signal ends it."),
)
def drift(
    session: Session,
    what: DriftOptions,
    inputs: InputOptions,
    states: StateOptions,
    answer: ReportOptions,
) -> int:
    """Tell what was changed outside of kplan.

    The state, which says what kplan applied last, is compared with the cluster. Nothing is changed
    anywhere. Exits with 0 without drift, 2 with drift, 1 when it cannot be told. A notice or a
    metric that nobody takes is told and changes none of that.
    """
    from kplan.cli.plan import (  # noqa: PLC0415 - help needs none of these
        drift_monitor,
        notification,
    )

    interval = duration_s("-interval", what.interval)
    if interval < 1:
        raise UsageError("-interval is one second or more.")
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
