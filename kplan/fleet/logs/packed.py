"""What compressed log files hold: gzip, bzip2 and Zstandard, also what is before a damage."""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from typing import BinaryIO, cast

BLOCK_BYTES = 4 << 20
_PACKED_SUFFIXES = (".gz", ".bz2", ".zst")
_PACKED_ERRORS = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)
_STREAM_BYTES = 8 << 10
"""What Arrow is asked for at once: of a damaged block it gives nothing."""


def is_packed(path: str) -> bool:
    """Whether a file is compressed, by its name."""
    return path.endswith(_PACKED_SUFFIXES)


def decompress(path: str, file: BinaryIO, failures: list[str]) -> Iterator[bytes]:
    """Return what a compressed file holds, in blocks, and add to `failures` why it ends early.

    The file is read from where it is, and stays open. Raises OSError where it cannot be read.
    """
    try:
        stream = _unpack(path, file)
        while block := stream.read(BLOCK_BYTES):
            yield block
    except _PACKED_ERRORS as failure:
        failures.append(str(failure).rstrip("."))
    except OSError as failure:  # bz2 and Arrow have none of their own
        if failure.errno is not None:
            raise
        failures.append(str(failure).rstrip("."))


def _unpack(path: str, file: BinaryIO) -> BinaryIO:
    if path.endswith(".gz"):
        return cast("BinaryIO", _Gzip(file))
    if path.endswith(".bz2"):
        return cast("BinaryIO", bz2.open(file))
    return cast("BinaryIO", _Zstandard(file))


class _Gzip(io.RawIOBase):
    """What a gzip file holds; unlike Python's own it gives all that is before a damage."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._codec = zlib.decompressobj(31)
        self._is_begun = False

    def read(self, size: int = -1) -> bytes:
        """Return some bytes, none at the end; raises EOFError where the file is cut."""
        del size  # as many as a block of the file holds
        while True:
            block = self._codec.unconsumed_tail or self._codec.unused_data
            block = block or self._file.read(BLOCK_BYTES // 8)
            if self._codec.eof:  # files that were put together, or filled up
                self._codec, self._is_begun = zlib.decompressobj(31), False
                block = block.lstrip(b"\0")
            if not block:
                if self._is_begun:
                    raise EOFError("it ends before it is whole")
                return b""
            self._is_begun = True
            if found := self._codec.decompress(block, BLOCK_BYTES):
                return found


class _Zstandard(io.RawIOBase):
    """What a Zstandard file holds; unlike Arrow's own stream it gives what is before a damage."""

    def __init__(self, file: BinaryIO) -> None:
        import pyarrow as pa  # noqa: PLC0415 - on the executor

        self._stream = pa.CompressedInputStream(_Lent(file), "zstd")
        self._failure: OSError | None = None

    def read(self, size: int = -1) -> bytes:
        """Return some bytes, none at the end; raises OSError where the file is damaged."""
        held: list[bytes] = []
        try:
            if self._failure is not None:
                raise self._failure
            while size > 0 and (block := self._stream.read(min(size, _STREAM_BYTES))):
                held.append(block)
                size -= len(block)
        except OSError as failure:
            if not held or failure.errno is not None:
                raise
            self._failure = failure
        return b"".join(held)


class _Lent(io.RawIOBase):
    """A file that stays open for its owner: Arrow closes what it has read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def readable(self) -> bool:
        """Say that it is read, as Arrow asks."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read some bytes."""
        return self._file.read(size)
