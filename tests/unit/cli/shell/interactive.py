"""A shell on a terminal of its own, as a person has it."""

import os
import pty
import re
import select
import shlex
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_START_OF_LINE = "\x01"
_CLEAR_LINE = "\x15"
_WITHIN_S = 60.0
_CONTROLS = re.compile(r"\x1b\[[0-9;?=>]*[A-Za-z]|\x1b[=>]|[\r\x07\x08]")


class InteractiveShell:
    """Types lines into a shell, and reads what becomes of them."""

    def __init__(self, command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> None:
        self._terminal, slave = pty.openpty()
        name = os.ttyname(slave)
        # The first terminal that a new session opens is the one that controls it.
        opened = f"exec {shlex.join(command)} <{name} >{name} 2>&1"
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", opened], cwd=folder, env=dict(environ), start_new_session=True
        )
        self._slave = slave

    def run(self, line: str) -> str:
        """Run a line, and return what it wrote."""
        mark = f"done{time.monotonic_ns()}"
        self._send(f"{line}; echo {mark[:4]}''{mark[4:]}\n")
        return self._read_until(mark)

    def complete(self, typed: str) -> list[str]:
        """Press TAB behind a line, and return the words that the shell makes of it."""
        self._send(f"{typed}\t")
        mark = f"done{time.monotonic_ns()}"
        time.sleep(0.1)
        # Keys that follow wait until the completion is there.
        self._send(f"{_START_OF_LINE}printf '<<%s>>' \x05; echo {mark[:4]}''{mark[4:]}\n")
        said = self._read_until(mark)
        return re.findall(r"<<(.*?)>>", said.rpartition("<<kplan>>")[2])

    def close(self) -> None:
        """End the shell."""
        self._process.kill()
        self._process.wait()
        os.close(self._slave)
        os.close(self._terminal)

    def _send(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def _read_until(self, mark: str) -> str:
        found, end = "", time.monotonic() + _WITHIN_S
        while mark not in (plain := _CONTROLS.sub("", found)):
            ready, _, _ = select.select([self._terminal], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"the shell wrote only {found!r}"
            found += os.read(self._terminal, 65536).decode(errors="replace")
        return plain
