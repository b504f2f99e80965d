"""A place to work in, for every test of the installed command."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kplan.sandbox.layout import SandboxSpec
from kplan.sandbox.sandbox import Sandbox
from tests.brokers import StartSandbox
from tests.e2e.places import Place
from tests.e2e.proxy import Proxy, proxied

EARLY = (
    "test_command_moves.py",  # on three brokers, as much of the contract suite before it
    "test_command_three_brokers.py",
    "test_command_state_in_kafka.py",  # the longest
    "test_command_struck.py",
    "test_github_workflows.py",
    "test_soak_rounds.py",
    "test_command_dead_broker.py",
    "test_command_state_in_s3.py",
    "test_tutorial.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files: the last one to begin decides when all processes are done."""
    rank = {name: number for number, name in enumerate(EARLY)}
    ours = Path(__file__).parent

    def order(item: pytest.Item) -> tuple[bool, int]:
        return item.path.parent == ours, rank.get(item.path.name, len(rank))

    items.sort(key=order)


@pytest.fixture
def place(tmp_path: Path, broker: Sandbox) -> Iterator[Place]:
    """Work on the broker without passwords; what is left at the end is destroyed."""
    found = Place(
        tmp_path,
        {"KPLAN_BOOTSTRAP_SERVERS": broker.bootstrap_servers, "KPLAN_TLS_ENABLED": "false"},
    )
    yield found
    found.tidy_up()


@pytest.fixture(scope="session")
def one_proxy() -> Iterator[Proxy]:
    with proxied() as proxy:
        yield proxy


@pytest.fixture(scope="module")
def proxied_broker(one_proxy: Proxy, sandbox_of: StartSandbox) -> Proxy:
    """Run one node whose advertised address is the proxy's: all that kplan asks goes through it."""
    settings = {"advertised.listeners": f"CLIENT://{one_proxy.servers}"}
    sandbox = sandbox_of(SandboxSpec(server_properties=settings))
    one_proxy.upstream = int(sandbox.bootstrap_servers.rpartition(":")[2])
    return one_proxy


@pytest.fixture
def proxy(proxied_broker: Proxy) -> Iterator[Proxy]:
    """Let a test stand between kplan and the broker."""
    proxied_broker.reset()
    yield proxied_broker
    proxied_broker.reset()


@pytest.fixture
def watched(tmp_path: Path, proxy: Proxy) -> Iterator[Place]:
    """Work on the broker behind the proxy, with a timeout of 5 seconds."""
    found = Place(
        tmp_path, {"KPLAN_BOOTSTRAP_SERVERS": proxy.servers, "KPLAN_TLS_ENABLED": "false"}
    )
    found.edit('provider "kafka" {}', 'provider "kafka" {\n  timeout = 5\n}')
    yield found
    proxy.reset()
    found.tidy_up()
