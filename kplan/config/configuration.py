"""What came of loading a folder."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kplan.config.outputs import Output
from kplan.config.policies.folder import PolicySettings
from kplan.config.providers import Provider
from kplan.config.values.jsonvalue import Json
from kplan.model.diagnostic import Diagnostic
from kplan.model.policy import Policy
from kplan.model.refactoring import Refactorings
from kplan.model.resource import Resource


@dataclass(frozen=True, slots=True)
class VariableValue:
    """The value of an input variable as JSON-able data; None where it is sensitive."""

    value: Json = field(repr=False)
    is_sensitive: bool


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a folder declares, evaluated. With errors among the diagnostics it is incomplete.

    `resources` are in order of their addresses. `sources` holds the text of each file, for showing
    the line of a problem. `digest` is the same for the same configuration files and values of
    variables, wherever those come from; sensitive ones are not in it. With `lacks_data` there are
    data sources, and nothing was there to read them from: what depends on them is left out.
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
