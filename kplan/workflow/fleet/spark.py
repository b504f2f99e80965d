"""Use cases of the Spark server that fleet commands share."""

from collections.abc import Mapping

from kplan.config.declarations.file import FLEET_FILE
from kplan.config.fleet_file import FleetConfiguration
from kplan.fleet.spark.server import SparkServer, find_server, start_server, stop_server
from kplan.fleet.spark.session import SparkSettings
from kplan.fleet.tables import PARQUET
from kplan.model.dataclass import dataclass
from kplan.workflow.fleet.fleet import (
    choose_engine,
    choose_local_engine,
    read_fleet,
    server_settings,
)
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """The server that runs, None where none does, and whether the fleet here would use it.

    It `is_suitable` if it has the settings of the fleet; commands use another Spark all the same
    where fleet.hcl or SPARK_REMOTE `names_other`.
    """

    server: SparkServer | None
    is_suitable: bool = False
    names_other: bool = False
    is_new: bool = False

    @property
    def is_used(self) -> bool:
        """Whether fleet commands without options of Spark use it."""
        return self.is_suitable and not self.names_other


def start_spark(options: FleetOptions, ports: FleetPorts) -> ServerStatus:
    """Start the server with the settings of the fleet file, where there is one.

    Raises:
        ConfigError: the fleet file has errors.
        FleetError: a server with other settings runs, Spark does not start, or SPARK_REMOTE is no
            address.

    """
    ports.progress.stage("Starting Spark")
    fleet = _fleet_here(options)
    names_other = _names_other(fleet)
    began_at = ports.now().isoformat(timespec="seconds")
    server, is_new = start_server(_settings(fleet, options.engine.conf), began_at)
    return ServerStatus(server, server.suits(_settings(fleet, {})), names_other, is_new)


def spark_status(options: FleetOptions) -> ServerStatus:
    """Return the server, and whether the fleet here would use it.

    Raises:
        ConfigError: the fleet file has errors.
        FleetError: SPARK_REMOTE is no address.

    """
    server = find_server()
    if server is None:
        return ServerStatus(None)
    fleet = _fleet_here(options)
    return ServerStatus(server, server.suits(_settings(fleet, {})), _names_other(fleet))


def stop_spark(ports: FleetPorts) -> SparkServer | None:
    """Stop the server and return it; None where none runs. One that starts is waited for.

    Raises:
        FleetError: its record cannot be removed.

    """
    ports.progress.stage("Stopping Spark")
    return stop_server()


def _fleet_here(options: FleetOptions) -> FleetConfiguration | None:
    return read_fleet(options) if (options.folder / FLEET_FILE).exists() else None


def _settings(fleet: FleetConfiguration | None, conf: Mapping[str, str]) -> Mapping[str, str]:
    """Return the settings of a server for a fleet; `conf` win over those of its file."""
    return conf if fleet is None else server_settings(fleet, {**fleet.spark_conf, **conf})


def _names_other(fleet: FleetConfiguration | None) -> bool:
    """Whether commands use a Spark that the fleet file, SPARK_REMOTE or this process names."""
    if fleet is None:
        engine = choose_local_engine(PARQUET)
    else:
        engine = choose_engine(fleet, SparkSettings())
    is_remote = bool(engine.remote) and engine.process is None
    return bool(engine.master) or engine.is_joined or is_remote
