"""Places of files as Spark spells them: URLs of file systems, folders of this machine, patterns."""

import re
from pathlib import Path

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_AUTHORITY = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]+://[^/]*)?")
_GLOB_CHARACTERS = re.compile(r"([\\*?\[\]{}])")
_LOCAL_URL = re.compile(r"file:(?://(?=/)|(?=/(?!/)))")


def is_url(place: str) -> bool:
    """Whether a place names its file system, as s3a://bucket/a and file:/a do."""
    return bool(_URL.match(place))


def local_path(place: str) -> Path | None:
    """Return the path of a place on this machine; None is that it is elsewhere."""
    path = _LOCAL_URL.sub("", place, count=1)
    return None if is_url(path) else Path(path)


def escape_glob(place: str) -> str:
    """Return the pattern of Hadoop's file systems that fits this place alone."""
    start = _AUTHORITY.match(place)
    path = start.end() if start else 0
    return place[:path] + _GLOB_CHARACTERS.sub(r"\\\1", place[path:])
