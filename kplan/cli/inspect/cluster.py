"""`kplan cluster ...`, `kplan features` and `kplan broker unregister`."""

from typing import TYPE_CHECKING, Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.options import AutoApprove, BootstrapController, InputOptions, Json, StateOptions
from kplan.cli.progress import show_progress
from kplan.cli.query import QueryOptions, query_cluster, show_query
from kplan.cli.terminal import Session
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass


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
    ("kplan cluster describe", "Show brokers, active controller and the connection's principal."),
    ("kplan cluster describe -json", "The same for scripts."),
)
def describe(session: Session, inputs: InputOptions, ask: QueryOptions) -> int:
    """Describe the cluster, its brokers and this connection.

    Brokers that are down are listed as fenced, and the active controller is named. Nothing is
    changed.
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


@verb(
    ("kplan features", "List metadata.version and other features."),
    ("kplan features -json", "The same for scripts."),
)
def features(session: Session, inputs: InputOptions, ask: QueryOptions) -> int:
    """List the features of the cluster and their levels.

    Lowest and highest are the levels that every node supports. A kafka_feature resource sets the
    level of a feature. Nothing is changed.
    """
    from kplan.workflow.inspect.cluster import list_features  # noqa: PLC0415 - help needs it not

    return show_query(session, inputs, ask, list_features)


if TYPE_CHECKING:  # help needs none of these
    from kplan.workflow.inspect.broker import BrokerStatus

QUESTION = """
Do you really want to unregister broker {broker}?
  {why}
  Only 'yes' will be accepted to confirm.

  Enter a value: """


@dataclass(frozen=True, slots=True)
class UnregisterOptions:
    """The broker to unregister, and the approval."""

    broker: Annotated[int, typer.Argument(metavar="ID", help="The id of the broker.", min=0)]
    force: Annotated[
        bool, typer.Option("--force", help="Unregister a broker that is running or has replicas.")
    ] = False
    auto_approve: AutoApprove = False


@verb(
    ("kplan broker unregister 3", "Unregister a broker after its replicas were moved."),
    ("kplan broker unregister 3 -auto-approve -json", "Unregister without asking, in a script."),
)
def unregister(
    session: Session, what: UnregisterOptions, inputs: InputOptions, ask: QueryOptions
) -> int:
    """Unregister a broker that was shut down permanently.

    A broker that is running or has replicas is not unregistered, unless -force is given. A broker
    that starts again registers itself again.
    """
    from kplan.cli.approval import ClusterChange  # noqa: PLC0415 - help needs none of these
    from kplan.report.formats.json_text import json_text  # noqa: PLC0415
    from kplan.workflow.inspect.broker import unregister_broker  # noqa: PLC0415

    def question(status: "BrokerStatus") -> str:
        why = "; ".join(status.objections) or "it does not run and has no replicas"
        return QUESTION.format(broker=what.broker, why=f"{why[0].upper()}{why[1:]}.")

    is_done = ClusterChange(session, inputs, ask, what.auto_approve).run(
        "broker unregister",
        lambda project, ports, say: unregister_broker(
            project,
            ports,
            (ask.provider, what.broker),
            lambda status: say(question(status)),
            is_forced=what.force,
        ),
    )
    if ask.json:
        session.terminal.write_stdout(json_text({"broker": what.broker, "unregistered": is_done}))
    elif is_done:
        session.terminal.write_stdout(f"Unregistered broker {what.broker}.\n")
    return ExitCode.DONE if is_done else ExitCode.ERROR
