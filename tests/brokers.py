"""Real Kafka clusters for tests: each is started once per session, when first asked for.

`sandbox_of` starts any other shape; a test that kills or pauses nodes should start its own with
`kplan.sandbox.lifecycle.running`.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from kplan.sandbox.lifecycle import running
from kplan.sandbox.record import Sandbox
from kplan.sandbox.spec import SandboxSpec, Security

SandboxOf = Callable[[SandboxSpec], Sandbox]


@pytest.fixture(scope="session")
def sandbox_of() -> Iterator[SandboxOf]:
    """Return the session's sandbox of a shape."""
    started: list[Sandbox] = []
    with ExitStack() as stack:

        def sandbox_of(spec: SandboxSpec) -> Sandbox:
            for sandbox in started:
                if sandbox.spec == spec:
                    return sandbox
            started.append(stack.enter_context(running(spec)))
            return started[-1]

        yield sandbox_of


@pytest.fixture(scope="session")
def broker(sandbox_of: SandboxOf) -> Sandbox:
    """One node, PLAINTEXT, StandardAuthorizer; everyone is the super user."""
    return sandbox_of(SandboxSpec())


@pytest.fixture(scope="session")
def open_broker(sandbox_of: SandboxOf) -> Sandbox:
    """One node without an authorizer: ACL requests get SECURITY_DISABLED."""
    return sandbox_of(SandboxSpec(authorizer=False))


@pytest.fixture(scope="session")
def sasl_broker(sandbox_of: SandboxOf) -> Sandbox:
    """One node with SASL: `admin` is the super user; `alice`, `bob` and `ci` have no rights."""
    return sandbox_of(SandboxSpec(security=Security.SASL))


@pytest.fixture(scope="session")
def tls_broker(sandbox_of: SandboxOf) -> Sandbox:
    """One node with mutual TLS: the same users, their principals are distinguished names."""
    return sandbox_of(SandboxSpec(security=Security.TLS))


@pytest.fixture(scope="session")
def cluster3(sandbox_of: SandboxOf) -> Sandbox:
    """Three brokers in three racks and three controllers of their own, PLAINTEXT."""
    return sandbox_of(SandboxSpec(brokers=3))
