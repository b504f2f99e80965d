"""Syntax trees kept from one run to the next, so that only what changed is parsed.

For each source file there is one cache file, named after its path. It holds the tree of every
top-level item with the digest of its text: a file that has not changed is not even scanned, in one
that has, items whose text is known are not parsed. A cache file that cannot be read, was made by
another version or fails its checksum is as good as none.
"""

import hashlib
import io
import os
import pickle
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from kplan.config.syntax import tree as ast
from kplan.config.syntax.cachefolder import parser_stamp

TREE_VERSION = 3
"""Raised when the tree, or what a text is parsed to, changes."""

MAX_FILES = 1000
"""Cache files that are kept; the oldest make room."""

_DIGEST_BYTES = 32
_SUFFIX = ".trees"


class Kept(NamedTuple):
    """One top-level item: where it stands in the file, its digest, its tree."""

    start: int
    end: int
    digest: bytes
    content: ast.Block | ast.Attribute


@dataclass(frozen=True, slots=True)
class Trees:
    """What the cache knows of a file: the digest of its text then, and its items."""

    digest: bytes = b""
    items: tuple[Kept, ...] = ()

    def by_digest(self) -> Mapping[bytes, ast.Block | ast.Attribute]:
        """Give the trees by the digest of their text."""
        return {each.digest: each.content for each in self.items}


def digest_of(text: str) -> bytes:
    """Compute the digest that stands for a text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _stamp() -> bytes:
    parts = ("kplan", TREE_VERSION, *sys.version_info[:2], parser_stamp())
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class TreeCache:
    """The cache in a folder that belongs to the user alone."""

    folder: Path
    _stamp: bytes = field(default_factory=_stamp)

    def read(self, path: Path) -> Trees:
        """Give what is known of a source file."""
        try:
            raw = self._file(path).read_bytes()
        except OSError:
            return Trees()
        head = len(self._stamp) + _DIGEST_BYTES
        stamp, checksum, payload = raw[: len(self._stamp)], raw[len(self._stamp) : head], raw[head:]
        if stamp != self._stamp or checksum != _checksum(payload):
            return Trees()
        try:
            digest, items = _Unpickler(io.BytesIO(payload)).load()
        except (pickle.UnpicklingError, ValueError, TypeError, EOFError, AttributeError):
            return Trees()
        return Trees(digest, items)

    def write(self, path: Path, digest: bytes, items: Sequence[Kept]) -> None:
        """Keep the items of a source file; what cannot be written is not kept."""
        payload = pickle.dumps((digest, tuple(items)), protocol=5)
        with suppress(OSError):
            self._make_room()
            descriptor, name = tempfile.mkstemp(dir=self.folder, suffix=".new")
            with os.fdopen(descriptor, "wb") as file:
                file.write(self._stamp + _checksum(payload) + payload)
            Path(name).replace(self._file(path))

    def _file(self, path: Path) -> Path:
        name = hashlib.blake2b(os.fsencode(path.absolute()), digest_size=16).hexdigest()
        return self.folder / f"{name}{_SUFFIX}"

    def _make_room(self) -> None:
        files = [each for each in self.folder.iterdir() if each.suffix in {_SUFFIX, ".new"}]
        if len(files) >= MAX_FILES:
            files.sort(key=lambda each: each.stat().st_mtime)
            for old in files[: len(files) - MAX_FILES + 1]:
                old.unlink(missing_ok=True)


def _checksum(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=_DIGEST_BYTES).digest()


class _Unpickler(pickle.Unpickler):
    """Reads syntax trees and nothing else."""

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 - as declared by pickle
        """Allow the nodes of trees, and exact numbers."""
        if module == ast.__name__:
            return getattr(ast, name)
        if module == __name__ and name == Kept.__name__:
            return Kept
        if (module, name) == ("fractions", "Fraction"):
            return Fraction
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a syntax tree")
