"""Start, stop and inspect a sandbox: the entry point of this package."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from kplan.model.dataclass import dataclass
from kplan.model.errors import SandboxError, os_failure_text
from kplan.sandbox.artifact import (
    cache_folder,
    fetch_jars,
    file_lock,
    is_cache_kept,
    kafka_folder,
)
from kplan.sandbox.java import find_java
from kplan.sandbox.launch import (
    end_on_failure,
    launch_cluster,
    start_node,
)
from kplan.sandbox.layout import SandboxSpec, Security, check_spec
from kplan.sandbox.process import ProcessState, end_processes, hold_signals, process_state
from kplan.sandbox.readiness import last_lines, log_tail, retry_start, wait_until_started
from kplan.sandbox.runtime import (
    MIN_JAVA_WITH_AOT,
    KafkaRuntime,
    node_folder,
    set_protocol_version,
)
from kplan.sandbox.sandbox import (
    SANDBOX_FILE,
    Progress,
    ProgressStep,
    Sandbox,
    Stage,
    ignore_progress,
    properties_file,
    read_sandbox,
    write_sandbox,
)

TRAINING_TIMEOUT_S = 120.0


def add_archive(kit: KafkaRuntime, kafka: Path, version: str, progress: Progress) -> KafkaRuntime:
    """Add the archive of this Java and Kafka to the kit, recording it on first use (JEP 514).

    A broker is started once for it and ended again. Where that does not work, Kafka starts without
    an archive, and it is not tried again: the archive is a matter of speed only.
    """
    file = kafka / f"java-{kit.java.version}.aot"
    if kit.java.major < MIN_JAVA_WITH_AOT or not (file.exists() or is_cache_kept(os.environ)):
        return kit
    if not file.exists():
        with file_lock(file.with_suffix(".lock")):
            if not file.exists():
                progress(ProgressStep(Stage.WARM, f"Kafka {version}", 0, 1))
                _record_archive(kit, file, version)
                progress(ProgressStep(Stage.WARM, f"Kafka {version}", 1, 1))
    return replace(kit, archive=file) if file.stat().st_size else kit


def _record_archive(kit: KafkaRuntime, file: Path, version: str) -> None:
    fresh = file.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    recording = replace(kit, options=(f"-XX:AOTCacheOutput={fresh}",))
    spec = SandboxSpec(kafka_version=version, security=Security.SASL)
    with tempfile.TemporaryDirectory(prefix="kplan-") as folder:
        try:
            trained = launch_cluster(
                Path(folder), spec, recording, ignore_progress, TRAINING_TIMEOUT_S
            )
            with end_on_failure() as processes:
                processes.update(trained.processes)
                end_processes(processes.values(), grace_s=TRAINING_TIMEOUT_S)
        except SandboxError:
            fresh.unlink(missing_ok=True)
        fresh.touch()
    fresh.replace(file)


LOCK_FILE = "lock"
START_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class SandboxStatus:
    """A sandbox and the state of each of its nodes by id; no sandbox where none was started."""

    sandbox: Sandbox | None
    nodes: Mapping[int, ProcessState]

    @property
    def is_running(self) -> bool:
        """Whether every node runs."""
        return bool(self.nodes) and set(self.nodes.values()) == {ProcessState.RUNNING}


def default_folder() -> Path:
    """Return where `kplan sandbox` keeps its cluster when no folder is named."""
    return cache_folder() / "sandbox"


def start_sandbox(
    folder: Path,
    spec: SandboxSpec,
    progress: Progress = ignore_progress,
    timeout_s: float = START_TIMEOUT_S,
) -> Sandbox:
    """Return the running sandbox of `folder`, starting an empty cluster when none runs.

    One that was stopped with its data kept is started again with it. The first start of a Kafka
    version fetches its jars and records a class archive. Raises
    SandboxError when a sandbox of another shape runs there, when a node fails, when the folder
    holds other things, or when the jars cannot be fetched.
    """
    check_spec(spec)
    folder = folder.absolute()
    try:
        _check_folder(folder)
        with file_lock(folder / LOCK_FILE):
            if running := _find_running(folder, spec):
                return running
            kept = read_sandbox(folder)
            if kept is not None and kept.is_kept:
                _check_shape(kept, spec)
                return _restart_nodes(kept, [each.id for each in kept.nodes], progress, timeout_s)
            return launch_cluster(
                folder, spec, prepare_runtime(spec.kafka_version, progress), progress, timeout_s
            )
    except OSError as failure:
        raise SandboxError(
            f"The sandbox in {folder} could not be started: {os_failure_text(failure)}."
        ) from failure


def prepare_runtime(version: str, progress: Progress = ignore_progress) -> KafkaRuntime:
    """Return the runtime of a Kafka version, downloaded and recorded on first use."""
    cache = cache_folder()
    major, minor, *_ = version.split(".")
    release = (int(major), int(minor))
    plain = KafkaRuntime(find_java(release), fetch_jars(version, cache, progress))
    return add_archive(plain, kafka_folder(cache, version), version, progress)


def restart_nodes(
    folder: Path,
    numbers: Collection[int],
    progress: Progress = ignore_progress,
    grace_s: float = 10.0,
    timeout_s: float = START_TIMEOUT_S,
    *,
    kafka_version: str = "",
) -> Sandbox:
    """Start nodes again on their data and ports, ending those that run; wait until they serve.

    A broker is back only when its last session is over (`broker.session.timeout.ms`, 9 s), as on
    any cluster. With `kafka_version` the nodes run that version from now on: in a rolling upgrade
    one after the other. Raises SandboxError when there is no such node, or when one does not come
    up.
    """
    sandbox = read_sandbox(folder.absolute())
    if sandbox is None:
        raise SandboxError(f"There is no sandbox in {folder}.", hint="Run `kplan sandbox start`.")
    known = [sandbox.node(each).id for each in numbers]
    if kafka_version:
        check_spec(replace(sandbox.spec, kafka_version=kafka_version))
        prepare_runtime(
            kafka_version, progress
        )  # nothing is stopped for a version that is not there
    end_processes([sandbox.processes[each] for each in known if each in sandbox.processes], grace_s)
    with file_lock(sandbox.folder / LOCK_FILE):
        sandbox = read_sandbox(sandbox.folder) or sandbox
        if kafka_version:
            sandbox = _upgrade_nodes(sandbox, known, kafka_version)
        return _restart_nodes(sandbox, known, progress, timeout_s)


def _upgrade_nodes(sandbox: Sandbox, numbers: Collection[int], version: str) -> Sandbox:
    """Record a version for nodes. Those with ZooKeeper go on to speak the protocol of the old one.

    That is the first step of an upgrade in Kafka's documentation; with KRaft the cluster's
    metadata.version has that role.
    """
    for each in numbers:
        home = node_folder(sandbox.folder, sandbox.node(each))
        if sandbox.spec.has_zookeeper and sandbox.node(each).is_broker:
            set_protocol_version(home, sandbox.spec.release)
    return replace(sandbox, versions={**sandbox.versions, **dict.fromkeys(numbers, version)})


def _restart_nodes(
    sandbox: Sandbox, numbers: Collection[int], progress: Progress, timeout_s: float
) -> Sandbox:
    versions = {sandbox.version(each) for each in numbers}
    runtimes = {each: prepare_runtime(each, progress) for each in sorted(versions)}
    logs = {
        each: node_folder(sandbox.folder, sandbox.node(each)) / "server.log" for each in numbers
    }

    def restart(left_s: float) -> Sandbox:
        seen = {each: log.stat().st_size if log.exists() else 0 for each, log in logs.items()}
        with end_on_failure() as processes:
            with hold_signals():
                for each in numbers:
                    processes[each] = start_node(
                        sandbox, sandbox.node(each), runtimes[sandbox.version(each)]
                    )
                every = {**sandbox.processes, **processes}
                started = replace(sandbox, processes=every, is_kept=False)
                write_sandbox(started)
            wait_until_started(started, seen, progress, left_s)
        return started

    return retry_start(restart, timeout_s)


def stop_sandbox(folder: Path, grace_s: float = 10.0, *, keep: bool = False) -> bool:
    """End a sandbox's own processes; False when none ran. Its logs stay until the next start.

    With `keep` the next start of the same shape brings the cluster up again with its data. Brokers
    get SIGTERM, and SIGKILL after `grace_s`. Raises SandboxError for a damaged record.
    """
    folder = folder.absolute()
    if read_sandbox(folder) is None:
        return False
    with file_lock(folder / LOCK_FILE):
        now = read_status(folder)
        if now.sandbox:
            _end_all(now.sandbox, grace_s)
            write_sandbox(replace(now.sandbox, processes={}, is_kept=keep))
        return any(each is not ProcessState.ENDED for each in now.nodes.values())


def _end_all(sandbox: Sandbox, grace_s: float) -> None:
    """End brokers, which say goodbye to a controller, then controllers.

    Controllers are killed: asked to end together they wait 5 s for a successor among themselves.
    """
    brokers = {node.id for node in sandbox.nodes if node.is_broker}
    end_processes((each for key, each in sandbox.processes.items() if key in brokers), grace_s)
    end_processes(sandbox.processes.values(), grace_s=0)


def read_status(folder: Path) -> SandboxStatus:
    """Look at a sandbox without touching it."""
    sandbox = read_sandbox(folder.absolute())
    if sandbox is None:
        return SandboxStatus(None, {})
    return SandboxStatus(
        sandbox, {key: process_state(each) for key, each in sandbox.processes.items()}
    )


def crashes(now: SandboxStatus) -> Mapping[int, str]:
    """Return the last words of each node that has ended without being stopped."""
    return {
        number: log_tail(now.sandbox, number)
        for number, each in now.nodes.items()
        if now.sandbox and each is ProcessState.ENDED
    }


def read_logs(folder: Path, node: int | None = None, lines: int = 100) -> str:
    """Return the last lines of a node's log (the first node's by default). Raises SandboxError."""
    sandbox = read_sandbox(folder.absolute())
    if sandbox is None:
        raise SandboxError(f"There is no sandbox in {folder}.", hint="Run `kplan sandbox start`.")
    home = node_folder(sandbox.folder, sandbox.nodes[0] if node is None else sandbox.node(node))
    return "\n".join(
        last_lines(home / "server.log", lines) or last_lines(home / "console.log", lines)
    )


def describe_sandbox(sandbox: Sandbox) -> Mapping[str, object]:
    """Return the `-json` output. Its properties contain throw-away secrets for connecting.

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
        "java": sandbox.java,
        "security": sandbox.spec.security.value,
        "folder": str(sandbox.folder),
        "nodes": [
            {
                "id": node.id,
                "roles": [role.value for role in node.roles],
                "kafka_version": sandbox.version(node.id),
                "rack": node.rack,
                "broker_port": node.broker_port,
                "controller_port": node.controller_port,
                "pid": sandbox.processes[node.id].pid if node.id in sandbox.processes else None,
            }
            for node in sandbox.nodes
        ],
    }


