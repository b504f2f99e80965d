"""Fetch archives of modules over HTTPS, and unpack them within bounds."""

import io
import tarfile
import urllib.error
import urllib.request
import zipfile
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from kplan.config.diagnostic import OperandError
from kplan.config.packages.source import PackageSource

_MAX_BYTES: Final = 256 * 2**20
_TIMEOUT_S: Final = 60
_UPDATE = "Name another archive, or fetch the module by git."


def fetch_archive(source: PackageSource, into: Path) -> None:
    """Write the files of an archive into a new folder.

    Raises:
        OperandError: the server does not give it, it is none, or its files lead elsewhere.

    """
    url, data = source.url, b""
    parts = urlsplit(url)
    kept = [each for each in parse_qsl(parts.query) if each[0] not in {"archive", "checksum"}]
    url = urlunsplit(parts._replace(query=urlencode(kept)))
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:  # noqa: S310 - checked
            if urlsplit(answer.url).scheme != parts.scheme:
                raise OperandError("KP504", f"{source.address} leads to another protocol.")
            data = answer.read(_MAX_BYTES + 1)
    except (OSError, ValueError) as failure:
        reason = getattr(failure, "reason", failure)
        raise OperandError("KP504", f"{source.address} cannot be read: {reason}.") from None
    if len(data) > _MAX_BYTES:
        raise OperandError("KP504", f"{source.address} is larger than {_MAX_BYTES:,} bytes.")
    into.mkdir(parents=True)
    try:
        _unpack(data, into)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, ValueError) as fault:
        raise OperandError(
            "KP504", f"{source.address} cannot be unpacked: {fault}.", _UPDATE
        ) from None


def _unpack(data: bytes, into: Path) -> None:
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as found:
            _check_size(sum(each.file_size for each in found.infolist()))
            for each in found.infolist():
                _check_name(each.filename)
            found.extractall(into)  # noqa: S202 - names and size were checked
        return
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:*") as found:
        members = found.getmembers()
        _check_size(sum(each.size for each in members))
        found.extractall(into, members, filter="data")


def _check_size(size: int) -> None:
    if size > _MAX_BYTES:
        raise ValueError(f"its files have more than {_MAX_BYTES:,} bytes")


def _check_name(name: str) -> None:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{name} leads out of the archive")
