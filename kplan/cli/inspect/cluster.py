"""`kplan cluster versions | describe | controllers | id`."""

from kplan.cli.exit_code import ExitCode
from kplan.cli.options import BootstrapController, InputOptions, Json, StateOptions
from kplan.cli.progress import show_progress
from kplan.cli.query import QueryOptions, query_cluster, show_query
from kplan.cli.session import Session
from kplan.cli.verb import verb


@verb(
    ("kplan cluster versions", "A table of brokers by APIs."),
    ("kplan cluster versions -json", "The same for scripts."),
)
def versions(
    session: Session,
    inputs: InputOptions,
    states: StateOptions,
    *,
    json_: Json = False,
    bootstrap_controller: BootstrapController = "",
) -> int:
    """Tell which APIs and features every broker offers, and in which versions.

    Brokers that differ are noted: an upgrade may be under way. A plan that takes an API that the
    cluster lacks is refused before anything is changed.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.report import views  # noqa: PLC0415
    from kplan.workflow.inspect.cluster import list_versions  # noqa: PLC0415

    del bootstrap_controller  # wiring reads it from what was typed
    project = wiring.build_project(session, states, inputs)
    with show_progress(session.terminal) as shown:
        found = list_versions(
            project, wiring.build_ports(session, "cluster versions", states, shown)
        )
    look = session.terminal.stdout_style
    session.terminal.write_stdout(
        views.figures_json(found) if json_ else views.figures_text(found, look)
    )
    return ExitCode.DONE


@verb(
    ("kplan cluster describe", "Who answers, and who we are to it."),
    ("kplan cluster describe -json", "The same for scripts."),
)
def describe(session: Session, inputs: InputOptions, ask: QueryOptions) -> int:
    """Tell id, brokers, racks and who we are.

    Brokers are those that are alive. Nothing is changed anywhere.
    """
    from kplan.workflow.inspect.cluster import describe_cluster  # noqa: PLC0415 - as above

    return show_query(session, inputs, ask, describe_cluster)


@verb(
    ("kplan cluster controllers", "Which one is active, as the brokers tell it."),
    ("kplan cluster controllers -bootstrap-controller=c1:9093", "Asked themselves."),
)
def controllers(session: Session, inputs: InputOptions, ask: QueryOptions) -> int:
    """List the controllers of the cluster.

    One of them is active and decides. With -bootstrap-controller they are asked themselves, also
    while no broker runs, and those that do not answer are noted.
    """
    from kplan.workflow.inspect.cluster import list_controllers  # noqa: PLC0415 - as above

    return show_query(session, inputs, ask, list_controllers)


@verb(
    ("kplan cluster id", "The id alone."),
    ("kplan cluster id -provider=west", "That of the provider block with alias west."),
)
def id_(session: Session, inputs: InputOptions, ask: QueryOptions) -> int:
    """Tell the id of the cluster."""
    from kplan.report.formats.json_text import json_text  # noqa: PLC0415 - as above

    found = query_cluster(
        session, inputs, ask.provider, lambda cluster: cluster.describe().cluster_id
    )
    session.terminal.write_stdout(json_text({"cluster_id": found}) if ask.json else f"{found}\n")
    return ExitCode.DONE
