"""A broker of a few lines that answers, fails and falls silent as a test tells it to."""

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum

from kplan.kafka.settings.connection import ConnectionSettings, Endpoint, Timeouts, seconds
from kplan.kafka.wire import messages, record
from kplan.kafka.wire.messages import Api, Message
from kplan.kafka.wire.transport import MAX_FRAME_BYTES

APIS = (
    *messages.APIS,
    *record.RECORD_APIS,
    messages.DELETE_RECORDS,
    messages.DESCRIBE_QUORUM,
    messages.UNREGISTER_BROKER,
    messages.ADD_VOTER,
    messages.REMOVE_VOTER,
    messages.CREATE_TOKEN,
    messages.RENEW_TOKEN,
    messages.DESCRIBE_TOKENS,
    messages.LIST_REASSIGNMENTS,
)


class Act(Enum):
    """What to do instead of answering, or after it."""

    CLOSE = "close the connection without an answer"
    STAY_SILENT = "never answer"
    MISCOUNT = "answer with another correlation id"
    CUT = "send half of a frame and close"


Reply = Message | Act | bytes
"""A message to answer with, an act, or raw bytes to send as they are."""

Script = Callable[[Message], Reply]


@dataclass
class FakeBroker:
    """What it was asked, per connection; and what it answers, by API."""

    script: dict[int, Script] = field(default_factory=dict)
    closes_after: set[int] = field(default_factory=set)
    lacking: frozenset[int] = frozenset()
    asked: list[tuple[int, int]] = field(default_factory=list)
    requests: list[Message] = field(default_factory=list)
    connections: int = 0
    port: int = 0

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint("127.0.0.1", self.port)

    def on(self, api: Api, *replies: Reply | Script) -> None:
        """Answer an API with the replies in turn, the last one from then on."""
        left = list(replies)

        def next_reply(request: Message) -> Reply:
            reply = left.pop(0) if len(left) > 1 else left[0]
            return reply(request) if callable(reply) else reply

        self.script[api.key] = next_reply

    def count(self, api: Api) -> int:
        return sum(key == api.key for key, _ in self.asked)


def described(broker: FakeBroker, *more: tuple[int, int]) -> Message:
    """Answer DescribeCluster with this broker as number 1, and more as number and port."""
    brokers = [(1, broker.port), *more]
    answer = messages.DESCRIBE_CLUSTER.response
    return answer(
        cluster_id="fake",
        brokers=[
            answer.DescribeClusterBroker(broker_id=number, host="127.0.0.1", port=port)
            for number, port in brokers
        ],
    )


@contextmanager
def fake_broker(
    lacking: frozenset[int] = frozenset(),
    tls: ssl.SSLContext | None = None,
    newest: Mapping[int, int] | None = None,
) -> Iterator[FakeBroker]:
    """Run a broker that answers ApiVersions and DescribeCluster, and what a test adds.

    It offers every version that kplan speaks, of the APIs in `newest` only up to that one.
    """
    broker = FakeBroker(lacking=lacking)
    listener = socket.create_server(("127.0.0.1", 0))
    broker.port = listener.getsockname()[1]
    broker.on(messages.API_VERSIONS, _versions(lacking, newest or {}))
    broker.on(messages.DESCRIBE_CLUSTER, lambda _: described(broker))
    broker.on(messages.SASL_HANDSHAKE, messages.SASL_HANDSHAKE.response(error_code=34))
    streams: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def accept() -> None:
        while True:
            try:
                stream, _ = listener.accept()
            except OSError:
                return
            broker.connections += 1
            streams.append(stream)
            threads.append(threading.Thread(target=_serve, args=(broker, stream, tls)))
            threads[-1].start()

    acceptor = threading.Thread(target=accept)
    acceptor.start()
    try:
        yield broker
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        acceptor.join()
        for stream in streams:
            _end(stream)
        for thread in threads:
            thread.join()


def _end(stream: socket.socket) -> None:
    try:
        stream.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


def _versions(lacking: frozenset[int], newest: Mapping[int, int]) -> Message:
    response = messages.API_VERSIONS.response
    apis = {each.key: each for each in APIS if each.key not in lacking}
    return response(
        api_keys=[
            response.ApiVersion(api_key=key, min_version=0, max_version=newest.get(key, 99))
            for key in apis
        ]
    )


def _serve(broker: FakeBroker, raw: socket.socket, tls: ssl.SSLContext | None) -> None:
    try:
        raw.settimeout(5)
        stream = tls.wrap_socket(raw, server_side=True) if tls else raw
        stream.settimeout(None)
    except OSError:
        raw.close()
        return
    with stream, suppress(ConnectionError):  # a client that is interrupted waits for no answer
        while head := _exactly(stream, 4):
            (size,) = struct.unpack(">i", head)
            if size > MAX_FRAME_BYTES:
                return
            frame = _exactly(stream, size)
            key, version, correlation_id = struct.unpack_from(">hhi", frame)
            broker.asked.append((key, version))
            api = next(each for each in APIS if each.key == key)
            request = type(api.request()).decode(_body(api, version, frame), version=version)
            broker.requests.append(request)
            script = broker.script.get(key, lambda _: Act.CLOSE)
            if not _answer(stream, api, version, correlation_id, script(request)):
                return
            if key in broker.closes_after:
                return


def _body(api: Api, version: int, frame: bytes) -> bytes:
    (name_size,) = struct.unpack_from(">h", frame, 8)
    flexible = bool(api.request.flexible_version_q(version))
    return frame[10 + name_size + flexible :]


def _answer(
    stream: socket.socket, api: Api, version: int, correlation_id: int, reply: Reply
) -> bool:
    """Send a reply; False where the connection is to end."""
    if reply is Act.CLOSE:
        return False
    if reply is Act.STAY_SILENT:
        return True
    if reply is Act.CUT:
        stream.sendall(b"\x00\x00\x01\x00half")
        return False
    if isinstance(reply, bytes):
        stream.sendall(reply)
        return True
    correlation_id += reply is Act.MISCOUNT
    message = api.response() if reply is Act.MISCOUNT else reply
    header = struct.pack(">i", correlation_id)
    if messages.has_tagged_header(api, version):
        header += b"\x00"
    if api is messages.API_VERSIONS and message.error_code:
        version = 0  # as brokers do, so that a client of any age can read it (KIP-511)
    body = header + bytes(message.encode(version=version))
    stream.sendall(struct.pack(">i", len(body)) + body)
    return True


def _exactly(stream: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        try:
            part = stream.recv(size - len(found))
        except OSError:
            return b""
        if not part:
            return b""
        found += part
    return found


QUICK = Timeouts(seconds(1), seconds(1), seconds(0.2))


def settings_for(*endpoints: Endpoint, timeouts: Timeouts = QUICK) -> ConnectionSettings:
    """Make settings that do not wait for long."""
    return ConnectionSettings(endpoints, timeouts=timeouts)
