"""Configurations kept as they were evaluated, so that nothing is worked out twice.

A large configuration from which no file has changed since the last run, with the same values given
to its variables, is taken from the cache. Whatever it came from is read again and must have the
same digest: its files and folders, files of variables, and files that functions read. Nothing is
kept that holds a secret, depends on a cluster or on which files there are, or has an error. A file
that cannot be read, was made by another version or fails its checksum is as good as none.
"""

import io
import os
import pickle
import sys
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from kplan.config.blueprint import Ranges
from kplan.config.configuration import Configuration
from kplan.config.files import configuration_files, read_text
from kplan.config.functions.access import FileAccess, FileRefused
from kplan.config.given import PREFIXES, variable_files
from kplan.config.inputs import Inputs
from kplan.config.opening import Root, own_folders
from kplan.config.syntax.cachefolder import cache_folder, parser_stamp
from kplan.config.syntax.sealed import Sealed, digest_of, stamp_of
from kplan.config.syntax.source import Source
from kplan.kinds.base import ResourceKind
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import has_errors

LEAST = 500
"""Resources below which evaluating takes no time worth a file."""

MOST = 20
"""Configurations that are kept; the oldest make room."""

_HARMLESS = frozenset(
    {"bootstrap_servers", "bootstrap_controllers", "tls_enabled", "skip_tls_verify", "timeout"}
)
"""Arguments of connections that are no secret, however they are written."""

_Digests = tuple[tuple[str, bytes], ...]
_PLAIN = (type, Enum, frozenset, Fraction)


@dataclass(frozen=True, slots=True)
class Kept:
    """An evaluated configuration, its sources left out, and what it came from."""

    program: bytes
    folders: tuple[str, ...]
    sources: _Digests
    reads: _Digests
    configuration: bytes


class Keeping:
    """What is kept of one configuration: a folder with what is given to it."""

    def __init__(
        self, cache: Path, folder: Path, inputs: Inputs, kinds: Sequence[ResourceKind]
    ) -> None:
        self._files = Sealed(cache, ".evaluated", MOST, stamp_of(sys.version))
        self._folder = folder
        self._inputs = inputs
        self._name = tuple(map(str, _given(folder, inputs, kinds)))

    def read(self) -> Configuration | None:
        """Give the configuration, if all that it came from is as it was."""
        kept = _loaded(self._files.read(*self._name), {})
        if not isinstance(kept, Kept) or kept.program != stamp_of(*_program()):
            return None
        texts = self._texts(kept.folders)
        if texts is None or _digests(texts) != kept.sources or not self._are_same(kept.reads):
            return None
        found = _loaded(kept.configuration, {name: Source(name, texts[name]) for name in texts})
        return replace(found, sources=texts) if isinstance(found, Configuration) else None

    def write(self, root: Root, found: Configuration) -> None:
        """Keep a configuration that may be kept."""
        reads = root.run.host.files.reads
        if not _may_be_kept(found) or None in reads.values():
            return
        try:
            content = _dumped(replace(found, sources={}))
        except pickle.PicklingError:
            return
        digests = tuple((path, digest) for path, digest in sorted(reads.items()) if digest)
        program, folders = stamp_of(*_program()), root.run.library.folders
        kept = Kept(program, folders, _digests(root.sources), digests, content)
        self._files.write(_dumped(kept), *self._name)

    def _texts(self, folders: Sequence[str]) -> dict[str, str] | None:
        """Read all files anew, by the names they are shown under."""
        found: dict[str, str] = {}
        try:
            for path, shown in self._paths(folders):
                text = read_text(path, shown)
                if not isinstance(text, str):
                    return None
                found[shown] = text
        except OSError:
            return None
        return found

    def _paths(self, folders: Sequence[str]) -> Iterator[tuple[Path, str]]:
        for inner in folders:
            for path in configuration_files(self._folder / inner):
                yield path, path.name if inner == "." else f"{inner}/{path.name}"
        yield from variable_files(self._folder, self._inputs)

    def _are_same(self, reads: _Digests) -> bool:
        access = FileAccess(self._folder, own_folders())
        try:
            return all(access.digest(path) == digest for path, digest in reads)
        except (FileNotFoundError, FileRefused):
            return False


