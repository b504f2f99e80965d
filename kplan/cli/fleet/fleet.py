"""`kplan fleet ...`: many clusters at once, on Spark."""

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.fleet import command
from kplan.cli.fleet.command import RunOptions, SparkOptions
from kplan.cli.options import InputOptions
from kplan.cli.terminal import Session
from kplan.cli.trust_option import TrustOptions
from kplan.cli.verb import verb
from kplan.model.errors import UsageError

if TYPE_CHECKING:
    from kplan.workflow.fleet.maintain import VacuumResult

Keep = Annotated[
    str,
    typer.Option("--keep", metavar="SPAN", help="Keep runs for this time, for example 720h."),
]
KEPT_RUNS = "2208h"
"""92 days: an ACL is watched from the day after the oldest run, and 90 days are high confidence."""
KeepLogs = Annotated[
    str,
    typer.Option(
        "--keep-logs", metavar="SPAN", help="Keep requests for this time.", show_default="keep all"
    ),
]


@verb(
    ("kplan fleet snapshot", "Read the clusters of fleet.hcl and store a run."),
    ("kplan fleet snapshot -save=snapshots", "Also write each cluster to a file."),
)
def snapshot(
    session: Session,
    spark: SparkOptions,
    run: RunOptions,
    inputs: InputOptions,
    *,
    save: Annotated[
        str,
        typer.Option(
            "--save", metavar="DIR", help="Also write one file per cluster to this folder."
        ),
    ] = "",
) -> int:
    """Read every cluster of the fleet and store a run.

    If a cluster is down, slow or refuses access, kplan reports it, stores the others, and exits
    with 1. A run is visible when it is complete. A repeated run replaces the first one.
    """
    from kplan.workflow.fleet import fleet  # noqa: PLC0415 - help needs none of these

    command.refuse_explain(run, "kplan fleet snapshot")
    found = command.run_command(
        session,
        (spark, run, inputs),
        lambda options, ports: fleet.take_snapshot(options, ports, Path(save) if save else None),
        {"-save": save},
    )
    return command.completeness_exit(found)


@verb(
    ("kplan fleet inventory", "Count topics, partitions and ACLs."),
    ("kplan fleet inventory -by=team", "Group clusters by label."),
)
def inventory(
    session: Session,
    spark: SparkOptions,
    run: RunOptions,
    inputs: InputOptions,
    *,
    by: Annotated[
        str, typer.Option("--by", metavar="LABEL", help="Group clusters by this label.")
    ] = "",
    top: Annotated[
        int, typer.Option("--top", metavar="N", min=1, help="Show the N largest topics.")
    ] = 10,
) -> int:
    """Count the objects of every cluster.

    kplan counts clusters, topics, partitions, replicas and ACLs in the latest run or in -run.
    """
    from kplan.workflow.fleet import fleet  # noqa: PLC0415 - as above

    found = command.run_command(
        session,
        (spark, run, inputs),
        lambda options, ports: fleet.read_inventory(options, ports, by, top),
    )
    return command.completeness_exit(found)


@verb(
    ("kplan fleet plan", "Show the changes; exit with 2 if there are any."),
    (
        "kplan fleet plan -untrusted -trusted-ref=../base",
        "Plan a pull request of somebody who is not trusted yet.",
    ),
)
def plan(
    session: Session,
    spark: SparkOptions,
    run: RunOptions,
    inputs: InputOptions,
    trust: TrustOptions,
) -> int:
    """Show the changes that apply would make in every cluster.

    fleet.hcl names the configuration folder of each cluster. Exits with 2 if there are changes.
    With -untrusted fleet.hcl is that of -trusted-ref, and so are connections, states and policies.
    """
    return _show_plan(session, (spark, run, inputs), trust, is_drift=False)


@verb(
    ("kplan fleet drift", "Show drift; exit with 2 if there is any."),
    ("kplan fleet drift -since=20261120T060000Z", "Compare with an earlier run."),
)
def drift(
    session: Session,
    spark: SparkOptions,
    run: RunOptions,
    inputs: InputOptions,
    *,
    since: Annotated[
        str,
        typer.Option(
            "--since", metavar="RUN", help="Compare with this stored run instead of the state."
        ),
    ] = "",
) -> int:
    """Detect changes made outside kplan in every cluster.

    With -since kplan compares the run with an earlier one. Exits with 2 if there are differences.
    """
    if not since:
        return _show_plan(session, (spark, run, inputs), None, is_drift=True)
    from kplan.workflow.fleet import fleet  # noqa: PLC0415 - as above

    found = command.run_command(
        session,
        (spark, run, inputs),
        lambda options, ports: fleet.compare_snapshots(options, ports, since),
    )
    return ExitCode.CHANGES if found.tables[0].rows else command.completeness_exit(found)


@verb(("kplan fleet history orders", "Show the values of a topic over time."))
def history(
    session: Session,
    spark: SparkOptions,
    run: RunOptions,
    inputs: InputOptions,
    *,
    identity: Annotated[
        str,
        typer.Argument(
            metavar="IDENTITY", help="The name of a topic, or an ACL as kplan shows it."
        ),
    ],
) -> int:
    """Show how one object changed between runs."""
    from kplan.workflow.fleet import fleet  # noqa: PLC0415 - as above

    found = command.run_command(
        session,
        (spark, run, inputs),
        lambda options, ports: fleet.read_history(options, ports, identity),
    )
    return command.completeness_exit(found)


