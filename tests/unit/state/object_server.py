"""A small server that speaks as much of S3 as a state needs, and that can be away or hang."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_DATE = "Sat, 01 Jan 2022 00:00:00 GMT"
_NO_KEY = b"<Error><Code>NoSuchKey</Code></Error>"


class ObjectServer(ThreadingHTTPServer):
    """Objects in memory. `unanswered` PUTs have no answer, though they are executed.

    With `drops_puts` none is executed or answered.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Objects)
        self.objects: dict[str, bytes] = {}
        self.unanswered = 0
        self.drops_puts = False
        self.puts: list[int] = []
        self.requests = 0
        self.is_away = False
        self.hang = threading.Event()
        self.hang.set()

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Objects(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        server = self.server
        assert isinstance(server, ObjectServer)
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        server.requests += 1
        self.close_connection = True
        server.hang.wait(60)
        if server.is_away or (self.command == "PUT" and server.drops_puts):
            return
        found, key = server.objects.get(self.path), self.path.partition("?")[0]
        if self.command == "PUT":
            status = 412 if not _is_met(self.headers, found) else 200
            if status == 200:
                server.objects[key] = found = body
            server.puts.append(status)
            if server.unanswered > 0:
                server.unanswered -= 1
                return
            self._send(status, found or b"", b"")
        elif "?" in self.path:
            self._send(200, b"", b"<ListBucketResult></ListBucketResult>")
        elif found is None:
            self._send(404, b"", _NO_KEY)
        else:
            self._send(200, found, found)

    def _send(self, status: int, stored: bytes, data: bytes) -> None:
        self.send_response(status)
        self.send_header("ETag", _e_tag(stored))
        self.send_header("Last-Modified", _DATE)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_PUT = do_DELETE = _answer  # noqa: N815 - names of the base class

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as there
        """Be quiet."""


def _is_met(headers: Message, found: bytes | None) -> bool:
    if headers.get("If-None-Match") == "*":
        return found is None
    wanted = headers.get("If-Match")
    return wanted is None or (found is not None and wanted == _e_tag(found))


def _e_tag(data: bytes) -> str:
    return f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'


@contextmanager
def object_server() -> Iterator[ObjectServer]:
    """Start one; it ends with the block."""
    with ObjectServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.is_away = True
            server.hang.set()
            server.shutdown()
            thread.join()
