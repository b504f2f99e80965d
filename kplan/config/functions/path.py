"""Functions on paths, which are text: no file is looked at."""

import posixpath
from pathlib import Path
from typing import Final

from kplan.config.functions.function import Function, Host, Parameter, Refusal
from kplan.config.values.value import STRING


def cleaned(path: str) -> str:
    """Path without `.`, `..` and double slashes as far as text can tell; `.` for nothing."""
    shortest = posixpath.normpath(path)
    return shortest[1:] if shortest.startswith("//") else shortest


def abspath(host: Host, path: str) -> str:
    """Absolute path; a relative one starts where kplan works."""
    return cleaned(posixpath.join(str(host.files.root.absolute()), path))


def basename(path: str) -> str:
    """Last part of a path."""
    if not path:
        return "."
    return posixpath.basename(path.rstrip("/")) or "/"


def dirname(path: str) -> str:
    """Path without its last part."""
    return cleaned(posixpath.dirname(path) or ".")


def pathexpand(path: str) -> str:
    """Path with the home folder in place of `~`."""
    if not path.startswith("~"):
        return path
    if path != "~" and not path.startswith("~/"):
        raise Refusal("cannot expand user-specific home dir")
    return cleaned(f"{Path.home()}/{path[2:]}")


_PATH: Final = Parameter("path", STRING)

PATHS: Final = (
    Function("abspath", (_PATH,), abspath, hosted=True),
    Function("basename", (_PATH,), basename),
    Function("dirname", (_PATH,), dirname),
    Function("pathexpand", (_PATH,), pathexpand),
)
