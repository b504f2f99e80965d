"""Use case: fetch the modules of a configuration, as its lock file says."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path

from kplan.config.declarations.declaration import Declaration
from kplan.config.diagnostic import EvaluationError, OperandError, error
from kplan.config.inputs import Inputs
from kplan.config.modules.child_folder import module_source, source_folder
from kplan.config.modules.evaluation import EvaluationContext
from kplan.config.modules.root_module import open_folder
from kplan.config.packages.lock import (
    LOCK_FILE,
    PACKAGES_FOLDER,
    LockedPackage,
    ModuleLock,
    links_outside,
    read_lock,
    tree_digest,
)
from kplan.config.packages.source import PackageSource
from kplan.config.packages.trust import damaged_lock, lock_problems
from kplan.kinds import KINDS
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, sort_diagnostics
from kplan.model.errors import ConfigError
from kplan.state.atomic_file import write_atomically
from kplan.workflow.ports import Progress, Project
from kplan.workflow.project.archive import fetch_archive
from kplan.workflow.project.git import UPGRADE_HINT, fetch_commit


@dataclass(frozen=True, slots=True)
class FetchOptions:
    """Whether to fetch the latest of each ref, and whether the lock file may change."""

    is_upgrade: bool = False
    is_readonly: bool = False


@dataclass(slots=True)
class FetchResult:
    """The packages in use by address, the folders written, and whether the lock file changed."""

    packages: dict[str, LockedPackage] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)
    is_lock_changed: bool = False


def fetch_modules(project: Project, options: FetchOptions, progress: Progress) -> FetchResult:
    """Fetch every package that the modules call and that is not installed; write the lock file.

    A configuration that is not trusted gets the packages of the trusted lock file, and no others;
    they are installed in the trusted checkout too.

    Raises:
        ConfigError: a package cannot be had, or is not what was locked, or the lock file is damaged
            or may not change.

    """
    lock, trust = _read_lock(project.folder), project.inputs.trust
    if trust is not None:
        options = FetchOptions(is_readonly=True)
        if problems := list(lock_problems(project.folder, trust)):
            raise ConfigError(problems)
    run = _Fetch(project.folder, lock, options, progress)
    if failures := run.walk(project.inputs):
        raise ConfigError(failures, run.sources)
    if trust is not None and trust.ref is not None and run.result.packages:
        trusted = replace(project, folder=trust.ref, inputs=replace(project.inputs, trust=None))
        fetch_modules(trusted, options, progress)
    if not options.is_readonly:
        _write_lock(project.folder, lock, run.result, is_complete=run.is_complete)
    return run.result


def _read_lock(folder: Path) -> ModuleLock:
    try:
        return read_lock(folder)
    except ValueError as fault:
        raise ConfigError([damaged_lock(str(fault))]) from None


def _write_lock(folder: Path, lock: ModuleLock, found: FetchResult, *, is_complete: bool) -> None:
    """Write the lock file where it changes; entries go only where all files could be read."""
    kept = {} if is_complete else lock.packages
    wanted = ModuleLock({**kept, **found.packages})
    if wanted == lock:
        return
    write_atomically(folder / LOCK_FILE, wanted.to_bytes())
    (folder / LOCK_FILE).chmod(0o644)
    found.is_lock_changed = True


class _Fetch:
    """One run over the modules of a configuration."""

    def __init__(
        self, folder: Path, lock: ModuleLock, options: FetchOptions, progress: Progress
    ) -> None:
        self.result = FetchResult()
        self.is_complete = True
        self.sources: Mapping[str, str] = {}
        self._folder = folder
        self._lock = lock
        self._options = options
        self._progress = progress
        self._problems: list[Diagnostic] = []
        self._seen: set[str] = set()
        self._failed: set[str] = set()

    def walk(self, inputs: Inputs) -> tuple[Diagnostic, ...]:
        """Visit all modules, and return what could not be fetched."""
        root = open_folder(self._folder, inputs, KINDS)
        self._visit(".", (), root.context)
        self.sources = root.sources
        return sort_diagnostics(self._problems)

    def _visit(self, folder: str, path: tuple[str, ...], context: EvaluationContext) -> None:
        if folder in self._seen or not context.folders.exists(folder):
            return
        self._seen.add(folder)
        declared = context.folders.declarations(folder)
        self.is_complete &= not declared.is_incomplete
        for name, call in declared.modules.items():
            try:
                inner = self._called_folder(call, folder, path, context)
            except EvaluationError:  # reported by the validation that follows
                self.is_complete = False
            except OperandError as fault:
                self._problems.append(
                    error(fault.code, call.value_range("source"), fault.detail, hint=fault.hint)
                )
            else:
                self._visit(inner, (*path, name), context)

    def _called_folder(
        self, call: Declaration, caller: str, path: tuple[str, ...], context: EvaluationContext
    ) -> str:
        if call.is_broken:
            raise EvaluationError
        source = module_source(call, context.constant_scope(call.origin))
        if isinstance(source, str) or not source.can_be_fetched:
            return source_folder(call, caller, path, context)
        found = self._package(source)
        inner = f"{PACKAGES_FOLDER}/{found.folder_name(source.address)}"
        return f"{inner}/{source.subfolder}" if source.subfolder else inner

    def _package(self, source: PackageSource) -> LockedPackage:
        """Return a package, fetched if it is not there.

        Raises:
            OperandError: it cannot be fetched, or differs from what was locked.

        """
        address = source.address
        if (known := self.result.packages.get(address)) is not None:
            return known
        if address in self._failed:
            raise EvaluationError
        self._failed.add(address)
        locked = None if self._options.is_upgrade else self._lock.packages.get(address)
        if locked is None and self._options.is_readonly:
            detail = f"{address} is not in {LOCK_FILE}, and this run may not change the file."
            hint = "Run kplan init where it may change, and commit the file."
            raise OperandError("KP508", detail, hint)
        is_here = locked is not None and self._is_installed(locked.folder_name(address), locked)
        found = locked if locked and is_here else self._fetch(source, locked)
        self.result.packages[address] = found
        return found

    def _is_installed(self, name: str, locked: LockedPackage) -> bool:
        folder = self._folder / PACKAGES_FOLDER / name
        return folder.is_dir() and tree_digest(folder) == locked.digest

    def _fetch(self, source: PackageSource, locked: LockedPackage | None) -> LockedPackage:
        self._progress.note(f"Fetching {source.address}")
        with _temporary_folder(self._folder / PACKAGES_FOLDER) as place:
            found = _fetch_files(source, locked.commit if locked else "", place / "files")
            if locked is not None and found != locked:
                detail = f"{source.address} has other files than those that were locked."
                raise OperandError("KP502", detail, UPGRADE_HINT)
            name = found.folder_name(source.address)
            target = self._folder / PACKAGES_FOLDER / name
            shutil.rmtree(target, ignore_errors=True)
            (place / "files").rename(target)
        self._progress.note(f"Fetched {source.address} into {PACKAGES_FOLDER}/{name}")
        self.result.written.append(name)
        return found


def _fetch_files(source: PackageSource, commit: str, into: Path) -> LockedPackage:
    if source.kind == "git":
        commit = fetch_commit(source, commit, into)
    else:
        fetch_archive(source, into)
    if outside := next(links_outside(into), ""):
        detail = f"{source.address} has a link out of it: {outside}."
        raise OperandError("KP504", detail, "Remove the link from the module.")
    return LockedPackage(commit, tree_digest(into))


@contextmanager
def _temporary_folder(parent: Path) -> Iterator[Path]:
    parent.mkdir(parents=True, exist_ok=True)
    ignored = parent / ".gitignore"
    if not ignored.exists():
        ignored.write_text("*\n", encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=parent) as name:
        yield Path(name)
