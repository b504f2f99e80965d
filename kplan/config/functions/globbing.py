"""Finding files by pattern, for `fileset`."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TypeAlias

MAX_FILES: Final = 100_000
"""Files and folders that one search may look at."""

_MAX_STARS: Final = 3
"""Stars in a part that has choices too: each takes the search over all places once more."""

_STAR: Final = "[^/]*"
_ANY_NAME: Final = re.compile(".*", re.DOTALL)
_CLASS: Final = re.compile(r"\[(\^?)((?:\\.|[^\]\\])+)\]")


class GlobError(Exception):
    """A pattern that cannot be read, or a search that finds too much."""


def find_files(folder: Path, pattern: str) -> Iterator[str]:
    """Find the files whose path, relative to the folder, fits the pattern; folders do not count.

    `*` and `?` stay within one part of the path, `**` as a whole part stands for any number of
    folders, `[a-z]`, `[^a-z]` and `{one,other}` are choices within a part.

    Raises:
        GlobError: the pattern has a fault, or there are more than `MAX_FILES` files to look at.

    """
    start, relative = (Path("/"), pattern[1:]) if pattern.startswith("/") else (folder, pattern)
    parts = [_compiled(part) for part in relative.split("/")]
    prefix = "/" if pattern.startswith("/") else ""
    yield from _Search().below(start, prefix, parts)


_Part: TypeAlias = "str | re.Pattern[str]"
"""A name that stands for itself, `**`, or a pattern for names."""


def _compiled(part: str) -> _Part:
    if part == "**" or not any(each in part for each in "*?[{\\"):
        return part
    written = _written(part)
    if "{" not in part:
        # What stands between two stars is best found where it comes first: no way back is needed.
        *inner, last = written.split(_STAR)
        first, *between = inner or [last]
        written = first + "".join(f"(?>{_STAR}?{each})" for each in between)
        written += f"{_STAR}{last}" if inner else ""
    elif written.count(_STAR) > _MAX_STARS:
        raise GlobError(f"more than {_MAX_STARS} stars beside a choice in braces")
    return re.compile(written, re.DOTALL)


def _written(part: str) -> str:
    result: list[str] = []
    position = depth = 0
    while position < len(part):
        character = part[position]
        piece, used = _piece(part, position, character, depth)
        depth += (character == "{") - (character == "}" and depth > 0)
        result.append(piece)
        position += used
    if depth:
        raise GlobError("syntax error in pattern")
    return "".join(result)


def _piece(part: str, position: int, character: str, depth: int) -> tuple[str, int]:
    if character == "*":
        return _STAR, 1
    if character == "?":
        return "[^/]", 1
    if character == "[":
        return _choice(part, position)
    if character == "\\":
        return re.escape(part[position + 1 : position + 2]), 2
    if character == "{":
        return "(?:", 1
    if depth and character in ",}":
        return "|" if character == "," else ")", 1
    return re.escape(character), 1


def _choice(part: str, position: int) -> tuple[str, int]:
    match = _CLASS.match(part, position)
    if match is None:
        raise GlobError("syntax error in pattern")
    ranges = re.sub(r"\\(.)|([\[&~|])", r"\\\1\2", match[2])
    try:
        re.compile(f"[{ranges}]")
    except re.error:
        raise GlobError("syntax error in pattern") from None
    return f"[{match[1]}{ranges}]", len(match[0])


class _Search:
    """Walks folders, and counts what it looks at."""

    def __init__(self) -> None:
        self._seen = 0

    def below(self, folder: Path, prefix: str, parts: Sequence[_Part]) -> Iterator[str]:
        """Find the files below a folder that fit the parts, each with the prefix in front."""
        part, rest = parts[0], parts[1:]
        if part == "**":
            yield from self.below(folder, prefix, rest or [_ANY_NAME])
            for name in self._names(folder):
                if (folder / name).is_dir():
                    yield from self.below(folder / name, f"{prefix}{name}/", parts)
        elif isinstance(part, str):
            yield from self._fitting(folder / part, f"{prefix}{part}", rest)
        else:
            for name in filter(part.fullmatch, self._names(folder)):
                yield from self._fitting(folder / name, f"{prefix}{name}", rest)

    def _fitting(self, path: Path, written: str, rest: Sequence[_Part]) -> Iterator[str]:
        if rest and path.is_dir():
            yield from self.below(path, f"{written}/", rest)
        elif not rest and path.is_file():
            yield written

    def _names(self, folder: Path) -> list[str]:
        try:
            names = sorted(each.name for each in folder.iterdir())
        except OSError:
            return []
        self._seen += len(names)
        if self._seen > MAX_FILES:
            raise GlobError(f"more than {MAX_FILES} files and folders to look at")
        return names
