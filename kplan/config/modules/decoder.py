"""Decode a resource instance: evaluate its arguments and lifecycle block."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TypeVar, cast

from kplan.config.diagnostic import EvaluationError, error
from kplan.config.evaluation.call import reference_values
from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.scope import Scope
from kplan.config.modules.resource_block import Argument, DecodedValue, ResourceBlock, kind_fields
from kplan.config.modules.variable import evaluate_flag, got_phrase
from kplan.config.syntax import tree as ast
from kplan.config.syntax.tree_walk import part
from kplan.config.values.conversion import ConversionError, convert
from kplan.config.values.number import number_text
from kplan.config.values.sensitive import bare, has_sensitive, mark, unmark
from kplan.config.values.value import Null, TMap, Value
from kplan.kinds.base import HIDDEN_VALUE, Problem, texts_at
from kplan.kinds.schema import to_document
from kplan.model.address import Address
from kplan.model.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.resource import Lifecycle, Path, Resource


def evaluate_lifecycle(plan: ResourceBlock, block: ast.Block, scope: Scope) -> Lifecycle:
    """Evaluate a lifecycle block; `prevent_destroy` may be any expression.

    Raises:
        EvaluationError: an argument is not what it must be.

    """
    arguments = {each.name: each for each in block.attributes}
    adds_first = "create_before_destroy"
    return Lifecycle(
        evaluate_flag(arguments, "prevent_destroy", scope, default=False),
        _ignored_paths(arguments.get("ignore_changes"), plan, scope),
        evaluate_flag(arguments, adds_first, scope, default=False)
        if adds_first in arguments
        else None,
    )


def _ignored_paths(
    attribute: ast.Attribute | None, plan: ResourceBlock, scope: Scope
) -> tuple[Path, ...]:
    if attribute is None:
        return ()
    if isinstance(attribute.value, ast.Name) and attribute.value.name == "all":
        return ((),)
    nodes = attribute.value.items if isinstance(attribute.value, ast.Tuple) else None
    if nodes is None:
        detail = 'ignore_changes is a list of arguments, or the word "all".'
        raise _lifecycle_error("KP178", detail, attribute.value, scope)
    return tuple(_parse_ignored_path(each, plan, scope) for each in nodes)


def _parse_ignored_path(node: ast.Node, plan: ResourceBlock, scope: Scope) -> Path:
    match node:
        case ast.Name(_, _, name) | ast.Literal(_, _, str() as name):
            path: Path = (name,)
        case ast.Index(target=ast.Name(_, _, name), key=ast.Literal(_, _, str() as key)):
            path = (name, key)
        case ast.GetAttr(target=ast.Name(_, _, name), name=key):
            path = (name, key)
        case _:
            detail = (
                'This is not an argument. Write its name, or one key as config["retention.ms"].'
            )
            raise _lifecycle_error("KP178", detail, node, scope)
    if path[0] not in {each.name for each in kind_fields(plan.kind)}:
        detail = f'A {plan.kind.name} has no argument "{path[0]}".'
        raise _lifecycle_error("KP121", detail, node, scope)
    return path


def _lifecycle_error(code: str, detail: str, node: ast.Node, scope: Scope) -> EvaluationError:
    return EvaluationError([error(code, scope.origin.range(node.start, node.end), detail)])


T = TypeVar("T", DecodedValue, Lifecycle)
_NO_LIFECYCLE = Lifecycle()


def decode_resource(
    plan: ResourceBlock, address: Address, scope: Scope
) -> tuple[Resource, list[Diagnostic]]:
    """Evaluate and decode one instance; the diagnostics are warnings.

    Raises:
        EvaluationError: an argument has no value, or one that does not do.

    """
    values, sensitive, rules = _evaluate_arguments(plan, address, scope)
    value = plan.kind.normalize(plan.kind.schema(**values))
    items = [
        _kind_diagnostic(_hide_secrets(each, values, value, sensitive), plan, address)
        for each in plan.kind.check(value)
    ]
    if any(each.is_error for each in items):
        raise EvaluationError(items)
    identity = plan.kind.identify(value)
    resource = Resource(address, identity, value, plan.declared_at, rules, plan.ranges, sensitive)
    return resource, items


def _evaluate_arguments(
    plan: ResourceBlock, address: Address, scope: Scope
) -> tuple[dict[str, object], frozenset[Path], Lifecycle]:
    values: dict[str, object] = {}
    sensitive: frozenset[Path] = frozenset()
    failures: list[EvaluationError] = []
    for each in plan.arguments:
        try:
            found = _evaluate_argument(each, plan, scope)
        except EvaluationError as failure:
            failures.append(failure)
            continue
        if found.value is not None:
            values[each.field.name] = found.value
        if found.sensitive:
            sensitive = sensitive.union(found.sensitive)
    rules = _NO_LIFECYCLE
    try:
        rules = _instance_lifecycle(plan, scope)
    except EvaluationError as failure:
        failures.append(failure)
    if failures or plan.lacks_required:  # the latter was reported when the text was checked
        diagnostics = [result for each in failures for result in each.diagnostics]
        diagnostics += _independent_problems(plan, address, values, sensitive)
        raise EvaluationError(_with_address(diagnostics, address))
    return values, sensitive, rules


def shared_argument_problems(
    plan: ResourceBlock, address: Address, scope: Scope
) -> list[Diagnostic]:
    """Find what is wrong with the arguments that all instances share, whichever there are."""
    values: dict[str, object] = {}
    sensitive: frozenset[Path] = frozenset()
    problems: list[Diagnostic] = []
    for each in plan.arguments:
        if each.is_shared:
            try:
                found = _evaluate_argument(each, plan, scope)
            except EvaluationError as failure:
                problems.extend(failure.diagnostics)
                continue
            if found.value is not None:
                values[each.field.name] = found.value
            sensitive = sensitive.union(found.sensitive)
    problems += _independent_problems(plan, address, values, sensitive)
    return list(_with_address(problems, address))


_UNKNOWN = "(unknown)"
"""What stands for a required argument without a value, so that the others can be looked at."""


def _independent_problems(
    plan: ResourceBlock,
    address: Address,
    values: Mapping[str, object],
    sensitive: frozenset[Path],
) -> Iterator[Diagnostic]:
    """Find what is wrong with the arguments that have values, although others have none."""
    required = {each.name: each for each in kind_fields(plan.kind) if each.is_required}
    missing = {
        name: 1 if each.is_number else _UNKNOWN
        for name, each in required.items()
        if name not in values
    }
    value = plan.kind.normalize(plan.kind.schema(**values, **missing))
    name_text = f'{plan.kind.noun.capitalize()} "{_UNKNOWN}"'
    for each in plan.kind.check(value):
        if each.is_independent and not missing.keys() & each.path[:1]:
            problem = _hide_secrets(each, values, value, sensitive)
            problem = replace(problem, detail=problem.detail.replace(name_text, str(address)))
            yield _kind_diagnostic(problem, plan, address)


def _instance_lifecycle(plan: ResourceBlock, scope: Scope) -> Lifecycle:
    block = plan.lifecycle
    if block is None:
        return _NO_LIFECYCLE
    if plan.is_lifecycle_shared:
        return _compute_shared("lifecycle", plan, lambda: evaluate_lifecycle(plan, block, scope))
    return evaluate_lifecycle(plan, block, scope)


def _evaluate_argument(argument: Argument, plan: ResourceBlock, scope: Scope) -> DecodedValue:
    if argument.is_shared:
        return _compute_shared(argument.field.name, plan, lambda: _decode_argument(argument, scope))
    return _decode_argument(argument, scope)


def _compute_shared(name: str, plan: ResourceBlock, compute: Callable[[], T]) -> T:
    """Evaluate the arguments that all instances share once; a failure is reported once."""
    found = plan.shared_values.get(name)
    if found is None:
        try:
            found = plan.shared_values[name] = compute()
        except EvaluationError:
            plan.shared_values[name] = EvaluationError()
            raise
    if isinstance(found, EvaluationError):
        raise found
    return cast("T", found)


def _decode_argument(argument: Argument, scope: Scope) -> DecodedValue:
    node, wanted = argument.node, argument.field
    value = evaluate(node, scope)
    if wanted.is_secret:
        value = mark(value)
    if (wanted.is_string and type(value) is str) or (wanted.is_number and type(value) is int):
        return DecodedValue(value)
    if (
        wanted.is_string_map
        and type(value) in _MAP_TYPES
        and (texts := _string_map(cast("dict[str, Value]", value))) is not None
    ):
        return DecodedValue(texts)
    sensitive = tuple(_sensitive_paths(wanted.name, value)) if has_sensitive(value) else ()
    if sensitive and wanted.is_identity:
        raise _argument_error("KP182", _SENSITIVE_NAME, node, scope)
    plain = _convert_argument(value, argument, scope)
    if plain is None and wanted.is_required:
        detail = f'The argument "{wanted.name}" is required, but its value is null.'
        raise _argument_error("KP122", detail, node, scope)
    return DecodedValue(plain, sensitive)


def _string_map(value: dict[str, Value]) -> dict[str, object] | None:
    """Return the texts of a map of strings and whole numbers, the usual case."""
    found: dict[str, object] = {}
    for key, each in value.items():
        if type(each) is str:
            found[key] = each
        elif type(each) is int:
            found[key] = number_text(each)
        else:
            return None
    return found


_MAP_TYPES = frozenset({dict, TMap})

_SENSITIVE_NAME = (
    "The value names the object on the cluster and is shown everywhere, but it is sensitive."
)


def _convert_argument(value: Value, argument: Argument, scope: Scope) -> object:
    wanted, node = argument.field, argument.node
    detail = f'Inappropriate value for argument "{wanted.name}": '
    try:
        converted = bare(convert(value, wanted.type))
        return _to_plain(converted, takes_fractions=wanted.takes_fractions)
    except ConversionError as fault:
        shown = got_phrase(value, fault, is_secret=False)
        raise _argument_error(
            "KP178", f"{detail}{fault}{shown}.", part(node, fault.path), scope
        ) from None
    except _NotWholeError:
        raise _argument_error(
            "KP178", f"{detail}a whole number is required.", node, scope
        ) from None


class _NotWholeError(Exception):
    """A number is not whole where Kafka counts."""


def _argument_error(code: str, detail: str, node: ast.Node, scope: Scope) -> EvaluationError:
    subject = scope.origin.range(node.start, node.end)
    return EvaluationError(
        [error(code, subject, detail, values=reference_values(node, scope, evaluate))]
    )


def _sensitive_paths(name: str, value: Value) -> Iterator[Path]:
    inner, marked = unmark(value)
    if marked or not isinstance(inner, dict):
        yield (name,)
        return
    for key, each in inner.items():
        if has_sensitive(each):
            yield (name, key)


def _to_plain(value: Value, *, takes_fractions: bool) -> object:
    """Turn a value into the form of the kinds' dataclasses: tuples and dicts without nulls."""
    if isinstance(value, dict):
        found = {
            key: _to_plain(each, takes_fractions=takes_fractions) for key, each in value.items()
        }
        return {key: each for key, each in found.items() if each is not None}
    if isinstance(value, tuple):
        return tuple(_to_plain(each, takes_fractions=takes_fractions) for each in value)
    if isinstance(value, Null):
        return None
    if isinstance(value, Fraction):
        if takes_fractions:
            return float(value)
        raise _NotWholeError
    return value


