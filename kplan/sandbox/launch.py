"""Bring the nodes of a new cluster up, or leave nothing behind."""

import base64
import shutil
import subprocess
import time
import uuid
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from kplan.model.errors import SandboxError
from kplan.sandbox.credentials import Credentials
from kplan.sandbox.kit import Kit, format_command, node_folder, server_command, write_settings
from kplan.sandbox.layout import (
    Node,
    initial_controllers,
    nodes,
    ports_needed,
    server_properties,
)
from kplan.sandbox.ports import free_ports
from kplan.sandbox.process import Process, end, is_alive, signals_held, spawn
from kplan.sandbox.properties import text, write_private
from kplan.sandbox.record import Sandbox, properties_file, write
from kplan.sandbox.security import credentials
from kplan.sandbox.spec import SandboxSpec
from kplan.sandbox.step import Progress, Stage, Step

ATTEMPTS = 3
STARTED = b"Kafka Server started"
PORT_TAKEN = b"Address already in use"
LAST_WORDS = 25
POLL_S = 0.03


class _PortTakenError(SandboxError):
    """Someone took a port between our look and Kafka's."""


def launch(
    folder: Path, spec: SandboxSpec, kit: Kit, progress: Progress, timeout_s: float
) -> Sandbox:
    """Start an empty cluster in `folder`, and wait until every node serves.

    Whatever stops it, Ctrl-C too, no process stays. Raises SandboxError.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            return _attempt(folder, spec, kit, progress, timeout_s)
        except _PortTakenError:
            continue
    return _attempt(folder, spec, kit, progress, timeout_s)


def _attempt(
    folder: Path, spec: SandboxSpec, kit: Kit, progress: Progress, timeout_s: float
) -> Sandbox:
    sandbox, made = _prepared(folder, spec)
    _format(sandbox, kit, made, progress)
    with ended_on_failure() as processes:
        with signals_held():
            for node in sandbox.nodes:
                processes[node.id] = start_node(sandbox, node, kit)
            sandbox = replace(sandbox, processes=processes)
            write(sandbox)
        wait_until_started(sandbox, dict.fromkeys(processes, 0), progress, timeout_s)
    return sandbox


@contextmanager
def ended_on_failure() -> Iterator[dict[int, Process]]:
    """Kill the processes put into the yielded map when the block does not end well."""
    processes: dict[int, Process] = {}
    try:
        yield processes
    except BaseException:
        end(processes.values(), grace_s=0)
        raise


def _prepared(folder: Path, spec: SandboxSpec) -> tuple[Sandbox, Credentials]:
    """Write all files of a new cluster; those of the one before are removed."""
    laid_out = nodes(spec, free_ports(ports_needed(spec)))
    sandbox = Sandbox(folder, spec, _new_uuid(), laid_out, ())
    write(sandbox)  # from here on the folder is known as ours, whatever happens
    _clear(folder)
    made = credentials(spec.security, folder)
    sandbox = replace(sandbox, users=made.users)
    write(sandbox)
    for node in laid_out:
        home = node_folder(folder, node)
        properties = server_properties(node, laid_out, spec, made, home)
        write_settings(home, properties, logs_allowed=spec.logs_allowed)
    for user in made.users:
        write_private(properties_file(folder, user.name), text(sandbox.client(user.name)))
    return sandbox, made


def _clear(folder: Path) -> None:
    for old in (*folder.glob("*.properties"), *folder.glob("*.pem")):
        old.unlink()
    for old in folder.glob("node-*"):
        shutil.rmtree(old)


def _new_uuid() -> str:
    """Return an id as Kafka makes them: 22 characters of URL-safe base 64."""
    while True:
        told = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not told.startswith("-"):
            return told


def _format(sandbox: Sandbox, kit: Kit, made: Credentials, progress: Progress) -> None:
    """Format the storage of all nodes, at the same time."""
    scram = tuple(f"--add-scram={each}" for each in made.scram)
    voters = _voters(sandbox)
    with ExitStack() as stack:
        runs: dict[Node, subprocess.Popen[str]] = {}
        for node in sandbox.nodes:
            home = node_folder(sandbox.folder, node)
            options = (*scram, *_voting(node, voters))
            command = format_command(kit, sandbox.spec, home, sandbox.cluster_id, options)
            run = stack.enter_context(_tool(command))
            stack.callback(run.kill)
            runs[node] = run
        for number, (node, run) in enumerate(runs.items()):
            progress(Step(Stage.FORMAT, f"node {node.id}", number, len(runs)))
            told, _ = run.communicate()
            if run.returncode != 0:
                raise SandboxError(f"The storage of node {node.id} was not formatted:\n{told}")


def _voters(sandbox: Sandbox) -> str:
    """Name the voters of a dynamic quorum with new ids of their directories, "" of a fixed one."""
    if not sandbox.spec.dynamic_quorum:
        return ""
    directories = {node.id: _new_uuid() for node in sandbox.nodes}
    return initial_controllers(sandbox.nodes, directories)


def _voting(node: Node, voters: str) -> tuple[str, ...]:
    """Say to a node of a dynamic quorum who votes; brokers learn it from controllers (KIP-853)."""
    return (f"--initial-controllers={voters}",) if voters and node.controller_port else ()


def _tool(command: tuple[str, ...]) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )


def start_node(sandbox: Sandbox, node: Node, kit: Kit) -> Process:
    """Start the process of one node, without waiting for it to serve."""
    home = node_folder(sandbox.folder, node)
    return spawn(server_command(kit, sandbox.spec, home), home / "console.log")


def wait_until_started(
    sandbox: Sandbox, seen: Mapping[int, int], progress: Progress, timeout_s: float
) -> None:
    """Wait until the nodes in `seen` serve; `seen` says how much of each one's log is old (bytes).

    A broker says so itself once it has caught up with the metadata and is unfenced.
    Raises SandboxError for a node that ended, or when the time is up.
    """
    deadline = time.monotonic() + timeout_s
    waiting = dict(seen)
    while waiting:
        for number in list(waiting):
            log = node_folder(sandbox.folder, sandbox.node(number)) / "server.log"
            waiting[number], started = _look(log, waiting[number])
            if started:
                del waiting[number]
                progress(Step(Stage.START, f"node {number}", len(seen) - len(waiting), len(seen)))
            elif not is_alive(sandbox.processes[number]):
                raise _crashed(sandbox, number)
        if time.monotonic() > deadline:
            raise _late(sandbox, sorted(waiting), timeout_s)
        time.sleep(POLL_S)


def _look(log: Path, old: int) -> tuple[int, bool]:
    """Return how far the log was read, and whether the new part says that the server started."""
    try:
        with log.open("rb") as handle:
            handle.seek(max(0, old - len(STARTED) + 1))
            fresh = handle.read()
            return handle.tell(), STARTED in fresh
    except FileNotFoundError:
        return old, False


def _crashed(sandbox: Sandbox, number: int) -> SandboxError:
    home = node_folder(sandbox.folder, sandbox.node(number))
    kind = _PortTakenError if _says(home / "server.log", PORT_TAKEN) else SandboxError
    return kind(
        f"Node {number} ended while starting. {last_words(sandbox, number)}",
        hint=f"The whole log is in {home}.",
    )


def _late(sandbox: Sandbox, numbers: list[int], timeout_s: float) -> SandboxError:
    names = ", ".join(str(number) for number in numbers)
    return SandboxError(
        f"Not serving after {timeout_s:g} s: node {names}. {last_words(sandbox, numbers[0])}"
    )


def _says(log: Path, what: bytes) -> bool:
    return log.exists() and what in log.read_bytes()


def last_words(sandbox: Sandbox, number: int) -> str:
    """Tell the end of a node's log and of its console, where Java itself speaks."""
    home = node_folder(sandbox.folder, sandbox.node(number))
    told = [*tail(home / "server.log", LAST_WORDS), *tail(home / "console.log", LAST_WORDS)]
    return "\n".join([f"The end of the log of node {number}:", *told])


def tail(file: Path, lines: int) -> list[str]:
    """Return the last lines of a file; none when there is no file."""
    try:
        with file.open(encoding="utf-8", errors="replace") as handle:
            return [line.rstrip("\n") for line in deque(handle, maxlen=lines)]
    except FileNotFoundError:
        return []
