"""Launch the nodes of a new cluster, or leave nothing behind."""

import base64
import random
import re
import shutil
import socket
import subprocess
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import assert_never

from kplan.model.errors import SandboxError
from kplan.sandbox.credential import (
    USERS,
    Credentials,
    make_open_credentials,
    make_sasl_credentials,
    scram_config,
)
from kplan.sandbox.layout import (
    Node,
    SandboxSpec,
    Security,
    initial_controllers,
    make_nodes,
    port_count,
    server_properties,
    zookeeper_address,
)
from kplan.sandbox.process import Process, end_processes, hold_signals, spawn
from kplan.sandbox.readiness import retry_start, wait_until_started
from kplan.sandbox.runtime import (
    KafkaRuntime,
    format_command,
    format_properties,
    node_folder,
    scram_command,
    server_command,
    write_private_file,
    write_settings,
    zookeeper_command,
)
from kplan.sandbox.sandbox import (
    Progress,
    ProgressStep,
    Sandbox,
    Stage,
    properties_file,
    write_sandbox,
)

# Below the ports that systems give to outgoing connections: from there, a client that connects
# again and again to a broker that is down can get the broker's own port and hold it.
FIRST_PORT, LAST_PORT = 15_000, 32_000


def find_free_ports(count: int) -> tuple[int, ...]:
    """Return `count` ports that were all free at the same moment. Raises SandboxError."""
    candidates = random.sample(
        range(FIRST_PORT, LAST_PORT), k=count * 50
    )  # no secret depends on it
    found: list[int] = []
    with ExitStack() as held:
        for port in candidates:
            listener = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            if _bind(listener, port):
                found.append(port)
            if len(found) == count:
                return tuple(found)
    raise SandboxError(f"No {count} free ports were found between {FIRST_PORT} and {LAST_PORT}.")


def _bind(listener: socket.socket, port: int) -> bool:
    try:
        listener.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True


def make_credentials(
    security: Security, folder: Path, *, has_scram: bool = True, has_tokens: bool = True
) -> Credentials:
    """Make throw-away credentials, certificates in `folder`; raises SandboxError as TLS does."""
    match security:
        case Security.NONE:
            return make_open_credentials()
        case Security.SASL:
            return make_sasl_credentials(has_scram=has_scram, has_tokens=has_tokens)
        case Security.TLS:
            return _make_tls_credentials(folder)
        case Security.SASL_SSL:
            sasl = make_sasl_credentials(has_scram=has_scram, has_tokens=has_tokens)
            return _make_tls_credentials(folder, sasl)
        case _:
            assert_never(security)


def _make_tls_credentials(folder: Path, sasl: Credentials | None = None) -> Credentials:
    try:
        from kplan.sandbox import certificate  # noqa: PLC0415 - cryptography is heavy
    except ImportError as failure:
        raise SandboxError(
            f"Certificates cannot be made: {failure.name} is not installed.",
            hint="Install kplan[sandbox].",
        ) from failure
    make = certificate.make_tls_credentials
    return make(folder, (*USERS,)) if sasl is None else certificate.add_tls(sasl, folder)


def launch_cluster(
    folder: Path, spec: SandboxSpec, kit: KafkaRuntime, progress: Progress, timeout_s: float
) -> Sandbox:
    """Start an empty cluster in `folder`, and wait until every node serves.

    Whatever stops it, Ctrl-C too, no process stays. Raises SandboxError.
    """
    return retry_start(lambda left_s: _launch_once(folder, spec, kit, progress, left_s), timeout_s)


def _launch_once(
    folder: Path, spec: SandboxSpec, kit: KafkaRuntime, progress: Progress, timeout_s: float
) -> Sandbox:
    sandbox, made = _write_files(folder, spec)
    sandbox = replace(sandbox, java=str(kit.java))
    if not spec.has_zookeeper:
        _format_storage(sandbox, kit, made, progress)
    with end_on_failure() as processes:
        with hold_signals():
            for node in sandbox.nodes:
                processes[node.id] = start_node(sandbox, node, kit)
            sandbox = replace(sandbox, processes=processes)
            write_sandbox(sandbox)
        wait_until_started(sandbox, dict.fromkeys(processes, 0), progress, timeout_s)
        if spec.has_zookeeper:
            sandbox = replace(sandbox, cluster_id=_read_cluster_id(sandbox))
            write_sandbox(sandbox)
            _store_scram(sandbox, kit, made)
    return sandbox


