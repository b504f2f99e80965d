"""`kplan fleet costs|trends|anomalies`: decisions from snapshots and logs."""

from datetime import date
from typing import TYPE_CHECKING, Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.fleet import command
from kplan.cli.fleet.command import RunOptions, SparkOptions
from kplan.cli.options import InputOptions
from kplan.cli.terminal import Session
from kplan.cli.verb import verb
from kplan.model.errors import UsageError

if TYPE_CHECKING:
    from kplan.model.table import Figures

_FIRST_DAY = date(1970, 1, 1)
"""Brokers write times since then; days before the first of a calendar cannot be computed."""


@verb(
    ("kplan fleet costs", "Show usage and costs of three months by team and owner."),
    ("kplan fleet costs -months=12 -output=costs.csv", "Write the costs of a year as CSV."),
)
def costs(
    session: Session,
    spark: SparkOptions,
    run: RunOptions,
    inputs: InputOptions,
    *,
    months: Annotated[
        int,
        typer.Option(
            "--months", metavar="N", min=1, max=120, help="Include N months up to that of the run."
        ),
    ] = 3,
) -> int:
    """Show what teams and owners use and cost, by month.

    Prices are in the costs block of fleet.hcl: per GiB-month of all replicas, per partition-month,
    and per million logged requests. Partitions and bytes are from the stored runs: the time between
    two runs counts as the earlier one, and a month that is not known in full is prorated. A topic
    belongs to the configuration that owns it, and to the team whose team block names it.
    """
    from kplan.workflow.fleet.insight import read_costs  # noqa: PLC0415 - help needs none of these

    found = command.run_command(
        session,
        (spark, run, inputs),
        lambda options, ports: read_costs(options, ports, months),
    )
    return _completeness(found)


@verb(
    ("kplan fleet trends", "Show growth, and the days on which limits are met."),
    ("kplan fleet trends -days=365", "Fit one year of runs."),
)
def trends(
    session: Session,
    spark: SparkOptions,
    run: RunOptions,
    inputs: InputOptions,
    *,
    days: Annotated[
        int,
        typer.Option("--days", metavar="N", min=3, max=3_650, help="Fit the runs of N days."),
    ] = 90,
) -> int:
    """Show how partitions and bytes grow, and when they meet limits.

    kplan fits a straight line through the last run of each day, for each cluster, team and owner.
    Limits are in the trends block of fleet.hcl. Exits with 2 if a limit is met or will be met
    within warn_days.
    """
    from kplan.workflow.fleet.insight import read_trends  # noqa: PLC0415 - as above

    found = command.run_command(
        session,
        (spark, run, inputs),
        lambda options, ports: read_trends(options, ports, days),
    )
    return ExitCode.CHANGES if found.findings & {"over", "near"} else _completeness(found)


@verb(
    ("kplan fleet anomalies", "Show what is new since yesterday; exit with 2 if there is any."),
    ("kplan fleet anomalies -until=2026-11-20", "Judge the logs as of a day."),
)
def anomalies(
    session: Session,
    spark: SparkOptions,
    run: RunOptions,
    inputs: InputOptions,
    *,
    until: Annotated[
        str,
        typer.Option(
            "--until", metavar="DAY", help="The last day watched, in UTC.", show_default="today"
        ),
    ] = "",
) -> int:
    """Find new principals, hosts and operations in logs, and rises.

    kplan compares the last days of the logs with those before and explains each finding: what is
    new, how many requests and denials, the baseline, and the threshold. Thresholds are in the
    anomalies block of fleet.hcl. Exits with 2 if there are findings.
    """
    from kplan.workflow.fleet.insight import INCOMPLETE, read_anomalies  # noqa: PLC0415 - as above

    last = _parse_day(until)
    found = command.run_command(
        session,
        (spark, run, inputs),
        lambda options, ports: read_anomalies(options, ports, last),
    )
    return ExitCode.CHANGES if found.findings - {INCOMPLETE} else _completeness(found)


def _parse_day(text: str) -> date | None:
    """Parse a day; None for "". Raises UsageError."""
    try:
        found = date.fromisoformat(text) if text else None
    except ValueError as failure:
        raise UsageError(f"-until={text} is not a day.", "Write it as 2026-11-20.") from failure
    if found is not None and found < _FIRST_DAY:
        raise UsageError(f"-until={text} is before {_FIRST_DAY}.", "Write it as 2026-11-20.")
    return found


def _completeness(figures: "Figures") -> int:
    """Return ERROR if parts could not be read; notes about prices or owners are no errors."""
    from kplan.workflow.fleet.insight import INCOMPLETE  # noqa: PLC0415 - as above

    return ExitCode.ERROR if INCOMPLETE in figures.findings else ExitCode.DONE
