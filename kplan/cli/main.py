"""The command `kplan`: from the arguments typed to an exit code."""

import os
import sys

from kplan.model.version import VERSION

_VERSION_WORDS = ({"-version"}, {"--version"}, {"-v"})


def main() -> None:
    """Run the command line of this process, and end it."""
    args = sys.argv[1:]
    if set(args) in _VERSION_WORDS:  # before anything slow is imported
        print(f"kplan {VERSION}")  # noqa: T201 - this is the command's output
        return
    from kplan.cli.run import run  # noqa: PLC0415 - as above

    sys.exit(run(args, os.environ))


if __name__ == "__main__":
    main()
