"""A Spark that is not there is told at once, and without the token of its address."""

import os
import socket
import sys
import threading
import warnings
from contextlib import closing, suppress

import pytest

from kplan.fleet import compat
from kplan.fleet.spark.jvm import parse_settings
from kplan.fleet.spark.server import start_server
from kplan.fleet.spark.session import (
    SparkSettings,
    check_reachable,
    open_session,
    server_options,
)
from kplan.model.errors import FleetError, UsageError
from kplan.sandbox.process import Process


def closed_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port: int = taken.getsockname()[1]
        return port


@pytest.mark.parametrize("scheme", ["sc", "spark"])
def test_an_address_at_which_nobody_listens_is_told(scheme: str) -> None:
    address = f"{scheme}://127.0.0.1:{closed_port()}"
    engine = (
        SparkSettings(remote=f"{address}/;token=s3cret")
        if scheme == "sc"
        else SparkSettings(address)
    )
    with pytest.raises(FleetError, match="Connection refused") as refused, open_session(engine):
        pass
    assert address in refused.value.detail
    assert "s3cret" not in refused.value.detail
    assert "-remote" in refused.value.hint


def test_of_a_server_that_has_ended_its_end_is_told() -> None:
    remote = f"sc://127.0.0.1:{closed_port()}"
    engine = SparkSettings(remote=remote, process=Process(os.getpid(), "another time"))
    with pytest.raises(FleetError, match="ended before it had answered"), open_session(engine):
        pass


def test_one_master_of_several_is_enough() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
        check_reachable(f"spark://127.0.0.1:{closed_port()},127.0.0.1:{port}")


@pytest.mark.parametrize("remote", ["host:15002", "s3cret"])
def test_what_is_no_address_is_told(remote: str) -> None:
    with (
        pytest.raises(FleetError, match="not an address of Spark Connect"),
        open_session(SparkSettings(remote=remote)),
    ):
        pass


@pytest.mark.parametrize("address", ["sc://:x", "sc://127.0.0.1:99999", "sc://no such host:1"])
def test_an_address_that_cannot_be_is_told(address: str) -> None:
    with pytest.raises(FleetError, match="does not answer"):
        check_reachable(address)


def test_what_is_no_connect_server_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """PySpark would warn of it, too, with a line of its own code."""
    monkeypatch.setattr(compat, "_MAX_RETRIES", 1)  # it takes half a minute else

    def refuse(listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                listener.accept()[0].close()

    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        warnings.catch_warnings(record=True) as told,
    ):
        warnings.simplefilter("always")
        threading.Thread(target=refuse, args=(listener,), daemon=True).start()
        address = f"sc://127.0.0.1:{listener.getsockname()[1]}"
        with (
            pytest.raises(FleetError, match=f"{address} does not answer: its Connect server"),
            open_session(SparkSettings(remote=address)),
        ):
            pass
    assert not [each for each in told if "RETRIES_EXCEEDED" in str(each.message)]


def test_a_setting_without_a_value_is_a_wrong_command_line() -> None:
    assert parse_settings(["a=b=c", " d ="]) == {"a": "b=c", "d": ""}
    with pytest.raises(UsageError, match="-conf=bad is not of the form"):
        parse_settings(["bad"])
    for name, option in (("spark.master", "-master=URL"), ("spark.remote", "-remote=URL")):
        with pytest.raises(UsageError, match=f"-conf cannot set {name}") as refused:
            parse_settings([f" {name} =local[1]"])
        assert option in refused.value.hint


@pytest.mark.parametrize("name", ["address", "port"])
def test_where_the_server_listens_cannot_be_set(name: str) -> None:
    """It was recorded, and shown, and the server listened elsewhere."""
    own = f"spark.connect.grpc.binding.{name}"
    with pytest.raises(FleetError, match=f"{own} cannot be set: the server listens on loopback"):
        start_server({own: "15002"}, "2026-11-30T00:00:00+00:00")


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")
def test_workers_of_this_python_are_forks_of_a_process_that_has_what_they_import(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    setting, ours = "spark.python.daemon.module", "kplan.fleet.spark.daemon"
    assert server_options({}, 1)[setting] == ours
    assert server_options({setting: "theirs"}, 1)[setting] == "theirs"
    assert setting not in server_options({"spark.pyspark.python": "/usr/bin/python3"}, 1)
    monkeypatch.setenv("PYSPARK_PYTHON", "/usr/bin/python3")
    assert setting not in server_options({}, 1)


@pytest.mark.parametrize(
    ("setting", "ours"), [("spark.buffer.pageSize", "1m"), ("spark.memory.fraction", "0.4")]
)
def test_only_the_memory_of_a_heap_of_the_usual_size_is_divided_by_us(
    setting: str, ours: str
) -> None:
    """A task has 8,192 pages at most: of a large heap it could not use all."""
    assert server_options({}, 1)[setting] == ours
    assert server_options({setting: "theirs"}, 1)[setting] == "theirs"
    assert setting not in server_options({"spark.driver.memory": "32g"}, 1)


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_a_spark_of_this_machine_writes_files_by_the_umask_of_its_user(mask: int) -> None:
    setting = "spark.hadoop.fs.permissions.umask-mode"
    before = os.umask(mask)
    try:
        assert server_options({}, 1)[setting] == f"{mask:03o}"
        assert server_options({setting: "002"}, 1)[setting] == "002"
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
