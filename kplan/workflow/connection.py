"""Clock, place of the state and connections of a project, as its settings name them."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kplan.cluster.port import Cluster
from kplan.cluster.topology import StateTopic
from kplan.config.declarations.file import NO_FILES
from kplan.config.inputs import Inputs
from kplan.config.load import Configuration, load_configuration
from kplan.config.modules.provider import Provider
from kplan.config.state_block import find_state_location
from kplan.kinds import KINDS
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic
from kplan.model.errors import ConfigError, StateError, UsageError

if TYPE_CHECKING:
    from kplan.state.record_store import RecordStore


_MISSING = frozenset({"KP303"})


class SystemClock:
    """The time of this machine."""

    def now(self) -> float:
        """Seconds on a clock that never goes back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


@dataclass(frozen=True, slots=True)
class ConnectionSource:
    """Where the settings of connections come from, beside the provider blocks.

    Relative paths start in `folder`. `controllers` are asked in place of brokers, whatever else is
    given. No node and no request is waited for longer than `within_s`.
    """

    folder: Path
    environ: Mapping[str, str]
    controllers: str = ""
    within_s: float = math.inf


def connect_cluster(
    configuration: Configuration,
    key: str,
    source: ConnectionSource,
    report: Callable[[tuple[Diagnostic, ...]], None],
) -> Cluster:
    """Open the cluster that a provider block names, or the environment where there is none.

    `report` is given the warnings about its settings before anything is sent.

    Raises:
        ConfigError: the settings have errors.
        AuthError, UnreachableError: the cluster cannot be had.

    """
    from kplan.kafka.cluster import open_cluster  # noqa: PLC0415 - heavy, and some verbs
    from kplan.kafka.settings.resolver import resolve_settings  # noqa: PLC0415 - need no cluster

    block = next((each for each in configuration.providers if each.key == key), None)
    resolved = resolve_settings(
        block, source.environ, folder=source.folder, controllers=source.controllers
    )
    if resolved.settings is None:
        is_unset = {each.code for each in resolved.diagnostics} <= _MISSING
        absent = [each for each in configuration.diagnostics if each.code == NO_FILES and is_unset]
        raise ConfigError(absent or resolved.diagnostics, configuration.sources)
    report(resolved.diagnostics)
    timeouts = resolved.settings.timeouts.within(source.within_s)
    return open_cluster(replace(resolved.settings, timeouts=timeouts))


def remote_state_store(
    folder: Path, inputs: Inputs, environ: Mapping[str, str]
) -> "RecordStore | None":
    """Give the place on the cluster or in a bucket, None where it is a file; nothing is asked yet.

    Raises:
        ConfigError: the state block, or the connection, is not known.

    """
    source = _trusted_source(folder, inputs)
    found = find_state_location(*source, KINDS)
    if inputs.trust is not None and inputs.trust.ref is None and (found.topic or found.bucket):
        raise UsageError(
            "With -untrusted the place of the state is not that of the configuration.",
            "Give a checkout of the branch that the change is for with -trusted-ref=DIR.",
        )
    if not found.is_known:
        configuration = load_configuration(folder, inputs, KINDS)
        raise ConfigError(configuration.diagnostics, configuration.sources)
    if found.bucket is not None:
        from kplan.state.object_store import ObjectRecords  # noqa: PLC0415 - only needed here
        from kplan.state.record_store import RecordStore  # noqa: PLC0415 - as above

        return RecordStore(ObjectRecords(found.bucket))
    if found.topic is None:
        return None
    return _open_record_store(found.topic, found.providers, source, environ)


def _trusted_source(folder: Path, inputs: Inputs) -> tuple[Path, Inputs]:
    """Return the folder, and the inputs, whose state block counts."""
    if inputs.trust is None or inputs.trust.ref is None:
        return folder, inputs
    return inputs.trust.ref, replace(inputs, trust=None)


def _open_record_store(
    location: StateTopic,
    providers: tuple[Provider, ...],
    given: tuple[Path, Inputs],
    environ: Mapping[str, str],
) -> "RecordStore":
    from kplan.kafka.settings.resolver import resolve_settings  # noqa: PLC0415
    from kplan.kafka.state_topic import KafkaRecords  # noqa: PLC0415 - heavy, and only needed here
    from kplan.state.record_store import RecordStore  # noqa: PLC0415 - as above

    block = next((each for each in providers if not each.key), None)
    resolved = resolve_settings(block, environ, folder=given[0])
    if resolved.settings is None:
        sources = load_configuration(*given, KINDS).sources
        raise ConfigError(resolved.diagnostics, sources)
    if resolved.settings.is_direct:
        raise StateError(
            "The state is in a topic of the cluster, which requires brokers, and "
            "bootstrap_controllers connects to controllers only.",
            "Use a copy of the state in a file with -state=FILE.",
        )
    return RecordStore(KafkaRecords(resolved.settings, location))
