"""Real Kafka clusters for tests: a shape is started when first asked for, and kept while used.

`sandbox_of` starts any other shape; a test that kills or pauses nodes should start its own with
`kplan.sandbox.lifecycle.temporary_sandbox`.
"""

import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from kplan.sandbox.credential import MECHANISMS
from kplan.sandbox.layout import DEFAULT_KAFKA_VERSION, SandboxSpec, Security
from kplan.sandbox.lifecycle import temporary_sandbox
from kplan.sandbox.sandbox import Sandbox
from tests.capability import Capability, Offer, read_offer
from tests.token_endpoint import AUDIENCE, ISSUER, TokenEndpoint, token_endpoint

StartSandbox = Callable[[SandboxSpec], Sandbox]

Has = Callable[[Capability], bool]
"""Whether the cluster of the test has a capability: all have where no other version is wanted."""


VIEW_S = 30
"""How long brokers of a new cluster may take to hear of each other."""

IDLE_S = 120
"""How long a shape stays up unused: by then it cost as much of a processor as its start does."""


@dataclass(slots=True)
class _RunningSandbox:
    sandbox: Sandbox
    stack: ExitStack
    used: float


KAFKA_VARIABLE = "KPLAN_TEST_KAFKA"
"""The version of Kafka that shapes without one have: 3.9.1, or 3.9.1+zookeeper."""


def wanted_version() -> tuple[str, bool]:
    """Return the version under test, and whether it stores metadata in ZooKeeper."""
    version, _, mode = os.environ.get(KAFKA_VARIABLE, DEFAULT_KAFKA_VERSION).partition("+")
    return version, mode == "zookeeper" or version.startswith("2.")


def is_default_version() -> bool:
    """Whether the tests run on the version that a sandbox has by itself."""
    return wanted_version() == (DEFAULT_KAFKA_VERSION, False)


def of_wanted_version(spec: SandboxSpec) -> SandboxSpec:
    """Return the shape with the version under test; one that has a version or KRaft's own stays."""
    is_own = spec.kafka_version != DEFAULT_KAFKA_VERSION
    if is_own or spec.metadata_version or spec.dynamic_quorum:
        return spec
    version, has_zookeeper = wanted_version()
    controllers = None if has_zookeeper else spec.controllers
    return replace(spec, kafka_version=version, zookeeper=has_zookeeper, controllers=controllers)


class SandboxPool:
    """The sandboxes of a session."""

    def __init__(self) -> None:
        self._started: list[_RunningSandbox] = []

    def take(self, spec: SandboxSpec) -> Sandbox:
        """Return the sandbox of a shape, started unless it is up."""
        spec = of_wanted_version(spec)
        up = next((each for each in self._started if each.sandbox.spec == spec), None)
        if up is None:
            stack = ExitStack()
            up = _RunningSandbox(stack.enter_context(temporary_sandbox(spec)), stack, 0)
            self._started.append(up)
        up.used = time.monotonic()
        return up.sandbox

    def stop_idle(self, since: float, idle_s: float = IDLE_S) -> None:
        """Stop what is unused for so long; what was taken after `since` was used until now."""
        now = time.monotonic()
        for each in list(self._started):
            if each.used >= since:
                each.used = now
            elif now - each.used >= idle_s:
                self._started.remove(each)
                each.stack.close()


@pytest.fixture(scope="session")
def shapes() -> Iterator[SandboxPool]:
    shapes = SandboxPool()
    yield shapes
    shapes.stop_idle(math.inf, 0)


@pytest.fixture(scope="session")
def offer(shapes: SandboxPool) -> Offer:
    """Read what brokers of the version under test offer."""
    return read_offer(shapes.take(SandboxSpec()))


@pytest.fixture
def has(request: pytest.FixtureRequest) -> Has:
    """Say what the cluster of the test has."""
    in_memory = "kind" in request.fixturenames and request.getfixturevalue("kind") == "memory"
    if in_memory or is_default_version():
        return lambda _: True
    offer: Offer = request.getfixturevalue("offer")
    return lambda capability: capability.is_in(offer)


@pytest.fixture(autouse=True)
def skip_what_is_lacking(request: pytest.FixtureRequest) -> None:
    """Skip a test whose `needs` the version under test does not have, with its name."""
    wanted = [each for mark in request.node.iter_markers("needs") for each in mark.args]
    if not wanted or is_default_version():
        return
    has: Has = request.getfixturevalue("has")
    if lacks := [each for each in wanted if not has(each)]:
        pytest.skip(lacks[0].lack(request.getfixturevalue("offer")))


