"""End a sandbox when its process ends: `python -m kplan.sandbox.watchdog FOLDER`."""

import shutil
import sys
from pathlib import Path

from kplan.sandbox.lifecycle import stop_sandbox


def main() -> None:
    """Wait for the end of standard input, then clean up."""
    sys.stdin.buffer.read()
    folder = Path(sys.argv[1])
    try:
        stop_sandbox(folder, grace_s=0)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
