"""The policies of each cluster of a fleet."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kplan.config.declarations.file import configuration_files
from kplan.config.fleet_file import FleetConfiguration
from kplan.config.load import Configuration
from kplan.config.policies.block import load_policy_folder
from kplan.fleet.plan import FleetPlanRequest
from kplan.fleet.policy import FleetPolicies
from kplan.kinds import KINDS
from kplan.model.address import Address
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import has_errors
from kplan.model.errors import ConfigError, KplanError
from kplan.model.policy import Policy
from kplan.model.resource import Identity
from kplan.workflow.fleet.desired import (
    ClusterDesired,
    LoadedConfiguration,
    failure_text,
    fleet_plan_request,
    load_configurations,
    read_desired,
)
from kplan.workflow.fleet.owners import (
    ClusterOwners,
    OwnedObjects,
    cluster_owners,
    owned_objects,
)
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts
from kplan.workflow.open_project import load_checked_policies

if TYPE_CHECKING:
    from kplan.fleet.spark.session import DataFrame

PoliciesToCheck = tuple[FleetPolicies, tuple[str, ...]]
"""The policies of all clusters; and which are not evaluated."""


@dataclass(frozen=True, slots=True)
class ClusterPolicies:
    """The policies of a cluster, with the owned addresses by kind and identity; or a problem."""

    policies: tuple[Policy, ...] = ()
    owned: Mapping[tuple[str, Identity], Address] = field(default_factory=dict)
    problem: str = ""
    left_out: tuple[str, ...] = ()


def load_policies(
    fleet: FleetConfiguration, options: FleetOptions, ports: FleetPorts, objects: "DataFrame"
) -> PoliciesToCheck:
    """Gather the policies of each cluster's configuration, and say which are not evaluated."""
    found = load_configurations(
        fleet, options, ports, objects, read_policies, load_checked_policies
    )
    return _fleet_policies(found, ports)


class Declarations(NamedTuple):
    """What is declared for the clusters of a fleet: resources, policies, and owned objects."""

    request: FleetPlanRequest
    policies: PoliciesToCheck
    owned: OwnedObjects


def load_declarations(
    fleet: FleetConfiguration, options: FleetOptions, ports: FleetPorts, objects: "DataFrame"
) -> Declarations:
    """Load each configuration once for all that is asked of it."""
    found = dict(load_configurations(fleet, options, ports, objects, _read_declarations))
    desired = {name: each for name, (each, _, _) in found.items()}
    policies = {name: each for name, (_, each, _) in found.items()}
    return Declarations(
        fleet_plan_request(options, desired.items()),
        _fleet_policies(policies.items(), ports),
        owned_objects(objects.sparkSession, (each for _, _, each in found.values())),
    )


def _read_declarations(
    loaded: LoadedConfiguration,
) -> tuple[ClusterDesired, ClusterPolicies, ClusterOwners]:
    owners = cluster_owners(loaded.name, loaded.project, lambda: loaded.read_state().modules)
    return read_desired(loaded), read_policies(loaded), owners


def read_policies(loaded: LoadedConfiguration) -> ClusterPolicies:
    """Read the policies of a cluster, and the owned addresses that waivers may speak of."""
    owned: dict[tuple[str, Identity], Address] = {}
    try:
        configuration = loaded.configuration
        more, others = _load_other_policies(loaded.project.folder, configuration)
        if policies := (*configuration.policies, *more):
            held = loaded.read_state().for_provider("").owned.values()
            owned = {(each.address.kind, each.identity): each.address for each in held}
    except KplanError as failure:
        return ClusterPolicies(problem=failure_text(failure))
    left_out = tuple(f"{loaded.name}: policies of {each} are not evaluated." for each in others)
    return ClusterPolicies(policies, owned, left_out=left_out)


def _fleet_policies(
    clusters: Iterable[tuple[str, ClusterPolicies]], ports: FleetPorts
) -> PoliciesToCheck:
    policies: dict[str, tuple[Policy, ...]] = {}
    owned: dict[str, Mapping[tuple[str, Identity], Address]] = {}
    problems: dict[str, str] = {}
    left_out: list[str] = []
    for name, each in clusters:
        if each.policies:
            policies[name], owned[name] = each.policies, each.owned
        if each.problem:
            problems[name] = each.problem
        left_out += each.left_out
    return FleetPolicies(policies, owned, problems, ports.now().date()), tuple(left_out)


def _load_other_policies(
    folder: Path, configuration: Configuration
) -> tuple[tuple[Policy, ...], tuple[str, ...]]:
    """Load the policies of other folders, and name what holds policies in Python."""
    found: list[Policy] = []
    left_out: list[str] = []
    for path in configuration.policy_settings.paths:
        place = folder / path
        if place.is_dir() and configuration_files(place):
            made = load_policy_folder(place, KINDS, path)
            if has_errors(made.diagnostics):
                raise ConfigError(made.diagnostics, made.sources)
            found += made.policies
        if not place.is_dir() or any(place.glob("*.py")):
            left_out.append(path)
    return tuple(found), tuple(left_out)
