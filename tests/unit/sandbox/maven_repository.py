"""A Maven repository with a toy Kafka in it, served over HTTP on the loopback address."""

import io
import ssl
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

GROUP = "org/apache/kafka"
LOGGING = "org/apache/logging/log4j"


def publish(folder: Path, path: str, version: str, dependencies: tuple[str, ...] = ()) -> Path:
    """Put a jar and its POM into the repository; dependencies are `group:artifact:version`."""
    group, _, artifact = path.rpartition("/")
    home = folder / path / version
    home.mkdir(parents=True)
    listed = "".join(_dependency(each) for each in dependencies)
    (home / f"{artifact}-{version}.pom").write_text(
        f"<project><modelVersion>4.0.0</modelVersion><groupId>{group.replace('/', '.')}</groupId>"
        f"<artifactId>{artifact}</artifactId><version>{version}</version>"
        f"<dependencies>{listed}</dependencies></project>",
        encoding="utf-8",
    )
    jar = home / f"{artifact}-{version}.jar"
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
    jar.write_bytes(content.getvalue())
    return jar


def _dependency(coordinate: str) -> str:
    group, artifact, version = coordinate.split(":")
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version><scope>runtime</scope></dependency>"
    )


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is given
        pass


@contextmanager
def served(folder: Path, context: ssl.SSLContext | None = None) -> Iterator[str]:
    """Serve a folder, inside TLS with a context; yields its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        if context is not None:
            server.socket = context.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http{'s' if context else ''}://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
