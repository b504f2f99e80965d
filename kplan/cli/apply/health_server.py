"""The health and metrics endpoint of a service."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from kplan.model.errors import UsageError

_PLAIN = "text/plain; charset=utf-8"
_METRICS = "text/plain; version=0.0.4; charset=utf-8"


class ServiceHealth:
    """What the endpoint answers: whether the service is alive and ready, and its metrics."""

    def __init__(self) -> None:
        self.is_alive = True
        self.is_ready = False
        self.metrics = ""

    def pages(self) -> Mapping[str, tuple[int, str, str]]:
        """Return status, type and body by path."""
        alive, ready = (200 if each else 503 for each in (self.is_alive, self.is_ready))
        return {
            "/livez": (alive, _PLAIN, "ok\n" if self.is_alive else "stopping\n"),
            "/readyz": (ready, _PLAIN, "ok\n" if self.is_ready else "not ready\n"),
            "/metrics": (200, _METRICS, self.metrics),
        }


@contextmanager
def serve_health(listen: str, health: ServiceHealth) -> Iterator[str]:
    """Answer HTTP requests at HOST:PORT until the end of the block; gives the address.

    Raises:
        UsageError: it is no address, or the port is in use.

    """
    host, _, port = listen.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:  # noqa: PLR2004 - the last port there is
        raise UsageError(f"-listen={listen} is not HOST:PORT.", "Write it as 127.0.0.1:9464.")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, kind, body = health.pages().get(self.path, (404, _PLAIN, "not found\n"))
            data = body.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as above
            """Write nothing: probes come every few seconds."""

    try:
        server = ThreadingHTTPServer((host.strip("[]"), int(port)), Handler)
    except OSError as failure:
        raise UsageError(f"-listen={listen}: {failure.strerror or failure}.") from None
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, name="health", daemon=True)
    thread.start()
    try:
        yield f"{server.server_address[0]!s}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
