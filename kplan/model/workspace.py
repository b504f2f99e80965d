"""Workspaces: the states of one configuration, and how the place of each is named."""

import re
from collections.abc import Iterable
from pathlib import Path

DEFAULT_WORKSPACE = "default"
WORKSPACE_VARIABLES = ("KPLAN_WORKSPACE", "TF_WORKSPACE")
"""Of the environment; what one of them names wins over the selection."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,89}")
_MARK = "@"
"""Divides the key of a state from the name of its workspace; no key of a configuration has it."""


def is_workspace_name(name: str) -> bool:
    """Whether a workspace can be called that: it is part of paths and keys."""
    return _NAME.fullmatch(name) is not None


def workspace_path(path: Path, workspace: str) -> Path:
    """Return the file of a workspace: `kplan.json.d/NAME/kplan.json` beside that of default."""
    if workspace == DEFAULT_WORKSPACE:
        return path
    return path.parent / f"{path.name}.d" / workspace / path.name


def base_path(path: Path) -> Path:
    """Return the file of the workspace default from that of any workspace."""
    folder = path.parent.parent
    return folder.parent / path.name if folder.name == f"{path.name}.d" else path


def workspace_key(key: str, workspace: str) -> str:
    """Return the key of a workspace in a topic or bucket: `KEY@NAME`."""
    return key if workspace == DEFAULT_WORKSPACE else f"{key}{_MARK}{workspace}"


def base_key(key: str) -> str:
    """Return the key of the workspace default from that of any workspace."""
    return key.partition(_MARK)[0]


def workspaces_of_keys(key: str, keys: Iterable[str]) -> tuple[str, ...]:
    """Name the workspaces of a configuration among the keys of a topic or bucket."""
    start = f"{base_key(key)}{_MARK}"
    names = {each.removeprefix(start) for each in keys if each.startswith(start)}
    return tuple(sorted(name for name in names if is_workspace_name(name)))
