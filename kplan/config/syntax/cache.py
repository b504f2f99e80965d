"""Syntax trees kept from one run to the next, so that only what changed is parsed.

For each source file there is one cache file, named after its path. It holds the tree of every
top-level item that had to be parsed, by the digest of its text; those that are cast in a mould are
made faster than read. A cache file that cannot be read, was made by another version or fails its
checksum is as good as none.
"""

import io
import os
import pickle
import sys
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from kplan.config.syntax import tree as ast
from kplan.config.syntax.cachefolder import parser_stamp
from kplan.config.syntax.mould import Content
from kplan.config.syntax.sealed import Sealed, stamp_of

TREE_VERSION = 4
"""Raised when the tree, or what a text is parsed to, changes."""

MAX_FILES = 1000
"""Cache files that are kept; the oldest make room."""

_SUFFIX = ".trees"


class TreeCache:
    """The cache in a folder that belongs to the user alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        stamp = stamp_of("kplan", TREE_VERSION, *sys.version_info[:2], parser_stamp())
        self._files = Sealed(folder, _SUFFIX, MAX_FILES, stamp)

    def read(self, path: Path) -> Mapping[bytes, Content]:
        """Give what is known of a source file."""
        payload = self._files.read(os.fsdecode(path.absolute()))
        try:
            found = _Unpickler(io.BytesIO(payload)).load() if payload else {}
        except (pickle.UnpicklingError, ValueError, TypeError, EOFError, AttributeError):
            return {}
        return found if isinstance(found, dict) else {}

    def write(self, path: Path, trees: Mapping[bytes, Content]) -> None:
        """Keep the trees of a source file."""
        self._files.write(pickle.dumps(dict(trees), protocol=5), os.fsdecode(path.absolute()))


class _Unpickler(pickle.Unpickler):
    """Reads syntax trees and nothing else."""

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 - as declared by pickle
        """Allow the nodes of trees, and exact numbers."""
        if module == ast.__name__:
            return getattr(ast, name)
        if (module, name) == ("fractions", "Fraction"):
            return Fraction
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a syntax tree")
