"""What the planner is asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from kplan.model.address import Address
from kplan.model.resource import Identity, Resource
from kplan.model.state import OutputValue, State


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """The three sides but for the live one, and what narrows the plan.

    `removed` holds addresses (of blocks or instances) that a `removed` block lets go of; `moved`
    holds pairs of old and new address. `targets` are addresses, block addresses, module prefixes
    or glob patterns; none stands for all. `only` narrows the plan to objects by kind and identity.
    """

    resources: tuple[Resource, ...]
    outputs: Mapping[str, OutputValue]
    state: State
    config_digest: str = ""
    targets: tuple[str, ...] = ()
    only: frozenset[tuple[str, Identity]] | None = None
    is_destroy: bool = False
    moved: tuple[tuple[str, str], ...] = ()
    removed: tuple[str, ...] = ()
    max_records: int = 2_000
    cluster: Mapping[str, str] = field(default_factory=dict)
    created_at: str = ""

    @property
    def is_narrowed(self) -> bool:
        """Whether a part of the changes only is asked for; outputs are left alone then."""
        return bool(self.targets) or self.only is not None


def is_targeted(address: Address, targets: tuple[str, ...]) -> bool:
    """Whether the targets let the address through; no targets let all through."""
    if not targets:
        return True
    names = {str(address), address.block}
    names.update(
        ".".join(f"module.{step}" for step in address.module[: depth + 1])
        for depth in range(len(address.module))
    )
    return any(
        target in names or fnmatchcase(str(address), target.replace("[", "[[]"))
        for target in targets
    )
