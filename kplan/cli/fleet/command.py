"""What all fleet verbs share: options, ports, and how results are shown."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, Json, Report, StateOptions, duration_s
from kplan.cli.progress import Progress, show_progress
from kplan.cli.report.option import prepare_reports
from kplan.cli.terminal import Session
from kplan.cli.trust_option import TrustOptions
from kplan.model.dataclass import dataclass
from kplan.model.errors import ConfigError, KplanError, UsageError

if TYPE_CHECKING:  # help needs none of these
    from kplan.cluster.port import Cluster
    from kplan.config.fleet_file import FleetCluster
    from kplan.model.diagnostic import Diagnostic
    from kplan.model.table import Figures
    from kplan.report.format import TextStyle
    from kplan.workflow.fleet.ports import FleetOptions, FleetPorts


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """The Spark to use, and the clusters of the fleet."""

    cluster: Annotated[
        list[str],
        typer.Option("--cluster", metavar="NAME", help="Include only this cluster (repeatable)."),
    ] = field(default_factory=list)
    master: Annotated[
        str,
        typer.Option(
            "--master",
            metavar="URL",
            help="The master URL of Spark, as for spark-submit.",
            show_default="the master of fleet.hcl, or this machine",
        ),
    ] = ""
    remote: Annotated[
        str,
        typer.Option(
            "--remote", metavar="URL", help="The URL of a Spark Connect server, sc://HOST:PORT."
        ),
    ] = ""
    conf: Annotated[
        list[str],
        typer.Option("--conf", metavar="KEY=VALUE", help="Set a property of Spark (repeatable)."),
    ] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The stored run to query, and the format of the answer."""

    run: Annotated[
        str,
        typer.Option(
            "--run", metavar="NAME", help="The stored run to query.", show_default="the latest"
        ),
    ] = ""
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, help="Show up to N rows of each table.")
    ] = 1_000
    output: Annotated[
        str,
        typer.Option(
            "--output",
            metavar="PATH",
            help="Also write all rows to a folder of files: CSV or JSON lines if its name ends in "
            ".csv or .json, otherwise Parquet.",
        ),
    ] = ""
    json: Json = False
    report: Report = field(default_factory=list)
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Show how Spark would compute each table, and stop."),
    ] = False


Since = Annotated[
    str,
    typer.Option(
        "--since",
        metavar="SPAN",
        help="Include only requests of this period, for example 720h, in whole days, and those "
        "with a time ahead of now.",
    ),
]

CommandOptions = tuple[SparkOptions, RunOptions, InputOptions]
"""The options of most fleet verbs."""


def build_options(
    session: Session,
    spark: SparkOptions,
    run: RunOptions,
    inputs: InputOptions,
    trust: TrustOptions | None = None,
) -> "FleetOptions":
    """Build the options of a fleet command. Raises UsageError and FleetError."""
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.fleet.spark.jvm import parse_settings  # noqa: PLC0415
    from kplan.fleet.spark.session import SparkSettings  # noqa: PLC0415
    from kplan.workflow.fleet.ports import FleetOptions  # noqa: PLC0415

    if spark.master and spark.remote:
        raise UsageError("-master cannot be combined with -remote.", "Use one of them.")
    engine = SparkSettings(spark.master, spark.remote, parse_settings(spark.conf))
    given = wiring.build_project(session, StateOptions(), inputs, trust).inputs
    chosen = tuple(spark.cluster)
    return FleetOptions(
        Path(),
        given,
        chosen,
        run.run,
        run.limit,
        run.output,
        engine,
        command=command_name(session.args),
        is_explain=run.explain,
    )


def command_name(args: Sequence[str]) -> str:
    """Return the words of a command line up to the verb, without options and arguments."""
    words = [each for each in args if not each.startswith("-")]
    words = words[words.index("fleet") if "fleet" in words else 0 :]
    count = 3 if words[1:2] in (["audit"], ["spark"]) else 2
    return " ".join(("kplan", *words[:count]))


def build_ports(session: Session, progress: Progress) -> "FleetPorts":
    """Connect a fleet command to clusters, clock and terminal."""
    from kplan.workflow.connection import remote_state_store  # noqa: PLC0415 - see above
    from kplan.workflow.fleet.ports import FleetPorts  # noqa: PLC0415

    return FleetPorts(
        partial(_cluster_connector, session),
        partial(remote_state_store, environ=session.environ),
        partial(_java_client_settings, session),
        progress,
        lambda: datetime.now(UTC),
    )


def _cluster_connector(
    session: Session, cluster: "FleetCluster"
) -> "tuple[Callable[[], Cluster] | None, Sequence[Diagnostic]]":
    from kplan.kafka.cluster import open_cluster  # noqa: PLC0415 - see above
    from kplan.kafka.settings.resolver import resolve_settings  # noqa: PLC0415

    resolved = resolve_settings(cluster.provider, session.environ, folder=Path.cwd())
    if resolved.settings is None:
        return None, resolved.diagnostics
    return partial(open_cluster, resolved.settings), resolved.diagnostics


