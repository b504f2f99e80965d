"""One `terraform console` that is fed line by line and answers at once."""

import os
import pty
import re
import select
import subprocess
import termios
import time
from pathlib import Path
from types import TracebackType
from typing import Self

_MARK = "kplan-end-of-answer"
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class LiveConsole:
    """A console in a folder, at a terminal: from a pipe it would tell the last result only."""

    def __init__(self, folder: Path) -> None:
        own, other = pty.openpty()
        settings = termios.tcgetattr(other)
        settings[3] &= ~termios.ECHO
        termios.tcsetattr(other, termios.TCSANOW, settings)
        environ = {**os.environ, "CHECKPOINT_DISABLE": "1", "TERM": "dumb", "HOME": str(folder)}
        environ.pop("TF_CLI_CONFIG_FILE", None)
        self._terminal = own
        self._process = subprocess.Popen(
            ["terraform", "console"],
            stdin=other,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environ,
        )
        os.close(other)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        of: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()
        os.close(self._terminal)

    def answer(self, expression: str, within_s: float = 20) -> str:
        """Give what is printed for an expression of one line, without colours."""
        os.write(self._terminal, f'{expression}\n"{_MARK}"\n'.encode())
        stdout = self._process.stdout
        if stdout is None:
            raise AssertionError
        end, text = f'"{_MARK}"\n'.encode(), b""
        deadline = time.monotonic() + within_s
        while not text.endswith(end):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{expression}: {text!r}")
            if select.select([stdout], [], [], 0.1)[0]:
                found = os.read(stdout.fileno(), 1 << 16)
                if not found:
                    raise EOFError(f"{expression}: {text!r}")
                text += found
        return _COLOUR.sub("", text.removesuffix(end).decode())
