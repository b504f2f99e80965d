"""`kplan fleet ...`: many clusters at once, on Spark."""

from pathlib import Path
from typing import Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.fleet import command
from kplan.cli.fleet.command import RunOptions, SparkOptions
from kplan.cli.options import InputOptions
from kplan.cli.session import Session
from kplan.cli.verb import verb
from kplan.model.errors import UsageError


@verb(
    ("kplan fleet snapshot", "Read every cluster of fleet.hcl and store a run."),
    ("kplan fleet snapshot -save=snapshots", "And write each cluster to a file."),
)
def snapshot(
    session: Session,
    spark: SparkOptions,
    run: RunOptions,
    inputs: InputOptions,
    *,
    save: Annotated[
        str, typer.Option("--save", metavar="DIR", help="Write a file per cluster as well.")
    ] = "",
) -> int:
    """Read all clusters of the fleet, and store a run.

    A cluster that is down, hangs or refuses is told, and the others are stored: then the exit code
    is 1. A run is seen when it is whole; one that is taken again takes the place of the first.
    """
    from kplan.workflow.fleet import fleet  # noqa: PLC0415 - help needs none of these

    found = command.run_command(
        session,
        (spark, run, inputs),
        lambda options, ports: fleet.take_snapshot(options, ports, Path(save) if save else None),
        {"-save": save},
    )
    return command.completeness_exit(found)


@verb(
    ("kplan fleet inventory", "Count topics, partitions and ACLs of every cluster."),
    ("kplan fleet inventory -by=team", "By the label that clusters carry."),
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
    top: Annotated[int, typer.Option("--top", metavar="N", min=1, help="Largest topics.")] = 10,
) -> int:
    """Tell what is where.

    Clusters, topics, partitions, replicas and ACLs are counted, in the latest run or another one.
    """
    from kplan.workflow.fleet import fleet  # noqa: PLC0415 - as above

    found = command.run_command(
        session,
        (spark, run, inputs),
        lambda options, ports: fleet.read_inventory(options, ports, by, top),
    )
    return command.completeness_exit(found)


@verb(("kplan fleet plan", "What apply would change, in every cluster. Exits with 2 if anything."))
def plan(session: Session, spark: SparkOptions, run: RunOptions, inputs: InputOptions) -> int:
    """Hold every cluster against its configuration.

    fleet.hcl names a folder for each. Exits with 2 when apply would change anything.
    """
    return _show_plan(session, (spark, run, inputs), is_drift=False)


@verb(
    ("kplan fleet drift", "What was changed by hand, in every cluster. Exits with 2 if anything."),
    ("kplan fleet drift -since=20261120T060000Z", "What is different from an earlier run."),
)
def drift(
    session: Session,
    spark: SparkOptions,
    run: RunOptions,
    inputs: InputOptions,
    *,
    since: Annotated[
        str, typer.Option("--since", metavar="RUN", help="Compare with this stored run instead.")
    ] = "",
) -> int:
    """Hold every cluster against what kplan last applied.

    With -since the run is compared with an earlier one instead. Exits with 2 for any difference.
    """
    if not since:
        return _show_plan(session, (spark, run, inputs), is_drift=True)
    from kplan.workflow.fleet import fleet  # noqa: PLC0415 - as above

    found = command.run_command(
        session,
        (spark, run, inputs),
        lambda options, ports: fleet.compare_snapshots(options, ports, since),
    )
    return ExitCode.CHANGES if found.tables[0].rows else command.completeness_exit(found)


@verb(("kplan fleet history orders", "Which values the topic had, from when to when."))
def history(
    session: Session,
    spark: SparkOptions,
    run: RunOptions,
    inputs: InputOptions,
    *,
    identity: Annotated[
        str, typer.Argument(metavar="IDENTITY", help="A topic name, or an ACL as kplan names it.")
    ],
) -> int:
    """Tell how one object changed over the runs."""
    from kplan.workflow.fleet import fleet  # noqa: PLC0415 - as above

    found = command.run_command(
        session,
        (spark, run, inputs),
        lambda options, ports: fleet.read_history(options, ports, identity),
    )
    return command.completeness_exit(found)


@verb(("kplan fleet report -html=fleet.html", "For the platform team."))
def report(
    session: Session,
    spark: SparkOptions,
    run: RunOptions,
    inputs: InputOptions,
    *,
    html: Annotated[
        str, typer.Option("--html", metavar="FILE", help="Where the page is written.")
    ] = "fleet.html",
    since: command.Since = "",
) -> int:
    """Write one page about the fleet.

    It is HTML and needs no network: sizes, drift, risk, ACLs that do nothing, and what nobody uses.
    """
    from kplan.report import views  # noqa: PLC0415 - as above
    from kplan.workflow.fleet.report import build_report  # noqa: PLC0415

    page = Path(html)
    if page.is_dir():
        raise UsageError(f"-html={html}: that is a folder.")
    given = spark, run, inputs
    found = command.run_command(session, given, build_report, {"-html": str(page.parent)}, since)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(views.figures_page(found), encoding="utf-8")
    session.terminal.write_stderr(f"The page is written to {html}.")
    return command.completeness_exit(found)


@verb(
    ("kplan fleet vacuum -keep=720h", "Keep the runs of thirty days, and always the latest."),
    ("kplan fleet vacuum -keep-logs=8760h", "And of logs what is of the last year."),
)
def vacuum(
    session: Session,
    spark: SparkOptions,
    inputs: InputOptions,
    *,
    keep: Annotated[
        str, typer.Option("--keep", metavar="SPAN", help="How long runs are kept, as 720h.")
    ] = "2160h",
    keep_logs: Annotated[
        str,
        typer.Option(
            "--keep-logs",
            metavar="SPAN",
            help="How long what logs say is kept.",
            show_default="for ever",
        ),
    ] = "",
) -> int:
    """Remove old runs, and what runs that broke off left behind.

    A log goes when its last request is older than -keep-logs. One whose file is still there is read
    again by the next ingest.
    """
    from kplan.cli.progress import show_progress  # noqa: PLC0415 - as above
    from kplan.workflow.fleet import fleet  # noqa: PLC0415

    runs, logs = (
        command.parse_duration("-keep", keep),
        command.parse_duration("-keep-logs", keep_logs),
    )
    if runs is None:
        raise UsageError("-keep is empty.", "Write it as 720h.")
    chosen = command.build_options(session, spark, RunOptions(), inputs)
    with show_progress(session.terminal) as shown:
        gone = fleet.vacuum_store(chosen, command.build_ports(session, shown), runs, logs)
    session.terminal.write_stdout(f"Runs removed: {gone.runs}.\n")
    if logs is not None:
        session.terminal.write_stdout(f"Logs removed: {gone.logs}.\n")
    return ExitCode.DONE


def _show_plan(session: Session, given: command.CommandOptions, *, is_drift: bool) -> int:
    from kplan.workflow.fleet import fleet  # noqa: PLC0415 - as above

    found = command.run_command(
        session,
        given,
        lambda options, ports: fleet.plan_fleet(options, ports, is_drift=is_drift),
    )
    if "drift" in found.findings:  # as `kplan drift`: what is known to have changed comes first
        return ExitCode.CHANGES
    if found.findings & {"hidden", "obstacle", "problem", "unread"}:
        return ExitCode.ERROR
    return ExitCode.CHANGES if found.findings else ExitCode.DONE
