"""Servers that speak the protocols of object stores, on ports that the system picks."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from moto.server import ThreadedMotoServer


@contextmanager
def s3_server(bucket: str) -> Iterator[str]:
    """Start one with a bucket, and give its address; it ends with the block."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        connection = http.client.HTTPConnection(host, port, timeout=10)
        connection.request("PUT", f"/{bucket}")
        status = connection.getresponse().status
        connection.close()
        assert status == 200, f"the bucket was not created: {status}"
        yield f"http://{host}:{port}"
    finally:
        server.stop()


class CuttingProxy(ThreadingHTTPServer):
    """Passes requests on; after `cut_next_put` one is passed on, and its answer is thrown away.

    With `drops_puts` none is passed on or answered.
    """

    daemon_threads = True

    def __init__(self, target: str, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Forward)
        self.target = target.removeprefix("http://")
        self.is_cutting = False
        self.cut_count = 0
        self.drops_puts = False
        self.is_closed = False

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def cut_next_put(self) -> None:
        """Arm it."""
        self.is_cutting = True


_OWN_HEADERS = frozenset(("connection", "content-length", "date", "server", "transfer-encoding"))


class _Forward(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _pass_on(self) -> None:
        proxy = self.server
        assert isinstance(proxy, CuttingProxy)
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if proxy.is_closed or (self.command == "PUT" and proxy.drops_puts):
            self.close_connection = True
            return
        target = http.client.HTTPConnection(proxy.target, timeout=10)
        target.request(self.command, self.path, body, dict(self.headers))
        answer = target.getresponse()
        data = answer.read()
        target.close()
        if self.command == "PUT" and proxy.is_cutting:
            proxy.is_cutting = False
            proxy.cut_count += 1
            self.close_connection = True
            return
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in {
                "connection",
                "content-length",
                "date",
                "server",
                "transfer-encoding",
            }:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_PUT = do_DELETE = do_HEAD = _pass_on  # noqa: N815 - names of the base class

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as there
        """Be quiet."""


@contextmanager
def cutting_proxy(target: str, port: int = 0) -> Iterator[CuttingProxy]:
    """Start one before a server; it ends with the block."""
    with CuttingProxy(target, port) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, daemon=True)
        thread.start()
        yield proxy
        proxy.is_closed = True  # for connections that are kept open
        proxy.shutdown()
        thread.join()
