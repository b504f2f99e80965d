"""`required_version`: a constraint on the version of Terraform whose language kplan reads."""

import re
from collections.abc import Iterator

from kplan.config.diagnostic import error, warning
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic
from kplan.model.version import LANGUAGE_VERSION

_PART = re.compile(
    r"\s*(?P<sign>=|!=|>=|<=|>|<|~>|)\s*v?(?P<numbers>\d+(?:\.\d+){0,2})(?:-[0-9A-Za-z.-]+)?\s*"
)
_PARTS = 3
Version = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Constraint:
    """One part of a constraint. `precision` counts the numbers that are written."""

    sign: str
    version: Version
    precision: int

    def allows(self, own: Version) -> bool:
        """Whether a version meets it."""
        match self.sign:
            case ">=":
                return own >= self.version
            case ">":
                return own > self.version
            case "<=":
                return own <= self.version
            case "<":
                return own < self.version
            case "!=":
                return own != self.version
            case "~>":
                kept = max(self.precision - 1, 1)
                return own >= self.version and own[:kept] == self.version[:kept]
            case _:
                return own == self.version

    def asks_for_newer(self, own: Version) -> bool:
        """Whether only later versions than this one meet it."""
        is_bound = self.sign in {">=", "~>", "=", ""}
        return self.version > own if is_bound else self.sign == ">" and self.version >= own


def version_problems(attribute: ast.Attribute, origin: Origin) -> Iterator[Diagnostic]:
    """Check `required_version` against the version whose language kplan reads.

    One that asks for a later version is an error. One that excludes this version for another
    reason is a warning: later versions read what earlier ones did.
    """
    node = attribute.value
    subject = origin.range(node.start, node.end)
    text = node.value if isinstance(node, ast.Literal) else None
    parts = [_PART.fullmatch(each) for each in text.split(",")] if isinstance(text, str) else []
    if not parts or None in parts:
        detail = 'A version constraint is a string such as ">= 1.9, < 2.0".'
        yield error("KP342", subject, detail)
        return
    own = _parse_version(LANGUAGE_VERSION)
    unmet = [each for each in map(_constraint, filter(None, parts)) if not each.allows(own)]
    if not unmet:
        return
    reads = f"kplan reads the language of Terraform {LANGUAGE_VERSION}"
    if any(each.asks_for_newer(own) for each in unmet):
        detail = f'The configuration requires Terraform "{text}", and {reads}.'
        hint = "Use a later kplan, or lower required_version if the configuration allows it."
        named = origin.range(attribute.start, attribute.end)
        yield error("KP341", named, detail, hint=hint)
        return
    detail = f'required_version = "{text}" excludes it, and {reads}; the files are read as such.'
    yield warning("KP195", subject, detail)


def _constraint(found: re.Match[str]) -> _Constraint:
    numbers = found["numbers"]
    return _Constraint(found["sign"], _parse_version(numbers), numbers.count(".") + 1)


def _parse_version(text: str) -> Version:
    first, second, third = [*map(int, text.split(".")), 0, 0][:_PARTS]
    return first, second, third
