"""The folders that modules are read from; each is read once."""

import posixpath
from pathlib import Path

from kplan.config.declarations.declaration import (
    KnownKinds,
    ModuleDeclarations,
    collect_declarations,
)
from kplan.config.declarations.file import read_folder
from kplan.config.declarations.override import merge_overrides
from kplan.config.syntax.block_pattern import BlockPatterns


class ModuleFolders:
    """Folders of modules by their path from the root folder, `.` being the root itself.

    `sources` gathers the text of every file read, by the name it is shown under; `shown` stands
    before all of these names.
    """

    def __init__(self, root: Path, known: KnownKinds, shown: str = "") -> None:
        self.root = root
        self._shown = f"{shown.rstrip('/')}/" if shown else ""
        self.sources: dict[str, str] = {}
        self._known = known
        self._moulds = BlockPatterns()
        self._folders: dict[str, ModuleDeclarations] = {}
        self._real: dict[str, Path] = {}

    def declarations(self, path: str) -> ModuleDeclarations:
        """Return what a folder declares; its own problems are among it."""
        found = self._folders.get(path)
        if found is None:
            inner = "" if path == "." else f"{path}/"
            files = read_folder(self.root / path, self._shown + inner, self._moulds)
            self.sources.update(files.sources)
            items, problems = merge_overrides(files.items, files.overrides)
            found = collect_declarations(items, self._known, has_lost=files.is_incomplete)
            found.diagnostics.extend((*files.diagnostics, *problems))
            self._folders[path] = found
        return found

    def exists(self, path: str) -> bool:
        """Return whether there is such a folder."""
        return (self.root / path).is_dir()

    def real_path(self, path: str) -> Path:
        """Return where a path leads in the end: one place for each folder, whatever the links."""
        if path not in self._real:
            self._real[path] = (self.root / path).resolve()
        return self._real[path]


def join_path(folder: str, source: str) -> str:
    """Find the path from the root of a module whose source is written in another's folder."""
    return posixpath.normpath(posixpath.join(folder, source))
