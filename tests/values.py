"""Values for tests, with defaults for all that a test does not speak of."""

from collections.abc import Iterable, Mapping

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import NewTopic
from kplan.kinds import KINDS
from kplan.kinds.acl import Acl, AclKind
from kplan.kinds.topic import TopicKind
from kplan.kinds.topic_rules import Topic
from kplan.model.address import Address
from kplan.model.diagnostic import SourceRange
from kplan.model.plan import Plan
from kplan.model.resource import Identity, Lifecycle, Path, Resource
from kplan.model.state import KindSnapshot, LiveObject, OutputValue, OwnedObject, Snapshot, State
from kplan.plan.build import build_plans
from kplan.plan.request import PlanRequest
from kplan.workflow.snapshot import read_snapshot

CLUSTER_ID = "bWVtb3J5LWNsdXN0ZXItMQ"
LINEAGE = "6f1c1d0e-0000-4000-8000-000000000001"


def topic(name: str = "orders", **given: object) -> Topic:
    """Declare 3 partitions and one replica."""
    counts: dict[str, object] = {"partitions": 3, "replication_factor": 1}
    if "replica_assignment" in given:
        counts = {}
    return Topic(name, **{**counts, **given})  # type: ignore[arg-type] # checked by the dataclass


def acl(principal: str = "User:app", name: str = "orders", **given: str) -> Acl:
    """Allow to read a topic."""
    parts = {
        "resource_name": name,
        "resource_type": "Topic",
        "acl_principal": principal,
        "acl_host": "*",
        "acl_operation": "Read",
        "acl_permission_type": "Allow",
    }
    return Acl(**{**parts, **given})


def identity(value: Topic | Acl) -> Identity:
    """Name the object the value stands for."""
    if isinstance(value, Topic):
        return TopicKind().identify(value)
    return AclKind().identify(value)


def address(text: str) -> Address:
    """Read an address."""
    return Address.parse(text)


def resource(
    at: str,
    value: Topic | Acl,
    *,
    prevent_destroy: bool = False,
    ignore: tuple[Path, ...] = (),
    line: int = 1,
) -> Resource:
    """Declare a value at an address."""
    return Resource(
        address(at),
        identity(value),
        value,
        SourceRange("main.tf", line, 1, line, 20),
        Lifecycle(prevent_destroy, ignore),
    )


def owned(
    at: str,
    value: Topic | Acl,
    uid: str = "",
    *,
    is_protected: bool = False,
    is_pending: bool = False,
) -> OwnedObject:
    """Own a value at an address."""
    return OwnedObject(
        address(at),
        identity(value),
        value,
        uid=uid,
        is_protected=is_protected,
        is_pending=is_pending,
    )


def state(*held: OwnedObject, outputs: Mapping[str, OutputValue] | None = None) -> State:
    """Own objects, at serial 1."""
    return State(LINEAGE, 1, CLUSTER_ID, {each.address: each for each in held}, outputs or {})


def snapshot(
    topics: Iterable[tuple[Topic, str]] = (),
    acls: Iterable[Acl] = (),
    unread: Mapping[str, str] | None = None,
) -> Snapshot:
    """Read a cluster that holds topics (each with its id) and ACLs."""
    readings = {
        "kafka_acl": KindSnapshot({identity(each): LiveObject(each) for each in acls}),
        "kafka_topic": KindSnapshot(
            {identity(each): LiveObject(each, uid) for each, uid in topics}
        ),
    }
    unread = unread or {}
    known = {kind: reading for kind, reading in readings.items() if kind not in unread}
    return Snapshot(CLUSTER_ID, (), known, unread)


def make_plan(resources: Iterable[Resource], held: State, live: Snapshot, **given: object) -> Plan:
    """Plan with the real kinds."""
    outputs: Mapping[str, OutputValue] = given.pop("outputs", {})  # type: ignore[assignment]
    request = PlanRequest(tuple(resources), outputs, held, **given)  # type: ignore[arg-type]
    return build_plans(request, {"": live}, KINDS)


def read_cluster(cluster: MemoryCluster, resources: Iterable[Resource], held: State) -> Snapshot:
    """Read a cluster as the workflow does."""
    wanted: dict[str, set[Identity]] = {}
    for each in resources:
        wanted.setdefault(each.address.kind, set()).add(each.identity)
    for entry in held.owned.values():
        wanted.setdefault(entry.address.kind, set()).add(entry.identity)
    return read_snapshot(cluster, cluster.describe(), KINDS, wanted)


def new_topic(value: Topic) -> NewTopic:
    """Write a topic as a cluster takes it."""
    return NewTopic(
        value.name,
        value.partitions,
        value.replication_factor,
        value.replica_assignment,
        value.config,
    )
