"""`kplan cluster versions | describe | controllers | id`."""

from kplan.cli.exit_code import ExitCode
from kplan.cli.options import BootstrapController, InputOptions, Json, StateOptions
from kplan.cli.progress import show_progress
from kplan.cli.query import QueryOptions, query_cluster, show_query
from kplan.cli.session import Session
from kplan.cli.verb import verb


@verb(
    ("kplan cluster versions", "Show a table of brokers and APIs."),
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
    """List the APIs and features that each broker supports.

    Versions that differ between brokers are noted, for example during an upgrade. A plan that
    requires an API that the cluster lacks is refused before any change.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.report import views  # noqa: PLC0415
    from kplan.workflow.inspect.cluster import list_versions  # noqa: PLC0415

    del bootstrap_controller  # wiring reads it from what was typed
    project = wiring.build_project(session, states, inputs)
    with show_progress(session.terminal) as progress:
        found = list_versions(
            project, wiring.build_ports(session, "cluster versions", states, progress)
        )
    look = session.terminal.stdout_style
    session.terminal.write_stdout(
        views.figures_json(found) if json_ else views.figures_text(found, look)
    )
    return ExitCode.DONE


@verb(
    ("kplan cluster describe", "Show the brokers and the principal of the connection."),
    ("kplan cluster describe -json", "The same for scripts."),
)
def describe(session: Session, inputs: InputOptions, ask: QueryOptions) -> int:
    """Describe the cluster, its brokers and this connection.

    Brokers that are down are not listed. Nothing is changed.
    """
    from kplan.workflow.inspect.cluster import describe_cluster  # noqa: PLC0415 - as above

    return show_query(session, inputs, ask, describe_cluster)


@verb(
    ("kplan cluster controllers", "List the controllers known to the brokers."),
    ("kplan cluster controllers -bootstrap-controller=c1:9093", "Ask the controllers directly."),
)
def controllers(session: Session, inputs: InputOptions, ask: QueryOptions) -> int:
    """List the controllers of the cluster.

    One of them is the active controller. With -bootstrap-controller kplan asks the controllers
    directly, even while no broker is running, and notes those that do not answer.
    """
    from kplan.workflow.inspect.cluster import list_controllers  # noqa: PLC0415 - as above

    return show_query(session, inputs, ask, list_controllers)


@verb(
    ("kplan cluster id", "Show only the id."),
    ("kplan cluster id -provider=west", "Show the id of the cluster of provider west."),
)
def id_(session: Session, inputs: InputOptions, ask: QueryOptions) -> int:
    """Show the id of the cluster."""
    from kplan.report.formats.json_text import json_text  # noqa: PLC0415 - as above

    found = query_cluster(
        session, inputs, ask.provider, lambda cluster: cluster.describe().cluster_id
    )
    session.terminal.write_stdout(json_text({"cluster_id": found}) if ask.json else f"{found}\n")
    return ExitCode.DONE
