"""Load a folder: resources, providers, outputs and diagnostics of its configuration."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path

from kplan.config.dependency_cycle import dependency_cycle_problems
from kplan.config.diagnostic import EvaluationError, error
from kplan.config.evaluation.evaluate import deep_recursion
from kplan.config.inputs import Inputs
from kplan.config.modules.data_source import DataSourceReader
from kplan.config.modules.deferral import DeferredData
from kplan.config.modules.module import Module
from kplan.config.modules.provider import Provider, evaluate_providers
from kplan.config.modules.result_cache import ResultCache
from kplan.config.modules.root_module import Output, RootModule, evaluate_outputs, open_folder
from kplan.config.modules.static_checks import static_problems
from kplan.config.modules.variable import validation_problems
from kplan.config.policies.block import (
    PolicySettings,
    compute_references,
    evaluate_argument,
    evaluate_policies,
    evaluate_policy_settings,
)
from kplan.config.refactoring import evaluate_refactorings
from kplan.config.state_block import evaluate_state_block
from kplan.config.values.sensitive import has_sensitive
from kplan.config.values.value_text import Json, to_json_value
from kplan.kinds.base import ResourceKind
from kplan.model.codes import SUMMARIES
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, Severity, sort_diagnostics
from kplan.model.policy import Policy
from kplan.model.resource import Identity, Refactorings, Resource, merge_declarations


@dataclass(frozen=True, slots=True)
class VariableValue:
    """The value of an input variable as JSON-able data; None where it is sensitive.

    `is_given` is False where it is the default.
    """

    value: Json = field(repr=False)
    is_sensitive: bool
    is_given: bool = False


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a folder declares, evaluated. With errors among the diagnostics it is incomplete.

    `resources` are in order of their addresses; equal ACLs are one of them. `sources` holds the
    text of each file, for showing the line of a problem. `digest` is the same for the same
    configuration files and values of variables, wherever those come from; sensitive ones are not in
    it. With `lacks_data` there are data sources, and nothing was there to read them from: what
    depends on them is left out. `deferred` are data sources that are read after an apply. With
    `requires_signature` saved plans are signed.
    """

    resources: tuple[Resource, ...]
    providers: tuple[Provider, ...]
    outputs: tuple[Output, ...]
    variables: Mapping[str, VariableValue]
    diagnostics: tuple[Diagnostic, ...]
    sources: Mapping[str, str] = field(repr=False)
    digest: str
    refactorings: Refactorings = field(default_factory=Refactorings)
    policies: tuple[Policy, ...] = ()
    policy_settings: PolicySettings = field(default_factory=PolicySettings)
    lacks_data: bool = False
    deferred: DeferredData | None = None
    requires_signature: bool = False


__all__ = ["Configuration", "Inputs", "Output", "Provider", "VariableValue", "load_configuration"]


def load_configuration(
    folder: Path,
    inputs: Inputs,
    kinds: Sequence[ResourceKind],
    reader: DataSourceReader | None = None,
    *,
    defers: bool = False,
    shown: str = "",
) -> Configuration:
    """Load the configuration in a folder. What a user can fix is among the diagnostics.

    Without a `reader` data sources, and all that depends on them, have no values: this is for
    checking, and for finding out which connections there are. With `defers` those that depend on
    resources are not read. `shown` is before the names of its files in messages, where it is not
    the folder at work.
    """
    with deep_recursion():
        root = open_folder(folder, inputs, kinds, shown)
        root = root if reader is None else root.with_reader(reader, defers=defers)
    return evaluate_configuration(root, inputs, kinds)


def load_connections(folder: Path, inputs: Inputs, kinds: Sequence[ResourceKind]) -> Configuration:
    """Load the provider blocks alone: variables that no connection depends on need no value."""
    with deep_recursion():
        root = open_folder(folder, inputs, kinds)
        module, results = root.module, root.context.results
        results.report(static_problems(module.declarations, root.context.kinds, ()))
        evaluated = evaluate_providers(module, results)
        results.report(_invalid_values(root))
    found = sort_diagnostics(results.diagnostics)
    return Configuration((), evaluated, (), {}, found, root.sources, "")


