"""The request to the planner: configuration, state, targets and limits."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from fnmatch import fnmatchcase
from typing import NamedTuple

from kplan.model.address import Address
from kplan.model.dataclass import dataclass
from kplan.model.plan import ObjectKey
from kplan.model.resource import ImportBlock, Resource
from kplan.model.state import OutputValue, State

MAX_RECORDS = 9_000
"""Controller records of a request; Kafka refuses more than 10,000 (KAFKA-14996, decision 0011)."""


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """The three inputs except the live one, and the filters of the plan.

    `moved`, `removed` and `imports` are those of `Refactorings`. `targets` are addresses, block
    addresses, module prefixes or glob patterns; none means all. `only` narrows the plan to
    objects by their keys. More than `max_deletes` deletes are refused; None leaves it at
    the limit that guards against a lost part of the configuration.
    `adds_first` names the connections where ACLs that replace others come before those go, if
    nothing speaks against it. `replaced` are the addresses of objects that are to be deleted and
    created again, each with the uid that it must still have, "" for any; that they lose what they
    hold must be `acknowledged`. `sent` are the objects that an interrupted apply has perhaps made
    in place of others. `cluster` and `clusters` are those of the plan.
    `unknown_outputs` get their values after the changes; each says whether it is sensitive.
    """

    resources: tuple[Resource, ...]
    outputs: Mapping[str, OutputValue]
    state: State
    config_digest: str = ""
    targets: tuple[str, ...] = ()
    only: frozenset[ObjectKey] | None = None
    is_destroy: bool = False
    moved: tuple[tuple[str, str], ...] = ()
    removed: tuple[str, ...] = ()
    imports: tuple[ImportBlock, ...] = ()
    max_records: int = MAX_RECORDS
    max_deletes: int | None = None
    adds_first: frozenset[str] = frozenset()
    replaced: Mapping[str, str] = field(default_factory=dict)
    acknowledged: frozenset[str] = frozenset()
    sent: frozenset[ObjectKey] = frozenset()
    cluster: Mapping[str, str] = field(default_factory=dict)
    clusters: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    created_at: str = ""
    unknown_outputs: Mapping[str, bool] = field(default_factory=dict)


class RequestSize(NamedTuple):
    """How many objects are declared and owned: guards count all, where a part is planned."""

    declared: int
    owned: int


def request_size(request: PlanRequest) -> RequestSize:
    """Count the objects of a request."""
    return RequestSize(len(request.resources), len(request.state.owned))


def provider_request(request: PlanRequest, provider: str) -> PlanRequest:
    """Return the inputs of one cluster: the objects declared and owned there."""
    return replace(
        request,
        resources=tuple(each for each in request.resources if each.provider == provider),
        state=request.state.for_provider(provider),
        adds_first=request.adds_first & {provider},
    )


BlockName = tuple[tuple[str, ...], str, str]
"""A block by its module, kind and name, which are compared faster than an address is written."""


def block_name(address: Address) -> BlockName:
    """Return the name of the block of an instance."""
    return address.module, address.kind, address.name


DeclaredBlocks = Mapping[BlockName, tuple[Address, Resource]]


def declared_blocks(request: PlanRequest) -> DeclaredBlocks:
    """Return an instance of each block that declares any."""
    return {block_name(at): (at, each) for each in request.resources for at in each.addresses}


def is_targeted(address: Address, targets: tuple[str, ...]) -> bool:
    """Whether the targets let the address through; no targets let all through."""
    if not targets:
        return True
    names = address_names(address)
    return any(
        target in names or fnmatchcase(str(address), target.replace("[", "[[]"))
        for target in targets
    )


def is_any_targeted(addresses: Iterable[Address], targets: tuple[str, ...]) -> bool:
    """Whether the targets let one of the addresses of an object through."""
    return any(is_targeted(each, targets) for each in addresses)


def is_removed(request: PlanRequest, addresses: Sequence[Address]) -> bool:
    """Whether a `removed` block names one of the addresses."""
    return any(address_names(each) & set(request.removed) for each in addresses)


def address_names(address: Address) -> frozenset[str]:
    """List all that an address can be meant by: itself, its block, and every module around it.

    A module that is repeated may be named with its key and without.
    """
    steps = address.module
    around = (
        ".".join(f"module.{step}" for step in (*steps[:depth], last))
        for depth in range(len(steps))
        for last in (steps[depth], steps[depth].partition("[")[0])
    )
    return frozenset({str(address), address.block_address, *around})
