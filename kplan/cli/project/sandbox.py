"""`kplan sandbox start | stop | status | logs`."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.options import Json
from kplan.cli.progress import show_progress
from kplan.cli.terminal import Session
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass
from kplan.sandbox.layout import DEFAULT_KAFKA_VERSION, SandboxSpec, Security

if TYPE_CHECKING:
    from kplan.sandbox.lifecycle import SandboxStatus
    from kplan.sandbox.sandbox import Sandbox

Folder = Annotated[
    str,
    typer.Option(
        "--folder",
        metavar="DIR",
        help="The folder of the sandbox.",
        show_default="the user's cache",
    ),
]


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """The cluster to start."""

    brokers: Annotated[int, typer.Option("--brokers", metavar="N", help="Number of brokers.")] = 1
    controllers: Annotated[
        int | None,
        typer.Option(
            "--controllers",
            metavar="N",
            help="Number of dedicated controllers.",
            show_default="0 with one broker, else 3",
        ),
    ] = None
    kafka_version: Annotated[
        str, typer.Option("--kafka-version", metavar="VERSION", help="Version of Apache Kafka.")
    ] = DEFAULT_KAFKA_VERSION
    security: Annotated[Security, typer.Option("--security", help="Authentication of clients.")] = (
        Security.NONE
    )
    metadata_version: Annotated[
        str | None,
        typer.Option(
            "--metadata-version",
            metavar="VERSION",
            help="Format the cluster at an older metadata.version, such as 3.6-IV2.",
            show_default="the newest of the version of Kafka",
        ),
    ] = None
    zookeeper: Annotated[
        bool,
        typer.Option("--zookeeper", help="Store metadata in ZooKeeper; Kafka 2.8 always does."),
    ] = False
    log_allowed: Annotated[
        bool,
        typer.Option("--log-allowed", help="Log allowed requests too, not only denied ones."),
    ] = False


@verb(
    ("kplan sandbox start", "Start one broker without authentication."),
    (
        "kplan sandbox start -brokers=3 -security=sasl",
        "Start three brokers in three racks, with SASL.",
    ),
    ("kplan sandbox start -kafka-version=2.8.2", "Start an older Kafka, with ZooKeeper."),
    ("kplan sandbox start -json", "Write the connection settings as JSON."),
)
def start(
    session: Session, shape: ClusterOptions, folder: Folder = "", *, json_: Json = False
) -> int:
    """Start a real Apache Kafka on this machine.

    The first start of a Kafka version downloads its jars from Maven Central; later ones need no
    network. The sandbox runs until kplan sandbox stop. If it already runs with the same options,
    nothing changes.
    """
    from kplan.cli.watcher import SandboxWatcher  # noqa: PLC0415 - help needs none of these
    from kplan.sandbox.lifecycle import start_sandbox  # noqa: PLC0415

    spec = SandboxSpec(
        shape.brokers,
        shape.controllers,
        shape.kafka_version,
        shape.security,
        metadata_version=shape.metadata_version,
        logs_allowed=shape.log_allowed,
        zookeeper=shape.zookeeper,
    )
    with show_progress(session.terminal) as progress:
        sandbox = start_sandbox(_sandbox_folder(folder), spec, SandboxWatcher(progress))
    session.terminal.write_stdout(_json(sandbox) if json_ else _connection_text(sandbox))
    return ExitCode.DONE


@verb(
    ("kplan sandbox stop", "Stop all nodes; the next start is an empty cluster."),
    ("kplan sandbox stop -keep", "Stop all nodes; the next start has the same topics and records."),
)
def stop(
    session: Session,
    folder: Folder = "",
    *,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the data for the next start of the same sandbox.")
    ] = False,
    json_: Json = False,
) -> int:
    """Stop the sandbox.

    Only processes that the sandbox started are stopped. Without -keep the next start removes its
    topics, ACLs and records; the logs of the nodes stay until then.
    """
    from kplan.sandbox.lifecycle import stop_sandbox  # noqa: PLC0415

    with show_progress(session.terminal) as progress:
        progress.stage("Stopping Kafka")
        has_run = stop_sandbox(_sandbox_folder(folder), keep=keep)
    next_start = (
        "kplan sandbox start starts it again with its data."
        if keep
        else "The next start is an empty cluster: it removes the topics, ACLs, records and logs."
    )
    text = f"Stopped the sandbox. {next_start}" if has_run else "No sandbox is running."
    values = {"stopped": has_run, "kept": keep}
    session.terminal.write_stdout(json.dumps(values) if json_ else text)
    return ExitCode.DONE


@verb(
    ("kplan sandbox restart 2", "Start node 2 again with its data."),
    ("kplan sandbox restart 1 2", "Start two nodes again."),
    (
        "kplan sandbox restart 2 -kafka-version=4.3.0",
        "Upgrade one node of several.",
    ),
)
def restart(
    session: Session,
    nodes: Annotated[list[int], typer.Argument(metavar="ID", help="The ids of the nodes.")],
    folder: Folder = "",
    kafka_version: Annotated[
        str,
        typer.Option(
            "--kafka-version",
            metavar="VERSION",
            help="Version of Apache Kafka that the nodes run from now on.",
            show_default="as before",
        ),
    ] = "",
) -> int:
    """Start nodes again with their data.

    Nodes that run are stopped first; nodes that died are started again. The other nodes go on.
    With -kafka-version they run that version, as in a rolling upgrade: the metadata.version of the
    cluster stays as it is until a kafka_feature raises it.
    """
    from kplan.cli.watcher import SandboxWatcher  # noqa: PLC0415 - help needs none of these
    from kplan.sandbox.lifecycle import restart_nodes  # noqa: PLC0415

    with show_progress(session.terminal) as progress:
        sandbox = restart_nodes(
            _sandbox_folder(folder), nodes, SandboxWatcher(progress), kafka_version=kafka_version
        )
    session.terminal.write_stdout(_connection_text(sandbox))
    return ExitCode.DONE


@verb(
    ("kplan sandbox status", "Show the address and the nodes."),
    ("kplan sandbox status -json", "The same for scripts."),
)
def status(session: Session, folder: Folder = "", *, json_: Json = False) -> int:
    """Show whether the sandbox runs and how to connect to it.

    Exits with 0 if every node is running, else with 1. For a crashed node the end of its log is
    shown.
    """
    from kplan.sandbox.lifecycle import read_status  # noqa: PLC0415

    now = read_status(_sandbox_folder(folder))
    session.terminal.write_stdout(_status_json(now) if json_ else _status_text(now))
    return ExitCode.DONE if now.is_running else ExitCode.ERROR


@verb(
    ("kplan sandbox logs", "Show the log of the first node."),
    ("kplan sandbox logs -node=2 -lines=1000", "Show 1,000 lines of node 2."),
)
def logs(
    session: Session,
    folder: Folder = "",
    node: Annotated[
        int | None,
        typer.Option("--node", metavar="ID", help="The id of the node.", show_default="the first"),
    ] = None,
    lines: Annotated[int, typer.Option("--lines", metavar="N", help="Number of lines.")] = 100,
) -> int:
    """Show the end of a node's log."""
    from kplan.sandbox.lifecycle import read_logs  # noqa: PLC0415

    session.terminal.write_stdout(read_logs(_sandbox_folder(folder), node, lines))
    return ExitCode.DONE


