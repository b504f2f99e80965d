"""`kplan fleet access|lint|audit|replay`: who may do what, and who did it, on Spark."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kplan.cli.exit_code import ExitCode, signal_exit
from kplan.cli.fleet import command
from kplan.cli.fleet.command import RunOptions, SparkOptions
from kplan.cli.options import InputOptions, duration_s
from kplan.cli.terminal import Session
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError

if TYPE_CHECKING:
    from kplan.model.table import Figures
    from kplan.workflow.fleet.ports import FleetOptions, FleetPorts


class AccessQuestion(StrEnum):
    """Queries of access."""

    WHO_CAN = "who-can"
    OF = "of"


class AuditWork(StrEnum):
    """Commands for authorizer logs."""

    INGEST = "ingest"
    USAGE = "usage"


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """Of ingest: whether it follows logs. Of usage: its period, and where to write HCL."""

    follow: Annotated[
        bool, typer.Option("--follow", help="Follow the logs as a stream until a signal.")
    ] = False
    interval: Annotated[
        str,
        typer.Option("--interval", metavar="SPAN", help="The time between the batches of -follow."),
    ] = "1m"

    removed: Annotated[
        str,
        typer.Option(
            "--removed",
            metavar="DIR",
            help="Write HCL that removes unused objects, one file per cluster.",
        ),
    ] = ""
    since: command.Since = ""


@verb(
    (
        "kplan fleet access who-can READ TOPIC:orders",
        "List the readers of a topic in every cluster.",
    ),
    ("kplan fleet access of User:billing", "List the permissions of a principal in every cluster."),
)
def access(
    session: Session,
    spark: SparkOptions,
    run: RunOptions,
    inputs: InputOptions,
    *,
    question: Annotated[AccessQuestion, typer.Argument(metavar="who-can|of", help="The query.")],
    words: Annotated[
        list[str], typer.Argument(metavar="WORDS", help="OPERATION and RESOURCE, or PRINCIPAL.")
    ],
) -> int:
    """List who can perform which operations in every cluster.

    kplan evaluates the ACLs of a run as Kafka's authorizer does. A resource is TYPE:NAME or the
    name of a topic.
    """
    from kplan.workflow.fleet.access import (  # noqa: PLC0415 - help needs none of these
        access_of,
        who_can,
    )

    def answer(options: "FleetOptions", ports: "FleetPorts") -> "Figures":
        if question is AccessQuestion.WHO_CAN:
            return who_can(options, ports, words[0], words[1])
        return access_of(options, ports, words[0])

    wanted = 2 if question is AccessQuestion.WHO_CAN else 1
    if len(words) != wanted:
        usage = "who-can OPERATION RESOURCE" if wanted > 1 else "of PRINCIPAL"
        raise UsageError(f"The usage is kplan fleet access {usage}.")
    if question is AccessQuestion.OF and ":" not in words[0]:
        raise UsageError(f'"{words[0]}" is not a principal.', f"Write it as User:{words[0]}.")
    return command.completeness_exit(command.run_command(session, (spark, run, inputs), answer))


@verb(("kplan fleet lint", "Find ACLs without effect and violations of policies."))
def lint(session: Session, spark: SparkOptions, run: RunOptions, inputs: InputOptions) -> int:
    """Find ACLs without effect and violations of policies.

    An ACL has no effect if another one covers it or if it matches no topic. For each cluster with a
    configuration kplan checks its policy blocks against all live objects. Exits with 2 if there are
    findings without a waiver.
    """
    from kplan.workflow.fleet.access import lint_fleet  # noqa: PLC0415 - as above

    found = command.run_command(session, (spark, run, inputs), lint_fleet)
    if found.findings & {"problem", "unread"}:
        return ExitCode.ERROR
    return ExitCode.CHANGES if found.findings - {"waived"} else command.completeness_exit(found)


@verb(
    ("kplan fleet audit ingest", "Read the logs of fleet.hcl and store their usage."),
    ("kplan fleet audit ingest -follow -interval=10s", "Read them until a signal."),
    ("kplan fleet audit usage", "Show usage, and unused ACLs and topics."),
    ("kplan fleet audit usage -since=2160h", "Show the usage of the last 90 days."),
    ("kplan fleet audit usage -removed=DIR", "Write removed blocks for unused objects."),
)
def audit(
    session: Session,
    spark: SparkOptions,
    run: RunOptions,
    inputs: InputOptions,
    *,
    work: Annotated[AuditWork, typer.Argument(metavar="ingest|usage", help="The command.")],
    how: AuditOptions,
) -> int:
    """Read authorizer logs and report what was used.

    Logs are files or kafka://TOPIC of the same cluster. Lines that were read before are skipped.
    Lines that are not from the authorizer are stored and shown. With -follow kplan reads new lines
    in batches until SIGTERM or SIGINT, and ends after the batch at work; ingests may run meanwhile.
    """
    from kplan.workflow.fleet.audit import read_usage  # noqa: PLC0415 - as above
    from kplan.workflow.fleet.ingest import ingest_logs  # noqa: PLC0415

    removed, since = how.removed, how.since
    if work is AuditWork.INGEST and (removed or since):
        hint = "Use them with kplan fleet audit usage."
        raise UsageError("kplan fleet audit ingest does not support -removed and -since.", hint)
    if work is AuditWork.INGEST:
        command.refuse_explain(run, "kplan fleet audit ingest")
    if how.follow:
        if work is not AuditWork.INGEST:
            raise UsageError(
                f"kplan fleet audit {work.value} does not support -follow.",
                "Use it with kplan fleet audit ingest.",
            )
        return _follow(session, (spark, run, inputs), how)

    def answer(options: "FleetOptions", ports: "FleetPorts") -> "Figures":
        if work is AuditWork.INGEST:
            return ingest_logs(options, ports)
        return read_usage(options, ports, Path(removed) if removed else None)

    found = command.run_command(session, (spark, run, inputs), answer, {"-removed": removed}, since)
    return command.completeness_exit(found)


def _follow(session: Session, given: command.CommandOptions, how: AuditOptions) -> int:
    """Follow logs until a signal, and return its exit code. Raises KplanError."""
    from kplan.cli.progress import show_progress  # noqa: PLC0415 - as above
    from kplan.workflow.fleet.follow import follow_logs  # noqa: PLC0415

    spark, run, inputs = given
    interval_s = duration_s("-interval", how.interval)
    if interval_s < 1:
        raise UsageError("-interval must be 1s or more.")
    if run.json or run.report or run.output:
        raise UsageError(
            "-follow does not support -json, -report and -output.",
            "Show the tables with kplan fleet audit usage.",
        )
    options = command.build_options(session, spark, run, inputs)
    session.signals.defer("Stopping after the batch at work")
    with show_progress(session.terminal) as progress:
        follow_logs(
            options, command.build_ports(session, progress), interval_s, session.signals.stop_event
        )
    session.terminal.write_stderr("Stopped.")
    return signal_exit(session.signals.number)


@verb(
    (
        "kplan fleet replay plan.kplan",
        "List requests that the plan would deny; exit with 3 if any.",
    ),
    ("kplan fleet replay -since=720h plan.kplan", "Check the requests of the last 30 days."),
)
def replay(
    session: Session,
    spark: SparkOptions,
    run: RunOptions,
    inputs: InputOptions,
    *,
    plans: Annotated[list[Path], typer.Argument(metavar="PLAN", help="Saved plans.")],
    since: command.Since = "",
) -> int:
    """List logged requests that a saved plan would deny.

    kplan evaluates the logged requests with the ACLs that the saved plans would leave. It lists
    each principal, operation and resource that would become denied or allowed, with the number of
    requests and the last time. Exits with 3 if an allowed request would be denied, and with 1 if no
    allowed requests are known.
    """
    from kplan.workflow.fleet.access import replay_audit  # noqa: PLC0415 - as above

    found = command.run_command(
        session,
        (spark, run, inputs),
        lambda options, ports: replay_audit(options, ports, plans),
        since=since,
    )
    if "denied" in found.findings:
        return ExitCode.REFUSED
    return ExitCode.ERROR if "unknown" in found.findings else ExitCode.DONE
