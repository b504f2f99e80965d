"""Requests to a REST service: a few connections, each used again, and answers as JSON."""

import base64
import http.client
import json
import ssl
import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import TypeVar
from urllib.parse import urlsplit

from kplan.cluster.errors import CLIENT_DISCONNECTED, CLIENT_TIMED_OUT, client_refusal, refusal
from kplan.cluster.threads import DaemonThreads
from kplan.kafka.settings.certificate import verification_hint
from kplan.kafka.settings.connection import RestService, Timeouts
from kplan.model.dataclass import dataclass
from kplan.model.errors import Refusal, UnreadableError

ItemT = TypeVar("ItemT")
ResponseT = TypeVar("ResponseT")

IN_FLIGHT = 8
"""Requests of one call that are under way at the same time."""

_MAX_RESPONSE_BYTES = 256_000_000
_FRESH_S = 2.0
"""A write is not sent over a connection that was idle for longer: it may be half closed."""

_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND = 401, 403, 404
_CONFLICT, _TOO_MANY = 409, 429
_SERVER_ERROR = 500


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: the HTTP status, and the body as JSON, None where it is none."""

    status: int
    body: object

    @property
    def is_ok(self) -> bool:
        """Whether the service did what it was asked."""
        return self.status < 300  # noqa: PLR2004 - the classes of HTTP

    @property
    def is_absent(self) -> bool:
        """Whether what was asked for is not there."""
        return self.status == _NOT_FOUND

    @property
    def error_code(self) -> int:
        """The service's own error code, as 42201; else the HTTP status."""
        found = self.body.get("error_code") if isinstance(self.body, dict) else None
        return found if isinstance(found, int) else self.status

    @property
    def message(self) -> str:
        """What the service says went wrong."""
        found = self.body.get("message") if isinstance(self.body, dict) else None
        return str(found) if found else f"HTTP {self.status}"

    def refusal(self) -> Refusal:
        """Return the refusal of an item; services with their own codes look at those first."""
        if self.status in {_UNAUTHORIZED, _FORBIDDEN}:
            return refusal(REST_DENIED, self.message)
        if self.status == _NOT_FOUND:
            return refusal(REST_NOT_FOUND, self.message)
        if self.status in {_CONFLICT, _TOO_MANY} or self.status >= _SERVER_ERROR:
            return refusal(REST_UNAVAILABLE, self.message)
        return refusal(REST_REFUSED, self.message)


REST_DENIED, REST_NOT_FOUND, REST_UNAVAILABLE, REST_REFUSED = -206, -207, -208, -209


