"""Moulds: items that differ only in names, texts and numbers are cast, not parsed.

A mould is made of an item that was parsed and its tree. What may differ (the text of labels and
strings, whole numbers, the steps of references) becomes a group of a regular expression; all else,
down to the blanks, is as it was. An item that fits gets its tree from the groups: the parser could
come to no other.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

from kplan.config.syntax import tree as ast
from kplan.config.syntax.casting import Caster

Content: TypeAlias = ast.Block | ast.Attribute

LONGEST = 5_000
"""Characters; longer items are hardly ever alike."""

MOST = 64
"""Moulds that are kept; a text is held against each of them before it is parsed."""

_CHARACTER = r"[ !#&-\[\]-~]"  # no quote and no escape, no template and no control character
_GROUPS = {
    "string": f"({_CHARACTER}*+)",
    "piece": f"({_CHARACTER}++)",
    "number": r"(0|[1-9][0-9]{0,14}+)",
    "step": r"([A-Za-z_][A-Za-z0-9_-]*+)",
}
_LINE_END = r"(?=[ \t\r]*+(?:\n|\Z))"
_CHAIN = re.compile(
    r"(?!(?:null|true|false)\.)[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)+", re.ASCII
).fullmatch


class Hole(NamedTuple):
    """A span of the item, from its start, that may hold another text of the same kind."""

    start: int
    end: int
    kind: str


class Mould:
    """What items of one form have in common."""

    def __init__(self, pattern: str, holes: Sequence[Hole], content: Content) -> None:
        self._match = re.compile(pattern).match
        self._numbers = tuple(at for at, hole in enumerate(holes) if hole.kind == "number")
        self._caster = Caster([(each.start, each.end) for each in holes], content)

    def cast(self, text: str, start: int) -> tuple[int, Content] | None:
        """Give the offset behind the item that begins at `start`, and its tree, if it fits."""
        match = self._match(text, start)
        if match is None:
            return None
        texts: list[Any] = list(match.groups())
        for at in self._numbers:
            texts[at] = int(texts[at])
        return match.end(), self._caster.cast(texts, [end - start for _, end in match.regs[1:]])


class Moulds:
    """Moulds of the items seen so far, the one used last before the others."""

    def __init__(self) -> None:
        self._moulds: list[Mould] = []
        self._seen: set[int] = set()

    def cast(self, text: str, start: int) -> tuple[int, Content] | None:
        """Give the offset behind the item that begins at `start`, and its tree, if one fits."""
        for at, mould in enumerate(self._moulds):
            found = mould.cast(text, start)
            if found is not None:
                if at:
                    self._moulds.insert(0, self._moulds.pop(at))
                return found
        return None

    def learn(self, text: str, content: Content) -> None:
        """Make a mould of an item that was parsed, if one of its form was parsed before.

        To compile a pattern costs more than to parse the item.
        """
        if len(text) > LONGEST or len(self._moulds) >= MOST:
            return
        with suppress(RecursionError):  # a long chain of operators is not worth a mould
            holes = sorted(_holes(content, text))
            pattern = _pattern(text, holes)
            form = hash(pattern)
            if form not in self._seen:
                self._seen.add(form)
                return
            mould = Mould(pattern, holes, content)
            if mould.cast(text, 0) == (len(text), content):
                self._moulds.append(mould)


def _pattern(text: str, holes: Sequence[Hole]) -> str:
    pieces: list[str] = []
    at = 0
    for hole in holes:
        pieces += re.escape(text[at : hole.start]), _GROUPS[hole.kind]
        at = hole.end
    return "".join((*pieces, re.escape(text[at:]), _LINE_END))


def _holes(content: Content, text: str) -> Iterator[Hole]:
    """Find what may differ in an item: what the tree holds just as it is written."""
    pending: list[Any] = [content]
    while pending:
        node = pending.pop()
        if not isinstance(node, ast.Reference):  # it says again what stands in the nodes
            pending.extend(each for each in node if isinstance(each, tuple))
            yield from _own_holes(node, text)


def _own_holes(node: Any, text: str) -> Iterator[Hole]:  # noqa: ANN401 - any node, or a tuple of them
    match node:
        case ast.Label(start, end, str() as told) | ast.Literal(start, end, str() as told):
            if text[start:end] == f'"{told}"' and _fits("string", told):
                yield Hole(start + 1, end - 1, "string")
        case ast.Literal(start, end, int() as value):
            if text[start:end] == str(value) and text[start - 1] != ".":
                yield Hole(start, end, "number")
        case ast.GetAttr(start, end, _, name) if _CHAIN(text[start:end]):
            yield Hole(end - len(name), end, "step")
        case ast.Template(_, _, parts) if "~" not in text:
            yield from (
                Hole(each.start, each.end, "piece")
                for each in parts
                if isinstance(each, ast.Literal) and _is_piece(each, text)
            )


def _is_piece(found: ast.Literal, text: str) -> bool:
    written = text[found.start : found.end]
    return written == found.value and _fits("piece", written)


def _fits(kind: str, text: str) -> bool:
    return re.fullmatch(_GROUPS[kind], text) is not None
