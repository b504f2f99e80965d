"""Running the installed command as a person or a script does."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.e2e import warmed

COMMAND_S = 240
"""By when a command must have ended, so that one that hangs fails its own test."""
KPLAN = (sys.executable, "-m", "kplan.cli.main")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command answered."""

    code: int
    out: str
    err: str


def environ(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Give an environment without anything that the machine running the tests sets for kplan."""
    ours = ("KPLAN_", "TF_", "KAFKA_", "CI", "GITHUB_", "NO_COLOR", "FORCE_COLOR", "COLUMNS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "PYTHONPATH": str(Path(__file__).parents[2]), **(more or {})}


def kplan(folder: Path, *args: str, env: Mapping[str, str] | None = None, typed: str = "") -> Ran:
    """Run kplan in a folder with no terminal; `typed` is what its stdin holds."""
    given = environ(env)
    if warmed.fits(given):
        return Ran(*warmed.run(args, folder, given, typed, COMMAND_S))
    done = subprocess.run(
        [*KPLAN, *args],
        cwd=folder,
        env=given,
        input=typed,
        capture_output=True,
        text=True,
        check=False,
        timeout=COMMAND_S,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def start(
    folder: Path,
    *args: str,
    env: Mapping[str, str] | None = None,
    stdout: int | IO[str] = subprocess.PIPE,
) -> "subprocess.Popen[str]":
    """Start kplan and leave it running."""
    return subprocess.Popen(
        [*KPLAN, *args],
        cwd=folder,
        env=environ(env),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
    )
