"""The implementations of the `Cluster` port, each behind the same fixtures."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest

from kplan.cluster.contents import registered
from kplan.cluster.memory import MemoryCluster
from kplan.cluster.port import Cluster
from kplan.cluster.specs import AclBinding
from kplan.sandbox.record import Sandbox
from tests.contract.clusters import cleaned, connected, settings_of

Right = tuple[str, str]
"""An operation on a type of resource: ("CREATE", "TOPIC")."""

Lacking = Callable[..., Cluster]

TOPIC_RIGHTS = ("CREATE", "DELETE", "ALTER", "DESCRIBE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS")
CLUSTER_RIGHTS = ("DESCRIBE", "ALTER")


@pytest.fixture(
    params=[
        "memory",
        pytest.param("wire", marks=pytest.mark.broker),
        pytest.param("routed", marks=pytest.mark.broker),
    ]
)
def kind(request: pytest.FixtureRequest) -> str:
    """Name the implementation under test."""
    return str(request.param)


@pytest.fixture
def prefix() -> str:
    """Begin the names of one test, so that the broker may be shared."""
    return f"ct-{uuid.uuid4().hex[:8]}-"


@pytest.fixture
def cluster(kind: str, prefix: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """One broker, and every right on it."""
    if kind == "memory":
        yield MemoryCluster(1, principal="User:ANONYMOUS")
        return
    sandbox: Sandbox = request.getfixturevalue("broker")
    with cleaned(connected(kind, settings_of(sandbox, "anonymous")), prefix) as real:
        yield real


@pytest.fixture
def wide(kind: str, prefix: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Three brokers in three racks."""
    if kind == "memory":
        yield MemoryCluster(registered(3, ("rack-1", "rack-2", "rack-3")))
        return
    sandbox: Sandbox = request.getfixturevalue("cluster3")
    with cleaned(connected(kind, settings_of(sandbox, "anonymous")), prefix) as real:
        yield real


@pytest.fixture
def open_cluster_without_acls(kind: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """One broker without an authorizer."""
    if kind == "memory":
        memory = MemoryCluster(1)
        memory.without_authorizer()
        yield memory
        return
    sandbox: Sandbox = request.getfixturevalue("open_broker")
    with closing(connected(kind, settings_of(sandbox, "anonymous"))) as real:
        yield real


@pytest.fixture
def guarded(kind: str, prefix: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """One broker that asks who we are, as its super user."""
    if kind == "memory":
        yield MemoryCluster(1, principal="User:admin")
        return
    sandbox: Sandbox = request.getfixturevalue("sasl_broker")
    with cleaned(connected(kind, settings_of(sandbox, "admin")), prefix) as real:
        yield real


@pytest.fixture
def lacking(
    kind: str, prefix: str, guarded: Cluster, request: pytest.FixtureRequest
) -> Iterator[Lacking]:
    """Connect to the guarded broker as a user who has every right but those given."""
    with ExitStack() as stack:

        def lacking(*rights: Right) -> Cluster:
            if isinstance(guarded, MemoryCluster):
                other = guarded.another_admin("User:alice")
                for operation, resource_type in rights:
                    other.deny(operation, resource_type)
                return other
            sandbox: Sandbox = request.getfixturevalue("sasl_broker")
            grants = _grants(prefix, rights)
            stack.callback(guarded.delete_acls, grants)
            assert set(guarded.create_acls(grants).values()) == {None}
            cluster = connected(kind, settings_of(sandbox, "alice"))
            return stack.enter_context(closing(cluster))

        yield lacking


def _grants(prefix: str, rights: tuple[Right, ...]) -> list[AclBinding]:
    granted = [("TOPIC", each, prefix, "PREFIXED") for each in TOPIC_RIGHTS]
    granted += [("CLUSTER", each, "kafka-cluster", "LITERAL") for each in CLUSTER_RIGHTS]
    return [
        AclBinding(resource_type, name, pattern, "User:alice", "*", operation, "ALLOW")
        for resource_type, operation, name, pattern in granted
        if (operation, resource_type) not in rights
    ]
