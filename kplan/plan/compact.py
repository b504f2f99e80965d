"""A request as a fleet sends it: most objects as tuples, made again only where they differ."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from operator import attrgetter
from typing import Any

from kplan.kinds.acl import Acl
from kplan.kinds.schema import schema_fields
from kplan.kinds.topic_rules import Topic
from kplan.model.address import Address
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import SourceRange
from kplan.model.resource import Identity, Lifecycle, Resource
from kplan.model.state import OwnedObject
from kplan.plan.request import PlanRequest, RequestSize, request_size

PlainObject = tuple[tuple[Any, ...], tuple[Any, ...], Lifecycle, tuple[Any, ...] | None]
"""Address, value, lifecycle, and what the state knows beside them, None where it owns nothing."""

_SCHEMAS: Mapping[str, type[Any]] = {"kafka_topic": Topic, "kafka_acl": Acl}
"""The kinds that there are thousands of, and whose documents show by themselves what is equal."""
_NAMES = {kind: tuple(each.name for each in fields(schema)) for kind, schema in _SCHEMAS.items()}
_VALUES = {kind: attrgetter(*names) for kind, names in _NAMES.items()}
_DECLARED = {
    kind: frozenset(each.name for each in schema_fields(schema))
    for kind, schema in _SCHEMAS.items()
}
_PLACES = {
    kind: tuple((at, name) for at, name in enumerate(names) if name in _DECLARED[kind])
    for kind, names in _NAMES.items()
}
_ADDRESS = attrgetter("kind", "name", "key", "module")
_HELD = attrgetter("uid", "is_protected", "is_pending", "declared_at")
NO_PLACE = SourceRange("", 1, 1, 1, 1)


@dataclass(frozen=True, slots=True)
class CompactRequest:
    """`plain` are objects by kind and name that are declared once and owned as declared, or not.

    `rest` has all others. `size` counts both.
    """

    rest: PlanRequest
    plain: Mapping[str, Mapping[Identity, PlainObject]]
    size: RequestSize

    def expand(self, equal: Mapping[str, Collection[Identity]]) -> PlanRequest:
        """Return the request without objects that are `equal`, by kind."""
        resources, owned = list(self.rest.resources), dict(self.rest.state.owned)
        for kind, objects in self.plain.items():
            same = equal.get(kind, ())
            for identity in (each for each in objects if each not in same):
                resource, held = _expand_object(identity, objects[identity])
                resources.append(resource)
                if held is not None:
                    owned[held.address] = held
        state = replace(self.rest.state, owned=owned)
        return replace(self.rest, resources=tuple(resources), state=state)

    def owned_count(self, kind: str, equal: Iterable[Identity]) -> int:
        """Count the plain objects of a kind, among some, that are owned."""
        objects = self.plain.get(kind, {})
        return sum(objects[each][-1] is not None for each in equal)


def _expand_object(identity: Identity, found: PlainObject) -> tuple[Resource, OwnedObject | None]:
    place, values, lifecycle, held = found
    address = Address(*place)
    value = _SCHEMAS[address.kind](*values)
    resource = Resource(address, identity, value, NO_PLACE, lifecycle)
    return resource, None if held is None else OwnedObject(address, identity, value, *held)


def compact_request(request: PlanRequest) -> CompactRequest:
    """Take apart a request for objects of one cluster.

    Whatever else speaks of an object, such as a second owner or an import, keeps it in the rest.
    Where addresses move everything is.
    """
    size = request_size(request)
    if request.moved or request.is_destroy or request.replaced:
        return CompactRequest(request, {}, size)
    names = Counter((each.address.kind, each.identity) for each in request.resources)
    owners = Counter((each.address.kind, each.identity) for each in request.state.owned.values())
    imports = {each.address for each in request.imports}
    plain: dict[str, dict[Identity, PlainObject]] = {kind: {} for kind in _SCHEMAS}
    rest: list[Resource] = []
    taken: set[int] = set()
    for each in request.resources:
        key = each.address.kind, each.identity
        held = request.state.owned.get(each.address)
        is_alone = names[key] == 1 and owners[key] == (held is not None)
        is_alone = is_alone and (held is not None or each.address not in imports)
        if is_alone and key[0] in _SCHEMAS and _is_plain(each, held):
            facts = None if held is None else _HELD(held)
            values = _VALUES[key[0]](each.value)
            plain[key[0]][each.identity] = _ADDRESS(each.address), values, each.lifecycle, facts
            taken.add(id(held))
        else:
            rest.append(each)
    owned = {at: each for at, each in request.state.owned.items() if id(each) not in taken}
    state = replace(request.state, owned=owned)
    return CompactRequest(replace(request, resources=tuple(rest), state=state), plain, size)


def _is_plain(resource: Resource, held: OwnedObject | None) -> bool:
    if resource.others or resource.sensitive or resource.lifecycle.ignore_changes:
        return False
    if held is None:
        return True
    is_same = held.identity == resource.identity and not held.others and not held.sensitive
    return is_same and (held.value is resource.value or held.value == resource.value)


def is_found_as_declared(
    kind: str, found: PlainObject, document: Mapping[str, Any], uid: str
) -> bool:
    """Whether a live object, by its document, is surely what is declared and owned.

    That is where all that is declared is live, and the rest is the cluster's to say. Else the
    kind itself decides.
    """
    _, values, _, held = found
    if held is not None and held[0] and uid and held[0] != uid:
        return False
    for at, name in _PLACES[kind]:
        value = values[at]
        if value is not None and document.get(name) != value:
            return False
    return kind != "kafka_topic" or _is_uniform(document)


def _is_uniform(topic: Mapping[str, Any]) -> bool:
    """Whether the layout of a topic is known, with as many replicas in each partition."""
    factor = topic.get("replication_factor")
    replicas: Sequence[Sequence[int]] = topic.get("replica_assignment") or ()
    return bool(topic.get("partitions")) and all(len(each) == factor for each in replicas)
