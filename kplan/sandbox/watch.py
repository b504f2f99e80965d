"""End a sandbox when the process that lent it ends, however that ends.

Run as `python -m kplan.sandbox.watch FOLDER` with a pipe as standard input: the pipe ends when its
other end is closed or its owner is gone, by SIGKILL too. Then the sandbox is killed and its folder
removed.
"""

import shutil
import sys
from pathlib import Path

from kplan.sandbox.lifecycle import stop


def main() -> None:
    """Wait for the end of standard input, then clean up."""
    sys.stdin.buffer.read()
    folder = Path(sys.argv[1])
    try:
        stop(folder, grace_s=0)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
