"""Input variables: type constraints, defaults and given values."""

from collections.abc import Mapping
from dataclasses import field

from kplan.config.declarations.declaration import Declaration
from kplan.config.diagnostic import EvaluationError, error
from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.scope import Scope
from kplan.config.evaluation.type_constraint import parse_type_constraint
from kplan.config.syntax import tree as ast
from kplan.config.syntax.tree_walk import part
from kplan.config.values.conversion import ConversionError, convert
from kplan.config.values.sensitive import mark, mark_ephemeral, unmark
from kplan.config.values.types import type_name, type_of
from kplan.config.values.value import ANY, Type, Value, is_null
from kplan.config.values.value_text import describe_value
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import SourceRange


@dataclass(frozen=True, slots=True)
class InputValue:
    """A value given to a variable from outside: an expression in its scope, or a value as it is.

    `told` names the source for messages: `-var`, `terraform.tfvars`.
    """

    source: str
    expression: tuple[ast.Node, Scope] | None = None
    constant: Value = field(default=None, repr=False)

    def subject(self, path: tuple[str | int, ...] = ()) -> SourceRange | None:
        """Say where the value, or the part of it at a path, is written, if in a file."""
        if self.expression is None or not self.expression[1].origin.source.is_file:
            return None
        node, scope = part(self.expression[0], path), self.expression[1]
        return scope.origin.range(node.start, node.end)

    def value(self) -> Value:
        """Evaluate it; raises `Failure`."""
        return self.constant if self.expression is None else evaluate(*self.expression)


@dataclass(frozen=True, slots=True)
class VariableConstraint:
    """What a variable block says of the value."""

    type: Type
    is_nullable: bool
    is_sensitive: bool
    is_ephemeral: bool

    @property
    def is_secret(self) -> bool:
        """Whether the value is never to be shown."""
        return self.is_sensitive or self.is_ephemeral

    def mark_value(self, value: Value) -> Value:
        """Mark a value as the block has it."""
        if self.is_ephemeral:
            return mark_ephemeral(value)
        return mark(value, sensitive=self.is_sensitive)


def evaluate_constraint(found: Declaration, scope: Scope) -> VariableConstraint:
    """Read type, nullable and sensitive of a variable block.

    Raises:
        Failure: one of them is no constant of its type.

    """
    arguments = found.arguments
    wanted: Type = ANY
    if "type" in arguments:
        wanted = parse_type_constraint(arguments["type"].value, scope)
    return VariableConstraint(
        wanted,
        evaluate_flag(arguments, "nullable", scope, default=True),
        evaluate_flag(arguments, "sensitive", scope, default=False),
        evaluate_flag(arguments, "ephemeral", scope, default=False),
    )


def evaluate_flag(
    arguments: Mapping[str, ast.Attribute], name: str, scope: Scope, *, default: bool
) -> bool:
    """Read an argument that is true or false.

    Raises:
        Failure: it is neither.

    """
    if name not in arguments:
        return default
    node = arguments[name].value
    value, _ = unmark(evaluate(node, scope))
    if not isinstance(value, bool):
        subject = scope.origin.range(node.start, node.end)
        told = f'"{name}" is true or false, but this value {describe_value(value)}.'
        raise EvaluationError([error("KP178", subject, told)])
    return value


def evaluate_default(found: Declaration, wanted: VariableConstraint, scope: Scope) -> Value:
    """Evaluate the default of a variable.

    Raises:
        Failure: it does not fit the type.

    """
    node = found.arguments["default"].value
    value = evaluate(node, scope)
    subject = scope.origin.range(node.start, node.end)
    if is_null(value) and not wanted.is_nullable:
        raise EvaluationError(
            [error("KP173", subject, "The default is null, and nullable is false.")]
        )
    try:
        return convert(value, wanted.type)
    except ConversionError as fault:
        inner = part(node, fault.path)
        subject = scope.origin.range(inner.start, inner.end)
        told = (
            f'The default of "{found.name}" does not fit its type: {fault}'
            f"{got_phrase(value, fault, is_secret=wanted.is_secret)}."
        )
        raise EvaluationError([error("KP173", subject, told)]) from None


def evaluate_input_value(
    found: Declaration, wanted: VariableConstraint, given: InputValue, label: str, default: Value
) -> Value:
    """Evaluate the value given to a variable; a null that may not be becomes the default.

    Raises:
        Failure: it has no value, or it does not fit the type.

    """
    value = given.value()
    if unmark(value)[0] is None and not wanted.is_nullable:
        if "default" in found.arguments:
            return default
        told = f"{label}, declared at {found.declared_at}, must not be null."
        raise EvaluationError([error("KP171", given.subject() or found.declared_at, told)])
    try:
        return wanted.mark_value(convert(value, wanted.type))
    except ConversionError as fault:
        shown = got_phrase(value, fault, is_secret=wanted.is_secret)
        subject = given.subject(fault.path)
        source = "" if subject else f" from {given.source}"
        place = f"{label}, declared at {found.declared_at}"
        told = f"The value{source} does not suit {place}: {fault}{shown}."
        raise EvaluationError([error("KP171", subject or found.declared_at, told)]) from None


def got_phrase(value: Value, fault: ConversionError, *, is_secret: bool) -> str:
    """Say what stood where a conversion failed: `, got string "twelve"`; nothing of secrets."""
    part, was_marked = unmark(value)
    for step in fault.path:
        if was_marked or is_secret:
            return ""
        inner = part[step] if isinstance(part, dict | tuple) else None  # type: ignore[index] # the path leads through the value
        part, was_marked = unmark(inner)
    if was_marked or is_secret or part is None:
        return ""
    if isinstance(part, str):
        return f', got string "{part}"'
    return f", got {type_name(type_of(part))}"


def takes_plain_text(found: Declaration) -> bool:
    """Return whether text from the command line or environment is the value as it stands.

    As in Terraform: it is for variables without a type and for primitive types; for others the
    text is an expression.
    """
    if "type" not in found.arguments:
        return True
    match found.arguments["type"].value:
        case ast.Name(_, _, word) | ast.Literal(_, _, word):
            return word in {"string", "number", "bool"}
        case _:
            return False
