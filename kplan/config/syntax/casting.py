"""Making the tree of an item out of the tree of another that is alike but for some texts."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any, TypeAlias

from kplan.config.syntax import tree as ast

_OFFSETS = frozenset({"start", "end", "name_end", "header_end"})

_Made: TypeAlias = list[Any]
_Part: TypeAlias = tuple[str, int]


class Caster:
    """Steps that make a tree from what stands in its holes, and from where these end.

    Everything made lies in one list: what stands in the holes, the offsets, what never changes, and
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
            (of, _picking([bases[area] + at for area, at in parts])) for of, parts in nodes
        ]

    def cast(self, texts: _Made, ends: Sequence[int]) -> Any:  # noqa: ANN401 - a node like the first
        """Make the tree, given what stands in each hole and where it ends."""
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
            steps = self._made(node.steps, self._steps_of(node), nodes)
            head = self._offset(node.start), self._offset(node.end), self._constant(node.root)
            return self._made(node, [*head, steps], nodes)
        names = getattr(node, "_fields", (None,) * len(node))
        parts = [
            self._take(part, nodes) if isinstance(part, tuple) else self._single(node, name, part)
            for name, part in zip(names, node, strict=True)
        ]
        return self._made(node, parts, nodes)

    def _made(
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


def _picking(places: list[int]) -> Callable[[_Made], Iterable[Any]]:
    if len(places) == 1:
        return itemgetter(slice(places[0], places[0] + 1))
    return itemgetter(*places)
