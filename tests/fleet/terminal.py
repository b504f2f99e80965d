"""kplan as it runs on a terminal, for tests."""

import os
import pty
import re
import subprocess
import threading
import time
from pathlib import Path

from tests.e2e.commands import KPLAN, environ

TIMEOUT_S = 120.0


class Terminal:
    """A kplan whose talk goes to a terminal; `text` is what was drawn there so far."""

    def __init__(self, folder: Path, *args: str) -> None:
        self._ours, theirs = pty.openpty()
        self._drawn = b""
        self.process = subprocess.Popen(
            [*KPLAN, *args],
            cwd=folder,
            env=environ({"TERM": "xterm", "COLUMNS": "100"}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=theirs,
        )
        os.close(theirs)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def text(self) -> str:
        """What was drawn, without colours."""
        plain = self._drawn.decode(errors="replace")
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", plain)

    def shows(self, pattern: str) -> bool:
        """Wait until something is drawn; False when the process ends before, or nothing comes."""
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            has_ended = self.process.poll() is not None
            if re.search(pattern, self.text):
                return True
            if has_ended:
                return False
            time.sleep(0.05)
        return False

    def ended(self) -> int:
        """Wait for the end and give the exit code."""
        code = self.process.wait(TIMEOUT_S)
        self._reader.join(TIMEOUT_S)
        os.close(self._ours)
        return code

    def _read(self) -> None:
        while True:
            try:
                more = os.read(self._ours, 65536)
            except OSError:  # nobody has the other end any more
                return
            self._drawn += more


def children(pid: int) -> set[int]:
    """List the processes that a process started, and those that these started."""
    own: dict[int, set[int]] = {}
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = each.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        own.setdefault(int(words[1]), set()).add(int(each.parent.name))
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        fresh = own.get(waiting.pop(), set()) - found
        found |= fresh
        waiting += fresh
    return found


def is_alive(pid: int) -> bool:
    """Whether a process is there and at work."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
