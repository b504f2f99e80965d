"""Post a message to a webhook, and metrics to a push gateway."""

from http.client import HTTPException
from threading import Thread
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from kplan.cli.terminal import Terminal
from kplan.model.errors import UsageError
from kplan.model.version import VERSION

TIMEOUT_S = 10.0


def check_url(option: str, url: str) -> None:
    """Raise UsageError for text that is not an HTTP URL."""
    if url and not _is_http_url(url):
        raise UsageError(
            f"{option} requires an http:// or https:// URL without spaces and credentials.",
            f"Write it as {option}=https://HOST/PATH.",
        )


def _is_http_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port  # whether it is a number is looked at when it is asked for
    except ValueError:
        return False
    is_plain = url.isprintable() and " " not in url and "@" not in parts.netloc
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and is_plain


def post_webhook(terminal: Terminal, url: str, message: str) -> bool:
    """Post a message to a webhook and return whether it succeeded."""
    return _send_request(terminal, "notice", Request(url, message.encode(), _JSON, method="POST"))  # noqa: S310 - `check` has looked at the scheme


def push_metrics(terminal: Terminal, url: str, text: str) -> bool:
    """Replace the metrics of a push gateway and return whether it succeeded.

    A URL without a path is the gateway's own: the metrics go to its job `kplan_drift`.
    """
    place = url if urlsplit(url).path.strip("/") else f"{url.rstrip('/')}/metrics/job/kplan_drift"
    return _send_request(terminal, "metrics", Request(place, text.encode(), _TEXT, method="PUT"))  # noqa: S310 - as above


_AGENT = {"User-Agent": f"kplan/{VERSION}"}
_JSON = {**_AGENT, "Content-Type": "application/json; charset=utf-8"}
_TEXT = {**_AGENT, "Content-Type": "text/plain; version=0.0.4; charset=utf-8"}


def _send_request(terminal: Terminal, what: str, request: Request) -> bool:
    failures: list[str] = []
    sending = Thread(target=_open_request, args=(request, failures), daemon=True)
    sending.start()
    sending.join(TIMEOUT_S)  # a socket's own bound begins anew with every byte that comes
    if sending.is_alive():
        failures = [_failure_text(TimeoutError())]
    for why in failures:
        terminal.write_stderr(f"Warning: Cannot send the {what} to {request.host}: {why}.")
    return not failures


def _open_request(request: Request, failures: list[str]) -> None:
    try:
        with urlopen(request, timeout=TIMEOUT_S):  # noqa: S310 - as above
            pass  # what it says beside the status does not matter
    except HTTPError as failure:
        with failure:  # its answer is open
            failures.append(_failure_text(failure))
    except (OSError, HTTPException, ValueError) as failure:
        failures.append(_failure_text(failure))


def _failure_text(failure: Exception) -> str:
    """Return the reason without the address, which may hold a secret."""
    match failure:
        case HTTPError():
            return f"HTTP {failure.code}"
        case URLError(reason=OSError() as reason) if reason.strerror:
            return reason.strerror
        case TimeoutError() | URLError(reason=TimeoutError()):
            return f"no answer in {TIMEOUT_S:g} s"
        case _:
            return type(failure).__name__
