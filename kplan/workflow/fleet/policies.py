"""The policies of each cluster of a fleet."""

from pathlib import Path
from typing import TYPE_CHECKING

from kplan.config.declarations.file import configuration_files
from kplan.config.fleet_file import FleetConfiguration
from kplan.config.load import Configuration
from kplan.config.policies.block import load_policy_folder
from kplan.fleet.plan import FleetPlanRequest
from kplan.fleet.policy import FleetPolicies
from kplan.kinds import KINDS
from kplan.model.address import Address
from kplan.model.diagnostic import has_errors
from kplan.model.errors import ConfigError, KplanError
from kplan.model.policy import Policy
from kplan.model.resource import Identity
from kplan.workflow.fleet.desired import (
    DesiredCollector,
    FleetOptions,
    FleetPorts,
    LoadedConfiguration,
    failure_text,
    load_configurations,
    read_project_state,
    require_configuration,
)

if TYPE_CHECKING:
    from kplan.fleet.spark.session import DataFrame

PoliciesToCheck = tuple[FleetPolicies, tuple[str, ...]]
"""The policies of all clusters; and which are not evaluated."""


def load_policies(
    fleet: FleetConfiguration, options: FleetOptions, ports: FleetPorts, objects: "DataFrame"
) -> PoliciesToCheck:
    """Gather the policies of each cluster's configuration, and say which are not evaluated."""
    found = _PolicyCollector(ports)
    for each in load_configurations(fleet, options, ports, objects):
        found.add(each)
    return found.policies()


def load_declarations(
    fleet: FleetConfiguration, options: FleetOptions, ports: FleetPorts, objects: "DataFrame"
) -> tuple[FleetPlanRequest, PoliciesToCheck]:
    """Gather what `load_desired` and `load_policies` do, and load each configuration once."""
    desired, policies = DesiredCollector(options), _PolicyCollector(ports)
    for each in load_configurations(fleet, options, ports, objects):
        desired.add(each)
        policies.add(each)
    return desired.request(), policies.policies()


class _PolicyCollector:
    """Gathers policies, and the owned addresses that waivers may speak of."""

    def __init__(self, ports: FleetPorts) -> None:
        self._today = ports.now().date()
        self._policies: dict[str, tuple[Policy, ...]] = {}
        self._owned: dict[str, dict[tuple[str, Identity], Address]] = {}
        self._problems: dict[str, str] = {}
        self._left_out: list[str] = []

    def add(self, loaded: LoadedConfiguration) -> None:
        """Add a cluster."""
        name, project, found = loaded
        try:
            configuration = require_configuration(found)
            more, others = _load_other_policies(project.folder, configuration)
            if policies := (*configuration.policies, *more):
                held = read_project_state(project).for_provider("").owned.values()
                owned = {(each.address.kind, each.identity): each.address for each in held}
                self._policies[name], self._owned[name] = policies, owned
            self._left_out += [f"{name}: policies of {each} are not evaluated." for each in others]
        except KplanError as failure:
            self._problems[name] = failure_text(failure)

    def policies(self) -> PoliciesToCheck:
        """Return all of it."""
        found = FleetPolicies(self._policies, self._owned, self._problems, self._today)
        return found, tuple(self._left_out)


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
