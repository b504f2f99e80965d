"""The folders that modules are read from, each read once."""

import posixpath
from pathlib import Path

from kplan.config.declared import Declared, Known, declared
from kplan.config.files import read_folder
from kplan.config.overriding import overridden
from kplan.config.syntax.mould import Moulds


class Library:
    """Folders of modules by their path from the root folder, `.` being the root itself.

    `sources` gathers the text of every file read, by the name it is shown under; `shown` stands
    before all of these names.
    """

    def __init__(self, root: Path, known: Known, shown: str = "") -> None:
        self.root = root
        self._shown = f"{shown.rstrip('/')}/" if shown else ""
        self.sources: dict[str, str] = {}
        self._known = known
        self._moulds = Moulds()
        self._folders: dict[str, Declared] = {}
        self._real: dict[str, Path] = {}

    def folder(self, path: str) -> Declared:
        """Give what a folder declares; its own problems are among it."""
        found = self._folders.get(path)
        if found is None:
            inner = "" if path == "." else f"{path}/"
            files = read_folder(self.root / path, self._shown + inner, self._moulds)
            self.sources.update(files.sources)
            items, problems = overridden(files.items, files.overrides)
            found = declared(items, self._known, has_lost=files.has_lost)
            found.diagnostics.extend((*files.diagnostics, *problems))
            self._folders[path] = found
        return found

    def has(self, path: str) -> bool:
        """Tell whether there is such a folder."""
        return (self.root / path).is_dir()

    def real(self, path: str) -> Path:
        """Give where a path leads in the end: one place for each folder, whatever the links."""
        if path not in self._real:
            self._real[path] = (self.root / path).resolve()
        return self._real[path]


def joined(folder: str, source: str) -> str:
    """Find the path from the root of a module whose source is written in another's folder."""
    return posixpath.normpath(posixpath.join(folder, source))
