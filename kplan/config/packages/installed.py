"""Find the folder of a module that was fetched, by kplan or by `terraform init`."""

import json
import posixpath
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from kplan.config.diagnostic import OperandError
from kplan.config.packages.lock import (
    LOCK_FILE,
    PACKAGES_FOLDER,
    LockedPackage,
    ModuleLock,
    read_lock,
    tree_digest,
)
from kplan.config.packages.source import WAY_OUT, PackageSource, parse_source
from kplan.config.packages.trust import damaged_lock
from kplan.config.version import Constraint, parse_version
from kplan.model.dataclass import dataclass

_INIT = "Run kplan init."


@dataclass(frozen=True, slots=True)
class _TerraformEntry:
    """One module that `terraform init` installed: its source as recorded, version and folder.

    Only modules of registries have a version.
    """

    source: str
    folder: str
    version: str

    def meets(self, constraints: Sequence[Constraint]) -> bool:
        """Whether the installed version is one that the call may have."""
        version = parse_version(self.version)
        return not constraints or (
            version is not None and all(each.allows(version) for each in constraints)
        )


class InstalledModules:
    """The modules at hand for the configuration in a folder. Nothing is fetched here.

    What `kplan.lock.json` names is taken from `.kplan/modules`, everything else from the list that
    `terraform init` wrote in its `data_folder`.
    """

    def __init__(self, root: Path, data_folder: str = ".terraform") -> None:
        self._root = root
        self._data_folder = data_folder
        self._digests: dict[str, str] = {}

    @cached_property
    def lock(self) -> ModuleLock:
        """The lock file. Raises OperandError where it is damaged."""
        try:
            return read_lock(self._root)
        except ValueError as fault:
            found = damaged_lock(str(fault))
            raise OperandError(found.code, found.detail, found.hint) from None

    def folder(
        self, source: PackageSource, call: str, constraints: Sequence[Constraint] = ()
    ) -> str:
        """Return the folder of a module from the configuration.

        `call` names the calls that lead to it as Terraform does: `a.b`. `constraints` are those on
        the version of a module of a registry.

        Raises:
            OperandError: it is not installed, or is not what was locked.

        """
        locked = self.lock.packages.get(source.address)
        if locked is not None:
            return self._locked_folder(source, locked)
        entry = self._terraform_modules.get(call)
        if entry is None:
            raise _not_installed(source)
        if not _is_same(source, entry.source):
            detail = f'Terraform installed "{entry.source}" for this module call.'
            raise OperandError("KP501", detail, "Run terraform init again, or kplan init.")
        if not entry.meets(constraints):
            version = f"version {entry.version}" if entry.version else "no version"
            detail = f"Terraform installed {version} for this module call, which it excludes now."
            raise OperandError("KP580", detail, "Run terraform init again.")
        return entry.folder

    def _locked_folder(self, source: PackageSource, locked: LockedPackage) -> str:
        package = f"{PACKAGES_FOLDER}/{locked.folder_name(source.address)}"
        if package not in self._digests:
            if not (self._root / package).is_dir():
                detail = f"{source.address} is in {LOCK_FILE}, and is not in {PACKAGES_FOLDER}."
                raise OperandError("KP500", detail, _INIT)
            try:
                self._digests[package] = tree_digest(self._root / package)
            except OSError as failure:
                detail = f"{package} cannot be read: {failure.strerror}."
                raise OperandError("KP502", detail, _INIT) from None
        if self._digests[package] != locked.digest:
            detail = f"The files in {package} are not those of which {LOCK_FILE} has the digest."
            hint = f"Remove {package} and run kplan init."
            raise OperandError("KP502", detail, hint)
        return posixpath.join(package, source.subfolder) if source.subfolder else package

    @cached_property
    def _terraform_modules(self) -> Mapping[str, _TerraformEntry]:
        """The modules of `terraform init` by call; none where it never ran."""
        file = self._root / self._data_folder / "modules" / "modules.json"
        try:
            found = json.loads(file.read_bytes().decode())
            return {
                str(each["Key"]): _TerraformEntry(
                    str(each["Source"]), _folder_text(each["Dir"]), str(each.get("Version", ""))
                )
                for each in found["Modules"]
                if each["Key"]
            }
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            detail = f"{self._data_folder}/modules/modules.json cannot be read."
            raise OperandError("KP500", detail, "Run terraform init again.") from None


def package_root(folder: str) -> str:
    """Return the folder of the package that a module is in, "" for the configuration itself."""
    for parent in (PACKAGES_FOLDER, ".terraform/modules"):
        if folder.startswith(f"{parent}/"):
            return "/".join(folder.split("/")[: parent.count("/") + 2])
    return ""


def _folder_text(folder: object) -> str:
    if not isinstance(folder, str) or not folder:
        raise ValueError("a module without a folder")
    return posixpath.normpath(folder.replace("\\", "/"))


def _is_same(source: PackageSource, recorded: str) -> bool:
    """Compare a source with that of a list of installed modules."""
    try:
        other = parse_source(recorded)
    except OperandError:
        return False
    return (source.address, source.subfolder) == (other.address, other.subfolder)


def _not_installed(source: PackageSource) -> OperandError:
    if source.can_be_fetched:
        detail = f"{source.address} is not in {LOCK_FILE}, so its files are not known."
        return OperandError("KP500", detail, _INIT)
    if source.kind == "registry":
        namespace, name, system = source.address.split("/")[1:]
        detail = f"{source.address} is in a registry of modules, which kplan does not ask."
        hint = (
            f"Write the git address that the registry names, for example git::https://github.com/"
            f"{namespace}/terraform-{system}-{name}.git?ref=vVERSION. {WAY_OUT}"
        )
        return OperandError("KP194", detail, hint)
    if source.kind == "unknown":
        detail = f'"{source.full_address}" is neither a local path nor an address of a module.'
        hint = f"A path begins with ./ or ../: write ./{source.full_address}"
        return OperandError("KP194", detail, hint)
    detail = f'"{source.address}" is of the sort "{source.kind}", which kplan does not fetch.'
    return OperandError("KP194", detail, WAY_OUT)
