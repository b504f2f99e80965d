"""The folder of the user where kplan keeps what it can make anew at any time."""

import os
import stat
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path


def cache_folder(environ: Mapping[str, str]) -> Path | None:
    """Find, and if need be make, the folder; None where there is none that can be trusted.

    It is `$XDG_CACHE_HOME/kplan` or `~/.cache/kplan`, and must belong to the user alone, since
    what is read from it is believed. `KPLAN_NO_CACHE` turns it off.
    """
    if environ.get("KPLAN_NO_CACHE"):
        return None
    base = environ.get("XDG_CACHE_HOME") or ""
    home = environ.get("HOME") or ""
    if not base and not home:
        return None
    folder = (Path(base) if base else Path(home, ".cache")) / "kplan"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except OSError:
        return None
    is_private = not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    is_own = not hasattr(os, "getuid") or found.st_uid == os.getuid()
    return folder if is_private and is_own and os.access(folder, os.W_OK) else None


def parser_stamp() -> str:
    """Tell installations of python-hcl2 apart without importing it: its grammar's size and time."""
    spec = find_spec("hcl2")
    if spec is None or spec.origin is None:
        return ""
    try:
        found = Path(spec.origin).with_name("hcl2.lark").stat()
    except OSError:
        return ""
    return f"{found.st_size:x}-{found.st_mtime_ns:x}"
