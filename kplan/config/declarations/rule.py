"""Conditions of validations, preconditions, postconditions and checks, before evaluation."""

from collections.abc import Iterator

from kplan.config.declarations.body_schema import (
    CONDITION_SCHEMA,
    LIFECYCLE_SCHEMA,
    body_problems,
)
from kplan.config.diagnostic import error
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin
from kplan.model.diagnostic import Diagnostic

RULE_BLOCKS = frozenset({"validation", "precondition", "postcondition", "assert"})
_WORDS = {"assert": "check assertion"}


def rule_problems(block: ast.Block, origin: Origin, variable: str = "") -> Iterator[Diagnostic]:
    """Find what is wrong with a block of a condition.

    `variable` is the one that a validation is for.
    """
    yield from body_problems(block, origin, CONDITION_SCHEMA)
    condition = next((each for each in block.attributes if each.name == "condition"), None)
    if condition is None:
        return
    subject = origin.range(condition.value.start, condition.value.end)
    if is_constant(condition):
        word = _WORDS.get(block.type, block.type)
        detail = "The condition refers to nothing, so its result is always the same."
        summary = f"Invalid {word} expression"
        yield error("KP570", subject, detail, hint=_hint(variable), summary=summary)
    elif variable and not _names_variable(block, variable):
        detail = f"The validation of a variable has to check its own value, var.{variable}."
        summary = "Invalid variable validation condition"
        yield error("KP570", subject, detail, hint=_hint(variable), summary=summary)


def is_constant(condition: ast.Attribute) -> bool:
    """Whether a condition refers to nothing."""
    return not condition.references


def _names_variable(block: ast.Block, variable: str) -> bool:
    return any(
        each.root == "var" and each.steps[:1] == (variable,)
        for attribute in block.attributes
        for each in attribute.references
    )


def _hint(variable: str) -> str:
    return f"Write a condition that refers to var.{variable}." if variable else ""


def assert_problems(block: ast.Block, origin: Origin) -> Iterator[Diagnostic]:
    """Find a check without assertions."""
    if all(each.type != "assert" for each in block.blocks):
        detail = "A check has at least one assert block."
        end = block.labels[-1].end if block.labels else block.start + len(block.type)
        yield error("KP571", origin.range(block.start, end), detail)


def lifecycle_problems(block: ast.Block, origin: Origin) -> Iterator[Diagnostic]:
    """Find what is wrong with the `lifecycle` of a resource: its arguments and conditions."""
    first: ast.Block | None = None
    for inner in block.blocks:
        if inner.type != "lifecycle":
            continue
        if first is not None:
            detail = "A resource has one lifecycle block."
            before = origin.range(first.start, first.start + len(first.type))
            subject = origin.range(inner.start, inner.start + len(inner.type))
            related = (("declared first", before),)
            summary = "Duplicate lifecycle block"
            yield error("KP128", subject, detail, related=related, summary=summary)
        first = first or inner
        yield from body_problems(inner, origin, LIFECYCLE_SCHEMA)
        for condition in inner.blocks:
            if condition.type in LIFECYCLE_SCHEMA.blocks:
                yield from rule_problems(condition, origin)
