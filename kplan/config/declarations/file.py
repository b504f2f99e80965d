"""Find and read the configuration files of a folder and of the modules it calls."""

import posixpath
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from kplan.config.declarations.collect import collect_declarations
from kplan.config.declarations.declaration import KnownKinds, ModuleDeclarations
from kplan.config.declarations.override import is_override, merge_overrides
from kplan.config.diagnostic import error
from kplan.config.syntax import tree as ast
from kplan.config.syntax.block_pattern import BlockPatterns
from kplan.config.syntax.json_reader import parse_json
from kplan.config.syntax.parse import parse_file
from kplan.config.syntax.source import Source
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, SourceRange

_SUFFIXES = (".tf", ".hcl", ".tf.json")
_OTHER_SUFFIXES = (
    ".kptest.hcl",
    ".policytest.hcl",
    ".tftest.hcl",
    ".tftest.json",
    ".tfmock.hcl",
    ".tfquery.hcl",
    ".tfquery.json",
    ".tfcomponent.hcl",
    ".tfstack.hcl",
    ".tfdeploy.hcl",
    ".pkr.hcl",
    ".nomad.hcl",
)
NO_FILES = "KP127"
"""The code of a folder without configuration files."""

FLEET_FILE = "fleet.hcl"
"""The file that declares the clusters of a fleet; it is no configuration of one of them."""

_OTHER_NAMES = frozenset({"terragrunt.hcl", FLEET_FILE})


@dataclass(frozen=True, slots=True)
class FolderFiles:
    """Files read: their top-level items in order, text by name, and diagnostics.

    `overrides` are the items of override files.
    """

    items: tuple[ast.Item, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)
    diagnostics: tuple[Diagnostic, ...] = ()
    is_incomplete: bool = False
    overrides: tuple[ast.Item, ...] = ()


def configuration_files(folder: Path) -> list[Path]:
    """List the configuration files of a folder by name; raises OSError."""
    return sorted(each for each in folder.iterdir() if _is_configuration(each))


def read_folder(
    folder: Path, prefix: str, patterns: BlockPatterns, within: Path | None = None
) -> FolderFiles:
    """Read and parse the configuration files of a folder, sorted by name.

    `prefix` is before their names wherever these are shown. Links out of `within` are not read.
    """
    try:
        names = [each.name for each in configuration_files(folder)]
    except OSError as failure:
        detail = f"The folder {folder} cannot be read: {failure.strerror}."
        hint = "" if prefix else "Run kplan as a user who may list it, or use -chdir=DIR."
        problem = error("KP118", None, detail, hint=hint)
        return FolderFiles(diagnostics=(problem,), is_incomplete=True)
    if not names:
        detail = f"The folder {folder} has no *.tf, *.hcl or *.tf.json file."
        hint = (
            ""
            if prefix
            else "Run kplan init to write a new project, or name a folder with -chdir=DIR."
        )
        return FolderFiles(diagnostics=(error(NO_FILES, None, detail, hint=hint),))
    items: list[ast.Item] = []
    sources: dict[str, str] = {}
    diagnostics: list[Diagnostic] = []
    has_lost = False
    overrides: list[ast.Item] = []
    for name in names:
        shown = f"{prefix}{name}"
        text = _read_within(folder / name, shown, within)
        if isinstance(text, Diagnostic):
            diagnostics.append(text)
            has_lost = True
            continue
        sources[shown] = text
        source = Source(shown, text)
        parsed = parse_json(source) if name.endswith(".json") else parse_file(source, patterns)
        (overrides if is_override(name) else items).extend(parsed.items)
        diagnostics.extend(parsed.diagnostics)
        has_lost |= parsed.has_lost
    return FolderFiles(tuple(items), sources, tuple(diagnostics), has_lost, tuple(overrides))


def _read_within(path: Path, name: str, within: Path | None) -> str | Diagnostic:
    if within is not None and not path.resolve().is_relative_to(within):
        nowhere = SourceRange(name, 1, 1, 1, 1)
        return error("KP118", nowhere, f"{name} leads out of the repository.")
    return read_text(path, name)


def _is_configuration(path: Path) -> bool:
    name = path.name
    return (
        name.endswith(_SUFFIXES)
        and not name.startswith(".")
        and not name.endswith(("~", *_OTHER_SUFFIXES))
        and name not in _OTHER_NAMES
        and is_file_to_read(path)
    )


def is_file_to_read(path: Path) -> bool:
    """Whether a name is that of a file to read.

    A link that leads nowhere is one, and an error: what it declared would be deleted.
    """
    return path.is_file() or not path.exists()


def read_text(path: Path, name: str) -> str | Diagnostic:
    """Read a UTF-8 file, or say why it cannot be read."""
    nowhere = SourceRange(name, 1, 1, 1, 1)
    try:
        raw = path.read_bytes()
    except OSError as failure:
        return error("KP118", nowhere, f"{name} cannot be read: {failure.strerror}.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as failure:
        line = raw.count(b"\n", 0, failure.start) + 1
        column = failure.start - raw.rfind(b"\n", 0, failure.start)
        subject = SourceRange(name, line, column, line, column + 1)
        detail = f"{name} is not UTF-8 text: byte {failure.start} cannot be decoded."
        return error("KP115", subject, detail, hint="Save the file as UTF-8.")


def is_absent(path: Path) -> bool:
    """Whether there is no such file; one that cannot be looked at may be there."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


class ModuleFolders:
    """Folders of modules by their path from the root folder, `.` being the root itself.

    `sources` gathers the text of every file read, by the name it is shown under; `shown` stands
    before all of these names. Folders outside of `within` are as none.
    """

    def __init__(
        self, root: Path, known_kinds: KnownKinds, shown: str = "", within: Path | None = None
    ) -> None:
        self.root = root
        self._within = within
        self._shown = f"{shown.rstrip('/')}/" if shown else ""
        self.sources: dict[str, str] = {}
        self._known = known_kinds
        self._patterns = BlockPatterns()
        self._folders: dict[str, ModuleDeclarations] = {}
        self._real: dict[str, Path] = {}

    def declarations(self, path: str) -> ModuleDeclarations:
        """Return the declarations of a folder, with its diagnostics."""
        found = self._folders.get(path)
        if found is None:
            inner = "" if path == "." else f"{path}/"
            files = read_folder(self.root / path, self._shown + inner, self._patterns, self._within)
            self.sources.update(files.sources)
            items, problems = merge_overrides(files.items, files.overrides)
            found = collect_declarations(items, self._known, has_lost=files.is_incomplete)
            found.diagnostics.extend((*files.diagnostics, *problems))
            self._folders[path] = found
        return found

    def exists(self, path: str) -> bool:
        """Return whether there is such a folder."""
        if self._within is not None and not self.real_path(path).is_relative_to(self._within):
            return False
        return (self.root / path).is_dir()

    def real_path(self, path: str) -> Path:
        """Return the resolved path: one for each folder, whatever the links."""
        if path not in self._real:
            self._real[path] = (self.root / path).resolve()
        return self._real[path]


def join_path(folder: str, source: str) -> str:
    """Find the path, relative to the root, of a module declared in another folder."""
    return posixpath.normpath(posixpath.join(folder, source))
