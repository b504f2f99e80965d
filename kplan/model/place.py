"""Where files lie: the repository around a folder, and links that lead out of it."""

import os
from pathlib import Path


def repository_root(folder: Path) -> Path:
    """Return the nearest folder with a `.git`, upwards, links resolved; otherwise this one."""
    real = folder.resolve()
    return next((each for each in (real, *real.parents) if (each / ".git").exists()), real)


def link_target_outside(path: Path) -> Path | None:
    """Return where a path leads if it is in a repository by name, and outside by its links.

    A request that places a link could otherwise have a job write over any file.
    """
    named = Path(os.path.abspath(path))  # noqa: PTH100 - links are not resolved
    real = Path(os.path.realpath(path))
    root = repository_root(Path.cwd())
    here = Path(os.path.realpath(Path.cwd()))
    is_inside = named.is_relative_to(Path.cwd()) or named.is_relative_to(here)
    return real if is_inside and not real.is_relative_to(root) else None
