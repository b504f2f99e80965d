"""Instances of a block by `for_each` and `count`."""

from collections.abc import Callable
from typing import TypeAlias

from kplan.config.declarations.declaration import Declaration
from kplan.config.diagnostic import EvaluationError, OperandError, error, suggestion
from kplan.config.evaluation.call import reference_values
from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.scope import NO_REPETITION, Repetition, Scope
from kplan.config.syntax.source import Spot
from kplan.config.values.conversion import ConversionError, convert
from kplan.config.values.sensitive import has_sensitive, unmark
from kplan.config.values.value import NUMBER, STRING, Null, TSet, Value, is_null, type_name, type_of
from kplan.config.values.value_text import describe_value
from kplan.model.address import instance_key
from kplan.model.diagnostic import Diagnostic

InstanceKey: TypeAlias = str | int | None
Instances: TypeAlias = dict[InstanceKey, Repetition]

MAX_COUNT = 1_000_000


def evaluate_instances(declaration: Declaration, scope: Scope) -> Instances:
    """Evaluate the keys of a block's instances, with the `each` or `count` of each.

    Raises:
        EvaluationError: for_each or count is not what it must be.

    """
    arguments = declaration.arguments
    if "for_each" in arguments and "count" in arguments:
        subject = scope.origin.range(arguments["for_each"].start, arguments["for_each"].name_end)
        detail = "count and for_each exclude each other: both say which instances there are."
        summary = 'Invalid combination of "count" and "for_each"'
        diagnostic = error("KP129", subject, detail, hint="Remove one of the two.", summary=summary)
        raise EvaluationError([diagnostic])
    if "for_each" in arguments:
        return _for_each(declaration, scope)
    if "count" in arguments:
        return _count(declaration, scope)
    return {None: NO_REPETITION}


def _for_each(declaration: Declaration, scope: Scope) -> Instances:
    value = evaluate(declaration.arguments["for_each"].value, scope)
    if unmark(value)[1] or (isinstance(value, TSet) and has_sensitive(value)):
        detail = "The value is sensitive, and the keys of instances are shown everywhere."
        raise _repetition_error(
            declaration, "for_each", scope, detail, "Use nonsensitive() if the keys are not secret."
        )
    match value:
        case TSet():
            return {
                _set_key(each, declaration, scope): _each_repetition(each, each) for each in value
            }
        case dict():
            return {key: _each_repetition(key, each) for key, each in value.items()}
        case None | Null():
            raise _repetition_error(
                declaration, "for_each", scope, "The value is null; a map or a set is needed."
            )
        case _:
            detail = f"A map or a set of strings is needed, but the value {describe_value(value)}."
            raise _repetition_error(declaration, "for_each", scope, detail, _list_hint(value))


def _list_hint(value: Value) -> str:
    """Say how a list becomes what for_each takes."""
    if not isinstance(value, tuple):
        return ""
    if value and all(isinstance(each, dict) for each in value):
        return "Make a map of the list: { for each in LIST : each.name => each }"
    return "Wrap it in toset(...)."


def _each_repetition(key: Value, value: Value) -> Repetition:
    return Repetition({"key": key, "value": value})


def _set_key(each: Value, declaration: Declaration, scope: Scope) -> str:
    if isinstance(each, str):
        return each
    got = "null" if is_null(each) else type_name(type_of(each))
    detail = f"A set of strings is needed, but there is an element that is {got}."
    summary = "Invalid for_each set argument"
    raise _repetition_error(declaration, "for_each", scope, detail, summary=summary)


def _count(declaration: Declaration, scope: Scope) -> Instances:
    value, marked = unmark(evaluate(declaration.arguments["count"].value, scope))
    if marked:
        detail = "The value is sensitive, and the number of instances is shown everywhere."
        raise _repetition_error(
            declaration, "count", scope, detail, "Use nonsensitive() if it is not secret."
        )
    try:
        number = convert(value, NUMBER)
    except ConversionError:
        raise _repetition_error(
            declaration,
            "count",
            scope,
            f"A number is needed, but the value {describe_value(value)}.",
            summary="Incorrect value type",
        ) from None
    if not isinstance(number, int) or not 0 <= number <= MAX_COUNT:
        given = describe_value(value)
        detail = f"A whole number from 0 to {MAX_COUNT} is needed, but the value {given}."
        raise _repetition_error(declaration, "count", scope, detail)
    return {place: Repetition(count=place) for place in range(number)}


def combined_value(
    declaration: Declaration, instances: Instances, value: Callable[[InstanceKey], Value]
) -> Value:
    """Return the value of a block: of its only instance, an object by key, or a tuple by place."""
    if None in instances:
        return value(None)
    values = {key: value(key) for key in instances}
    if "count" in declaration.arguments:
        return tuple(values.values())
    return {str(key): each for key, each in values.items()}


def find_instance(instances: Instances, key: Value) -> InstanceKey:
    """Find the instance of an index; strings and numbers are equivalent.

    Raises:
        OperandError: there is none.

    """
    bare, _ = unmark(key)
    wanted = NUMBER if any(isinstance(each, int) for each in instances) else STRING
    try:
        name = convert(bare, wanted)
    except ConversionError:
        name = None
    if isinstance(name, str | int) and name in instances:
        return name
    shown = f" {instance_key(name)}" if isinstance(name, str | int) else ""
    raise OperandError(
        "KP151",
        f"There is no instance{shown}.",
        suggestion(str(name), [str(each) for each in instances]),
    )


def missing_key_error(subject: Spot, detail: str, hint: str) -> Diagnostic:
    """Make the error that a block has several instances, and none was chosen."""
    summary = "Missing resource instance key"
    return error("KP116", subject.range(), detail, hint=hint, summary=summary)


def instance_error(
    fault: OperandError, label: str, subject: Spot, *, is_single: bool
) -> Diagnostic:
    """Make the error that a block has no instance of a key."""
    detail = f"{label}: {fault.detail}"
    if is_single:
        detail = f"{label} has neither count nor for_each, so it has no instance keys."
        hint = f"Remove the brackets behind {label}."
        summary = "Unexpected resource instance key"
        return error("KP151", subject.range(), detail, hint=hint, summary=summary)
    return error(fault.code, subject.step_range(), detail, hint=fault.hint)


def _repetition_error(
    declaration: Declaration,
    name: str,
    scope: Scope,
    detail: str,
    hint: str = "",
    *,
    summary: str = "",
) -> EvaluationError:
    node = declaration.arguments[name].value
    code = "KP175" if name == "for_each" else "KP176"
    subject = scope.origin.range(node.start, node.end)
    values = reference_values(node, scope, evaluate)
    diagnostic = error(code, subject, detail, hint=hint, values=values, summary=summary)
    return EvaluationError([diagnostic])
