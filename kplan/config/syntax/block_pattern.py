"""Blocks that are alike are parsed once: a pattern of the first yields the trees of the others."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from kplan.config.syntax import tree as ast

_OFFSETS = frozenset({"start", "end", "name_end", "header_end"})

_Made: TypeAlias = list[Any]
_Part: TypeAlias = tuple[str, int]


class TreeBuilder:
    """Steps that build a tree from the contents of its holes and their ends.

    Everything made lies in one list: what is in the holes, the offsets, what never changes, and
    then the nodes, inner ones first. A node is made of the places where its parts lie.
    """

    def __init__(self, holes: Sequence[tuple[int, int]], content: tuple[Any, ...]) -> None:
        self._ends = [0, *(end for _, end in holes)]
        self._by_start = {start: at for at, (start, _) in enumerate(holes)}
        self._by_end = {end: at for at, (_, end) in enumerate(holes)}
        self._offsets: dict[int, int] = {}
        self._constants: list[object] = []
        nodes: list[tuple[type, list[_Part]]] = []
        self._take(content, nodes)
        bases = {"hole": 0, "offset": len(holes)}
        bases["constant"] = bases["offset"] + len(self._offsets)
        bases["node"] = bases["constant"] + len(self._constants)
        self._anchors = [self._anchor(each) for each in self._offsets]
        self._steps = [
            (of, _picker([bases[area] + at for area, at in parts])) for of, parts in nodes
        ]

    def build(self, texts: _Made, ends: Sequence[int]) -> Any:  # noqa: ANN401 - a node like the first
        """Build the tree from the content and the end of each hole."""
        ends = [0, *ends]
        made = [*texts, *[ends[at] + more for at, more in self._anchors], *self._constants]
        new, add = tuple.__new__, made.append
        for of, pick in self._steps:
            add(new(of, pick(made)))
        return made[-1]

    def _anchor(self, offset: int) -> tuple[int, int]:
        """Find the last hole before an offset, and how far behind its end the offset is."""
        at = bisect_right(self._ends, offset) - 1
        return at, offset - self._ends[at]

    def _take(self, node: tuple[Any, ...], nodes: list[tuple[type, list[_Part]]]) -> _Part:
        if isinstance(node, ast.Reference):
            steps = self._build_node(node.steps, self._steps_of(node), nodes)
            head = self._offset(node.start), self._offset(node.end), self._constant(node.root)
            return self._build_node(node, [*head, steps], nodes)
        names = getattr(node, "_fields", (None,) * len(node))
        parts = [
            self._take(part, nodes) if isinstance(part, tuple) else self._single(node, name, part)
            for name, part in zip(names, node, strict=True)
        ]
        return self._build_node(node, parts, nodes)

    def _build_node(
        self, node: tuple[Any, ...], parts: list[_Part], nodes: list[tuple[type, list[_Part]]]
    ) -> _Part:
        if all(area == "constant" for area, _ in parts):
            return self._constant(node)
        nodes.append((type(node), parts))
        return "node", len(nodes) - 1

    def _single(self, node: Any, name: str | None, part: object) -> _Part:  # noqa: ANN401 - any node
        if name in _OFFSETS and isinstance(part, int):
            return self._offset(part)
        at: int | None = None
        match node:
            case ast.Label(start) | ast.Literal(start, _, str()) if name in {"text", "value"}:
                at = self._by_start.get(start + 1, self._by_start.get(start))
            case ast.Literal(start, _, int()):
                at = self._by_start.get(start)
            case ast.GetAttr(_, end) if name == "name":
                at = self._by_end.get(end)
        return self._constant(part) if at is None else ("hole", at)

    def _steps_of(self, reference: ast.Reference) -> list[_Part]:
        end, parts = reference.start + len(reference.root), []
        for step in reference.steps:
            end += 1 + len(step)
            at = self._by_end.get(end)
            parts.append(self._constant(step) if at is None else ("hole", at))
        return parts

    def _offset(self, offset: int) -> _Part:
        return "offset", self._offsets.setdefault(offset, len(self._offsets))

    def _constant(self, value: object) -> _Part:
        self._constants.append(value)
        return "constant", len(self._constants) - 1


def _picker(places: list[int]) -> Callable[[_Made], Iterable[Any]]:
    if len(places) == 1:
        return itemgetter(slice(places[0], places[0] + 1))
    return itemgetter(*places)


Content: TypeAlias = ast.Block | ast.Attribute

LONGEST = 5_000
"""Characters; longer items are hardly ever alike."""

MOST = 64
"""Patterns that are kept; a text is compared with each of them before it is parsed."""

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


class VariablePart(NamedTuple):
    """A span of the item, relative to its start, that may hold another text of the same kind."""

    start: int
    end: int
    kind: str


class BlockPattern:
    """What items of one form have in common."""

    def __init__(self, expression: str, holes: Sequence[VariablePart], content: Content) -> None:
        self._match = re.compile(expression).match
        self._numbers = tuple(at for at, hole in enumerate(holes) if hole.kind == "number")
        self._builder = TreeBuilder([(each.start, each.end) for each in holes], content)

    def match(self, text: str, start: int) -> tuple[int, Content] | None:
        """Return the offset behind the item that begins at `start`, and its tree, if it fits."""
        match = self._match(text, start)
        if match is None:
            return None
        texts: list[Any] = list(match.groups())
        for at in self._numbers:
            texts[at] = int(texts[at])
        return match.end(), self._builder.build(texts, [end - start for _, end in match.regs[1:]])


class BlockPatterns:
    """Patterns of the items seen so far, the one used last before the others."""

    def __init__(self) -> None:
        self._patterns: list[BlockPattern] = []
        self._seen: set[int] = set()

    def match(self, text: str, start: int) -> tuple[int, Content] | None:
        """Return the offset behind the item that begins at `start`, and its tree, if one fits."""
        for at, pattern in enumerate(self._patterns):
            found = pattern.match(text, start)
            if found is not None:
                if at:
                    self._patterns.insert(0, self._patterns.pop(at))
                return found
        return None

    def learn(self, text: str, content: Content) -> None:
        """Make a pattern of an item that was parsed, if one of its form was parsed before.

        To compile a pattern costs more than to parse the item.
        """
        if len(text) > LONGEST or len(self._patterns) >= MOST:
            return
        with suppress(RecursionError):  # a long chain of operators is not worth a pattern
            holes = sorted(_holes(content, text))
            expression = _expression(text, holes)
            form = hash(expression)
            if form not in self._seen:
                self._seen.add(form)
                return
            pattern = BlockPattern(expression, holes, content)
            if pattern.match(text, 0) == (len(text), content):
                self._patterns.append(pattern)


def _expression(text: str, holes: Sequence[VariablePart]) -> str:
    pieces: list[str] = []
    at = 0
    for hole in holes:
        pieces += re.escape(text[at : hole.start]), _GROUPS[hole.kind]
        at = hole.end
    return "".join((*pieces, re.escape(text[at:]), _LINE_END))


def _holes(content: Content, text: str) -> Iterator[VariablePart]:
    """Find the variable parts of an item: those that the tree holds verbatim."""
    pending: list[Any] = [content]
    while pending:
        node = pending.pop()
        if not isinstance(node, ast.Reference):  # it says again what is in the nodes
            pending.extend(each for each in node if isinstance(each, tuple))
            yield from _own_holes(node, text)


def _own_holes(node: Any, text: str) -> Iterator[VariablePart]:  # noqa: ANN401 - any node, or a tuple of them
    match node:
        case ast.Label(start, end, str() as told) | ast.Literal(start, end, str() as told):
            if text[start:end] == f'"{told}"' and _fits("string", told):
                yield VariablePart(start + 1, end - 1, "string")
        case ast.Literal(start, end, int() as value):
            if text[start:end] == str(value) and text[start - 1] != ".":
                yield VariablePart(start, end, "number")
        case ast.GetAttr(start, end, _, name) if _CHAIN(text[start:end]):
            yield VariablePart(end - len(name), end, "step")
        case ast.Template(_, _, parts) if "~" not in text:
            yield from (
                VariablePart(each.start, each.end, "piece")
                for each in parts
                if isinstance(each, ast.Literal) and _is_piece(each, text)
            )


def _is_piece(literal: ast.Literal, text: str) -> bool:
    written = text[literal.start : literal.end]
    return written == literal.value and _fits("piece", written)


def _fits(kind: str, text: str) -> bool:
    return re.fullmatch(_GROUPS[kind], text) is not None
