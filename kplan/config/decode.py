"""From evaluated arguments to the value of a kind, with every problem at its place."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TypeVar, cast

from kplan.config.blueprint import Argument, Blueprint, Decoded
from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.scope import Scope
from kplan.config.evaluation.seen import seen
from kplan.config.lifecycle import lifecycle
from kplan.config.problem import Failure, error
from kplan.config.syntax import tree as ast
from kplan.config.syntax.walk import part
from kplan.config.values.convert import ConversionError, convert
from kplan.config.values.numbers import number_text
from kplan.config.values.sensitive import bare, has_sensitive, mark, unmark
from kplan.config.values.value import Null, TMap, Value
from kplan.config.variables import got
from kplan.kinds.base import Problem
from kplan.kinds.codes import SUMMARIES
from kplan.model.address import Address
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.resource import Lifecycle, Path, Resource

T = TypeVar("T", Decoded, Lifecycle)


def decoded(plan: Blueprint, address: Address, scope: Scope) -> tuple[Resource, list[Diagnostic]]:
    """Evaluate and decode one instance; the diagnostics are warnings.

    Raises:
        Failure: an argument has no value, or one that does not do.

    """
    values, sensitive, rules = _evaluated(plan, address, scope)
    value = plan.kind.normal(plan.kind.schema(**values))
    told = [_told(each, plan, address) for each in plan.kind.check(value)]
    if any(each.is_error for each in told):
        raise Failure(told)
    identity = plan.kind.identify(value)
    resource = Resource(address, identity, value, plan.declared_at, rules, plan.ranges, sensitive)
    return resource, told


def _evaluated(
    plan: Blueprint, address: Address, scope: Scope
) -> tuple[dict[str, object], frozenset[Path], Lifecycle]:
    values: dict[str, object] = {}
    sensitive: frozenset[Path] = frozenset()
    failures: list[Failure] = []
    for each in plan.arguments:
        try:
            found = _argument(each, plan, scope)
        except Failure as failure:
            failures.append(failure)
            continue
        if found.plain is not None:
            values[each.field.name] = found.plain
        if found.sensitive:
            sensitive = sensitive.union(found.sensitive)
    rules = Lifecycle()
    try:
        rules = _rules(plan, scope)
    except Failure as failure:
        failures.append(failure)
    if failures or plan.lacks_required:  # the latter was told when the text was checked
        diagnostics = [told for each in failures for told in each.diagnostics]
        raise Failure(_with_address(diagnostics, address))
    return values, sensitive, rules


def _rules(plan: Blueprint, scope: Scope) -> Lifecycle:
    block = plan.lifecycle
    if block is None:
        return Lifecycle()
    if plan.is_lifecycle_shared:
        return _once("lifecycle", plan, lambda: lifecycle(plan, block, scope))
    return lifecycle(plan, block, scope)


def _argument(argument: Argument, plan: Blueprint, scope: Scope) -> Decoded:
    if argument.is_shared:
        return _once(argument.field.name, plan, lambda: _decoded(argument, scope))
    return _decoded(argument, scope)


def _once(name: str, plan: Blueprint, compute: Callable[[], T]) -> T:
    """Compute what is the same in all instances for the first of them; told once if it fails."""
    found = plan.shared.get(name)
    if found is None:
        try:
            found = plan.shared[name] = compute()
        except Failure:
            plan.shared[name] = Failure()
            raise
    if isinstance(found, Failure):
        raise found
    return cast("T", found)


def _decoded(argument: Argument, scope: Scope) -> Decoded:
    node, wanted = argument.node, argument.field
    value = evaluate(node, scope)
    if wanted.is_secret:
        value = mark(value)
    if (wanted.is_text and type(value) is str) or (wanted.is_number and type(value) is int):
        return Decoded(value)
    if (
        wanted.is_texts
        and type(value) in _MAPS
        and (texts := _texts(cast("dict[str, Value]", value))) is not None
    ):
        return Decoded(texts)
    sensitive = tuple(_sensitive_paths(wanted.name, value)) if has_sensitive(value) else ()
    if sensitive and wanted.is_identity:
        raise _refusal("KP182", _NAMES, node, scope)
    plain = _typed(value, argument, scope)
    if plain is None and wanted.is_required:
        told = f'The argument "{wanted.name}" is required, but its value is null.'
        raise _refusal("KP122", told, node, scope)
    return Decoded(plain, sensitive)


def _texts(value: dict[str, Value]) -> dict[str, object] | None:
    """Give the texts of a map that holds nothing but strings and whole numbers, as most do."""
    found: dict[str, object] = {}
    for key, each in value.items():
        if type(each) is str:
            found[key] = each
        elif type(each) is int:
            found[key] = number_text(each)
        else:
            return None
    return found


_MAPS = frozenset({dict, TMap})

_NAMES = "The value names the object on the cluster and is shown everywhere, but it is sensitive."


def _typed(value: Value, argument: Argument, scope: Scope) -> object:
    wanted, node = argument.field, argument.node
    told = f'Inappropriate value for argument "{wanted.name}": '
    try:
        converted = bare(convert(value, wanted.type))
        return _plain(converted, takes_fractions=wanted.takes_fractions)
    except ConversionError as fault:
        shown = got(value, fault, is_secret=False)
        raise _refusal("KP178", f"{told}{fault}{shown}.", part(node, fault.path), scope) from None
    except _NotWhole:
        raise _refusal("KP178", f"{told}a whole number is required.", node, scope) from None


class _NotWhole(Exception):  # noqa: N818 - never leaves this module
    """A number is not whole where Kafka counts."""


def _refusal(code: str, detail: str, node: ast.Node, scope: Scope) -> Failure:
    subject = scope.origin.range(node.start, node.end)
    return Failure([error(code, subject, detail, values=seen(node, scope, evaluate))])


def _sensitive_paths(name: str, value: Value) -> Iterator[Path]:
    inner, marked = unmark(value)
    if marked or not isinstance(inner, dict):
        yield (name,)
        return
    for key, each in inner.items():
        if has_sensitive(each):
            yield (name, key)


def _plain(value: Value, *, takes_fractions: bool) -> object:
    """Turn a value into what the kinds' dataclasses hold: plain tuples and dicts without nulls."""
    if isinstance(value, dict):
        found = {key: _plain(each, takes_fractions=takes_fractions) for key, each in value.items()}
        return {key: each for key, each in found.items() if each is not None}
    if isinstance(value, tuple):
        return tuple(_plain(each, takes_fractions=takes_fractions) for each in value)
    if isinstance(value, Null):
        return None
    if isinstance(value, Fraction):
        if takes_fractions:
            return float(value)
        raise _NotWhole
    return value


def _with_address(diagnostics: list[Diagnostic], address: Address) -> Iterator[Diagnostic]:
    for each in diagnostics:
        is_own = each.address is None and each.code != "KP145"  # a circle has several owners
        yield replace(each, address=address) if is_own else each


def _told(problem: Problem, plan: Blueprint, address: Address) -> Diagnostic:
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
