"""The implementations of the `Cluster` port, each behind the same fixtures."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.memory.store import make_brokers
from kplan.cluster.port import Cluster
from kplan.cluster.request import AclBinding
from kplan.cluster.settings import ScramAlteration, ScramUser
from kplan.cluster.topology import StateBucket
from kplan.kafka.settings.connection import ConnectionSettings, ScramSha256, ScramSha512, Tls
from kplan.kafka.wire.driver import WireCluster, preflight
from kplan.model.errors import AuthError
from kplan.sandbox.sandbox import Sandbox
from tests.brokers import StartSandbox, allow_key_urls
from tests.contract.clusters import cleaned, connected, settings_of, soon
from tests.contract.connections import LOGIN, every_mechanism, settings_from
from tests.object_buckets import bucket_of
from tests.token_endpoint import TokenEndpoint

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
        yield MemoryCluster(make_brokers(3, ("rack-1", "rack-2", "rack-3")))
        return
    sandbox: Sandbox = request.getfixturevalue("cluster3")
    with cleaned(connected(kind, settings_of(sandbox, "anonymous")), prefix) as real:
        yield real


@pytest.fixture
def open_cluster_without_acls(kind: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """One broker without an authorizer."""
    if kind == "memory":
        memory = MemoryCluster(1)
        memory.disable_authorizer()
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
                other = guarded.connect_as("User:alice")
                for operation, resource_type in rights:
                    other.deny_operation(operation, resource_type)
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


@pytest.fixture
def plaintext(broker: Sandbox, tmp_path: Path) -> ConnectionSettings:
    return settings_from(broker.properties, tmp_path)


@pytest.fixture
def sasl(sasl_broker: Sandbox, tmp_path: Path) -> ConnectionSettings:
    return settings_from(sasl_broker.properties, tmp_path)


@pytest.fixture
def mtls(tls_broker: Sandbox, tmp_path: Path) -> ConnectionSettings:
    return settings_from(tls_broker.properties, tmp_path)


@pytest.fixture(scope="module")
def sasl_tls_broker(sandbox_of: StartSandbox, token_keys: Path) -> Sandbox:
    """Start one node with every mechanism inside TLS."""
    with allow_key_urls(token_keys):
        return sandbox_of(every_mechanism(token_keys))


@pytest.fixture
def sasl_tls(sasl_tls_broker: Sandbox, tmp_path: Path) -> ConnectionSettings:
    mine = {"security.protocol": "SASL_SSL"}
    settings = settings_from({**sasl_tls_broker.properties, **mine, **LOGIN}, tmp_path)
    assert settings.tls is not None
    return replace(settings, tls=Tls(ca=settings.tls.ca))


@pytest.fixture
def scram_tls(sasl_tls: ConnectionSettings) -> ConnectionSettings:
    """Log in by SCRAM: a user has a password for each of its mechanisms."""
    made = [
        ScramAlteration(ScramUser("scram", name), 4096, "secret")
        for name in ("SCRAM-SHA-256", "SCRAM-SHA-512")
    ]
    with closing(WireCluster(sasl_tls)) as admin:
        assert set(admin.alter_scram_users(made).values()) == {None}
    settings, other = (
        replace(sasl_tls, sasl=mechanism("scram", "secret"))
        for mechanism in (ScramSha256, ScramSha512)
    )
    soon(lambda: _lets_in(settings) and _lets_in(other))
    return settings


def _lets_in(settings: ConnectionSettings) -> bool:
    try:
        return bool(preflight(settings).cluster_id)
    except AuthError:
        return False


@pytest.fixture
def oauth_tls(
    sasl_tls_broker: Sandbox, tokens: TokenEndpoint, tmp_path: Path
) -> ConnectionSettings:
    return settings_from(_by_oidc(sasl_tls_broker, "SASL_SSL", tokens), tmp_path)


@pytest.fixture
def oauth(
    sasl_broker: Sandbox, tokens: TokenEndpoint, tmp_path: Path
) -> Iterator[ConnectionSettings]:
    """Log in by a token where passwords are taken too; its user may make topics of the tests."""
    grant = AclBinding("TOPIC", "made-by-", "PREFIXED", "User:ci", "*", "ALL", "ALLOW")
    with closing(WireCluster(settings_of(sasl_broker, "admin"))) as admin:
        assert admin.create_acls([grant]) == {grant: None}
        soon(lambda: grant in admin.acls())
        yield settings_from(_by_oidc(sasl_broker, "SASL_PLAINTEXT", tokens), tmp_path)
        admin.delete_acls([grant])


def _by_oidc(sandbox: Sandbox, protocol: str, tokens: TokenEndpoint) -> dict[str, str]:
    """Connect as the client `ci`, by a token that is fetched from the endpoint."""
    properties = dict(sandbox.properties)
    properties.pop("sasl.jaas.config", None)
    return {
        **properties,
        "security.protocol": protocol,
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": tokens.url,
        "sasl.oauthbearer.client.id": "ci",
        "sasl.oauthbearer.client.secret": "secret",
    }


@pytest.fixture(scope="module")
def bucket_of_service(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[str, str], StateBucket]]:
    """Give a place for a state by service and key; a server is started when it is first asked."""
    places: dict[str, StateBucket] = {}
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())

        def place(service: str, key: str) -> StateBucket:
            if service not in places:
                folder = tmp_path_factory.mktemp(service)
                places[service] = stack.enter_context(bucket_of(service, "", patch, folder))
            return replace(places[service], key=key)

        yield place
