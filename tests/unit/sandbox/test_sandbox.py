"""The file that keeps a sandbox between runs."""

from pathlib import Path

import pytest

from kplan.model.errors import SandboxError
from kplan.sandbox.credential import User
from kplan.sandbox.layout import SandboxSpec, Security, make_nodes
from kplan.sandbox.process import Process
from kplan.sandbox.sandbox import Sandbox, read_sandbox, write_sandbox


def sandbox(folder: Path) -> Sandbox:
    spec = SandboxSpec(
        brokers=2,
        controllers=1,
        security=Security.SASL,
        metadata_version="4.0-IV3",
        server_properties={"num.partitions": "3"},
        class_path=(Path("/policies.jar"),),
    )
    users = (User("admin", "User:admin", {"sasl.jaas.config": 'password="hush"'}),)
    processes = {1: Process(10, "boot/1"), 101: Process(12, "boot/2")}
    return Sandbox(
        folder, spec, "MkU3OEVBNTcwNTJENDM2Qg", make_nodes(spec, (1, 2, 3)), users, processes
    )


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    written = sandbox(tmp_path)
    write_sandbox(written)
    assert read_sandbox(tmp_path) == written


def test_the_record_is_for_its_owner_only(tmp_path: Path) -> None:
    write_sandbox(sandbox(tmp_path))
    assert (tmp_path / "sandbox.json").stat().st_mode & 0o777 == 0o600


def test_no_record_is_no_sandbox(tmp_path: Path) -> None:
    assert read_sandbox(tmp_path / "nowhere") is None


def test_a_record_that_cannot_be_read_is_an_error_in_words(tmp_path: Path) -> None:
    (tmp_path / "sandbox.json").mkdir()
    with pytest.raises(SandboxError, match="cannot be read: Is a directory"):
        read_sandbox(tmp_path)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"format": 2}', '{"format": 1}'])
def test_a_damaged_record_is_an_error_and_never_means_no_sandbox(
    content: str, tmp_path: Path
) -> None:
    """Processes may be running that nobody would end."""
    (tmp_path / "sandbox.json").write_text(content, encoding="utf-8")
    with pytest.raises(SandboxError, match="damaged"):
        read_sandbox(tmp_path)


def test_a_user_or_node_that_is_not_there_is_answered_with_those_that_are(tmp_path: Path) -> None:
    there = sandbox(tmp_path)
    with pytest.raises(SandboxError, match="no user eve") as told:
        there.user("eve")
    assert told.value.hint == "It has admin."
    with pytest.raises(SandboxError, match="no node 7") as told:
        there.node(7)
    assert told.value.hint == "It has 1, 2, 101."


def test_secrets_are_in_no_repr(tmp_path: Path) -> None:
    assert "hush" not in repr(sandbox(tmp_path))


def test_client_properties_begin_with_the_address(tmp_path: Path) -> None:
    there = sandbox(tmp_path)
    assert next(iter(there.properties.items())) == (
        "bootstrap.servers",
        "127.0.0.1:1,127.0.0.1:2",
    )
    assert there.properties == there.client_properties("admin")
