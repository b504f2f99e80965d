"""Free ports."""

import socket

import pytest

from kplan.model.errors import SandboxError
from kplan.sandbox import launch


def test_ports_are_free_and_different() -> None:
    found = launch.find_free_ports(12)
    assert len(set(found)) == 12
    for port in found:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", port))


def test_a_port_in_use_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        monkeypatch.setattr(launch, "FIRST_PORT", port)
        monkeypatch.setattr(launch, "LAST_PORT", port + 50)
        assert port not in launch.find_free_ports(1)


def test_no_free_port_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "_bind", lambda *_: False)
    with pytest.raises(SandboxError, match="No 2 free ports"):
        launch.find_free_ports(2)
