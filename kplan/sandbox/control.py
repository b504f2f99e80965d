"""Trouble on purpose: kill, pause and restart single nodes, for tests of what kplan does then."""

import signal
import time
from dataclasses import replace
from pathlib import Path

from kplan.model.errors import SandboxError
from kplan.sandbox.artifacts import locked
from kplan.sandbox.kit import node_folder
from kplan.sandbox.launch import ended_on_failure, start_node, wait_until_started
from kplan.sandbox.lifecycle import LOCK, START_S, kit
from kplan.sandbox.process import POLL_S, Process, State, end, send, signals_held, state
from kplan.sandbox.record import Sandbox, read, write
from kplan.sandbox.step import silent


def kill(folder: Path, node: int) -> None:
    """End a node by SIGKILL, as a power cut would, and wait until it is gone."""
    end([_process(folder, node)], grace_s=0)


def pause(folder: Path, node: int) -> None:
    """Stop a node by SIGSTOP: its connections stay open and nothing answers on them."""
    process = _process(folder, node)
    send(process, signal.SIGSTOP)
    while state(process) is State.RUNNING:
        time.sleep(POLL_S)


def resume(folder: Path, node: int) -> None:
    """Let a paused node go on."""
    send(_process(folder, node), signal.SIGCONT)


def restart(folder: Path, node: int, grace_s: float = 10.0, timeout_s: float = START_S) -> Sandbox:
    """Start a node again on its data and ports, ending it first if it runs; wait until it serves.

    A broker is back only when its last session is over (`broker.session.timeout.ms`, 9 s), as on
    any cluster. Raises SandboxError when it does not come up.
    """
    end([_process(folder, node)], grace_s)
    with locked(folder / LOCK), ended_on_failure() as processes:
        sandbox = _sandbox(folder)
        log = node_folder(folder, sandbox.node(node)) / "server.log"
        old = log.stat().st_size if log.exists() else 0
        with signals_held():
            processes[node] = start_node(
                sandbox, sandbox.node(node), kit(sandbox.spec.kafka_version)
            )
            sandbox = replace(sandbox, processes={**sandbox.processes, **processes})
            write(sandbox)
        wait_until_started(sandbox, {node: old}, silent, timeout_s)
    return sandbox


def _sandbox(folder: Path) -> Sandbox:
    sandbox = read(folder)
    if sandbox is None:
        raise SandboxError(f"There is no sandbox in {folder}.")
    return sandbox


def _process(folder: Path, node: int) -> Process:
    sandbox = _sandbox(folder)
    if process := sandbox.processes.get(sandbox.node(node).id):
        return process
    raise SandboxError(f"Node {node} of the sandbox was not started.")
