"""Fault injection for tests: kill, pause, resume and restart single nodes."""

import signal
import time
from pathlib import Path

from kplan.model.errors import SandboxError
from kplan.sandbox.lifecycle import START_TIMEOUT_S, restart_nodes
from kplan.sandbox.process import (
    POLL_S,
    Process,
    ProcessState,
    end_processes,
    process_state,
    send_signal,
)
from kplan.sandbox.sandbox import Sandbox, read_sandbox


def kill(folder: Path, node: int) -> None:
    """Kill a node with SIGKILL, like a power cut, and wait for its end."""
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
    """Start a node again on its data and ports; see `lifecycle.restart_nodes`."""
    return restart_nodes(folder, [node], grace_s=grace_s, timeout_s=timeout_s)


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