def _with_address(diagnostics: list[Diagnostic], address: Address) -> Iterator[Diagnostic]:
    for each in diagnostics:
        is_own = each.address is None and each.code != "KP145"  # a circle has several owners
        yield replace(each, address=address) if is_own else each


def _hide_secrets(
    problem: Problem, values: Mapping[str, object], value: object, sensitive: frozenset[Path]
) -> Problem:
    """Remove sensitive values, both as the block has them and as the kind writes them.

    Only the value that the problem is about is looked for without quotes, too: words of the
    sentence itself may happen to be a password.
    """
    if not sensitive:
        return problem
    documents = (values, to_document(value))
    own = [problem.path] if {problem.path, problem.path[:1]} & sensitive else []
    patterns = {
        *(f'"{re.escape(text)}"' for each in documents for text in texts_at(each, sensitive)),
        *(
            rf"(?<![\w.]){re.escape(text)}(?!\.?\w)"
            for each in documents
            for text in texts_at(each, own)
        ),
    }
    if not patterns:
        return problem
    longest_first = "|".join(sorted(patterns, key=len, reverse=True))
    return replace(problem, detail=re.sub(longest_first, HIDDEN_VALUE, problem.detail))


def _kind_diagnostic(problem: Problem, plan: ResourceBlock, address: Address) -> Diagnostic:
    place = problem.path if problem.path in plan.ranges else problem.path[:1]
    return Diagnostic(
        problem.code,
        Severity.WARNING if problem.is_warning else Severity.ERROR,
        SUMMARIES[problem.code],
        problem.detail,
        problem.hint,
        address,
        plan.ranges.get(place, plan.declared_at),
    )
