"""The faults themselves; the tests of the installed command bring about a few of each, too."""

import contextlib
import os
import random
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

from kplan.kafka.cluster import open_cluster
from kplan.kafka.settings.resolver import resolve_settings
from kplan.sandbox import fault
from kplan.sandbox.layout import SandboxSpec
from kplan.sandbox.sandbox import Sandbox
from kplan.state.lock import note_path
from tests.e2e.commands import Ran
from tests.soak.estate import Estate, applied_while, kill_after

PATIENCE = {"broker.session.timeout.ms": "6000", "broker.heartbeat.interval.ms": "1000"}
ONE = SandboxSpec(server_properties=PATIENCE)
THREE = SandboxSpec(brokers=3, server_properties=PATIENCE)

MOVED = """
import datetime, os
shift = datetime.timedelta(seconds=float(os.environ["CLOCK_SHIFT_S"]))
class moved(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + shift
datetime.datetime = moved
"""
"""A `sitecustomize` that moves the clock of one process."""

Strike = Callable[[Sandbox], None]


def is_finished(estate: Estate) -> str:
    """Finish what was begun, and say what is wrong then, "" for nothing."""
    done = estate.finished()
    if done.code:
        return said(done)
    return "" if estate.is_reached() else "the goal is not reached"


def said(ran: Ran) -> str:
    """Give what a run that should have passed said last."""
    return f"exit code {ran.code}: {' '.join((ran.out[-300:] + ran.err[-900:]).split())}"


def killed(estate: Estate, after_s: float) -> str:
    """SIGKILL kplan in the middle of an apply, and resume it."""
    applied_while(estate, kill_after(after_s))
    return is_finished(estate)


def struck(estate: Estate, sandbox: Sandbox, strike: Strike) -> str:
    """Strike a node while kplan applies; that apply may fail, the next must reach the goal."""
    other = threading.Thread(target=strike, args=(sandbox,))
    applied_while(estate, lambda _: other.start())
    other.join()
    return is_finished(estate)


def kill_and_restart(node: int, after_s: float) -> Strike:
    """Make a strike: the node dies and comes back."""

    def strike(sandbox: Sandbox) -> None:
        fault.kill(sandbox.folder, node)
        time.sleep(after_s)
        fault.restart(sandbox.folder, node)

    return strike


def kill_active_controller(after_s: float) -> Strike:
    """Make a strike: whichever controller is the active one then dies, and comes back."""

    def strike(sandbox: Sandbox) -> None:
        environment = {
            "KPLAN_BOOTSTRAP_SERVERS": sandbox.bootstrap_servers,
            "KPLAN_TLS_ENABLED": "false",
        }
        settings = resolve_settings(None, environment, folder=sandbox.folder).settings
        assert settings is not None
        with contextlib.closing(open_cluster(settings)) as cluster:
            active = cluster.quorum().leader
        kill_and_restart(active, after_s)(sandbox)

    return strike


def pause_a_while(node: int, for_s: float) -> Strike:
    """Make a strike: the node stands still and goes on."""

    def strike(sandbox: Sandbox) -> None:
        fault.pause(sandbox.folder, node)
        time.sleep(for_s)
        fault.resume(sandbox.folder, node)

    return strike


def lock_of_the_dead(estate: Estate, after_s: float) -> str:
    """Kill the holder of the lock; the next run takes it over without being told to."""
    applied_while(estate, kill_after(after_s))
    if not note_path(estate.state_path).exists():
        return "it was killed too late"
    status = estate.run("lock", "status", "-json")
    if '"dead": true' not in status.out:
        return f"the dead holder is not told: {said(status)}"
    return is_finished(estate)


def both_destroy(estate: Estate) -> str:
    """Let two states own the same objects, and both destroy them at once."""
    if applied := estate.run("apply", "-auto-approve").code:
        return f"the apply before it failed: {applied}"
    twin = estate.twin()
    runs = [each.begin("destroy", "-auto-approve") for each in (estate, twin)]
    codes = [each.wait(timeout=300) for each in runs]
    left = [each.run("state", "list").out for each in (estate, twin)]
    return "" if (codes, left) == ([0, 0], ["", ""]) else f"exit codes {codes}, left {left}"


def clock_moved(estate: Estate, after_s: float) -> str:
    """Apply a day ahead, be killed, and finish a day behind."""
    shim = estate.folder / "shim"
    shim.mkdir()
    (shim / "sitecustomize.py").write_text(MOVED)
    path = os.pathsep.join((str(shim), str(Path(__file__).parents[2])))
    estate.env = {"PYTHONPATH": path, "CLOCK_SHIFT_S": "86400"}
    applied_while(estate, kill_after(after_s))
    estate.env["CLOCK_SHIFT_S"] = "-86400"
    return is_finished(estate)


def full_disk(estate: Estate, pages: int) -> str:
    """Fill the disk of the state but for so many pages during an apply, make room and finish.

    Needs the right to mount: the state is on a disk of 8 MiB.
    """
    disk = estate.folder / "state"
    disk.mkdir()
    ballast = disk / "ballast"

    def fill(_: object) -> None:
        with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
            while file.write(bytes(4096)):
                pass
        os.truncate(ballast, max(0, ballast.stat().st_size - pages * 4096))

    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", disk], check=True)
    try:
        code = applied_while(estate, fill)
        told = estate.talk.read_text()
        if "Traceback" in told or (code and "No space left" not in told):
            return f"exit code {code}: {told[-900:]}"
        ballast.unlink()
        return is_finished(estate)
    finally:
        estate.destroyed()
        subprocess.run(["umount", disk], check=True)


def moments(longest_s: float = 1.2) -> Callable[[], float]:
    """Give moments that are the same in every run of the table."""
    dice = random.Random(7)
    return lambda: dice.uniform(0.0, longest_s)
