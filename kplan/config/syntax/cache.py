"""Syntax trees kept from one run to the next, so that only what changed is parsed.

For each source file there is one cache file, named after its path. It holds the tree of every
top-level item with the digest of its text: a file that has not changed is not even scanned, in one
that has, items whose text is known are not parsed. A cache file that cannot be read, was made by
another version or fails its checksum is as good as none.
"""

import io
import os
import pickle
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from kplan.config.syntax import tree as ast
from kplan.config.syntax.cachefolder import parser_stamp
from kplan.config.syntax.sealed import Sealed, stamp_of

TREE_VERSION = 3
"""Raised when the tree, or what a text is parsed to, changes."""

MAX_FILES = 1000
"""Cache files that are kept; the oldest make room."""

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


class TreeCache:
    """The cache in a folder that belongs to the user alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        stamp = stamp_of("kplan", TREE_VERSION, *sys.version_info[:2], parser_stamp())
        self._files = Sealed(folder, _SUFFIX, MAX_FILES, stamp)

    def read(self, path: Path) -> Trees:
        """Give what is known of a source file."""
        payload = self._files.read(os.fsdecode(path.absolute()))
        if not payload:
            return Trees()
        try:
            digest, items = _Unpickler(io.BytesIO(payload)).load()
        except (pickle.UnpicklingError, ValueError, TypeError, EOFError, AttributeError):
            return Trees()
        return Trees(digest, items)

    def write(self, path: Path, digest: bytes, items: Sequence[Kept]) -> None:
        """Keep the items of a source file."""
        payload = pickle.dumps((digest, tuple(items)), protocol=5)
        self._files.write(payload, os.fsdecode(path.absolute()))


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
