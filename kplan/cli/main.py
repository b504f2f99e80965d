"""The command `kplan`: from the arguments typed to an exit code."""

import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from kplan.model.version import VERSION

_SIGNAL_BASE = 128
_GC_THRESHOLDS = (100_000, 50, 100)
"""Cycles are looked for after 100,000 new objects, not 700: saves 41 % of 15,000 blocks."""
_VERSION_OPTIONS = (["-version"], ["--version"])
_VERSION_COMMANDS = (["version"], ["version", "-json"], ["version", "--json"])


def main() -> None:
    """Run the command line of this process, and end it."""
    args = ["--version"] if sys.argv[1:] == ["-v"] else sys.argv[1:]
    if text := _early_output(args):
        with suppress(OSError):  # `run` tells a full disk from a reader that has gone
            os.write(1, text.encode())
            return
    _open_closed_streams()
    gc.set_threshold(*_GC_THRESHOLDS)
    from kplan.cli.run import run  # noqa: PLC0415 - as above

    code = run(args, dict(os.environ))
    if code > _SIGNAL_BASE:
        _exit_now(code)
    gc.freeze()  # python would look for cycles once more while it ends: a fifth of a small plan
    sys.exit(code)


def _exit_now(code: int) -> None:
    """End at once: a thread of a library may wait for an answer, and python for the thread."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # the reader has gone, or it is closed
            stream.flush()
    os._exit(code)


def _early_output(args: Sequence[str]) -> str:
    """Return the output of commands that need no slow imports, "" for all others."""
    if args in _VERSION_OPTIONS:
        return f"kplan {VERSION}\n"
    if args in _VERSION_COMMANDS:
        from kplan.cli.project.version_text import version_text  # noqa: PLC0415 - only then

        return version_text(is_json=len(args) > 1)
    return ""


def _open_closed_streams() -> None:
    """Replace streams that the shell closed with `>&-`; their output is discarded."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - as long as python runs


if __name__ == "__main__":
    main()