@verb(("kplan fleet report -html=fleet.html", "Write the report to a file."))
def report(
    session: Session,
    spark: SparkOptions,
    run: RunOptions,
    inputs: InputOptions,
    *,
    html: Annotated[
        str, typer.Option("--html", metavar="FILE", help="Write the report to this file.")
    ] = "fleet.html",
    since: command.Since = "",
) -> int:
    """Write an HTML report about the fleet.

    The page is one file that needs no network. It has charts, and tables to sort and filter:
    health, drift, sizes, access, requests per day, unused objects and recommended ACLs. Of each
    table it shows up to 1,000 rows. For missing data it names the command that reads them.
    """
    from kplan.cli.report.writer import write_page  # noqa: PLC0415 - as above
    from kplan.report import views  # noqa: PLC0415
    from kplan.workflow.fleet.report import build_report  # noqa: PLC0415

    page = Path(html)
    if page.is_dir():
        raise UsageError(f"-html={html} is a folder.")
    given = spark, run, inputs
    if run.explain:
        command.run_command(session, given, build_report, since=since)
        return ExitCode.DONE
    folder = {"-html": str(page.parent)}
    found = command.run_page_command(session, given, build_report, folder, since)
    write_page(page, views.figures_html(found))
    session.terminal.write_stderr(f"Wrote the report to {html}.")
    return command.completeness_exit(found)


@verb(
    ("kplan fleet vacuum -keep=720h", "Keep the runs of 30 days, and always the latest."),
    ("kplan fleet vacuum -keep-logs=8760h", "Keep the requests of one year."),
)
def vacuum(
    session: Session,
    spark: SparkOptions,
    inputs: InputOptions,
    *,
    keep: Keep = KEPT_RUNS,
    keep_logs: KeepLogs = "",
) -> int:
    """Delete old runs and requests.

    The latest run is always kept. kplan also deletes the remains of interrupted runs. With
    -keep-logs requests that are older are deleted, in whole days, and malformed lines that were
    read longer ago. The next ingest goes on where the last one ended. A file of which all was
    deleted is read again, from its beginning, only if it has changed.
    """
    from kplan.cli.progress import show_progress  # noqa: PLC0415 - as above
    from kplan.workflow.fleet import maintain as work  # noqa: PLC0415

    runs, logs = _periods(keep, keep_logs)
    chosen = command.build_options(session, spark, RunOptions(), inputs)
    with show_progress(session.terminal) as progress:
        deleted = work.vacuum_store(chosen, command.build_ports(session, progress), runs, logs)
    _show_removal(session, deleted, has_logs=logs is not None)
    return ExitCode.DONE


@verb(
    ("kplan fleet maintain", "Merge the stored ingests, and delete runs older than 92 days."),
    ("kplan fleet maintain -keep-logs=8760h", "Also delete requests older than one year."),
)
def maintain(
    session: Session,
    spark: SparkOptions,
    inputs: InputOptions,
    *,
    keep: Keep = KEPT_RUNS,
    keep_logs: KeepLogs = "",
) -> int:
    """Merge the stored ingests, and delete old runs and requests.

    Each ingest adds files to the store. kplan merges the rows of each log, which makes queries
    faster and changes no answer. What this replaces is deleted by a later run, at least one hour
    afterwards, because queries may still read it. Ingests may run meanwhile.
    """
    from kplan.cli.progress import show_progress  # noqa: PLC0415 - as above
    from kplan.report.documents.notation import count_text  # noqa: PLC0415
    from kplan.workflow.fleet import maintain as work  # noqa: PLC0415

    runs, logs = _periods(keep, keep_logs)
    chosen = command.build_options(session, spark, RunOptions(), inputs)
    with show_progress(session.terminal) as progress:
        done = work.maintain_store(chosen, command.build_ports(session, progress), runs, logs)
    merged, replaced = (count_text(each, "ingest") for each in (done.merged, done.replaced))
    session.terminal.write_stdout(f"Merged {merged}. Deleted {replaced} merged before.\n")
    _show_removal(session, done.removed, has_logs=logs is not None)
    return ExitCode.DONE


def _show_removal(session: Session, removed: "VacuumResult", *, has_logs: bool) -> None:
    from kplan.report.documents.notation import count_text  # noqa: PLC0415 - as above

    session.terminal.write_stdout(f"Deleted {count_text(removed.runs, 'run')}.\n")
    if has_logs:
        old = count_text(removed.logs, "log")
        session.terminal.write_stdout(f"Deleted old requests of {old}.\n")


def _periods(keep: str, keep_logs: str) -> tuple[timedelta, timedelta | None]:
    """Parse how long runs and logs are kept. Raises UsageError."""
    runs = command.parse_duration("-keep", keep)
    if runs is None:
        raise UsageError("-keep is empty.", "Write it as 720h.")
    return runs, command.parse_duration("-keep-logs", keep_logs)


def _show_plan(
    session: Session,
    command_options: command.CommandOptions,
    trust: TrustOptions | None,
    *,
    is_drift: bool,
) -> int:
    from kplan.workflow.fleet import fleet  # noqa: PLC0415 - as above

    found = command.run_command(
        session,
        command_options,
        lambda options, ports: fleet.plan_fleet(options, ports, is_drift=is_drift),
        trust=trust,
    )
    if "drift" in found.findings:  # as `kplan drift`: what is known to have changed comes first
        return ExitCode.CHANGES
    if found.findings & {"hidden", "obstacle", "problem", "stateless", "unread"}:
        return ExitCode.ERROR
    return ExitCode.CHANGES if found.findings else ExitCode.DONE
