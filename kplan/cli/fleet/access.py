"""`kplan fleet access|lint|audit|replay`: who may do what, and who did it, on Spark."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.fleet import command
from kplan.cli.fleet.command import RunOptions, SparkOptions
from kplan.cli.options import InputOptions
from kplan.cli.session import Session
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError

if TYPE_CHECKING:
    from kplan.model.table import Figures
    from kplan.workflow.fleet.ports import FleetOptions, FleetPorts


class AccessQuestion(StrEnum):
    """What can be asked about access."""

    WHO_CAN = "who-can"
    OF = "of"


class AuditWork(StrEnum):
    """What can be done with authorizer logs."""

    INGEST = "ingest"
    USAGE = "usage"


@dataclass(frozen=True, slots=True)
class UsageOptions:
    """Of what time use is told, and what becomes of what nobody used."""

    removed: Annotated[
        str,
        typer.Option(
            "--removed", metavar="DIR", help="Write HCL to remove unused objects, per cluster."
        ),
    ] = ""
    since: command.Since = ""


@verb(
    ("kplan fleet access who-can READ TOPIC:orders", "Who may read the topic, in any cluster."),
    ("kplan fleet access of User:billing", "What the principal may do, in every cluster."),
)
def access(
    session: Session,
    spark: SparkOptions,
    run: RunOptions,
    inputs: InputOptions,
    *,
    question: Annotated[
        AccessQuestion, typer.Argument(metavar="who-can|of", help="What is asked.")
    ],
    words: Annotated[
        list[str], typer.Argument(metavar="WORDS", help="OPERATION and RESOURCE, or PRINCIPAL.")
    ],
) -> int:
    """Tell who may do what in every cluster.

    The answer is that of Kafka's authorizer, from the ACLs of a run.

    A resource is TYPE:NAME in Kafka's words, or the name of a topic.
    """
    from kplan.workflow.fleet.access import (  # noqa: PLC0415 - help needs none of these
        access_of,
        who_can,
    )

    def asked(options: "FleetOptions", ports: "FleetPorts") -> "Figures":
        if question is AccessQuestion.WHO_CAN:
            return who_can(options, ports, words[0], words[1])
        return access_of(options, ports, words[0])

    wanted = 2 if question is AccessQuestion.WHO_CAN else 1
    if len(words) != wanted:
        usage = "who-can OPERATION RESOURCE" if wanted > 1 else "of PRINCIPAL"
        raise UsageError(f"It is: kplan fleet access {usage}.")
    if question is AccessQuestion.OF and ":" not in words[0]:
        raise UsageError(f'"{words[0]}" is no principal.', f"Write it as User:{words[0]}.")
    return command.completeness_exit(command.run_command(session, (spark, run, inputs), asked))


@verb(("kplan fleet lint", "ACLs that do nothing, and what policies would not let in."))
def lint(session: Session, spark: SparkOptions, run: RunOptions, inputs: InputOptions) -> int:
    """Find ACLs that do nothing, and what policies forbid.

    An ACL does nothing when another one covers it, or when no topic fits it. Of each cluster with a
    configuration all that is live is put to its policy blocks, as if it were to be created. Exits
    with 2 when there is anything, waivers left aside.
    """
    from kplan.workflow.fleet.access import lint_fleet  # noqa: PLC0415 - as above

    found = command.run_command(session, (spark, run, inputs), lint_fleet)
    if found.findings & {"problem", "unread"}:
        return ExitCode.ERROR
    return ExitCode.CHANGES if found.findings - {"waived"} else command.completeness_exit(found)


@verb(
    ("kplan fleet audit ingest", "Read the logs that fleet.hcl names, and keep their sums."),
    ("kplan fleet audit usage", "Who used what last; which ACLs and topics nobody used."),
    ("kplan fleet audit usage -since=2160h", "The same, of the last ninety days."),
    ("kplan fleet audit usage -removed=DIR", "And removed blocks for unused ones, for review."),
)
def audit(
    session: Session,
    spark: SparkOptions,
    run: RunOptions,
    inputs: InputOptions,
    *,
    work: Annotated[AuditWork, typer.Argument(metavar="ingest|usage", help="What to do.")],
    of_usage: UsageOptions,
) -> int:
    """Keep what authorizer logs say, and tell what was used.

    Logs are files, or kafka://TOPIC of the same cluster; what was read before is not read again.
    Lines that are none of the authorizer's are kept and shown.
    """
    from kplan.workflow.fleet.audit import ingest_logs, read_usage  # noqa: PLC0415 - as above

    removed, since = of_usage.removed, of_usage.since
    if work is AuditWork.INGEST and (removed or since):
        told = "-removed and -since go with usage."
        raise UsageError("What nobody used is not told by ingest.", told)

    def asked(options: "FleetOptions", ports: "FleetPorts") -> "Figures":
        if work is AuditWork.INGEST:
            return ingest_logs(options, ports)
        return read_usage(options, ports, Path(removed) if removed else None)

    found = command.run_command(session, (spark, run, inputs), asked, {"-removed": removed}, since)
    return command.completeness_exit(found)


@verb(
    ("kplan fleet replay plan.kplan", "What the plan would have denied. Exits with 3 if anything."),
    ("kplan fleet replay -since=720h plan.kplan", "Of the requests of the last thirty days."),
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
    """Tell which real requests plans would have denied.

    The requests of the kept logs are weighed with the ACLs as saved plans would leave them.

    Every principal, operation and resource that would newly be denied or allowed is told, with how
    often it was asked and when last. A guard for pipelines: exits with 3 when something that was
    allowed would be denied, and with 1 when nothing is known of what was allowed.
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
