"""Loading of a folder: HCL files and inputs to resources, providers, outputs and problems."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from kplan.config.configuration import Configuration, VariableValue
from kplan.config.data import Reader
from kplan.config.inputs import Inputs
from kplan.config.module import Module
from kplan.config.opening import Root, open_folder
from kplan.config.outputs import Output, outputs
from kplan.config.policies.folder import policies, policy_settings
from kplan.config.problem import Failure, error
from kplan.config.providers import Provider, providers
from kplan.config.refactorings import refactorings
from kplan.config.room import room_to_work
from kplan.config.state_block import state_shelf
from kplan.config.values.jsonvalue import to_json_value
from kplan.config.values.sensitive import has_sensitive
from kplan.kinds.base import ResourceKind
from kplan.kinds.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, Severity, in_order
from kplan.model.resource import Identity, Resource

__all__ = ["Configuration", "Inputs", "Output", "Provider", "VariableValue", "load"]


def load(
    folder: Path,
    inputs: Inputs,
    kinds: Sequence[ResourceKind],
    reader: Reader | None = None,
) -> Configuration:
    """Load the configuration in a folder. What a user can fix is among the diagnostics.

    Without a `reader` data sources, and all that depends on them, have no values: this is for
    checking, and for finding out which connections there are.
    """
    with room_to_work():
        root = open_folder(folder, inputs, kinds)
        root = root if reader is None else root.reading(reader)
    return configured(root, inputs, kinds)


def configured(root: Root, inputs: Inputs, kinds: Sequence[ResourceKind]) -> Configuration:
    """Work out everything that an opened folder declares."""
    with room_to_work():
        module, ledger = root.module, root.run.ledger
        module.work_out()
        ledger.attempt(partial(state_shelf, module, ledger))
        evaluated = providers(module, ledger)
        shown = outputs(module, ledger)
        resources = tuple(resources_of(module))
        ledger.report(declared_twice(resources, kinds))
        lacks_data = root.run.reader is None and _has_data(module)
        refactored = refactorings(module, resources, ledger, lacks_data=lacks_data)
        judges = policies(module, ledger, root.run.kinds)
        judging = policy_settings(module, ledger)
    variables = _variables(module)
    return Configuration(
        resources,
        evaluated,
        shown,
        variables,
        in_order(ledger.diagnostics),
        root.sources,
        _digest(root.run.library.sources, variables, inputs.workspace),
        refactored,
        judges,
        judging,
        lacks_data,
    )


def _has_data(module: Module) -> bool:
    return any(each.declared.data for each in module.modules())


def resources_of(module: Module) -> Iterator[Resource]:
    """Give the resources that have values, here and in called modules, by address."""
    found: list[Resource] = []
    for node in module.resources():
        try:
            keys = list(node.instances())
        except Failure:
            continue
        for key in keys:
            try:
                found.append(node.instance(key))
            except Failure:
                continue
    yield from sorted(found, key=lambda each: each.address.sort_key)


def declared_twice(
    resources: Sequence[Resource], kinds: Sequence[ResourceKind]
) -> Iterator[Diagnostic]:
    """Find objects that two resources declare, and those that get in each other's way (K4-04).

    Those of different connections are on different clusters.
    """
    for kind in kinds:
        found: dict[str, dict[Identity, Resource]] = {}
        for each in resources:
            if each.address.kind != kind.name:
                continue
            other = found.setdefault(each.provider, {}).setdefault(each.identity, each)
            if other is not each:
                yield _twice(kind, other, each)
        for first in found.values():
            yield from _colliding(kind, first)


def _colliding(kind: ResourceKind, found: Mapping[Identity, Resource]) -> Iterator[Diagnostic]:
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


def _twice(kind: ResourceKind, other: Resource, each: Resource) -> Diagnostic:
    first, second = sorted((other, each), key=lambda one: (one.declared_at, one.address.sort_key))
    places = [f"{one.declared_at.file}:{one.declared_at.line}" for one in (first, second)]
    told = f'duplicate {kind.noun} "{each.identity}": {places[0]} and {places[1]}'
    hint = f"{first.address} and {second.address} declare the same {kind.noun}; keep one."
    related = ((str(first.address), first.declared_at),)
    return error(
        "KP191", second.declared_at, told, hint=hint, address=second.address, related=related
    )


def _variables(module: Module) -> dict[str, VariableValue]:
    values: dict[str, VariableValue] = {}
    for name in sorted(module.declared.variables):
        try:
            value = module.variable(name)
        except Failure:
            continue
        if has_sensitive(value):
            values[name] = VariableValue(None, is_sensitive=True)
        else:
            values[name] = VariableValue(to_json_value(value), is_sensitive=False)
    return values


def _digest(
    sources: Mapping[str, str], variables: Mapping[str, VariableValue], workspace: str
) -> str:
    digest = hashlib.sha256()
    for name in sorted(sources):
        for part in (name, sources[name]):
            digest.update(f"{len(part)}:{part}\n".encode())
    for name in sorted(variables):
        digest.update(f"{name}={json.dumps(variables[name].value, sort_keys=True)}\n".encode())
    digest.update(workspace.encode())
    return digest.hexdigest()
