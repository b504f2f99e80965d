"""References in Terraform files: rewritten to converted blocks, or replaced by variables."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import SourceRange
from kplan.report.documents.notation import quote_hcl
from kplan.workflow.convert.conversion import Conversion

OWN_ROOTS = frozenset({"var", "local", "each", "count", "path", "self", "terraform"})
"""What a reference begins with that means the same in both tools."""

_COLLECTIONS = frozenset({"for_each", "count", "config"})
"""Arguments whose value need not be a text."""

_REST = re.compile(r"(\[[^\[\]]*\]|\.\*)?((?:\.[A-Za-z_][\w-]*)*)")
_NO_IDENTIFIER = re.compile(r"\W+")

Edit = tuple[int, int, str]
"""What is written in place of a span of an item's text."""


class UnconvertibleError(Exception):
    """A block cannot be written for kplan. The text says why."""

    def __init__(self, reason: str, source_range: SourceRange) -> None:
        super().__init__(reason)
        self.source_range = source_range


@dataclass(slots=True)
class ReferenceWriter:
    """Rewrites references, and remembers which variables and locals they need.

    `resources` are those that are converted, by type and name, with their type here and the names
    of their attributes.
    """

    resources: Mapping[tuple[str, str], tuple[str, Mapping[str, str]]]
    conversion: Conversion
    variables: set[str] = field(default_factory=set)
    local_names: set[str] = field(default_factory=set)
    new_variables: dict[str, tuple[str, str]] = field(default_factory=dict)

    def edits(self, origin: Origin, attributes: Iterable[ast.Attribute]) -> Iterator[Edit]:
        """Return the edits in the values of arguments.

        Raises:
            UnconvertibleError: a reference means something that kplan has no value for.

        """
        for attribute in attributes:
            for each in attribute.references:
                yield from self._edit(origin, attribute.name, each)

    def _edit(self, origin: Origin, argument: str, reference: ast.Reference) -> Iterator[Edit]:
        if reference.root in OWN_ROOTS:
            if reference.root == "var":
                self.variables.update(reference.steps[:1])
            elif reference.root == "local":
                self.local_names.update(reference.steps[:1])
            return
        place = origin.range(reference.start, reference.end)
        rest = _REST.match(origin.source.text, origin.base + reference.end)
        index, more = (rest[1] or "", rest[2]) if rest else ("", "")
        end = reference.end + len(index) + len(more)
        address = (reference.root, *reference.steps)
        attributes = tuple(more.split(".")[1:])
        known = self.resources.get(address[:2])  # type: ignore[arg-type] # a shorter one is no key
        if known is not None:
            kind, names = known
            path = (*address[2:], *attributes)
            if path and path[0] in names:
                tail = "".join(f".{each}" for each in (names[path[0]], *path[1:]))
                yield reference.start, end, f"{kind}.{address[1]}{index}{tail}"
                return
        shown = ".".join(address) + index + more
        if index in {"[*]", ".*"} or len(address) + len(attributes) < _WHOLE + (
            address[0] == "data"
        ):
            raise UnconvertibleError(f"{shown} is not managed by kplan, and no single value", place)
        name = self._variable((*address, *attributes), shown, place, (argument, index))
        yield reference.start, end, f"var.{name}{index}"

    def _variable(
        self, path: tuple[str, ...], shown: str, place: SourceRange, used: tuple[str, str]
    ) -> str:
        """Return the variable for a value of another resource, reported once."""
        argument, index = used
        name = _NO_IDENTIFIER.sub("_", "_".join(path)).replace("-", "_")
        if name not in self.new_variables:
            type_ = "any" if argument in _COLLECTIONS else "string"
            self.new_variables[name] = (shown, "map(string)" if index else type_)
            text = f"kplan does not manage it; set the variable {name} to its value"
            self.conversion.skip(place, shown, text)
        return name

    def variable_blocks(self) -> str:
        """Write the variables that were made of references."""
        return "\n".join(
            f"variable {quote_hcl(name)} {{\n"
            f"description = {quote_hcl(f'Was {shown}.')}\ntype = {type_}\n}}\n"
            for name, (shown, type_) in sorted(self.new_variables.items())
        )


_WHOLE = 3
"""So many steps has a reference to an attribute: type, name and attribute."""


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Apply all edits to a text; they do not overlap."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text