def load_policies(
    folder: Path,
    inputs: Inputs,
    kinds: Sequence[ResourceKind],
    reader: DataSourceReader | None = None,
) -> Configuration:
    """Load the policy blocks alone: what no policy depends on needs no value."""
    with deep_recursion():
        root = open_folder(folder, inputs, kinds)
        root = root if reader is None else root.with_reader(reader)
        module, results = root.module, root.context.results
        for child in module.modules():
            results.report(static_problems(child.declarations, root.context.kinds, child.path))
        policies = evaluate_policies(module, results, root.context.kinds)
        settings = evaluate_policy_settings(module, results)
        compute_references(module)
        for child in module.modules():
            child.validate_variables()
    return Configuration(
        (), (), (), {}, sort_diagnostics(results.diagnostics), root.sources, "",
        policies=policies,
        policy_settings=settings,
        lacks_data=reader is None and _has_data_sources(module),
    )  # fmt: skip


def _invalid_values(root: RootModule) -> Iterator[Diagnostic]:
    """Find what the rules of a variable refuse, of those that have values."""
    for name, found in root.module.declarations.variables.items():
        if name not in root.input_values and "default" not in found.arguments:
            continue  # to compute it would report that it lacks one
        try:
            root.module.variable(name)
        except EvaluationError:
            continue
        scope, given = root.module.scope(found.origin), root.input_values.get(name)
        yield from validation_problems(found, scope, f"var.{name}", given, None)


def evaluate_configuration(
    root: RootModule, inputs: Inputs, kinds: Sequence[ResourceKind]
) -> Configuration:
    """Compute everything that an opened folder declares."""
    with deep_recursion():
        module, results = root.module, root.context.results
        module.evaluate_all()
        results.report(dependency_cycle_problems(root))
        results.attempt(partial(evaluate_state_block, module, results))
        evaluated = evaluate_providers(module, results)
        shown = evaluate_outputs(module, results)
        resources = tuple(evaluated_resources(module))
        results.report(duplicate_objects(resources, kinds))
        lacks_data = root.context.reader is None and _has_data_sources(module)
        refactored = evaluate_refactorings(module, resources, results, lacks_data=lacks_data)
        judges = evaluate_policies(module, results, root.context.kinds)
        judging = evaluate_policy_settings(module, results)
        requires_signature = _requires_signature(module, results)
    variables = _variable_values(root)
    deferred, problems = _deferred_data(root, results.diagnostics)
    return Configuration(
        merge_shared_objects(resources, kinds),
        evaluated,
        shown,
        variables,
        sort_diagnostics(problems),
        root.sources,
        _digest(root.context.folders.sources, variables, inputs),
        refactored,
        judges,
        judging,
        lacks_data,
        deferred,
        requires_signature,
    )


def _deferred_data(
    root: RootModule, found: Sequence[Diagnostic]
) -> tuple[DeferredData | None, Sequence[Diagnostic]]:
    """Part the problems of data sources that are read later from the others."""
    deferral = root.context.deferral
    if deferral is None or not deferral.waits:
        return None, found
    later = tuple(each for each in found if each.code == "KP510")
    return (
        DeferredData(deferral.waits, deferral.outputs, sort_diagnostics(later), deferral.resources),
        [each for each in found if each.code != "KP510"],
    )


def _requires_signature(module: Module, results: ResultCache) -> bool:
    """Whether the `plan` block of the root module asks for signed plans."""
    for child in module.modules():
        for each in child.declarations.plan_settings if child.path else ():
            detail = "What a saved plan must have belongs in the root module."
            results.report([error("KP138", each.declared_at, detail)])
    if not (found := module.declarations.plan_settings):
        return False
    name = "require_signature"
    value = results.attempt(partial(evaluate_argument, module, found[0], name, ""))
    if not isinstance(value, bool | None):
        detail = f'"{name}" is a bool.'
        results.report([error("KP178", found[0].value_range(name), detail)])
    return value is True


