"""From evaluated arguments to the value of a kind, with every problem at its place."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import get_args, get_type_hints

from kplan.config.declared import LIFECYCLE, Declaration
from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.scope import Scope
from kplan.config.evaluation.seen import seen
from kplan.config.problem import Failure, error
from kplan.config.shape import Shape, body_problems
from kplan.config.syntax import tree as ast
from kplan.config.syntax.walk import part
from kplan.config.types import type_named
from kplan.config.values.convert import ConversionError, convert
from kplan.config.values.sensitive import has_sensitive, unmark, unmark_deep
from kplan.config.values.value import Type, Value
from kplan.config.variables import flag, got
from kplan.kinds.base import Problem, ResourceKind
from kplan.kinds.codes import SUMMARIES
from kplan.kinds.schema import SchemaField, schema_fields
from kplan.model.address import Address
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.resource import Lifecycle, Path, Resource
from kplan.model.source import SourceRange

META = ("count", "for_each", "depends_on", "provider")


@dataclass(frozen=True, slots=True)
class Blueprint:
    """What is the same for every instance of a resource block."""

    kind: ResourceKind
    found: Declaration
    fields: tuple[SchemaField, ...]
    types: Mapping[str, Type]
    fractions: frozenset[str]
    ranges: Mapping[Path, SourceRange]
    declared_at: SourceRange


def blueprint(kind: ResourceKind, found: Declaration) -> Blueprint:
    """Prepare the decoding of a block."""
    fields = schema_fields(kind.schema)
    names = {each.name for each in fields}
    ranges = dict(_ranges(found, names))
    types, fractions = _types(fields), _fractions(kind)
    return Blueprint(kind, found, fields, types, fractions, ranges, found.place)


@cache
def _types(fields: tuple[SchemaField, ...]) -> Mapping[str, Type]:
    return {each.name: type_named(each.attribute.type) for each in fields}


def _fractions(kind: ResourceKind) -> frozenset[str]:
    """Name the attributes whose dataclass field takes a float; numbers elsewhere are whole."""
    hints = get_type_hints(kind.schema)
    return frozenset(name for name, hint in hints.items() if float in (hint, *get_args(hint)))


def _ranges(found: Declaration, names: set[str]) -> Iterator[tuple[Path, SourceRange]]:
    """Say where each argument, and each key of a map written out, stands."""
    for name, attribute in found.arguments.items():
        if name not in names:
            continue
        value = attribute.value
        yield (name,), found.origin.range(value.start, value.end)
        if isinstance(value, ast.Object):
            for key, inner in value.items:
                if isinstance(key, ast.Literal) and isinstance(key.value, str):
                    yield (name, key.value), found.origin.range(inner.start, inner.end)


def resource_problems(kind: ResourceKind, found: Declaration) -> Iterator[Diagnostic]:
    """Hold the body of a resource block against the kind's schema."""
    fields = schema_fields(kind.schema)
    shape = Shape(
        (*(each.name for each in fields), *META),
        tuple(each.name for each in fields if each.is_required),
        ("lifecycle",),
    )
    yield from body_problems(found.block, found.origin, shape)
    for inner in found.block.blocks:
        if inner.type == "lifecycle":
            yield from body_problems(inner, found.origin, LIFECYCLE)


def decoded(plan: Blueprint, address: Address, scope: Scope) -> tuple[Resource, list[Diagnostic]]:
    """Evaluate and decode one instance; the diagnostics are warnings.

    Raises:
        Failure: an argument has no value, or one that does not do.

    """
    values, sensitive, problems = _values(plan, scope)
    lifecycle = _lifecycle(plan, scope, problems)
    if problems:
        raise Failure(_with_address(problems, address))
    value = plan.kind.normal(plan.kind.schema(**values))
    told = [_told(each, plan, address) for each in plan.kind.check(value)]
    if any(each.is_error for each in told):
        raise Failure(told)
    identity = plan.kind.identify(value)
    resource = Resource(
        address, identity, value, plan.declared_at, lifecycle, plan.ranges, sensitive
    )
    return resource, told


def _values(
    plan: Blueprint, scope: Scope
) -> tuple[dict[str, object], frozenset[Path], list[Diagnostic]]:
    values: dict[str, object] = {}
    sensitive: set[Path] = set()
    problems: list[Diagnostic] = []
    is_mute = False
    for each in plan.fields:
        attribute = plan.found.arguments.get(each.name)
        if attribute is None:
            is_mute = is_mute or each.is_required  # told when the text was checked
            continue
        try:
            value = evaluate(attribute.value, scope)
            if each.attribute.replaces and has_sensitive(value):
                raise _refusal("KP182", _NAMES, attribute.value, scope)
            sensitive.update(_sensitive_paths(each.name, value))
            plain = _typed(value, each, plan, scope)
            if plain is None and each.is_required:
                told = f'The argument "{each.name}" is required, but its value is null.'
                raise _refusal("KP122", told, attribute.value, scope)
            if plain is not None:
                values[each.name] = plain
        except Failure as failure:
            problems.extend(failure.diagnostics)
            is_mute = is_mute or not failure.diagnostics
    if is_mute and not problems:
        raise Failure
    return values, frozenset(sensitive), problems


