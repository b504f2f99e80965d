"""Use cases of the Spark server that fleet commands share."""

from collections.abc import Mapping

from kplan.config.declarations.file import FLEET_FILE
from kplan.fleet.spark.server import SparkServer, find_server, start_server, stop_server
from kplan.model.dataclass import dataclass
from kplan.workflow.fleet.fleet import read_fleet, server_settings
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """The server that runs, None where none does, and whether the fleet here would use it."""

    server: SparkServer | None
    is_suitable: bool = False
    is_new: bool = False


def start_spark(options: FleetOptions, ports: FleetPorts) -> ServerStatus:
    """Start the server with the settings of the fleet file, where there is one.

    Raises:
        ConfigError: the fleet file has errors.
        FleetError: a server with other settings runs, or Spark does not start.

    """
    ports.progress.stage("Starting Spark")
    server, is_new = start_server(_settings(options), ports.now().isoformat(timespec="seconds"))
    return ServerStatus(server, is_suitable=True, is_new=is_new)


def spark_status(options: FleetOptions) -> ServerStatus:
    """Return the server, and whether it has the settings of the fleet file."""
    server = find_server()
    return ServerStatus(server, server is not None and server.suits(_settings(options)))


def stop_spark(ports: FleetPorts) -> SparkServer | None:
    """Stop the server and return it; None where none runs. One that starts is waited for.

    Raises:
        FleetError: its record cannot be removed.

    """
    ports.progress.stage("Stopping Spark")
    return stop_server()


def _settings(options: FleetOptions) -> Mapping[str, str]:
    if not (options.folder / FLEET_FILE).exists():
        return options.engine.conf
    fleet = read_fleet(options)
    return server_settings(fleet, {**fleet.spark_conf, **options.engine.conf})