@pytest.fixture(scope="module")
def sandbox_of(shapes: SandboxPool) -> Iterator[StartSandbox]:
    """Return the sandbox of a shape; none of them is stopped before the file of tests is done."""
    began = time.monotonic()
    yield shapes.take
    shapes.stop_idle(began)


@pytest.fixture(scope="module")
def broker(sandbox_of: StartSandbox) -> Sandbox:
    """One node, PLAINTEXT, StandardAuthorizer; everyone is the super user."""
    return sandbox_of(SandboxSpec())


@pytest.fixture(scope="module")
def open_broker(sandbox_of: StartSandbox) -> Sandbox:
    """One node without an authorizer: ACL requests get SECURITY_DISABLED."""
    return sandbox_of(SandboxSpec(authorizer=False))


@pytest.fixture(scope="session")
def tokens() -> Iterator[TokenEndpoint]:
    """Serve tokens to the client `ci`, who has the secret `secret`."""
    with token_endpoint({"ci": "secret"}) as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def token_keys(tokens: TokenEndpoint, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the public keys of the tokens, which brokers read from a file (KIP-768)."""
    keys = tmp_path_factory.mktemp("keys") / "keys.json"
    keys.write_text(tokens.public_keys())
    return keys


@contextmanager
def allow_key_urls(keys: Path) -> Iterator[None]:
    """Let brokers that are started now read the keys: they read no others."""
    with pytest.MonkeyPatch.context() as patched:
        allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={keys.as_uri()}"
        patched.setenv("JDK_JAVA_OPTIONS", allowed)
        yield


@pytest.fixture(scope="module")
def sasl_broker(sandbox_of: StartSandbox, token_keys: Path) -> Sandbox:
    """One node with SASL: `admin` is the super user; `alice`, `bob` and `ci` have no rights.

    Beside their passwords it takes tokens, by OAUTHBEARER.
    """
    properties = {}
    if takes_tokens():
        properties = {
            "listener.name.client.sasl.enabled.mechanisms": ",".join((*MECHANISMS, "OAUTHBEARER")),
            **oauthbearer_properties("listener.name.client", token_keys),
        }
    with allow_key_urls(token_keys):
        return sandbox_of(SandboxSpec(security=Security.SASL, server_properties=properties))


def takes_tokens() -> bool:
    """Whether brokers of the version under test can check tokens of OAUTHBEARER (KIP-768)."""
    return _wanted_release() >= (3, 1)


def _wanted_release() -> tuple[int, int]:
    return SandboxSpec(kafka_version=wanted_version()[0]).release


def oauthbearer_properties(listener: str, keys: Path) -> dict[str, str]:
    """Let a listener take tokens, checked by Kafka's own validator: keys, issuer and audience."""
    package = "org.apache.kafka.common.security.oauthbearer"
    secured = "" if _wanted_release() >= (3, 4) else "secured."  # where the class was before
    return {
        f"{listener}.oauthbearer.sasl.jaas.config": f"{package}.OAuthBearerLoginModule required;",
        f"{listener}.oauthbearer.sasl.server.callback.handler.class": (
            f"{package}.{secured}OAuthBearerValidatorCallbackHandler"
        ),
        "sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "sasl.oauthbearer.expected.issuer": ISSUER,
    }


@pytest.fixture(scope="module")
def tls_broker(sandbox_of: StartSandbox) -> Sandbox:
    """One node with mutual TLS: the same users, their principals are distinguished names."""
    return sandbox_of(SandboxSpec(security=Security.TLS))


@pytest.fixture(scope="module")
def cluster3(sandbox_of: StartSandbox) -> Sandbox:
    """Three brokers in three racks and three controllers of their own, PLAINTEXT.

    Before Kafka 4 a broker hears of the others up to a second after each of them serves.
    """
    sandbox = sandbox_of(SandboxSpec(brokers=3))
    for server in sandbox.bootstrap_servers.split(","):
        client = AdminClient({"bootstrap.servers": server})
        end = time.monotonic() + VIEW_S
        while len(client.list_topics(timeout=VIEW_S).brokers) < sandbox.spec.brokers:
            assert time.monotonic() < end, f"{server} does not see all brokers"
            time.sleep(0.05)
    return sandbox
