"""The lock file of modules: which commit and content each source had when it was fetched."""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from urllib.parse import urlsplit

from kplan.model.dataclass import dataclass

LOCK_FILE = "kplan.lock.json"
"""The name of the lock file, which is kept in git beside the configuration."""

PACKAGES_FOLDER = ".kplan/modules"
"""The folder of fetched packages, from the configuration."""

_FORMAT = 1
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_SHORT = 12


@dataclass(frozen=True, slots=True)
class LockedPackage:
    """What was fetched: `commit` of a git source ("" for an archive), and a digest of all files."""

    commit: str
    digest: str

    def folder_name(self, address: str) -> str:
        """Return the folder of the package below `PACKAGES_FOLDER`."""
        path = urlsplit(address.removeprefix("git::")).path
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", path.rstrip("/").rpartition("/")[2])
        version = self.commit or self.digest.removeprefix("sha256:")
        return f"{name.removesuffix('.git').strip('.-') or 'module'}-{version[:_SHORT]}"


@dataclass(frozen=True, slots=True)
class ModuleLock:
    """The packages of a configuration by address."""

    packages: Mapping[str, LockedPackage] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """Write the file."""
        found = {
            address: {
                **({"commit": each.commit} if each.commit else {}),
                "digest": each.digest,
            }
            for address, each in self.packages.items()
        }
        document = {"format": _FORMAT, "modules": found}
        return f"{json.dumps(document, indent=2, sort_keys=True)}\n".encode()


def read_lock(folder: Path) -> ModuleLock:
    """Read the lock file of a folder; without one nothing is locked.

    Raises:
        ValueError: it is damaged, or cannot be read. The text says how.

    """
    try:
        data = (folder / LOCK_FILE).read_bytes()
    except FileNotFoundError:
        return ModuleLock()
    except OSError as failure:
        raise ValueError(f"it cannot be read: {failure.strerror}") from None
    try:
        found = json.loads(data.decode())
    except (ValueError, RecursionError):
        raise ValueError("it is not valid JSON") from None
    entries = found.get("modules") if isinstance(found, dict) else None
    if not isinstance(entries, dict):
        raise ValueError("it has no modules")  # noqa: TRY004 - as every fault of the file
    if found.get("format") != _FORMAT:
        raise ValueError(f"its format is {found.get('format')}, and this kplan reads {_FORMAT}")
    return ModuleLock({str(name): _parse_entry(name, each) for name, each in entries.items()})


def _parse_entry(name: str, entry: object) -> LockedPackage:
    commit, digest = "", ""
    if isinstance(entry, dict):
        commit, digest = str(entry.get("commit", "")), str(entry.get("digest", ""))
    if not _DIGEST.fullmatch(digest) or (commit and not _COMMIT.fullmatch(commit)):
        raise ValueError(f"the entry of {name} has no valid commit and digest")
    return LockedPackage(commit, digest)


def tree_digest(folder: Path) -> str:
    """Return a digest of the names and contents of all files below a folder.

    Raises:
        OSError: a file cannot be read.

    """
    whole = hashlib.sha256()
    for name, path in sorted(_files(folder)):
        content = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
        sort = "link" if path.is_symlink() else "file"
        whole.update(f"{sort} {hashlib.sha256(content).hexdigest()} {name}\n".encode())
    return f"sha256:{whole.hexdigest()}"


def links_outside(folder: Path) -> Iterator[str]:
    """Name the links below a folder that lead out of it."""
    root = folder.resolve()
    for name, path in _files(folder):
        if path.is_symlink() and not path.resolve().is_relative_to(root):
            yield name


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for at, folders, files in os.walk(folder):
        linked = [each for each in folders if Path(at, each).is_symlink()]
        for name in (*files, *linked):
            path = Path(at, name)
            yield path.relative_to(folder).as_posix(), path
