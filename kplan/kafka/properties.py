"""Java properties files, and the JAAS line in them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_NAMED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_KEY_END = re.compile(r"(?<!\\)(?:\\\\)*[=:\s]")


@dataclass(frozen=True, slots=True)
class Property:
    """One entry, with the number of the line on which it begins."""

    key: str
    value: str = field(repr=False)
    line: int


def properties(text: str) -> tuple[Property, ...]:
    """Read a file as `java.util.Properties.load` does; of a key given twice both are kept."""
    return tuple(_property(line, number) for line, number in _logical_lines(text))


def _logical_lines(text: str) -> Iterator[tuple[str, int]]:
    """Join lines that end in an odd number of backslashes with the next; skip comments."""
    pending: str | None = None
    began = 0
    for number, natural in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
        line = natural.lstrip(" \t\f")
        if pending is None:
            if not line or line[0] in "#!":
                continue
            pending, began = "", number
        if (len(line) - len(line.rstrip("\\"))) % 2:
            pending += line[:-1]
        else:
            yield pending + line, began
            pending = None
    if pending:
        yield pending, began


def _property(line: str, number: int) -> Property:
    end = _KEY_END.search(line)
    if end is None:
        return Property(_plain(line), "", number)
    rest = line[end.end() - 1 :].lstrip(" \t\f")
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(" \t\f")
    return Property(_plain(line[: end.end() - 1]), _plain(rest), number)


def _plain(escaped: str) -> str:
    def character(match: re.Match[str]) -> str:
        code = match[1]
        if len(code) > 1:
            return chr(int(code[1:], 16))
        return _NAMED.get(code, code)

    plain = _ESCAPE.sub(character, escaped)
    # Characters beyond 16 bits are written as two escapes.
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_LOGIN = re.compile(
    r"^\s*([\w.$]+)\s+(?:required|requisite|sufficient|optional)\b(.*?);?\s*$", re.DOTALL
)
_OPTION = re.compile(r'([\w.\-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))')


@dataclass(frozen=True, slots=True)
class Login:
    """A JAAS login: the class of its module, and its options."""

    module: str
    options: Mapping[str, str] = field(repr=False)


def jaas_login(line: str) -> Login | None:
    """Read the value of `sasl.jaas.config`; None where it cannot be read."""
    match = _LOGIN.match(line)
    if match is None:
        return None
    options = {
        name: re.sub(r"\\(.)", r"\1", quoted) if quoted else bare
        for name, quoted, bare in _OPTION.findall(match[2])
    }
    return Login(match[1].rpartition(".")[2], options)
