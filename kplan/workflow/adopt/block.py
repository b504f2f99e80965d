"""Resource blocks as text, not yet laid out: what is written of values, and names for blocks."""

import re
from collections.abc import Iterable, Iterator, Mapping

from kplan.kinds.base import ResourceKind
from kplan.kinds.schema import schema_fields, to_document
from kplan.report.documents.notation import hcl_text, quote_hcl

_NO_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 60


class BlockNames:
    """Names for blocks of one kind, each given once."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)

    def name(self, text: str) -> str:
        """Make the name of a block out of that of an object."""
        plain = _NO_NAME.sub("_", text)[:_LONGEST_NAME].strip("_") or "any"
        name = stem = plain if plain[0].isalpha() else f"_{plain}"
        number = 1
        while name in self._taken:
            number += 1
            name = f"{stem}_{number}"
        self._taken.add(name)
        return name


def render_block(kind: ResourceKind, name: str, arguments: Iterable[str]) -> str:
    """Write a block."""
    body = "\n".join(arguments)
    return f"resource {quote_hcl(kind.name)} {quote_hcl(name)} {{\n{body}\n}}\n"


def render_arguments(value: object, instead: Mapping[str, str] | None = None) -> Iterator[str]:
    """Write what is not left to its default, and no secret.

    `instead` holds expressions for attributes that are not the same in all instances.
    """
    expressions = instead or {}
    held_by = to_document(value)
    for each in schema_fields(type(value)):
        name, held = each.name, held_by[each.name]
        if name in expressions:
            yield f"{name} = {expressions[name]}"
        elif held in (None, {}, each.default) or each.attribute.is_sensitive:
            continue
        elif isinstance(held, Mapping):
            yield f"{name} = {render_map({key: hcl_text(each) for key, each in held.items()})}"
        else:
            yield f"{name} = {hcl_text(held)}"


def render_map(expressions: Mapping[str, str]) -> str:
    """Write a map of expressions, an element a line."""
    lines = "\n".join(f"{quote_hcl(key)} = {each}" for key, each in expressions.items())
    return f"{{\n{lines}\n}}"


def render_string_set(texts: Iterable[str]) -> str:
    """Write a set of strings, one a line."""
    lines = "\n".join(f"{quote_hcl(each)}," for each in texts)
    return f"toset([\n{lines}\n])"