_NAMES = "The value names the object on the cluster and is shown everywhere, but it is sensitive."


def _typed(value: Value, wanted: SchemaField, plan: Blueprint, scope: Scope) -> object:
    node = plan.found.arguments[wanted.name].value
    told = f'Inappropriate value for argument "{wanted.name}": '
    try:
        converted = convert(value, plan.types[wanted.name])
        return _plain(unmark_deep(converted)[0], takes_fractions=wanted.name in plan.fractions)
    except ConversionError as fault:
        shown = got(value, fault, is_secret=False)
        raise _refusal("KP178", f"{told}{fault}{shown}.", part(node, fault.path), scope) from None
    except _Fraction:
        raise _refusal("KP178", f"{told}a whole number is required.", node, scope) from None


class _Fraction(Exception):  # noqa: N818 - never leaves this module
    """A number is not whole where Kafka counts."""


def _refusal(code: str, detail: str, node: ast.Node, scope: Scope) -> Failure:
    subject = scope.origin.range(node.start, node.end)
    return Failure([error(code, subject, detail, values=seen(node, scope, evaluate))])


def _sensitive_paths(name: str, value: Value) -> Iterator[Path]:
    bare, marked = unmark(value)
    if marked:
        yield (name,)
    elif isinstance(bare, dict):
        for key, each in bare.items():
            if has_sensitive(each):
                yield (name, key)
    elif has_sensitive(bare):
        yield (name,)


def _plain(value: Value, *, takes_fractions: bool) -> object:
    """Turn a value into what the kinds' dataclasses hold: plain tuples and dicts without nulls."""
    if isinstance(value, Fraction):
        if takes_fractions:
            return float(value)
        raise _Fraction
    if isinstance(value, tuple):
        return tuple(_plain(each, takes_fractions=takes_fractions) for each in value)
    if isinstance(value, dict):
        found = {key: _plain(each, takes_fractions=takes_fractions) for key, each in value.items()}
        return {key: each for key, each in found.items() if each is not None}
    return value


def _with_address(problems: list[Diagnostic], address: Address) -> Iterator[Diagnostic]:
    for each in problems:
        is_own = each.address is None and each.code != "KP145"  # a circle has several owners
        yield replace(each, address=address) if is_own else each


def _told(problem: Problem, plan: Blueprint, address: Address) -> Diagnostic:
    subject = plan.ranges.get(problem.path) or plan.ranges.get(problem.path[:1])
    return Diagnostic(
        problem.code,
        Severity.WARNING if problem.is_warning else Severity.ERROR,
        SUMMARIES[problem.code],
        problem.detail,
        problem.hint,
        address,
        subject or plan.declared_at,
    )


# ---- lifecycle


def _lifecycle(plan: Blueprint, scope: Scope, problems: list[Diagnostic]) -> Lifecycle:
    for inner in plan.found.block.blocks:
        if inner.type != "lifecycle":
            continue
        arguments = {each.name: each for each in inner.attributes}
        try:
            return Lifecycle(
                flag(arguments, "prevent_destroy", scope, default=False),
                _ignored(arguments.get("ignore_changes"), plan, scope),
            )
        except Failure as failure:
            problems.extend(failure.diagnostics)
    return Lifecycle()


def _ignored(found: ast.Attribute | None, plan: Blueprint, scope: Scope) -> tuple[Path, ...]:
    if found is None:
        return ()
    if isinstance(found.value, ast.Name) and found.value.name == "all":
        return ((),)
    nodes = found.value.items if isinstance(found.value, ast.Tuple) else None
    if nodes is None:
        told = 'ignore_changes is a list of arguments, or the word "all".'
        raise _refusal("KP178", told, found.value, scope)
    return tuple(_ignored_path(each, plan, scope) for each in nodes)


def _ignored_path(node: ast.Node, plan: Blueprint, scope: Scope) -> Path:
    match node:
        case ast.Name(_, _, name) | ast.Literal(_, _, str() as name):
            path: Path = (name,)
        case ast.Index(target=ast.Name(_, _, name), key=ast.Literal(_, _, str() as key)):
            path = (name, key)
        case ast.GetAttr(target=ast.Name(_, _, name), name=key):
            path = (name, key)
        case _:
            told = 'This is no argument. Write its name, or one key as config["retention.ms"].'
            raise _refusal("KP178", told, node, scope)
    if path[0] not in plan.types:
        told = f'A {plan.kind.name} has no argument "{path[0]}".'
        raise _refusal("KP121", told, node, scope)
    return path
