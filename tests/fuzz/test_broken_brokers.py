"""Brokers that are broken in a way of their own: the command ends soon, and says what it met."""

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from tests.fuzz.commands import Case, run_case

Act = Callable[[socket.socket], None]
TIMEOUT_S = 2
CONFIGURATION = """
provider "kafka" {
  timeout = 2
}
resource "kafka_topic" "t" {
  name = "orders"
}
"""


def read_request(peer: socket.socket) -> bytes:
    size = struct.unpack(">i", peer.recv(4, socket.MSG_WAITALL))[0]
    return peer.recv(size, socket.MSG_WAITALL)


def answer(peer: socket.socket, data: bytes, length: int | None = None) -> None:
    peer.sendall(struct.pack(">i", len(data) if length is None else length) + data)


def wait(peer: socket.socket) -> None:
    peer.settimeout(20)
    with suppress(OSError):
        while peer.recv(4096):
            pass


def silent(peer: socket.socket) -> None:
    wait(peer)


def closes_at_once(peer: socket.socket) -> None:
    """Say nothing at all."""


def closes_after_the_request(peer: socket.socket) -> None:
    read_request(peer)


def resets(peer: socket.socket) -> None:
    read_request(peer)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def garbage(peer: socket.socket) -> None:
    read_request(peer)
    answer(peer, bytes(range(256)) * 4)
    wait(peer)


def endless(peer: socket.socket) -> None:
    read_request(peer)
    peer.sendall(struct.pack(">i", 1 << 30))
    block, until = b"\x00" * 65_536, time.monotonic() + 20
    while time.monotonic() < until:
        peer.sendall(block)


def negative_length(peer: socket.socket) -> None:
    read_request(peer)
    answer(peer, b"", -1)
    wait(peer)


def huge_length(peer: socket.socket) -> None:
    read_request(peer)
    answer(peer, b"\x00" * 16, 2**31 - 1)
    wait(peer)


def drips(peer: socket.socket) -> None:
    read_request(peer)
    for each in struct.pack(">i", 100) + b"\x00" * 100:
        peer.sendall(bytes([each]))
        time.sleep(0.3)


def another_request(peer: socket.socket) -> None:
    read_request(peer)
    answer(peer, struct.pack(">i", 12_345) + b"\x00" * 40)
    wait(peer)


def cut_answer(peer: socket.socket) -> None:
    request = read_request(peer)
    answer(peer, request[4:8] + b"\x00\x00", 400)


def alert_of_tls(peer: socket.socket) -> None:
    peer.recv(16)
    peer.sendall(b"\x15\x03\x03\x00\x02\x02\x46")


def half_open(peer: socket.socket) -> None:
    peer.shutdown(socket.SHUT_WR)
    wait(peer)


def web_server(peer: socket.socket) -> None:
    peer.recv(16)
    peer.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


ACTS: tuple[Act, ...] = (
    *(silent, closes_at_once, closes_after_the_request, resets, garbage, endless),
    *(negative_length, huge_length, drips, another_request, cut_answer, alert_of_tls),
    *(half_open, web_server),
)


@contextmanager
def served(act: Act) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        ended = threading.Event()

        def handle(peer: socket.socket) -> None:
            with peer, suppress(OSError, struct.error):
                act(peer)

        def accept() -> None:
            with suppress(OSError):
                while not ended.is_set():
                    threading.Thread(target=handle, args=(server.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        ended.set()


@pytest.mark.parametrize("is_tls", [False, True], ids=["plaintext", "tls"])
@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
@pytest.mark.parametrize("verb", ["plan", "topics list"])
def test_a_broken_broker_is_named_soon(act: Act, verb: str, is_tls: bool) -> None:
    with served(act) as address:
        environ = {"KPLAN_BOOTSTRAP_SERVERS": address, "KPLAN_TLS_ENABLED": str(is_tls).lower()}
        case = Case(
            {"main.tf": CONFIGURATION.encode()}, verb.split(), is_connected=False, environ=environ
        )
        began = time.monotonic()
        code, told = run_case(case)
    assert code == 1, told
    assert address in told
    assert "Traceback" not in told
    assert time.monotonic() - began < 6 * TIMEOUT_S, "it ends about when its timeout does"
