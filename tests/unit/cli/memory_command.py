"""The whole command in this process, on a cluster in memory."""

import signal
from dataclasses import dataclass
from pathlib import Path

import pytest

from kplan.cli import wiring
from kplan.cli.run import run
from kplan.cluster.memory.cluster import MemoryCluster
from tests.project_harness import MAIN_TF


@dataclass(slots=True)
class MemoryCommand:
    """A folder with the configuration of `tests.sites`, and somebody who types commands in it."""

    folder: Path
    cluster: MemoryCluster
    capture: pytest.CaptureFixture[str]

    def run(self, *args: str, code: int = 0) -> str:
        """Run a command, check its exit code, and give what it wrote to stdout."""
        assert run(args, {}) == code, self.capture.readouterr()
        return self.capture.readouterr().out

    def run_failing(self, *args: str, code: int = 1) -> str:
        """Run a command that fails, and give what it wrote to stderr, on one line."""
        assert run(args, {}) == code, self.capture.readouterr()
        return " ".join(self.capture.readouterr().err.replace("│", " ").split())

    def write(self, text: str, name: str = "main.tf") -> None:
        """Write a file of the configuration."""
        (self.folder / name).write_text(text)


def memory_command(
    folder: Path, capture: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch
) -> MemoryCommand:
    """Sit down in a folder; whatever the provider block says, the cluster in memory answers."""
    cluster = MemoryCluster()
    patch.chdir(folder)
    patch.setattr(wiring, "_connect", lambda *_: cluster)
    found = MemoryCommand(folder, cluster, capture)
    found.write(MAIN_TF)
    return found


def send_interrupt() -> None:
    """Press Ctrl-C."""
    signal.raise_signal(signal.SIGINT)
