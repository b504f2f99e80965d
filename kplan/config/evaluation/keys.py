"""Keys of objects: any value that has a text."""

from kplan.config.evaluation.misuse import Misuse
from kplan.config.evaluation.scope import Evaluate, Scope
from kplan.config.evaluation.seen import failure
from kplan.config.syntax import tree as ast
from kplan.config.values.convert import ConversionError, convert
from kplan.config.values.sensitive import unmark
from kplan.config.values.types import type_name, type_of
from kplan.config.values.value import STRING, Value


def key_text(key: Value, node: ast.Node, scope: Scope, evaluate: Evaluate) -> tuple[str, bool]:
    """Give the text of a key, and whether it is sensitive.

    Raises:
        Failure: it is null, or has no text.

    """
    bare, marked = unmark(key)
    try:
        text = convert(bare, STRING)
    except ConversionError:
        told = f"The key of an element must be a string, got {type_name(type_of(bare))}."
        raise failure(Misuse("KP161", told), node, scope, evaluate) from None
    if not isinstance(text, str):
        told = "The key of an element must not be null."
        raise failure(Misuse("KP161", told), node, scope, evaluate)
    return text, marked


def sorted_by_key(value: dict[str, Value]) -> dict[str, Value]:
    """Put the elements in the order in which objects are gone over."""
    return dict(sorted(value.items())) if len(value) > 1 else value
