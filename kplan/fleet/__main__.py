"""`python -m kplan.fleet VERB`, and the main program for spark-submit: both are `kplan fleet VERB`.

A Python that runs kplan from the wheel itself, as `spark-submit --py-files` has it, reads it from a
copy: templates and help pages are files.
"""

import atexit
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

_GLOBAL_OPTIONS = ("chdir", "no-color")
"""The options that precede the verb."""


def main() -> None:
    """Run the arguments of this process as a fleet command, and end the process.

    It returns after a success: some platforms take any other end of a program for a failure.
    """
    _unpack_wheel()
    from kplan.cli import main as command  # noqa: PLC0415 - in the copy, if there is one

    sys.argv[1:] = fleet_arguments(sys.argv[1:])
    try:
        command.main()
    except SystemExit as ended:
        if ended.code:
            raise


def fleet_arguments(args: Sequence[str]) -> list[str]:
    """Return the command line of kplan for arguments of a fleet command."""
    first = list(takewhile(_is_global, args))
    return [*first, "fleet", *args[len(first) :]]


def _is_global(arg: str) -> bool:
    return arg.startswith("-") and arg.lstrip("-").partition("=")[0] in _GLOBAL_OPTIONS


def _unpack_wheel() -> None:
    """Import kplan from a folder from now on, if this module is in a wheel."""
    wheel = next((each for each in Path(__file__).parents if each.is_file()), None)
    if wheel is None:
        return
    folder = tempfile.mkdtemp(prefix="kplan-wheel-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder, [each for each in packed.namelist() if each.startswith("kplan/")])
    for name in [each for each in sys.modules if each.partition(".")[0] == "kplan"]:
        del sys.modules[name]
    sys.path.insert(0, folder)


if __name__ == "__main__":
    main()
