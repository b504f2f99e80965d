"""The part of a request that a plan could be about: what is as declared is left out."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from kplan.kinds.base import ResourceKind, fill_snapshot_from_state
from kplan.kinds.topic_rules import Topic
from kplan.model.address import Address
from kplan.model.resource import Resource
from kplan.model.state import KindSnapshot, OwnedObject, Snapshot
from kplan.plan.drift import is_recreated
from kplan.plan.request import PlanRequest, block_name


def drop_equal_objects(
    request: PlanRequest, snapshot: Snapshot, kinds: Sequence[ResourceKind]
) -> PlanRequest:
    """Leave out objects that are live as declared, and owned as that or not at all.

    The rest has the same drift, and the same plan but for changes without an action; limits have
    to be counted with the whole request. Most objects are so, and it costs a tenth to see that.
    All of the request must be of the one cluster. Where addresses move everything is kept.
    """
    if request.moved or request.is_destroy or request.replaced:
        return request
    seen = fill_snapshot_from_state(kinds, snapshot, request.state)
    by_kind: dict[str, list[Resource]] = {}
    for each in request.resources:
        by_kind.setdefault(each.address.kind, []).append(each)
    equal = {
        resource.address
        for kind in kinds
        if kind.name in seen.readings and kind.name in by_kind
        for resource in _equal_resources(request, kind, by_kind[kind.name], seen)
    }
    equal -= _beside_gone_instances(request, equal)
    owned = {at: each for at, each in request.state.owned.items() if at not in equal}
    return replace(
        request,
        resources=tuple(each for each in request.resources if each.address not in equal),
        state=replace(request.state, owned=owned),
    )


def _beside_gone_instances(request: PlanRequest, equal: Collection[Address]) -> set[Address]:
    """List instances whose block declared others before: what it says of those counts."""
    declared = {at for each in request.resources for at in each.addresses}
    gone = {block_name(at) for at in request.state.owned if at not in declared}
    return {at for at in equal if block_name(at) in gone} if gone else set()


def _equal_resources(
    request: PlanRequest, kind: ResourceKind, declared: Sequence[Resource], seen: Snapshot
) -> Iterator[Resource]:
    owned = [each for each in request.state.owned.values() if each.address.kind == kind.name]
    owners = Counter(each.identity for each in owned)
    names = Counter(each.identity for each in declared)
    imports = {each.address for each in request.imports}
    for resource in declared:
        held = request.state.owned.get(resource.address)
        if held is None:
            is_alone = resource.identity not in owners and resource.address not in imports
        else:
            is_alone = owners[resource.identity] == 1 and held.identity == resource.identity
        is_alone = is_alone and names[resource.identity] == 1 and not _is_laid_out(resource)
        if is_alone and _is_equal(kind, resource, held, seen.readings[kind.name]):
            yield resource


def _is_laid_out(resource: Resource) -> bool:
    """Whether what the topic takes of brokers counts where others are placed."""
    topic = resource.value
    return isinstance(topic, Topic) and bool(topic.strategy or topic.replica_assignment)


def _is_equal(
    kind: ResourceKind, resource: Resource, held: OwnedObject | None, reading: KindSnapshot
) -> bool:
    live = reading.objects.get(resource.identity)
    if live is None or resource.others or resource.identity in reading.hidden:
        return False
    ignored = resource.lifecycle.ignore_changes
    before, after = kind.align(live.value, resource.value, ignored)
    if before != after or next(iter(kind.check_change(live, after)), None) is not None:
        return False
    if held is None:
        return True
    if held.others or is_recreated(held, live):
        return False
    if held.value is resource.value and not ignored:
        return True
    found, applied = kind.align(live.value, held.value)
    return bool(found == applied)
