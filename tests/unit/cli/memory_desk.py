"""The whole command in this process, on a cluster in memory."""

import signal
from dataclasses import dataclass
from pathlib import Path

import pytest

from kplan.cli import wiring
from kplan.cli.run import run
from kplan.cluster.memory import MemoryCluster
from tests.sites import MAIN


@dataclass(slots=True)
class Desk:
    """A folder with the configuration of `tests.sites`, and somebody who types commands in it."""

    folder: Path
    cluster: MemoryCluster
    capture: pytest.CaptureFixture[str]

    def types(self, *args: str, code: int = 0) -> str:
        """Run a command, check its exit code, and give what it wrote to stdout."""
        assert run(args, {}) == code, self.capture.readouterr()
        return self.capture.readouterr().out

    def fails(self, *args: str, code: int = 1) -> str:
        """Run a command that fails, and give what it wrote to stderr, on one line."""
        assert run(args, {}) == code, self.capture.readouterr()
        return " ".join(self.capture.readouterr().err.replace("│", " ").split())

    def write(self, text: str, name: str = "main.tf") -> None:
        """Write a file of the configuration."""
        (self.folder / name).write_text(text)


def desk_at(folder: Path, capture: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> Desk:
    """Sit down in a folder; whatever the provider block says, the cluster in memory answers."""
    cluster = MemoryCluster()
    patch.chdir(folder)
    patch.setattr(wiring, "_connected", lambda *_: cluster)
    found = Desk(folder, cluster, capture)
    found.write(MAIN)
    return found


def interrupt() -> None:
    """Press Ctrl-C."""
    signal.raise_signal(signal.SIGINT)
