"""What is done by hand where a version of PySpark lacks it."""

import socket
import time
from collections.abc import Callable
from contextlib import closing
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import grpc  # type: ignore[import-untyped]
import pyarrow as pa
import pytest

from kplan.fleet import compat
from kplan.fleet.compat import split_groups
from kplan.fleet.spark import server
from kplan.model.errors import FleetError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_group_is_whole_however_its_rows_lie_in_batches() -> None:
    rows = [("a", "x", 1), ("a", "x", 2), ("a", "y", 3), (None, "y", 4), (None, "y", 5)]
    for size in range(1, 6):
        parts = [rows[at : at + size] for at in range(0, len(rows), size)]
        batches = [
            pa.RecordBatch.from_arrays(
                [pa.array(column) for column in zip(*part, strict=True)], names=["k", "l", "n"]
            ).cast(pa.schema({"k": pa.string(), "l": pa.string(), "n": pa.int64()}))
            for part in parts
        ]
        found = [table.column("n").to_pylist() for table in split_groups(batches, ("k", "l"))]
        assert found == [[1, 2], [3], [4, 5]], size
    assert list(split_groups([], ("k",))) == []


def test_a_server_that_everyone_could_use_is_not_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KPLAN_CACHE", str(tmp_path))
    monkeypatch.setattr(server, "spark_version", lambda: "3.5.9")
    with pytest.raises(FleetError, match=r"Spark 3\.5\.9 asks for no token") as refused:
        server.start_server({}, "2026-11-24T00:00:00+00:00")
    assert "PySpark 4.0 or later" in refused.value.hint
    assert not list(tmp_path.iterdir())


class Unavailable(grpc.RpcError):  # type: ignore[misc]
    """What gRPC raises where a server does not answer."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNAVAILABLE

    def details(self) -> str:
        return "Socket closed"

    def trailing_metadata(self) -> tuple[()]:
        return ()


def waits_s(client: Any) -> list[float]:  # noqa: ANN401 - versions differ
    """Return how long a client of Spark Connect waits each time until it gives up."""
    core: Any = import_module("pyspark.sql.connect.client.core")
    found: list[float] = []
    if hasattr(client, "get_retry_policies"):
        attempts = core.Retrying(client.get_retry_policies(), found.append)
    else:  # before 4.0
        limits = client._retry_policy
        attempts = core.Retrying(can_retry=client.retry_exception, sleep=found.append, **limits)

    def call() -> None:
        for attempt in attempts:
            with attempt:
                raise Unavailable

    with pytest.raises(Unavailable):
        call()
    return found


def connect_client(has_ended: Callable[[], bool]) -> Any:  # noqa: ANN401
    """Return a client of Spark Connect with kplan's limits; nothing is called."""
    core: Any = import_module("pyspark.sql.connect.client.core")
    client = core.SparkConnectClient("sc://localhost:1")
    compat.limit_retries(cast("SparkSession", SimpleNamespace(client=client)), has_ended)
    return client


@pytest.mark.filterwarnings("ignore:.*RETRIES_EXCEEDED")
def test_a_connect_server_that_does_not_answer_is_given_up_within_half_a_minute() -> None:
    client = connect_client(lambda: False)
    assert 15 < sum(waits_s(client)) < 35
    if compat.takes_arrow_tables():  # 4.0 and later
        assert not waits_s(client), "cleaning up waits no more"


@pytest.mark.skipif(not compat.takes_arrow_tables(), reason="before 4.0 no server is started")
def test_a_connect_server_that_has_ended_is_given_up_at_once() -> None:
    assert not waits_s(connect_client(lambda: True))


def test_an_interrupt_does_not_wait_for_a_server_that_answers_nothing() -> None:
    """PySpark would ask it to end the query, and wait for the answer."""
    from pyspark.sql.connect.client import SparkConnectClient

    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        client: Any = SparkConnectClient(f"sc://127.0.0.1:{silent.getsockname()[1]}")
        compat.skip_interrupt_requests(cast("SparkSession", SimpleNamespace(client=client)))
        began = time.monotonic()
        client.interrupt_operation("9")
        assert time.monotonic() - began < 3
        client._channel.close()