def _has_data_sources(module: Module) -> bool:
    return any(each.declarations.data for each in module.modules())


def evaluated_resources(module: Module) -> Iterator[Resource]:
    """Return the resources that have values, here and in called modules, by address."""
    found: list[Resource] = []
    for node in module.resources():
        try:
            keys = list(node.instances())
        except EvaluationError:
            continue
        for key in keys:
            try:
                found.append(node.instance(key))
            except EvaluationError:
                continue
    yield from sorted(found, key=lambda each: each.address.sort_key)


def duplicate_objects(
    resources: Sequence[Resource], kinds: Sequence[ResourceKind]
) -> Iterator[Diagnostic]:
    """Find objects that two resources declare, and those that get in each other's way (K4-04).

    Those of different connections are on different clusters.
    """
    of_kind: dict[str, list[Resource]] = {}
    for each in resources:
        of_kind.setdefault(each.address.kind, []).append(each)
    for kind in kinds:
        found: dict[str, dict[Identity, Resource]] = {}
        for each in of_kind.get(kind.name, ()):
            other = found.setdefault(each.provider, {}).setdefault(each.identity, each)
            if other is not each and not kind.is_shareable:
                yield _duplicate_error(kind, other, each)
        for first in found.values():
            yield from _conflicts(kind, first)


def merge_shared_objects(
    resources: Sequence[Resource], kinds: Sequence[ResourceKind]
) -> tuple[Resource, ...]:
    """Merge equal declarations of a kind whose objects may be shared into one object.

    Two modules may describe the same ACL, and Kafka holds it once. Resources come and go in order
    of their addresses.
    """
    shareable = {kind.name for kind in kinds if kind.is_shareable}
    found: dict[object, list[Resource]] = {}
    for each in resources:
        key = each.key if each.address.kind in shareable else id(each)
        found.setdefault(key, []).append(each)
    return tuple(each[0] if len(each) == 1 else merge_declarations(each) for each in found.values())


def _conflicts(kind: ResourceKind, found: Mapping[Identity, Resource]) -> Iterator[Diagnostic]:
    for identity, problem in kind.check_all(list(found)):
        resource = found[identity]
        yield Diagnostic(
            problem.code,
            Severity.WARNING if problem.is_warning else Severity.ERROR,
            SUMMARIES[problem.code],
            problem.detail,
            problem.hint,
            resource.address,
            resource.ranges.get(problem.path, resource.declared_at),
        )


def _duplicate_error(kind: ResourceKind, other: Resource, each: Resource) -> Diagnostic:
    first, second = sorted((other, each), key=lambda one: (one.declared_at, one.address.sort_key))
    places = [f"{one.declared_at.file}:{one.declared_at.line}" for one in (first, second)]
    detail = f'duplicate {kind.noun} "{each.identity}": {places[0]} and {places[1]}'
    hint = f"{first.address} and {second.address} declare the same {kind.noun}; keep only one."
    related = ((str(first.address), first.declared_at),)
    return error(
        "KP191", second.declared_at, detail, hint=hint, address=second.address, related=related
    )


def _variable_values(root: RootModule) -> dict[str, VariableValue]:
    module, values = root.module, dict[str, VariableValue]()
    for name in sorted(module.declarations.variables):
        try:
            value = module.variable(name)
        except EvaluationError:
            continue
        is_sensitive = has_sensitive(value)
        shown = None if is_sensitive else to_json_value(value)
        values[name] = VariableValue(shown, is_sensitive, name in root.input_values)
    return values


def _digest(
    sources: Mapping[str, str], variables: Mapping[str, VariableValue], inputs: Inputs
) -> str:
    digest = hashlib.sha256()
    for name in sorted(sources):
        for part in (name, sources[name]):
            digest.update(f"{len(part)}:{part}\n".encode())
    for name in sorted(variables):
        digest.update(f"{name}={json.dumps(variables[name].value, sort_keys=True)}\n".encode())
    digest.update(inputs.workspace.encode() + inputs.foreign.digest.encode())
    return digest.hexdigest()
