"""Telling others over HTTP: nobody is waited for without end, and no secret is shown."""

import io
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from kplan.cli.plan import drift
from kplan.cli.terminal import Terminal
from kplan.model.errors import UsageError


@pytest.fixture
def dripping() -> Iterator[str]:
    """Answer with a header every tenth of a second."""
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            with server.accept()[0] as asker:
                asker.sendall(b"HTTP/1.1 200 OK\r\n")
                for _ in range(50):
                    if ended.wait(0.1):
                        return
                    asker.sendall(b"X-More: to come\r\n")

        dripper = threading.Thread(target=drip)
        dripper.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/secret"
        ended.set()
        dripper.join()


def test_a_listener_that_never_ends_its_answer_is_left(
    dripping: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every byte began the time anew: a watch of drift hung for as long as they came."""
    monkeypatch.setattr(drift, "TIMEOUT_S", 0.5)
    told, begun = io.StringIO(), time.monotonic()
    assert not drift.post_webhook(Terminal({}, stderr=told), dripping, "{}")
    assert time.monotonic() - begun < 4
    assert "no answer in 0.5 s" in told.getvalue()
    assert "secret" not in told.getvalue()


@pytest.mark.parametrize("url", ["http://me:secret@host/x", "http://a b/", "http://x\n/y"])
def test_an_address_with_a_password_or_blanks_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        drift.check_url("-webhook", url)
    assert "secret" not in str(refused.value)
