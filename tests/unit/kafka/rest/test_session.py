"""Requests to REST services: where credentials go, and what a missing answer means."""

import http.server
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from kplan.cluster.errors import Handling, handling
from kplan.kafka.rest.registry import RestRegistry
from kplan.kafka.rest.session import RestSession
from kplan.kafka.settings.connection import RestService, Timeouts, seconds
from kplan.model.errors import Refusal, UnreadableError
from tests.http_server import Request, serve_http

SHORT = Timeouts(seconds(0.5), seconds(0.5), max_read_s=seconds(0.5))


def session(url: str, timeouts: Timeouts = SHORT) -> RestSession:
    return RestSession(RestService(url, "u", "p"), timeouts, "application/json")


def test_the_login_goes_along_and_answers_are_json() -> None:
    seen: list[Request] = []

    def answer(request: Request) -> tuple[int, str]:
        seen.append(request)
        return 200, '{"a": [1]}'

    with serve_http(answer) as url, closing(session(f"{url}/base")) as found:
        assert found.read("/x?y=1").body == {"a": [1]}
        told = found.write("PUT", "/z", {"b": 2})
    assert not isinstance(told, Refusal)
    assert [(each.method, each.path, each.body) for each in seen] == [
        ("GET", "/base/x?y=1", ""),
        ("PUT", "/base/z", '{"b": 2}'),
    ]
    assert {each.authorization for each in seen} == {"Basic dTpw"}


@contextmanager
def redirecting(target: str) -> Iterator[str]:
    class Redirect(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(307)
            self.send_header("Location", target)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Redirect) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_credentials_do_not_follow_a_redirect() -> None:
    seen: list[Request] = []

    def answer(request: Request) -> tuple[int, str]:
        seen.append(request)
        return 200, "[]"

    with (
        serve_http(answer) as other,
        redirecting(other) as url,
        closing(session(url)) as found,
        pytest.raises(UnreadableError),
    ):
        found.read_list("/subjects", "Subjects")
    assert seen == []


def test_refused_credentials_leave_the_service_unread() -> None:
    with (
        serve_http(lambda _: (401, '{"message": "who are you"}')) as url,
        closing(session(url)) as found,
        pytest.raises(UnreadableError, match="who are you"),
    ):
        found.read("/")


def test_a_service_that_is_not_there_is_unread_and_a_write_is_in_doubt() -> None:
    with closing(session("http://127.0.0.1:1")) as found:
        with pytest.raises(UnreadableError, match="does not answer"):
            found.read("/")
        told = found.write("POST", "/", {})
    assert isinstance(told, Refusal)
    assert handling(told) is Handling.IN_DOUBT


@contextmanager
def listening(answer: bytes) -> Iterator[str]:
    """Take connections, send what is given, and close them; without an answer hold them open."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held: list[socket.socket] = []

        def serve() -> None:
            while True:
                try:
                    taken, _ = server.accept()
                except OSError:
                    return
                held.append(taken)
                if answer:
                    taken.recv(65536)
                    taken.sendall(answer)
                    taken.close()

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        for each in held:
            each.close()


def test_a_service_that_is_silent_is_not_waited_for_longer_than_the_timeout() -> None:
    with listening(b"") as url, closing(session(url)) as found:
        begun = time.monotonic()
        with pytest.raises(UnreadableError, match="in time"):
            found.read("/")
        told = found.write("DELETE", "/x")
        assert time.monotonic() - begun < 30
    assert isinstance(told, Refusal)
    assert told.error == "CLIENT_TIMED_OUT"


@pytest.mark.parametrize("junk", [b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n<html>"])
def test_what_is_no_such_service_is_unread(junk: bytes) -> None:
    with (
        listening(junk) as url,
        closing(RestRegistry(RestService(url), SHORT)) as registry,
        pytest.raises(UnreadableError),
    ):
        registry.subjects()


def test_an_unknown_authority_is_not_trusted() -> None:
    service = RestService("https://127.0.0.1:1", ca="no certificate")
    with pytest.raises(UnreadableError, match="PEM"):
        RestSession(service, SHORT, "application/json")
