"""Data sources that wait for resources: `depends_on` of the block or of a call around it."""

from collections.abc import Mapping
from dataclasses import field

from kplan.config.declarations.declaration import Declaration
from kplan.config.diagnostic import EvaluationError
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic

_KINDS_PREFIX = "kafka_"


@dataclass(slots=True)
class Deferral:
    """What is read later in one load.

    `waits` has the addresses of blocks and modules by the data source that waits for them,
    `outputs` those of the root module that need one by name, and whether they are sensitive.
    `resources` has the reasons by address of the instances that have no value before.
    """

    waits: dict[str, tuple[str, ...]] = field(default_factory=dict)
    outputs: dict[str, bool] = field(default_factory=dict)
    resources: dict[str, tuple[Diagnostic, ...]] = field(default_factory=dict)

    def set_sensitive(self, name: str, *, is_sensitive: bool) -> None:
        """Say of an output whether it is sensitive, if it is one of those that wait."""
        if name in self.outputs:
            self.outputs[name] = is_sensitive


@dataclass(frozen=True, slots=True)
class DeferredData:
    """Data sources that have not been read, because resources that they depend on may change.

    `resources` are planned after them; `problems` are the errors of everything else that cannot do
    without them, such as `for_each`.
    """

    waits: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    outputs: Mapping[str, bool] = field(default_factory=dict)
    problems: tuple[Diagnostic, ...] = ()
    resources: Mapping[str, tuple[Diagnostic, ...]] = field(default_factory=dict)


def dependencies(declaration: Declaration, prefix: str) -> tuple[str, ...]:
    """Return the addresses that `depends_on` of a block names: resources of Kafka, and modules.

    `prefix` is before the names of the module that the block is in.
    """
    attribute = declaration.arguments.get("depends_on")
    found = []
    for each in attribute.references if attribute else ():
        if each.root == "module" and each.steps:
            found.append(f"{prefix}module.{each.steps[0]}")
        elif each.root.startswith(_KINDS_PREFIX) and each.steps:
            found.append(f"{prefix}{each.root}.{each.steps[0]}")
    return tuple(found)


def is_deferred(failure: EvaluationError) -> bool:
    """Whether a value waits for a data source that is read later."""
    return any(each.code == "KP510" for each in failure.diagnostics)


def is_only_deferred(failure: EvaluationError) -> bool:
    """Whether a value has no other problem than that it waits for data sources."""
    return is_deferred(failure) and all(each.code == "KP510" for each in failure.diagnostics)
