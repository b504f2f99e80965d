"""File functions, functions on paths, and finding files by pattern for `fileset`."""

import posixpath
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from kplan.config.functions.encoding import digest, hexadecimal, in_base64
from kplan.config.functions.file_access import FileRefused
from kplan.config.functions.function import Function, Host, Parameter, Refusal, TemplateError, quote
from kplan.config.values.equality import make_set
from kplan.config.values.number import clean_text
from kplan.config.values.sensitive import mark, unmark
from kplan.config.values.value import STRING, Value


def clean_path(path: str) -> str:
    """Path without `.`, `..` and double slashes, computed from the text alone; `.` for none."""
    shortest = posixpath.normpath(path)
    return shortest[1:] if shortest.startswith("//") else shortest


def abspath(host: Host, path: str) -> str:
    """Absolute path; a relative one starts where kplan works."""
    return clean_path(posixpath.join(str(host.files.root.absolute()), path))


def basename(path: str) -> str:
    """Last part of a path."""
    if not path:
        return "."
    return posixpath.basename(path.rstrip("/")) or "/"


def dirname(path: str) -> str:
    """Path without its last part."""
    return clean_path(posixpath.dirname(path) or ".")


def pathexpand(path: str) -> str:
    """Path with the home folder in place of `~`."""
    if not path.startswith("~"):
        return path
    if path != "~" and not path.startswith("~/"):
        raise Refusal("cannot expand user-specific home dir")
    return clean_path(f"{Path.home()}/{path[2:]}")


_PATH: Final = Parameter("path", STRING)

PATHS: Final = (
    Function("abspath", (_PATH,), abspath, hosted=True),
    Function("basename", (_PATH,), basename),
    Function("dirname", (_PATH,), dirname),
    Function("pathexpand", (_PATH,), pathexpand),
)


MAX_FILES: Final = 100_000
"""Files and folders that one search may inspect."""

_MAX_STARS: Final = 3
"""Stars in a part that has choices too: each takes the search over all places once more."""

_STAR: Final = "[^/]*"
_ANY_NAME: Final = re.compile(".*", re.DOTALL)
_CLASS: Final = re.compile(r"\[(\^?)((?:\\.|[^\]\\])+)\]")


class GlobError(Exception):
    """A pattern that cannot be read, or a search that finds too much."""


def find_files(folder: Path, pattern: str) -> Iterator[str]:
    """Find the files whose path relative to the folder matches the pattern; folders do not match.

    `*` and `?` stay within one part of the path, `**` as a whole part means any number of
    folders, `[a-z]`, `[^a-z]` and `{one,other}` are choices within a part.

    Raises:
        GlobError: the pattern has a fault, or there are more than `MAX_FILES` files to inspect.

    """
    start, relative = (Path("/"), pattern[1:]) if pattern.startswith("/") else (folder, pattern)
    parts = [_compile_part(part) for part in relative.split("/")]
    prefix = "/" if pattern.startswith("/") else ""
    yield from _Search().below(start, prefix, parts)


_Part: TypeAlias = "str | re.Pattern[str]"
"""A name that means itself, `**`, or a pattern for names."""


def _compile_part(part: str) -> _Part:
    if part == "**" or not any(each in part for each in "*?[{\\"):
        return part
    written = _path_part_text(part)
    if "{" not in part:
        # What is between two stars is best found where it comes first: no way back is needed.
        *inner, last = written.split(_STAR)
        first, *between = inner or [last]
        written = first + "".join(f"(?>{_STAR}?{each})" for each in between)
        written += f"{_STAR}{last}" if inner else ""
    elif written.count(_STAR) > _MAX_STARS:
        raise GlobError(f"more than {_MAX_STARS} stars beside a choice in braces")
    return re.compile(written, re.DOTALL)


def _path_part_text(part: str) -> str:
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
    """Walks folders and counts the entries inspected."""

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
            yield from self._match_entry(folder / part, f"{prefix}{part}", rest)
        else:
            for name in filter(part.fullmatch, self._names(folder)):
                yield from self._match_entry(folder / name, f"{prefix}{name}", rest)

    def _match_entry(self, path: Path, written: str, rest: Sequence[_Part]) -> Iterator[str]:
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
            raise GlobError(f"more than {MAX_FILES} files and folders to search")
        return names


_NAME: Final = re.compile(r"[A-Za-z]\w*", re.ASCII)
_NOT_THERE: Final = (
    "no file exists at {}; this function works only with files that are distributed as part of "
    "the configuration source code, so if this file will be created by a resource in this "
    "configuration you must instead obtain this result from an attribute of that resource"
)
_NOT_TEXT: Final = (
    "contents of {} are not valid UTF-8; use the filebase64 function to obtain the Base64 "
    "encoded contents or the other file functions (e.g. filemd5, filesha256) to obtain file "
    "hashing results instead"
)


def _contents(host: Host, path: str) -> bytes:
    try:
        return host.files.read(path)
    except FileNotFoundError:
        raise Refusal(_NOT_THERE, quote(path), argument=0) from None
    except FileRefused as refused:
        raise Refusal("failed to read file: {}", str(refused), argument=0) from None