def _read_cluster_id(sandbox: Sandbox) -> str:
    """Read the id that brokers have agreed on in ZooKeeper."""
    file = node_folder(sandbox.folder, sandbox.nodes[0]) / "data" / "meta.properties"
    found = re.search(r"^cluster\.id=(.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1].strip() if found else ""


def _store_scram(sandbox: Sandbox, kit: KafkaRuntime, credentials: Credentials) -> None:
    """Write the SCRAM credentials of all users to ZooKeeper, at the same time."""
    home = node_folder(sandbox.folder, sandbox.nodes[0])
    address = zookeeper_address(sandbox.nodes)
    passwords = {each.split("=", 1)[1] for each in credentials.scram}
    commands = {
        f"The credentials of {name} were not stored": scram_command(
            kit, sandbox.spec, home, address, name, scram_config(password)
        )
        for name, password in map(_parse_scram, sorted(passwords))
    }
    _run_tools(commands, lambda _: None)


def _parse_scram(text: str) -> tuple[str, str]:
    name, password = text.strip("[]").split(",", 1)
    return name.partition("=")[2], password.partition("=")[2]


@contextmanager
def end_on_failure() -> Iterator[dict[int, Process]]:
    """Kill the processes put into the yielded map when the block does not end well."""
    processes: dict[int, Process] = {}
    try:
        yield processes
    except BaseException:
        end_processes(processes.values(), grace_s=0)
        raise


def _write_files(folder: Path, spec: SandboxSpec) -> tuple[Sandbox, Credentials]:
    """Write all files of a new cluster; those of the previous one are removed."""
    laid_out = make_nodes(spec, find_free_ports(port_count(spec)))
    sandbox = Sandbox(folder, spec, _new_uuid(), laid_out, ())
    write_sandbox(sandbox)  # from here on the folder is known as ours, whatever happens
    _remove_old_files(folder)
    made = make_credentials(
        spec.security, folder, has_scram=spec.has_scram, has_tokens=spec.has_tokens
    )
    sandbox = replace(sandbox, users=made.users)
    write_sandbox(sandbox)
    for node in laid_out:
        home = node_folder(folder, node)
        properties = server_properties(node, laid_out, spec, made, home)
        write_settings(home, properties, logs_allowed=spec.logs_allowed)
    for user in made.users:
        write_private_file(
            properties_file(folder, user.name),
            format_properties(sandbox.client_properties(user.name)),
        )
    return sandbox, made


def _remove_old_files(folder: Path) -> None:
    for old in (each for kind in ("properties", "pem", "p12") for each in folder.glob(f"*.{kind}")):
        old.unlink()
    for old in folder.glob("node-*"):
        shutil.rmtree(old)


def _new_uuid() -> str:
    """Return an id as Kafka makes them: 22 characters of URL-safe base 64."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def _format_storage(
    sandbox: Sandbox, kit: KafkaRuntime, credentials: Credentials, progress: Progress
) -> None:
    """Format the storage of all nodes, at the same time."""
    scram = tuple(f"--add-scram={each}" for each in credentials.scram)
    voters = _initial_controllers(sandbox)
    commands = {}
    for node in sandbox.nodes:
        home = node_folder(sandbox.folder, node)
        options = (*scram, *_format_options(node, voters))
        command = format_command(kit, sandbox.spec, home, sandbox.cluster_id, options)
        commands[f"The storage of node {node.id} was not formatted"] = command
    _run_tools(
        commands,
        lambda done: progress(
            ProgressStep(Stage.FORMAT, f"node {sandbox.nodes[done].id}", done, len(commands))
        ),
    )


def _run_tools(commands: Mapping[str, tuple[str, ...]], report: Callable[[int], None]) -> None:
    """Run tools of Kafka at the same time, by the error of each; `report` gets how many are done.

    Raises:
        SandboxError: a tool fails; with what it says.

    """
    with ExitStack() as stack:
        runs: dict[str, subprocess.Popen[str]] = {}
        for error, command in commands.items():
            run = stack.enter_context(_start_tool(command))
            stack.callback(run.kill)
            runs[error] = run
        for done, (error, run) in enumerate(runs.items()):
            report(done)
            each, _ = run.communicate()
            if run.returncode != 0:
                raise SandboxError(f"{error}:\n{each}")


def _initial_controllers(sandbox: Sandbox) -> str:
    """Name the voters of a dynamic quorum with new ids of their directories, "" of a fixed one."""
    if not sandbox.spec.dynamic_quorum:
        return ""
    directories = {node.id: _new_uuid() for node in sandbox.nodes}
    return initial_controllers(sandbox.nodes, directories)


def _format_options(node: Node, voters: str) -> tuple[str, ...]:
    """Say to a node of a dynamic quorum who votes; brokers learn it from controllers (KIP-853)."""
    return (f"--initial-controllers={voters}",) if voters and node.controller_port else ()


def _start_tool(command: tuple[str, ...]) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )


def start_node(sandbox: Sandbox, node: Node, kit: KafkaRuntime) -> Process:
    """Start the process of one node, without waiting for it to serve."""
    home = node_folder(sandbox.folder, node)
    build = zookeeper_command if node.zookeeper_port else server_command
    return spawn(build(kit, sandbox.spec, home), home / "console.log")
