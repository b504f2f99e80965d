"""What the tests of the state room let other processes do."""

import multiprocessing
import time
from multiprocessing.connection import Connection
from pathlib import Path

from kplan.state.file import read_state, write_state
from kplan.state.journal_writer import open_journal
from kplan.state.lock import lock_state_file
from kplan.state.lock_holder import current_holder
from tests.unit.state.state_builders import applied, creation, many, plan

# A server without threads forks fast and safely, even under a test runner that has threads.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload([__name__])


def write_for_ever(path: Path, acknowledge: Connection) -> None:
    found = read_state(path)
    serial = found.serial if found else 0
    while True:
        serial += 1
        write_state(path, many(200, serial))
        acknowledge.send(serial)


def hold(path: Path, say: Connection, until: Connection) -> None:
    """Take the lock, say so, and hold it until told or killed."""
    holder = current_holder("apply", ci="https://ci/run/7", commit="9f31c2a")
    with lock_state_file(path, holder, 0, lambda _: None):
        say.send(holder)
        until.recv()


def contend(path: Path, log: Path, rounds: int) -> None:
    """Write two lines under the lock, with time for others to come in between."""
    for _ in range(rounds):
        with (
            lock_state_file(path, current_holder("apply"), 60, lambda _: None),
            log.open("a") as file,
        ):
            file.write("in\n")
            file.flush()
            time.sleep(0.001)
            file.write("out\n")


def apply_for_ever(path: Path, acknowledge: Connection, size: int) -> None:
    """Keep the journal of an apply of many small batches; say what went out and what came back."""
    changes = tuple(creation(f"topic-{number}") for number in range(size))
    made = plan(*changes)
    with open_journal(path, made) as journal:
        for change in changes:
            journal.on_send(made.batches[0], [change])
            acknowledge.send(("sent", change.identity))
            journal.on_outcomes([applied(change)])
            acknowledge.send(("done", change.identity))
        time.sleep(60)
