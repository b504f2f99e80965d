"""The admin client, and how it connects."""

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from kplan.api.admin.access import AccessRequests
from kplan.api.admin.cluster import ClusterRequests
from kplan.api.admin.groups import GroupRequests
from kplan.api.admin.result import Connections
from kplan.api.admin.topics import TopicRequests
from kplan.cluster.port import Cluster
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import SourceRange
from kplan.model.errors import ConfigError

if TYPE_CHECKING:
    from kplan.kafka.settings.connection import ConnectionSettings

__all__ = ["AdminClient"]


class AdminClient(TopicRequests, AccessRequests, GroupRequests, ClusterRequests):
    """A blocking admin client of one cluster (KIP-117).

    Methods may be called from several threads. A method for many items is as few requests as the
    protocol allows, and returns a `Result` for each item by its name: some may fail while others
    succeed. What stops a whole request raises a `ClusterError`: `UnreachableError`, `AuthError`,
    `UnsupportedError` where the cluster lacks the API, `UnreadableError` where a list is refused.

    Use it with `with`, or call `close`, so that its sockets are freed.

    Args:
        config: Settings under the names of Kafka's Java client, such as `bootstrap.servers`,
            `security.protocol`, `sasl.jaas.config`, `request.timeout.ms` and `client.id`. With
            `bootstrap.controllers` controllers are asked, and no broker (KIP-919). Without
            `security.protocol` TLS is used: `PLAINTEXT` must be said. Or a `Cluster`, such as
            `kplan.testing.MemoryCluster`, which the client closes.
        environment: Environment variables to read further settings from (`KPLAN_`, `KAFKA_`). None
            reads none.

    Raises:
        ConfigError: A setting is missing, unknown or not valid; all of them are in `diagnostics`.

    """

    def __init__(
        self,
        config: Mapping[str, str] | Cluster,
        *,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        if isinstance(config, Mapping):
            settings = _settings(config, environment or {})

            def connect(seconds: float | None) -> Cluster:
                return _open(settings, seconds)
        else:
            given: Cluster = config

            def connect(seconds: float | None) -> Cluster:
                del seconds  # how long it waits is its own
                return given

        self._connections = Connections(connect)

    def close(self) -> None:
        """Free sockets and threads. A closed client answers nothing more."""
        self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def check_reachable(self, *, timeout: timedelta | None = None) -> None:
        """Connect now, and find out whether the login succeeds.

        Args:
            timeout: How long that may take.

        Raises:
            UnreachableError: No node answers.
            AuthError: TLS or the login failed.

        """
        self._connections.within(timeout).describe()


@dataclass(frozen=True, slots=True)
class _ConfigBlock:
    """A map of settings in the form of a provider block."""

    arguments: Mapping[str, object] = field(repr=False)
    ranges: Mapping[str, SourceRange] = field(default_factory=dict)
    folder: Path | None = None


def _settings(config: Mapping[str, str], environment: Mapping[str, str]) -> "ConnectionSettings":
    from kplan.kafka.settings.resolver import resolve_settings  # noqa: PLC0415 - heavy

    block = _ConfigBlock({"config": dict(config)})
    resolved = resolve_settings(block, environment, folder=Path.cwd())
    if resolved.settings is None:
        raise ConfigError(resolved.diagnostics)
    # A program that names controllers means to change them; a configuration must say so.
    return replace(resolved.settings, allows_direct=True)


def _open(settings: "ConnectionSettings", seconds: float | None) -> Cluster:
    from kplan.kafka.cluster import open_cluster  # noqa: PLC0415 - heavy

    if seconds is not None:
        settings = replace(settings, timeouts=settings.timeouts.within(seconds))
    return open_cluster(settings)