def keeping(folder: Path, inputs: Inputs, kinds: Sequence[ResourceKind]) -> Keeping | None:
    """Give what is kept of a configuration, if there is a place where something could be."""
    cache = cache_folder(inputs.environ)
    return Keeping(cache, folder, inputs, kinds) if cache else None


def _program() -> Iterator[object]:
    """Tell versions of kplan apart, those between two releases too, and of its parser."""
    yield parser_stamp()
    spec = find_spec("kplan")
    for place in spec.submodule_search_locations or () if spec else ():
        for room in ("config", "kinds", "cluster", "model"):
            for path in sorted(Path(place, room).rglob("*.py")):
                found = path.stat()
                yield path.name, found.st_size, found.st_mtime_ns


def _given(folder: Path, inputs: Inputs, kinds: Sequence[ResourceKind]) -> Iterator[object]:
    """Name what is given to a configuration from outside of its files."""
    yield from (folder.absolute(), Path.cwd(), os.environ.get("HOME"), inputs.workspace)
    yield inputs.skips_foreign
    yield from (inputs.variables, sorted(inputs.values.items()), [kind.name for kind in kinds])
    yield sorted(each for each in inputs.environ.items() if each[0].startswith(PREFIXES))


def _may_be_kept(found: Configuration) -> bool:
    has_secret = (
        any(each.is_sensitive for each in found.variables.values())
        or any(each.sensitive for each in found.outputs)
        or any(each.sensitive for each in found.resources)
        or any(each.arguments.keys() - _HARMLESS for each in found.providers)
    )
    is_whole = not has_errors(found.diagnostics) and not found.lacks_data
    return is_whole and not has_secret and not found.policies and len(found.resources) >= LEAST


def _digests(texts: Mapping[str, str]) -> _Digests:
    return tuple((name, digest_of(texts[name])) for name in sorted(texts))


# ---- files


class _Pickler(pickle.Pickler):
    """Writes kplan's own values: a dataclass as its fields, a source as its name."""

    def persistent_id(self, value: object) -> str | None:
        return value.name if type(value) is Source and value.is_file else None

    def reducer_override(self, value: Any) -> Any:  # noqa: ANN401 - as declared by pickle
        if isinstance(value, _PLAIN):
            return NotImplemented
        if type(value) is Ranges:
            return Ranges, value.parts
        names = _names(cast("Hashable", type(value)))
        return type(value), tuple([getattr(value, name) for name in names])


@cache
def _names(key: Hashable) -> tuple[str, ...]:
    of = cast("type[Any]", key)  # mypy takes no class for hashable
    if not is_dataclass(of):
        raise pickle.PicklingError(f"a {of.__name__} is not kept")
    return tuple(each.name for each in fields(of))


class _Unpickler(pickle.Unpickler):
    """Reads what `_Pickler` writes and nothing else."""

    def __init__(self, payload: bytes, sources: dict[str, Source]) -> None:
        super().__init__(io.BytesIO(payload))
        self._sources = sources

    def persistent_load(self, name: object) -> Source:
        return self._sources[str(name)]

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 - as declared by pickle
        if (module, name) in {("builtins", "frozenset"), ("fractions", "Fraction")}:
            return super().find_class(module, name)
        found = getattr(import_module(module), name, None) if module.startswith("kplan.") else None
        if isinstance(found, type) and (is_dataclass(found) or issubclass(found, Enum | Ranges)):
            return found
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a configuration")


def _dumped(value: object) -> bytes:
    file = io.BytesIO()
    _Pickler(file, protocol=5).dump(value)
    return file.getvalue()


def _loaded(payload: bytes, sources: dict[str, Source]) -> object:
    try:
        return _Unpickler(payload, sources).load() if payload else None
    except (pickle.UnpicklingError, ValueError, TypeError, EOFError, AttributeError, LookupError):
        return None
