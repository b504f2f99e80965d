"""The services of a connection, each opened when it is first asked for."""

import threading
from typing import TYPE_CHECKING

from kplan.cluster.connect import Connect
from kplan.cluster.registry import SchemaRegistry
from kplan.kafka.settings.connection import ConnectionSettings

if TYPE_CHECKING:
    from kplan.kafka.rest.connect import RestConnect
    from kplan.kafka.rest.registry import RestRegistry


class RestServices:
    """The REST services that the settings name; HTTP is loaded for those that are used only."""

    def __init__(self, settings: ConnectionSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._registry: RestRegistry | None = None
        self._connect: RestConnect | None = None

    def schema_registry(self) -> SchemaRegistry | None:
        """Give access to the schema registry, None where none is configured."""
        service = self._settings.schema_registry
        if service is None:
            return None
        from kplan.kafka.rest.registry import RestRegistry  # noqa: PLC0415 - most folders need none

        with self._lock:
            if self._registry is None:
                self._registry = RestRegistry(service, self._settings.timeouts)
            return self._registry

    def kafka_connect(self) -> Connect | None:
        """Give access to Kafka Connect, None where none is configured."""
        service = self._settings.connect
        if service is None:
            return None
        from kplan.kafka.rest.connect import RestConnect  # noqa: PLC0415 - as above

        with self._lock:
            if self._connect is None:
                self._connect = RestConnect(service, self._settings.timeouts)
            return self._connect

    def close(self) -> None:
        """Close what was opened."""
        if self._connect is not None:
            self._connect.close()
        if self._registry is not None:
            self._registry.close()
