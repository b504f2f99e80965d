"""Fault injection for tests: kill, pause, resume and restart single nodes."""

import signal
import time
from dataclasses import replace
from pathlib import Path

from kplan.model.errors import SandboxError
from kplan.sandbox.artifact import file_lock
from kplan.sandbox.launch import end_on_failure, start_node, wait_until_started
from kplan.sandbox.lifecycle import LOCK_FILE, START_TIMEOUT_S, prepare_runtime
from kplan.sandbox.process import (
    POLL_S,
    Process,
    ProcessState,
    end_processes,
    hold_signals,
    process_state,
    send_signal,
)
from kplan.sandbox.runtime import node_folder
from kplan.sandbox.sandbox import Sandbox, ignore_progress, read_sandbox, write_sandbox


def kill(folder: Path, node: int) -> None:
    """End a node by SIGKILL, as a power cut would, and wait until it is gone."""
    end_processes([_node_process(folder, node)], grace_s=0)


def pause(folder: Path, node: int) -> None:
    """Stop a node by SIGSTOP: its connections stay open and nothing answers on them."""
    process = _node_process(folder, node)
    send_signal(process, signal.SIGSTOP)
    while process_state(process) is ProcessState.RUNNING:
        time.sleep(POLL_S)


def resume(folder: Path, node: int) -> None:
    """Let a paused node go on."""
    send_signal(_node_process(folder, node), signal.SIGCONT)


def restart(
    folder: Path, node: int, grace_s: float = 10.0, timeout_s: float = START_TIMEOUT_S
) -> Sandbox:
    """Start a node again on its data and ports, ending it first if it runs; wait until it serves.

    A broker is back only when its last session is over (`broker.session.timeout.ms`, 9 s), as on
    any cluster. Raises SandboxError when it does not come up.
    """
    end_processes([_node_process(folder, node)], grace_s)
    with file_lock(folder / LOCK_FILE), end_on_failure() as processes:
        sandbox = _require_sandbox(folder)
        log = node_folder(folder, sandbox.node(node)) / "server.log"
        old = log.stat().st_size if log.exists() else 0
        with hold_signals():
            processes[node] = start_node(
                sandbox, sandbox.node(node), prepare_runtime(sandbox.spec.kafka_version)
            )
            sandbox = replace(sandbox, processes={**sandbox.processes, **processes})
            write_sandbox(sandbox)
        wait_until_started(sandbox, {node: old}, ignore_progress, timeout_s)
    return sandbox


def _require_sandbox(folder: Path) -> Sandbox:
    sandbox = read_sandbox(folder)
    if sandbox is None:
        raise SandboxError(f"There is no sandbox in {folder}.")
    return sandbox


def _node_process(folder: Path, node: int) -> Process:
    sandbox = _require_sandbox(folder)
    if process := sandbox.processes.get(sandbox.node(node).id):
        return process
    raise SandboxError(f"Node {node} of the sandbox was not started.")
