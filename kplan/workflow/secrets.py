"""Secrets of a plan that was read from a file, which holds none."""

from collections.abc import Mapping
from dataclasses import replace

from kplan.config.load import Configuration
from kplan.kinds.schema import secret_paths
from kplan.model.address import Address
from kplan.model.plan import Change, Plan
from kplan.model.resource import Resource


def with_secrets(plan: Plan, configuration: Configuration) -> Plan:
    """Take the secrets that apply has to send from the configuration the plan was made from."""
    declared = {each.address: each for each in configuration.resources}
    return plan.map_changes(lambda change: _completed(change, declared))


def _completed(change: Change, declared: Mapping[Address, Resource]) -> Change:
    resource = declared.get(change.address)
    if change.after is None or resource is None or not change.touches_cluster:
        return change
    secrets = {name: getattr(resource.value, name) for (name,) in secret_paths(type(change.after))}
    if not secrets:
        return change
    return replace(change, after=replace(change.after, **secrets))  # type: ignore[type-var] # a kind's dataclass
