"""Where the state of a folder is kept, as its state block says."""

from collections.abc import Mapping
from pathlib import Path

from kplan.cluster.records import Shelf
from kplan.config.inputs import Inputs
from kplan.config.load import load
from kplan.config.providers import Provider
from kplan.config.state_block import keeping
from kplan.kinds import KINDS
from kplan.model.errors import ConfigError, StateError
from kplan.state.record_store import RecordStore


def remote_store(folder: Path, inputs: Inputs, environ: Mapping[str, str]) -> RecordStore | None:
    """Give the place on the cluster; None where the state is in a file. Nothing is asked yet.

    Raises:
        ConfigError: the state block, or the connection, cannot be made out.

    """
    found = keeping(folder, inputs, KINDS)
    if not found.is_known:
        configuration = load(folder, inputs, KINDS)
        raise ConfigError(configuration.diagnostics, configuration.sources)
    if found.shelf is None:
        return None
    return _opened(found.shelf, found.providers, (folder, inputs), environ)


def _opened(
    shelf: Shelf,
    providers: tuple[Provider, ...],
    given: tuple[Path, Inputs],
    environ: Mapping[str, str],
) -> RecordStore:
    from kplan.kafka.records import KafkaRecords  # noqa: PLC0415 - heavy, and only needed here
    from kplan.kafka.resolve import connection_settings  # noqa: PLC0415

    block = next((each for each in providers if not each.key), None)
    resolved = connection_settings(block, environ, folder=given[0])
    if resolved.settings is None:
        sources = load(*given, KINDS).sources
        raise ConfigError(resolved.diagnostics, sources)
    if resolved.settings.is_direct:
        raise StateError(
            "The state is kept on the cluster, which takes a broker, and bootstrap_controllers "
            "leaves the brokers out.",
            "Work with a copy in a file: -state=FILE",
        )
    return RecordStore(KafkaRecords(resolved.settings, shelf))
