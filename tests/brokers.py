"""Real Kafka clusters for tests: a shape is started when first asked for, and kept for a while.

`sandbox_of` starts any other shape; a test that kills or pauses nodes should start its own with
`kplan.sandbox.lifecycle.running`.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from kplan.sandbox.credentials import MECHANISMS
from kplan.sandbox.lifecycle import running
from kplan.sandbox.record import Sandbox
from kplan.sandbox.spec import SandboxSpec, Security
from tests.token_endpoint import AUDIENCE, ISSUER, TokenEndpoint, token_endpoint

SandboxOf = Callable[[SandboxSpec], Sandbox]


NODES_KEPT = 2
"""Nodes that stay up when a file of tests is done: an idle one takes 3 % of a core and 400 MB."""


class Shapes:
    """The sandboxes of a session, the last used ones last."""

    def __init__(self) -> None:
        self._started: list[tuple[Sandbox, ExitStack]] = []

    def take(self, spec: SandboxSpec) -> Sandbox:
        """Return the sandbox of a shape, started unless it is up."""
        up = next((each for each in self._started if each[0].spec == spec), None)
        if up is None:
            stack = ExitStack()
            up = (stack.enter_context(running(spec)), stack)
        else:
            self._started.remove(up)
        self._started.append(up)
        return up[0]

    def keep(self, nodes: int) -> None:
        """Stop those not used for longest, until no more than so many nodes are up."""
        while self._started and sum(len(sandbox.nodes) for sandbox, _ in self._started) > nodes:
            self._started.pop(0)[1].close()


@pytest.fixture(scope="session")
def shapes() -> Iterator[Shapes]:
    shapes = Shapes()
    yield shapes
    shapes.keep(0)


@pytest.fixture(scope="module")
def sandbox_of(shapes: Shapes) -> Iterator[SandboxOf]:
    """Return the sandbox of a shape; none of them is stopped before the file of tests is done."""
    yield shapes.take
    shapes.keep(NODES_KEPT)


@pytest.fixture(scope="module")
def broker(sandbox_of: SandboxOf) -> Sandbox:
    """One node, PLAINTEXT, StandardAuthorizer; everyone is the super user."""
    return sandbox_of(SandboxSpec())


@pytest.fixture(scope="module")
def open_broker(sandbox_of: SandboxOf) -> Sandbox:
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
    keys.write_text(tokens.keys())
    return keys


@contextmanager
def keys_allowed(keys: Path) -> Iterator[None]:
    """Let brokers that are started now read the keys: they read no others."""
    with pytest.MonkeyPatch.context() as patched:
        allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={keys.as_uri()}"
        patched.setenv("JDK_JAVA_OPTIONS", allowed)
        yield


@pytest.fixture(scope="module")
def sasl_broker(sandbox_of: SandboxOf, token_keys: Path) -> Sandbox:
    """One node with SASL: `admin` is the super user; `alice`, `bob` and `ci` have no rights.

    Beside their passwords it takes tokens, by OAUTHBEARER.
    """
    offered = ",".join((*MECHANISMS, "OAUTHBEARER"))
    properties = {
        "listener.name.client.sasl.enabled.mechanisms": offered,
        **by_token("listener.name.client", token_keys),
    }
    with keys_allowed(token_keys):
        return sandbox_of(SandboxSpec(security=Security.SASL, server_properties=properties))


def by_token(listener: str, keys: Path) -> dict[str, str]:
    """Let a listener take tokens, checked by Kafka's own validator: keys, issuer and audience."""
    package = "org.apache.kafka.common.security.oauthbearer"
    return {
        f"{listener}.oauthbearer.sasl.jaas.config": f"{package}.OAuthBearerLoginModule required;",
        f"{listener}.oauthbearer.sasl.server.callback.handler.class": (
            f"{package}.OAuthBearerValidatorCallbackHandler"
        ),
        "sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "sasl.oauthbearer.expected.issuer": ISSUER,
    }


@pytest.fixture(scope="module")
def tls_broker(sandbox_of: SandboxOf) -> Sandbox:
    """One node with mutual TLS: the same users, their principals are distinguished names."""
    return sandbox_of(SandboxSpec(security=Security.TLS))


@pytest.fixture(scope="module")
def cluster3(sandbox_of: SandboxOf) -> Sandbox:
    """Three brokers in three racks and three controllers of their own, PLAINTEXT."""
    return sandbox_of(SandboxSpec(brokers=3))