def _sandbox_folder(folder: str) -> Path:
    from kplan.sandbox.lifecycle import default_folder  # noqa: PLC0415

    return Path(folder).resolve() if folder else default_folder()


def _json(sandbox: "Sandbox") -> str:
    from kplan.sandbox.lifecycle import describe_sandbox  # noqa: PLC0415

    return json.dumps(describe_sandbox(sandbox), indent=2)


def _connection_text(sandbox: "Sandbox") -> str:
    """Render how to connect; the first line is a shell command."""
    from kplan.sandbox.sandbox import properties_file  # noqa: PLC0415

    spec, first = sandbox.spec, sandbox.users[0]
    settings = (
        f"KPLAN_BOOTSTRAP_SERVERS={sandbox.bootstrap_servers} KPLAN_TLS_ENABLED=false"
        if spec.security is Security.NONE
        else f"KPLAN_COMMAND_CONFIG={shlex.quote(str(properties_file(sandbox.folder, first.name)))}"
    )
    lines = [
        f"export {settings}",
        f"# Apache Kafka {spec.kafka_version}, cluster {sandbox.cluster_id}, "
        + _node_summary(sandbox),
        _controller_line(sandbox),
        *([f"# {sandbox.java}"] if sandbox.java else ()),
        *(
            f"# {user.principal}: {properties_file(sandbox.folder, user.name)}"
            for user in sandbox.users
        ),
    ]
    return "\n".join(lines)


def _controller_line(sandbox: "Sandbox") -> str:
    from kplan.sandbox.layout import zookeeper_address  # noqa: PLC0415

    if address := zookeeper_address(sandbox.nodes):
        return f"# ZooKeeper at {address}"
    return f"# controllers at {sandbox.bootstrap_controllers}"


def _node_summary(sandbox: "Sandbox") -> str:
    from kplan.report.documents.notation import count_text  # noqa: PLC0415 - help needs it not

    brokers = sum(1 for node in sandbox.nodes if node.is_broker)
    others = sum(1 for node in sandbox.nodes if node.controller_port and not node.is_broker)
    own = f" and {count_text(others, 'controller')}" if others else ""
    return f"{count_text(brokers, 'broker')}{own}, security {sandbox.spec.security}"


def _status_json(now: "SandboxStatus") -> str:
    from kplan.sandbox.lifecycle import crashes, describe_sandbox  # noqa: PLC0415

    described = dict(describe_sandbox(now.sandbox)) if now.sandbox else {}
    states = {str(number): state.value for number, state in now.nodes.items()}
    return json.dumps(
        {"running": now.is_running, "states": states, "crashes": crashes(now), **described},
        indent=2,
    )


def _other_version(sandbox: "Sandbox", number: int) -> str:
    """Name the version of a node that was upgraded."""
    return f", Apache Kafka {sandbox.versions[number]}" if number in sandbox.versions else ""


def _status_text(now: "SandboxStatus") -> str:
    """Render the nodes; for a shell all lines but the first are comments."""
    from kplan.sandbox.lifecycle import crashes  # noqa: PLC0415

    if now.sandbox is None or not now.nodes:
        return "No sandbox is running."
    lines = [
        f"node {number}: {state.value}{_other_version(now.sandbox, number)}"
        for number, state in now.nodes.items()
    ]
    lines += [line for each in crashes(now).values() for line in each.splitlines()]
    return "\n".join([_connection_text(now.sandbox), *(f"# {line}" for line in lines)])
