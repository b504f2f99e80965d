"""The routing table is what the methods do."""

import inspect
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from kplan.cluster.port import Cluster
from kplan.kafka.cluster import KafkaCluster, open_cluster
from kplan.kafka.routes import ROUTES, Driver
from kplan.kafka.settings.connection import ConnectionSettings, Endpoint, Seconds, Timeouts
from kplan.kafka.wire.driver import WireCluster
from kplan.model.errors import UnreachableError

NOBODY = ConnectionSettings((Endpoint("127.0.0.1", 1),), timeouts=Timeouts(Seconds(1), Seconds(1)))
METHODS = sorted(name for name in vars(Cluster) if not name.startswith("_") and name != "close")


def recorder(calls: list[tuple[Driver, str]], driver: Driver) -> SimpleNamespace:
    def method(name: str) -> Callable[..., dict[str, object]]:
        def called(*_: object, **__: object) -> dict[str, object]:
            calls.append((driver, name))
            return {}

        return called

    named = {name: method(name) for name in [*METHODS, "close"]}
    return SimpleNamespace(**named, principal="User:me", may_have_mutation_quota=lambda: False)


def wait_for(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 5
    while not is_so() and time.monotonic() < end:
        time.sleep(0.01)


def test_where_a_quota_may_hold_creates_go_by_the_wire_driver_and_strictly() -> None:
    """KIP-599: what is above it is refused, and not carried out and paid for afterwards."""
    asked: list[dict[str, object]] = []

    def strictly(*_: object, **given: object) -> dict[str, object]:
        asked.append(given)
        return {}

    cluster = KafkaCluster(NOBODY)
    cluster._wire = SimpleNamespace(  # type: ignore[assignment] # notes calls
        may_have_mutation_quota=lambda: True, create_topics=strictly, create_partitions=strictly
    )
    cluster.create_topics([])
    cluster.create_partitions([], validate_only=True)
    assert asked == [{"is_strict": True}, {"validate_only": True}]
    assert cluster._confluent is None


def test_a_quota_that_comes_between_two_creates_is_met_by_the_second() -> None:
    """It is asked for before each of them until there is one."""
    calls: list[tuple[Driver, str]] = []
    told = iter((False, True))
    cluster = KafkaCluster(NOBODY)
    cluster._wire = recorder(calls, Driver.WIRE)  # type: ignore[assignment] # notes calls
    cluster._wire.may_have_mutation_quota = lambda: next(told)  # type: ignore[method-assign]
    cluster._confluent = recorder(calls, Driver.CONFLUENT)  # type: ignore[assignment]
    for _ in range(3):
        cluster.create_topics([])
    assert [driver for driver, _ in calls] == [Driver.CONFLUENT, Driver.WIRE, Driver.WIRE]


def test_a_write_that_is_expected_finds_librdkafka_loaded() -> None:
    cluster = KafkaCluster(NOBODY)
    cluster.prepare_writes()
    wait_for(lambda: cluster._confluent is not None)
    writer = cluster._confluent
    assert writer is not None
    assert cluster._writer() is writer
    cluster.close()


def test_the_table_names_every_method_of_the_port_with_a_reason() -> None:
    assert sorted(ROUTES) == METHODS
    assert all(reason for _, reason in ROUTES.values())


def test_a_routed_cluster_is_a_cluster() -> None:
    """K117-01."""
    cluster: Cluster = KafkaCluster(NOBODY)
    cluster.close()


@pytest.mark.parametrize("name", METHODS)
def test_every_method_goes_where_the_table_says(name: str) -> None:
    calls: list[tuple[Driver, str]] = []
    cluster = KafkaCluster(NOBODY)
    cluster._wire = recorder(calls, Driver.WIRE)  # type: ignore[assignment] # notes calls
    cluster._confluent = recorder(calls, Driver.CONFLUENT)  # type: ignore[assignment]
    method = getattr(cluster, name)
    takes = [
        parameter.name
        for parameter in inspect.signature(method).parameters.values()
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY
    ]
    method(*([] for _ in takes))
    wait_for(lambda: bool(calls))  # one of them goes on beside
    assert calls == [(ROUTES[name][0], name)]


def test_the_table_stands_in_the_documentation() -> None:
    documented = inspect.getdoc(KafkaCluster) or ""
    for name, (driver, reason) in ROUTES.items():
        assert f"{name:<22} {driver:<9} {reason}\n" in documented


def test_reading_and_closing_load_no_librdkafka() -> None:
    cluster = KafkaCluster(NOBODY)
    assert cluster._confluent is None
    cluster.close()
    assert cluster._confluent is None


def test_the_confluent_driver_is_made_once_and_closed_with_the_rest() -> None:
    cluster = KafkaCluster(NOBODY)
    writer = cluster._writer()
    assert cluster._writer() is writer
    cluster.close()
    assert writer._admin is None


def test_opening_finds_out_at_once_that_nobody_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[object] = []
    monkeypatch.setattr(WireCluster, "close", lambda wire: closed.extend([wire]))
    with pytest.raises(UnreachableError):
        open_cluster(NOBODY)
    assert len(closed) == 1
