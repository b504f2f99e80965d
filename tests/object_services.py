"""Servers of the protocols of Google's and Microsoft's object stores, which tests install.

They are kept in the cache of the tests: fake-gcs-server is built by Go, Azurite is from npm.
"""

import base64
import fcntl
import hashlib
import hmac
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import quote, unquote

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kplan-tests"
GCS_MODULE = "github.com/fsouza/fake-gcs-server@v1.56.1"
AZURITE = "azurite@3"
AZURE_ACCOUNT = "devstoreaccount1"
AZURE_KEY = (  # the one that Azurite is documented to have
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)
_INSTALL_S = 240
"""Less than a test may take: what takes longer is missing, and not a failure."""
_START_S = 30


def install_gcs() -> Path | None:
    """Return the server, built if it is not there; None without Go, network, or enough time."""
    program = CACHE / "fake-gcs-server"
    if not program.exists() and shutil.which("go"):
        environ = {**os.environ, "GOBIN": str(CACHE)}
        _install(["go", "install", GCS_MODULE], CACHE, environ)
    return program if program.exists() else None


def install_azurite() -> Path | None:
    """Return the server, installed if it is not there; None without Node, network, or time."""
    folder = CACHE / AZURITE
    program = folder / "node_modules" / ".bin" / "azurite-blob"
    if not program.exists() and shutil.which("npm"):
        made = CACHE / f"{AZURITE}.{os.getpid()}"  # an install that is stopped leaves parts behind
        if _install(["npm", "install", "--silent", "--no-fund", "--no-audit", AZURITE], made):
            with suppress(OSError):  # another process was faster
                made.rename(folder)
        shutil.rmtree(made, ignore_errors=True)
    return program if program.exists() else None


def _install(line: Sequence[str], folder: Path, environ: Mapping[str, str] | None = None) -> bool:
    """Install something; one process at a time, as others may want the same."""
    folder.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + _INSTALL_S
    with (CACHE / f"{line[0]}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = subprocess.Popen(
            line, cwd=folder, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        try:
            return process.wait(max(1, until - time.monotonic())) == 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # Go leaves its compilers running
            process.wait()
            return False


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port


@contextmanager
def _running(line: Sequence[str], port: int) -> Iterator[None]:
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + _START_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert process.poll() is None, f"{line[0]} ended"
                assert time.monotonic() < until, f"{line[0]} did not start"
                time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait(10)


def _ask(port: int, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer.status, data


@contextmanager
def gcs_server(program: Path, bucket: str) -> Iterator[str]:
    """Start one with a bucket, and give the address of what speaks the XML API before it.

    fake-gcs-server takes no plain upload of that API, which is what obstore sends: those are asked
    in the JSON API, with the generation as its condition. All else is passed on as it is.
    """
    port = _free_port()
    host = f"127.0.0.1:{port}"
    line = [str(program), "-scheme", "http", "-host", "127.0.0.1", "-port", str(port)]
    with _running([*line, "-backend", "memory", "-public-host", host], port):
        made = json.dumps({"name": bucket}).encode()
        status, _ = _ask(port, "POST", "/storage/v1/b?project=x", made)
        assert status == 200, status
        with _XmlUploads(port) as front:
            thread = Thread(target=front.serve_forever, daemon=True)
            thread.start()
            yield f"http://127.0.0.1:{front.server_address[1]}"
            front.shutdown()
            thread.join()


class _XmlUploads(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), _XmlRequest)
        self.port = port


class _XmlRequest(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _pass_on(self) -> None:
        front = self.server
        assert isinstance(front, _XmlUploads)
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        kept = {k: v for k, v in self.headers.items() if k.lower() not in {"host", "connection"}}
        target = http.client.HTTPConnection("127.0.0.1", front.port, timeout=10)
        target.request(self.command, self.path, body, kept)
        answer = target.getresponse()
        self._answer(answer.status, dict(answer.getheaders()), answer.read())
        target.close()

    def do_PUT(self) -> None:
        front = self.server
        assert isinstance(front, _XmlUploads)
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        bucket, _, name = unquote(self.path).lstrip("/").partition("/")
        path = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={quote(name, safe='')}"
        if (wanted := self.headers.get("x-goog-if-generation-match")) is not None:
            path += f"&ifGenerationMatch={wanted}"
        status, data = _ask(front.port, "POST", path, body)
        headers = {}
        if status == 200:
            made = json.loads(data)
            headers = {"ETag": f'"{made["etag"]}"', "x-goog-generation": str(made["generation"])}
        self._answer(status, headers, b"" if status == 200 else data)

    def _answer(self, status: int, headers: Mapping[str, str], data: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in {"connection", "content-length", "date", "transfer-encoding"}:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_DELETE = do_HEAD = do_POST = _pass_on  # noqa: N815 - names of the base class

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as there
        """Be quiet."""


def gcs_credentials(endpoint: str) -> str:
    """Return a service account that asks for no token: the server checks none."""
    return json.dumps(
        {
            "gcs_base_url": endpoint,
            "disable_oauth": True,
            "client_email": "",
            "private_key": "",
            "private_key_id": "",
        }
    )


@contextmanager
def azure_server(program: Path, container: str, folder: Path) -> Iterator[str]:
    """Start one with a container, and give the address of its account."""
    port = _free_port()
    line = ["node", str(program), "--blobHost", "127.0.0.1", "--blobPort", str(port)]
    options = ("--location", str(folder), "--silent", "--skipApiVersionCheck", "--disableTelemetry")
    with _running([*line, *options], port):
        path = f"/{AZURE_ACCOUNT}/{container}"
        date = datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
        version = "2021-08-06"
        signed = (
            "PUT" + "\n" * 12 + f"x-ms-date:{date}\nx-ms-version:{version}\n"
            f"/{AZURE_ACCOUNT}{path}\nrestype:container"
        )
        mac = hmac.new(base64.b64decode(AZURE_KEY), signed.encode(), hashlib.sha256).digest()
        headers = {
            "x-ms-date": date,
            "x-ms-version": version,
            "Authorization": f"SharedKey {AZURE_ACCOUNT}:{base64.b64encode(mac).decode()}",
            "Content-Length": "0",
        }
        status, data = _ask(port, "PUT", f"{path}?restype=container", b"", **headers)
        assert status == 201, data
        yield f"http://127.0.0.1:{port}/{AZURE_ACCOUNT}"