class RestSession:
    """One administrator's access to a service; may be used from several threads at once.

    Credentials go to the configured address only: redirects are not followed. TLS certificates and
    host names are always verified.
    """

    def __init__(self, service: RestService, timeouts: Timeouts, content_type: str) -> None:
        self._service = service
        self._timeouts = timeouts
        self._content_type = content_type
        self._lock = threading.Lock()
        self._idle: list[tuple[http.client.HTTPConnection, float]] = []
        parts = urlsplit(service.url)
        self._host, self._port = parts.hostname or "", parts.port
        self._base = parts.path.rstrip("/")
        self._tls = _tls_context(service) if parts.scheme == "https" else None

    @property
    def url(self) -> str:
        """The address of the service."""
        return self._service.url

    def read(self, path: str) -> Answer:
        """Fetch a resource; a connection that broke is opened again once.

        Raises:
            UnreadableError: the service does not answer, or refuses the credentials, or its
                certificate is not trusted. The cluster can be asked all the same.

        """
        try:
            try:
                found = self._send("GET", path, None, self._timeouts.read_s, is_write=False)
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                self.close()  # what has been idle as long is as broken
                found = self._send("GET", path, None, self._timeouts.read_s, is_write=False)
        except (OSError, http.client.HTTPException) as failure:
            raise self._connection_error(failure) from failure
        if found.status == _UNAUTHORIZED:
            raise UnreadableError(
                f"{self.url} refused the credentials: {found.message.rstrip('.')}.",
                hint="Check the user name and password of the service.",
            )
        return found

    def read_list(self, path: str, what: str) -> list[object]:
        """Fetch a list that is whole or refused.

        Raises:
            UnreadableError: it is refused, or as `read`.

        """
        found = self.read(path)
        if found.is_ok and isinstance(found.body, list):
            return found.body
        why = "it answers with something else" if found.is_ok else found.message.rstrip(".")
        raise UnreadableError(
            f"{what} cannot be read from {self.url}: {why}.",
            hint="Check that the URL is that of the service's REST API.",
        )

    def write(self, method: str, path: str, body: object = None) -> Answer | Refusal:
        """Send a change, once. A broken connection or an expired timeout is a refusal in doubt."""
        limit = self._timeouts.request_s
        try:
            return self._send(method, path, body, limit, is_write=True)
        except TimeoutError:
            return client_refusal(CLIENT_TIMED_OUT)
        except ssl.SSLCertVerificationError as failure:
            return refusal(REST_DENIED, str(self._connection_error(failure).detail))
        except (OSError, http.client.HTTPException) as failure:
            return client_refusal(CLIENT_DISCONNECTED, f"{self.url}: {_reason(failure)}.")

    def map(
        self, items: Collection[ItemT], ask: Callable[[ItemT], ResponseT]
    ) -> dict[ItemT, ResponseT]:
        """Ask for each item, a few at a time; what `ask` raises is raised."""
        unique = list(dict.fromkeys(items))
        if len(unique) <= 1:
            return {each: ask(each) for each in unique}
        with DaemonThreads(min(IN_FLIGHT, len(unique)), "rest") as pool:
            return dict(zip(unique, pool.map(ask, unique), strict=True))

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for each, _ in idle:
            each.close()

    def _send(
        self, method: str, path: str, body: object, limit_s: float, *, is_write: bool
    ) -> Answer:
        headers = {"Accept": f"{self._content_type}, application/json", **self._login()}
        payload = None
        if body is not None:
            payload = json.dumps(body).encode()
            headers["Content-Type"] = self._content_type
        connection = self._take_connection(limit_s, must_be_fresh=is_write)
        try:
            connection.request(method, f"{self._base}{path}", payload, headers)
            with connection.getresponse() as answer:
                text = answer.read(_MAX_RESPONSE_BYTES)
                status = answer.status
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self._idle.append((connection, time.monotonic()))
        return Answer(status, _parse(text))

    def _take_connection(
        self, limit_s: float, *, must_be_fresh: bool
    ) -> http.client.HTTPConnection:
        """Take a connection that is idle, else open one; it waits for answers so long."""
        with self._lock:
            connection, used_at = self._idle.pop() if self._idle else (None, 0.0)
        if connection is not None and must_be_fresh and time.monotonic() - used_at > _FRESH_S:
            connection.close()
        if connection is None:
            connection = self._new_connection()
        if connection.sock is None:
            connection.timeout = self._timeouts.connect_s
            connection.connect()
        connection.sock.settimeout(limit_s)
        return connection

    def _new_connection(self) -> http.client.HTTPConnection:
        if self._tls is None:
            return http.client.HTTPConnection(self._host, self._port)
        return http.client.HTTPSConnection(self._host, self._port, context=self._tls)

    def _login(self) -> Mapping[str, str]:
        if not self._service.username:
            return {}
        pair = f"{self._service.username}:{self._service.password}".encode()
        return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}

    def _connection_error(self, failure: Exception) -> UnreadableError:
        if isinstance(failure, ssl.SSLCertVerificationError):
            return UnreadableError(
                f"The certificate of {self.url} is not trusted "
                f"(CERTIFICATE_VERIFY_FAILED: {failure.verify_message.rstrip('.')}).",
                hint=verification_hint(failure, "Give the certificate authority that signed it."),
            )
        if isinstance(failure, TimeoutError):
            return UnreadableError(f"{self.url}: no answer came in time.")
        return UnreadableError(f"{self.url} does not answer: {_reason(failure)}.")


def _tls_context(service: RestService) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cadata=service.ca or None)
    except (ssl.SSLError, ValueError) as failure:
        raise UnreadableError(
            f"The certificate authority of {service.url} is not a certificate in PEM form."
        ) from failure


def _reason(failure: Exception) -> str:
    why = getattr(failure, "strerror", None) or str(failure) or type(failure).__name__
    return str(why).rstrip(".")


def _parse(text: bytes) -> object:
    try:
        found: object = json.loads(text) if text else None
    except ValueError:
        return None
    return found
