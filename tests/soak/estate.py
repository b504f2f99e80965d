"""An estate that is applied while somebody pulls plugs."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from kplan.state.file import read_state
from kplan.state.journal import journal_path
from tests.e2e.commands import KPLAN, Ran, environ, kplan


@dataclass(slots=True)
class Estate:
    """A folder that declares `topics` topics and as many ACLs on them."""

    folder: Path
    servers: str
    topics: int
    replication_factor: int = 1
    env: dict[str, str] = field(default_factory=dict)

    @property
    def state_path(self) -> Path:
        """Where its state lies."""
        return self.folder / "state" / "kplan.json"

    @property
    def talk(self) -> Path:
        """What the run that was begun last said on stderr."""
        return self.folder / "talk.txt"

    def write(self) -> None:
        """Write the configuration."""
        self.folder.mkdir(parents=True, exist_ok=True)
        names = [f"{self.folder.name}-{number:04}" for number in range(self.topics)]
        (self.folder / "names.json").write_text(json.dumps(names))
        (self.folder / "main.tf").write_text(
            f"""
provider "kafka" {{}}
locals {{ names = toset(jsondecode(file("names.json"))) }}
resource "kafka_topic" "t" {{
  for_each           = local.names
  name               = each.key
  partitions         = 1
  replication_factor = {self.replication_factor}
}}
resource "kafka_acl" "a" {{
  for_each            = local.names
  resource_type       = "Topic"
  resource_name       = each.key
  acl_principal       = "User:soak"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}}
"""
        )

    def twin(self) -> "Estate":
        """Copy the folder, state and all."""
        folder = self.folder.with_name(f"{self.folder.name}-twin")
        shutil.copytree(self.folder, folder)
        return replace(self, folder=folder)

    def run(self, *args: str) -> Ran:
        """Run kplan in the folder."""
        return kplan(self.folder, *args, env=self._environment())

    def begin(self, *args: str) -> "subprocess.Popen[bytes]":
        """Start kplan in the folder; what it says goes to a file, so that no pipe can fill up."""
        with self.talk.open("wb") as talk:
            return subprocess.Popen(
                [*KPLAN, *args],
                cwd=self.folder,
                env=environ(self._environment()),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=talk,
            )

    def _environment(self) -> dict[str, str]:
        return {"KPLAN_BOOTSTRAP_SERVERS": self.servers, "KPLAN_TLS_ENABLED": "false", **self.env}

    def finished(self) -> Ran:
        """Finish whatever was begun: resume where a journal is left, else apply."""
        how = ("-resume",) if journal_path(self.state_path).exists() else ()
        return self.run("apply", "-auto-approve", *how)

    def is_reached(self) -> bool:
        """Whether a plan finds nothing to do and the state owns all of it."""
        state = read_state(self.state_path)  # raises for a torn or empty one
        owned = 0 if state is None else len(state.owned)
        return owned == 2 * self.topics and self.run("plan", "-detailed-exitcode").code == 0

    def destroyed(self) -> bool:
        """Delete all of it."""
        return self.run("destroy", "-auto-approve").code == 0


def applied_while(estate: Estate, strike: Callable[["subprocess.Popen[bytes]"], None]) -> int:
    """Apply in a process of its own, strike when the first request goes out, give the exit code."""
    with estate.begin("apply", "-auto-approve") as process:
        journal = journal_path(estate.state_path)
        while not journal.exists() and process.poll() is None:
            time.sleep(0.002)
        strike(process)
        process.wait(timeout=300)
    return process.returncode


def kill_after(seconds: float) -> Callable[["subprocess.Popen[bytes]"], None]:
    """Make a strike: SIGKILL, so many seconds after the first request."""

    def strike(process: "subprocess.Popen[bytes]") -> None:
        time.sleep(seconds)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)

    return strike
