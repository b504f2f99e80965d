"""Disks that are full."""

import contextlib
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def files_limited_to(size_bytes: int) -> Iterator[None]:
    """Let every write beyond the size fail, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextlib.contextmanager
def small_disk(folder: Path, size_bytes: int) -> Iterator[None]:
    folder.mkdir()
    options = ["-o", f"size={size_bytes}"]
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", *options, "none", folder], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("mounting a small disk is not allowed here")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)  # a Java may not have closed its files