def _java_client_settings(session: Session, cluster: "FleetCluster") -> Mapping[str, str]:
    from kplan.kafka.settings.java import java_client_settings  # noqa: PLC0415 - see above
    from kplan.kafka.settings.resolver import resolve_settings  # noqa: PLC0415

    resolved = resolve_settings(cluster.provider, session.environ, folder=Path.cwd())
    if resolved.settings is None:
        raise ConfigError(resolved.diagnostics)
    return java_client_settings(resolved.settings)


def parse_duration(option: str, text: str) -> timedelta | None:
    """Parse a duration; None for "". Raises UsageError."""
    return timedelta(seconds=duration_s(option, text)) if text else None


def completeness_exit(figures: "Figures") -> int:
    """Return ERROR if parts could not be read, else DONE."""
    return ExitCode.ERROR if figures.notes else ExitCode.DONE


def run_command(
    session: Session,
    command_options: CommandOptions,
    work: "Callable[[FleetOptions, FleetPorts], Figures]",
    places: Mapping[str, str] | None = None,
    since: str = "",
    trust: TrustOptions | None = None,
) -> "Figures":
    """Run a command under a progress display and show the result.

    `places` maps options to the folders that they name, `since` is the option. Raises KplanError.
    """
    from kplan.report.views import figures_text  # noqa: PLC0415 - help needs none of these

    return _run(session, command_options, work, _Limits(places or {}, since, trust), figures_text)


def run_page_command(
    session: Session,
    command_options: CommandOptions,
    work: "Callable[[FleetOptions, FleetPorts], Figures]",
    places: Mapping[str, str],
    since: str,
) -> "Figures":
    """Run a command that writes a page: of what the page shows it prints the summary alone."""
    from kplan.report.views import figures_summary_text  # noqa: PLC0415 - as above

    return _run(session, command_options, work, _Limits(places, since), figures_summary_text)


@dataclass(frozen=True, slots=True)
class _Limits:
    """The folders that options name, the period, and whom a command trusts."""

    places: Mapping[str, str]
    since: str = ""
    trust: TrustOptions | None = None


def _run(
    session: Session,
    command_options: CommandOptions,
    work: "Callable[[FleetOptions, FleetPorts], Figures]",
    limits: _Limits,
    write: "Callable[[Figures, TextStyle], str]",
) -> "Figures":
    from kplan.cli.diagnostics import timestamp  # noqa: PLC0415 - see above
    from kplan.report import views  # noqa: PLC0415
    from kplan.report.format import ANSWER_FORMATS  # noqa: PLC0415
    from kplan.report.subject import figures_report  # noqa: PLC0415

    spark, run, inputs = command_options
    if run.explain:
        _check_explain(run, limits.places)
        write = views.query_plans_text
    reports = prepare_reports(
        session, "fleet", run.report, is_json=run.json, formats=ANSWER_FORMATS
    )
    since = parse_duration("-since", limits.since)
    chosen = replace(build_options(session, spark, run, inputs, limits.trust), since=since)
    _check_paths(run.output, limits.places)
    with reports.report_errors(), show_progress(session.terminal) as progress:
        found = work(chosen, build_ports(session, progress))
    if run.explain:
        found = replace(found, notes=())  # they are about rows, and decide exit codes
    if not reports.takes_stdout:
        look = session.terminal.stdout_style
        session.terminal.write_stdout(views.figures_json(found) if run.json else write(found, look))
    if reports.write(figures_report(found, timestamp()), ExitCode.DONE) != ExitCode.DONE:
        raise KplanError("A report could not be written.")
    return found


def refuse_explain(run: RunOptions, command: str) -> None:
    """Raise UsageError for -explain of a command that does more than to ask Spark."""
    if run.explain:
        raise UsageError(
            f"{command} does not support -explain.", "Use it with commands that query a run."
        )


def _check_explain(run: RunOptions, places: Mapping[str, str]) -> None:
    """Raise UsageError for options that write what -explain does not compute."""
    written = {"-json": run.json, "-report": run.report, "-output": run.output, **places}
    if given := [name for name, value in written.items() if value]:
        raise UsageError(
            f"-explain cannot be combined with {', '.join(given)}.",
            "-explain only shows the plans of Spark: remove the other options.",
        )


def _check_paths(output: str, folders: Mapping[str, str]) -> None:
    """Raise ConfigError before any work for outputs that cannot be written."""
    from kplan.fleet.figures import check_output  # noqa: PLC0415 - see above

    problems: list[Diagnostic] = []
    checks = [partial(check_output, output)]
    checks += [partial(check_folder, *each) for each in folders.items() if each[1]]
    for check in checks:
        try:
            check()
        except UsageError as failure:
            problems.extend(failure.diagnostics)
    if problems:
        raise ConfigError(problems)


def check_folder(option: str, folder: str) -> None:
    """Raise UsageError for a folder that cannot be written or created.

    Raises:
        UsageError: with the reason.

    """
    place = Path(folder).absolute()
    held = next(each for each in (place, *place.parents) if each.exists())
    if not held.is_dir():
        raise UsageError(f"{option}={folder}: {held} is not a folder.")
    if not os.access(held, os.W_OK):
        raise UsageError(f"{option}={folder}: no permission to write to {held}.")