@contextmanager
def temporary_sandbox(
    spec: SandboxSpec | None = None,
    progress: Progress = ignore_progress,
    timeout_s: float = START_TIMEOUT_S,
) -> Iterator[Sandbox]:
    """Run a cluster in a temporary folder; both are removed at the end.

    A small process sees to that, so that it happens too when this process is killed.
    """
    folder = Path(tempfile.mkdtemp(prefix="kplan-"))
    with _start_watchdog(folder):
        try:
            yield start_sandbox(folder, spec or SandboxSpec(), progress, timeout_s)
        finally:
            stop_sandbox(folder, grace_s=0)


def _start_watchdog(folder: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "kplan.sandbox.watchdog", str(folder)],
        stdin=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def _check_folder(folder: Path) -> None:
    """Refuse a folder with foreign files: a start removes existing files."""
    if folder.exists() and not folder.is_dir():
        raise SandboxError(f"{folder} is not a folder.")
    ours = not folder.exists() or (folder / SANDBOX_FILE).exists()
    if not ours and any(entry.name != LOCK_FILE for entry in folder.iterdir()):
        raise SandboxError(
            f"{folder} holds files that are not of a sandbox.", hint="Name an empty folder."
        )


def _find_running(folder: Path, spec: SandboxSpec) -> Sandbox | None:
    now = read_status(folder)
    if now.sandbox is None or all(each is ProcessState.ENDED for each in now.nodes.values()):
        return None
    _check_shape(now.sandbox, spec)
    for number, each in now.nodes.items():
        if each is ProcessState.ENDED:
            raise SandboxError(
                f"Node {number} of the sandbox has ended. {log_tail(now.sandbox, number)}",
                hint=f"`kplan sandbox restart {number}` starts it again with its data; "
                "`kplan sandbox stop` ends the others.",
            )
    return now.sandbox


def _check_shape(sandbox: Sandbox, spec: SandboxSpec) -> None:
    if sandbox.spec != spec:
        held = "is kept" if sandbox.is_kept else "runs"
        raise SandboxError(
            f"A sandbox of another shape {held} in {sandbox.folder}.",
            hint="Repeat the options of its start, run `kplan sandbox stop` first, or name another "
            "folder.",
        )