def _text(host: Host, path: str) -> str:
    try:
        return _contents(host, path).decode()
    except UnicodeDecodeError:
        raise Refusal(_NOT_TEXT, quote(path)) from None


def file(host: Host, path: str) -> str:
    """Text of a file."""
    return clean_text(_text(host, path))


def filebase64(host: Host, path: str) -> str:
    """Bytes of a file, in Base64."""
    return in_base64(_contents(host, path))


def fileexists(host: Host, path: str) -> bool:
    """Whether there is a file at a path; a folder there is an error."""
    try:
        mode = host.files.path(path).stat().st_mode
    except FileNotFoundError:
        return False
    except FileRefused as refused:
        raise Refusal("{}", str(refused)) from None
    except OSError:
        raise Refusal("failed to stat {}", quote(path)) from None
    if stat.S_ISDIR(mode):
        raise Refusal("{} is a directory, not a file", quote(path or "."))
    return stat.S_ISREG(mode)


def fileset(host: Host, path: str, pattern: str) -> Value:
    """Files below a folder that fit a pattern, relative to the folder."""
    whole = clean_path(posixpath.join(path, pattern))
    try:
        host.files.path(path)
        found = list(find_files(host.files.root, whole)) if pattern else []
        if host.files.within is not None:
            for each in found:
                host.files.path(each)
    except (FileRefused, GlobError) as error:
        raise Refusal("failed to glob pattern {}: {}", quote(whole), str(error)) from None
    names = (posixpath.relpath(each, clean_path(path)) for each in found)
    return make_set((clean_text(each) for each in names), STRING)


def _hash_file(host: Host, path: str, algorithm: str) -> bytes:
    try:
        return digest(algorithm, host.files.read(path))
    except FileNotFoundError:
        raise Refusal("open {}: no such file or directory", path) from None
    except FileRefused as refused:
        raise Refusal("{}", str(refused)) from None


def filemd5(host: Host, path: str) -> str:
    """MD5 of a file, in digits."""
    return hexadecimal(_hash_file(host, path, "md5"))


def filesha1(host: Host, path: str) -> str:
    """SHA-1 of a file, in digits."""
    return hexadecimal(_hash_file(host, path, "sha1"))


def filesha256(host: Host, path: str) -> str:
    """SHA-256 of a file, in digits."""
    return hexadecimal(_hash_file(host, path, "sha256"))


def filesha512(host: Host, path: str) -> str:
    """SHA-512 of a file, in digits."""
    return hexadecimal(_hash_file(host, path, "sha512"))


def filebase64sha256(host: Host, path: str) -> str:
    """SHA-256 of a file, in Base64."""
    return in_base64(_hash_file(host, path, "sha256"))


def filebase64sha512(host: Host, path: str) -> str:
    """SHA-512 of a file, in Base64."""
    return in_base64(_hash_file(host, path, "sha512"))


def templatefile(host: Host, path: str, variables: Value) -> Value:
    """Value of a template in a file."""
    template = _text(host, path)
    given, marked = _variables(variables)
    _check_not_nested(host, "templatefile")
    return mark(_render_template_file(host, template, path, given), sensitive=marked)


def templatestring(host: Host, template: str, variables: Value) -> Value:
    """Value of a template in a string."""
    given, marked = _variables(variables)
    _check_not_nested(host, "templatestring")
    return mark(
        _render_template_file(host, template, "<templatestring argument>", given), sensitive=marked
    )


def _check_not_nested(host: Host, name: str) -> None:
    if host.in_template:
        raise Refusal(f"cannot recursively call {name} from inside another template function")


def _variables(value: Value) -> tuple[dict[str, Value], bool]:
    given, marked = unmark(value)
    if not isinstance(given, dict):
        raise Refusal("invalid vars value: must be a map", argument=1)
    for name in sorted(given):
        if _NAME.fullmatch(name) is None:
            raise Refusal(
                "invalid template variable name {}: must start with a letter, followed by zero "
                "or more letters, digits, and underscores",
                quote(name),
                argument=1,
            )
    return given, marked


def _render_template_file(
    host: Host, template: str, name: str, variables: dict[str, Value]
) -> Value:
    try:
        return host.render(template, name, variables)
    except TemplateError as error:
        argument = 1 if error.is_missing else None
        raise Refusal("{}", str(error), argument=argument) from None


_VARS: Final = Parameter("vars", marked=True)

FILES: Final = (
    Function("file", (_PATH,), file, hosted=True),
    Function("filebase64", (_PATH,), filebase64, hosted=True),
    Function("filebase64sha256", (_PATH,), filebase64sha256, hosted=True),
    Function("filebase64sha512", (_PATH,), filebase64sha512, hosted=True),
    Function("fileexists", (_PATH,), fileexists, hosted=True),
    Function("filemd5", (_PATH,), filemd5, hosted=True),
    Function("fileset", (_PATH, Parameter("pattern", STRING)), fileset, hosted=True),
    Function("filesha1", (_PATH,), filesha1, hosted=True),
    Function("filesha256", (_PATH,), filesha256, hosted=True),
    Function("filesha512", (_PATH,), filesha512, hosted=True),
    Function("templatefile", (_PATH, _VARS), templatefile, hosted=True),
    Function("templatestring", (Parameter("template", STRING), _VARS), templatestring, hosted=True),
)
