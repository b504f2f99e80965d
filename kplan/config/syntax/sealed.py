"""Cache files: written whole or not at all, and believed only if they are as they were written."""

import hashlib
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import field
from pathlib import Path

from kplan.model.dataclass import dataclass

_DIGEST_BYTES = 32
_STAMP_BYTES = 16
_NEW = ".new"


def digest_of(text: str) -> bytes:
    """Compute the digest that stands for a text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def stamp_of(*parts: object) -> bytes:
    """Compute the stamp of what made a file; a file of another stamp is as good as none."""
    return hashlib.blake2b(repr(parts).encode(), digest_size=_STAMP_BYTES).digest()


@dataclass(frozen=True, slots=True)
class Sealed:
    """Files of one sort in a folder that belongs to the user alone; the oldest make room."""

    folder: Path
    suffix: str
    most: int
    stamp: bytes = field(repr=False)

    def read(self, *name: str) -> bytes:
        """Give what was written under a name; nothing where there is none, or it is not whole."""
        try:
            raw = self._file(name).read_bytes()
        except OSError:
            return b""
        head = _STAMP_BYTES + _DIGEST_BYTES
        is_sound = raw[:head] == self.stamp + _checksum(raw[head:])
        return raw[head:] if is_sound else b""

    def write(self, payload: bytes, *name: str) -> None:
        """Keep something under a name; what cannot be written is not kept."""
        with suppress(OSError):
            self._make_room()
            descriptor, new = tempfile.mkstemp(dir=self.folder, suffix=_NEW)
            with os.fdopen(descriptor, "wb") as file:
                file.write(self.stamp + _checksum(payload) + payload)
            Path(new).replace(self._file(name))

    def _file(self, name: Iterable[str]) -> Path:
        told = "\0".join(name).encode("utf-8", "surrogateescape")
        return self.folder / f"{hashlib.blake2b(told, digest_size=16).hexdigest()}{self.suffix}"

    def _make_room(self) -> None:
        files = [each for each in self.folder.iterdir() if each.suffix in {self.suffix, _NEW}]
        if len(files) >= self.most:
            files.sort(key=lambda each: each.stat().st_mtime)
            for old in files[: len(files) - self.most + 1]:
                old.unlink(missing_ok=True)


def _checksum(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=_DIGEST_BYTES).digest()
