"""Markdown of the manual as a man page, in the macros of man(7)."""

import re
from collections.abc import Iterator, Sequence

_INLINE = re.compile(
    r"`(?P<code>[^`]+)`|\*\*(?P<strong>[^*]+)\*\*|!?\[(?P<text>[^\]]*)\]\((?P<target>[^)]+)\)"
)
_ITEM = re.compile(r"(?:-|\d+\.) ")
_CELL_BORDER = re.compile(r"(?<!\\)\|")


def man_page(text: str, name: str, section: int, version: str) -> str:
    """Write a page whose first heading and paragraph are its title and summary."""
    lines = text.rstrip("\n").split("\n")
    summary = next((each for each in lines[1:] if each.strip()), "")
    head = (
        f'.TH "{_escape(name).upper()}" "{section}" "" "kplan {version}" "kplan"',
        ".ad l",  # addresses of pages are too long for even margins
        ".SH NAME",
        rf"{_escape(name)} \- {_inline(_sentence(summary))}",
        ".SH DESCRIPTION",
    )
    return "\n".join((*head, *_body(lines[1:]))) + "\n"


def _sentence(text: str) -> str:
    return text.partition(". ")[0].rstrip(".")


def _body(lines: Sequence[str]) -> Iterator[str]:
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("```"):
            end = lines.index("```", at + 1)
            yield from _code(lines[at + 1 : end])
            at = end + 1
        elif line.startswith("    "):
            end = _end_of_code(lines, at)
            yield from _code([each[4:] for each in lines[at:end]])
            at = end
        elif not line.strip():
            at += 1
        else:
            end = _end_of_block(lines, at)
            yield from _block(lines[at:end])
            at = end


def _end_of_code(lines: Sequence[str], at: int) -> int:
    end = at
    while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
        end += 1
    while not lines[end - 1].strip():
        end -= 1
    return end


def _end_of_block(lines: Sequence[str], at: int) -> int:
    end = at + 1
    while end < len(lines) and lines[end].strip() and not lines[end].startswith(("#", "```")):
        end += 1
    return end


def _code(lines: Sequence[str]) -> Iterator[str]:
    yield from (".PP", ".RS 4", ".nf", *(_plain(each) for each in lines), ".fi", ".RE")


def _block(lines: Sequence[str]) -> Iterator[str]:
    first = lines[0]
    if first.startswith("#"):
        level, _, title = first.partition(" ")
        yield f"{'.SH' if len(level) <= 2 else '.SS'} {_inline(title)}"  # noqa: PLR2004 - ## is a section
        yield from _block(lines[1:]) if lines[1:] else ()
    elif first.startswith("|"):
        yield from _table(lines)
    elif len(lines) > 1 and lines[1].startswith(":   "):
        text = " ".join((lines[1][4:], *(each.strip() for each in lines[2:])))
        yield from (".TP", _inline(first), _inline(text))
    elif _ITEM.match(first):
        yield from _items(lines)
    else:
        yield from (".PP", *(_inline(each) for each in lines))


def _items(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if marker := _ITEM.match(line):
            mark = r"\[u2022]" if line.startswith("-") else _escape(marker[0].strip())
            yield from (f'.IP "{mark}" 4', _inline(line[marker.end() :]))
        else:
            yield _inline(line.strip())


def _table(lines: Sequence[str]) -> Iterator[str]:
    """Write each row as its first cell and, below, the others."""
    for line in lines[2:]:
        first, *others = [each.strip() for each in _CELL_BORDER.split(line)[1:-1]]
        yield from (".TP", _inline(first), _inline("; ".join(each for each in others if each)))


def _inline(text: str) -> str:
    """Write code and emphasis in bold, and a link as its text."""
    written, at = [], 0
    for found in _INLINE.finditer(text):
        written.append(_escape(text[at : found.start()]))
        shown = found["code"] or found["strong"]
        written.append(rf"\fB{_escape(shown)}\fR" if shown else _escape(found["text"]))
        at = found.end()
    return _guard("".join((*written, _escape(text[at:]))))


def _plain(text: str) -> str:
    return _guard(_escape(text))


def _escape(text: str) -> str:
    return text.replace("\\", r"\e").replace("-", r"\-").replace('"', r"\(dq").replace("'", r"\(aq")


def _guard(line: str) -> str:
    """Keep a line that begins as a request from being one."""
    return rf"\&{line}" if line.startswith((".", "'")) else line
