"""Start, stop and look at a sandbox: the front of this room."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from kplan.model.errors import SandboxError
from kplan.sandbox.archive import with_archive
from kplan.sandbox.artifacts import cache_folder, jars, kafka_folder, locked
from kplan.sandbox.java import find_java
from kplan.sandbox.kit import Kit, node_folder
from kplan.sandbox.launch import last_words, launch, tail
from kplan.sandbox.process import State, end, state
from kplan.sandbox.record import FILE, Sandbox, properties_file, read, write
from kplan.sandbox.spec import SandboxSpec, check
from kplan.sandbox.step import Progress, silent

LOCK = "lock"
START_S = 120.0


@dataclass(frozen=True, slots=True)
class Status:
    """A sandbox and the state of each of its nodes by id; no sandbox where none was started."""

    sandbox: Sandbox | None
    nodes: Mapping[int, State]

    @property
    def is_running(self) -> bool:
        """Whether every node runs."""
        return bool(self.nodes) and set(self.nodes.values()) == {State.RUNNING}


def default_folder() -> Path:
    """Return where `kplan sandbox` keeps its cluster when no folder is named."""
    return cache_folder() / "sandbox"


def start(
    folder: Path,
    spec: SandboxSpec,
    progress: Progress = silent,
    timeout_s: float = START_S,
) -> Sandbox:
    """Return the running sandbox of `folder`, starting an empty cluster when none runs.

    The first start of a Kafka version fetches its jars and records a class archive. Raises
    SandboxError when a sandbox of another shape runs there, when a node fails, when the folder
    holds other things, or when the jars cannot be fetched.
    """
    check(spec)
    folder = folder.absolute()
    try:
        _claim(folder)
        with locked(folder / LOCK):
            if running := _already(folder, spec):
                return running
            return launch(folder, spec, kit(spec.kafka_version, progress), progress, timeout_s)
    except OSError as failure:
        raise SandboxError(f"The sandbox in {folder} could not be started: {failure}.") from failure


def kit(version: str, progress: Progress = silent) -> Kit:
    """Return what starts a Kafka of this version, fetched and recorded on first use."""
    cache = cache_folder()
    plain = Kit(find_java(), jars(version, cache, progress))
    return with_archive(plain, kafka_folder(cache, version), version, progress)


def stop(folder: Path, grace_s: float = 10.0) -> bool:
    """End a sandbox's own processes; False when none ran. Its logs stay until the next start.

    Brokers get SIGTERM, and SIGKILL after `grace_s`. Raises SandboxError for a damaged record.
    """
    folder = folder.absolute()
    if read(folder) is None:
        return False
    with locked(folder / LOCK):
        now = status(folder)
        if now.sandbox:
            _end_all(now.sandbox, grace_s)
            write(replace(now.sandbox, processes={}))
        return any(each is not State.ENDED for each in now.nodes.values())


def _end_all(sandbox: Sandbox, grace_s: float) -> None:
    """End brokers, which say goodbye to a controller, then controllers.

    Controllers are killed: asked to end together they wait 5 s for a successor among themselves.
    """
    brokers = {node.id for node in sandbox.nodes if node.is_broker}
    end((each for key, each in sandbox.processes.items() if key in brokers), grace_s)
    end(sandbox.processes.values(), grace_s=0)


def status(folder: Path) -> Status:
    """Look at a sandbox without touching it."""
    sandbox = read(folder.absolute())
    if sandbox is None:
        return Status(None, {})
    return Status(sandbox, {key: state(each) for key, each in sandbox.processes.items()})


def crashes(now: Status) -> Mapping[int, str]:
    """Return the last words of each node that has ended without being stopped."""
    return {
        number: last_words(now.sandbox, number)
        for number, each in now.nodes.items()
        if now.sandbox and each is State.ENDED
    }


def logs(folder: Path, node: int | None = None, lines: int = 100) -> str:
    """Return the last lines of a node's log (the first node's by default). Raises SandboxError."""
    sandbox = read(folder.absolute())
    if sandbox is None:
        raise SandboxError(f"There is no sandbox in {folder}.", hint="Run `kplan sandbox start`.")
    home = node_folder(sandbox.folder, sandbox.nodes[0] if node is None else sandbox.node(node))
    return "\n".join(tail(home / "server.log", lines) or tail(home / "console.log", lines))


def describe(sandbox: Sandbox) -> Mapping[str, object]:
    """Return what `-json` prints. The properties hold throw-away secrets: they are to connect with.

    `properties` are those of the super user; `users` maps each user to a properties file.
    """
    return {
        "bootstrap_servers": sandbox.bootstrap_servers,
        "bootstrap_controllers": sandbox.bootstrap_controllers,
        "properties": dict(sandbox.properties),
        "users": {
            user.name: str(properties_file(sandbox.folder, user.name)) for user in sandbox.users
        },
        "principals": {user.name: user.principal for user in sandbox.users},
        "cluster_id": sandbox.cluster_id,
        "kafka_version": sandbox.spec.kafka_version,
        "security": sandbox.spec.security.value,
        "folder": str(sandbox.folder),
        "nodes": [
            {
                "id": node.id,
                "roles": [role.value for role in node.roles],
                "rack": node.rack,
                "broker_port": node.broker_port,
                "controller_port": node.controller_port,
                "pid": sandbox.processes[node.id].pid if node.id in sandbox.processes else None,
            }
            for node in sandbox.nodes
        ],
    }


@contextmanager
def running(
    spec: SandboxSpec | None = None, progress: Progress = silent, timeout_s: float = START_S
) -> Iterator[Sandbox]:
    """Run a cluster in a temporary folder; it is killed and its folder removed at the end.

    A small process sees to that, so that it happens too when this process is killed.
    """
    folder = Path(tempfile.mkdtemp(prefix="kplan-"))
    with _watched(folder):
        try:
            yield start(folder, spec or SandboxSpec(), progress, timeout_s)
        finally:
            stop(folder, grace_s=0)


def _watched(folder: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "kplan.sandbox.watch", str(folder)],
        stdin=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def _claim(folder: Path) -> None:
    """Refuse a folder that holds someone else's files: a start removes what is in the way."""
    if folder.exists() and not folder.is_dir():
        raise SandboxError(f"{folder} is not a folder.")
    ours = not folder.exists() or (folder / FILE).exists()
    if not ours and any(entry.name != LOCK for entry in folder.iterdir()):
        raise SandboxError(
            f"{folder} holds files that are not of a sandbox.", hint="Name an empty folder."
        )


def _already(folder: Path, spec: SandboxSpec) -> Sandbox | None:
    now = status(folder)
    if now.sandbox is None or all(each is State.ENDED for each in now.nodes.values()):
        return None
    if now.sandbox.spec != spec:
        raise SandboxError(
            f"A sandbox of another shape runs in {folder}.",
            hint="Run `kplan sandbox stop` first, or name another folder.",
        )
    for number, each in now.nodes.items():
        if each is State.ENDED:
            raise SandboxError(
                f"Node {number} of the sandbox has ended. {last_words(now.sandbox, number)}",
                hint="Run `kplan sandbox stop`, then start again.",
            )
    return now.sandbox
