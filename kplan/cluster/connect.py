"""What kplan asks of a Kafka Connect cluster, in the words of its REST API."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Protocol

from kplan.cluster.request import ItemResult
from kplan.model.dataclass import dataclass

TARGET_STATES = ("RUNNING", "PAUSED", "STOPPED")
"""What a connector can be told to be (KIP-875)."""

FAILED, UNASSIGNED = "FAILED", "UNASSIGNED"
"""Beside them, what a connector can be: of a task it is enough that one has failed."""

NO_CONNECT = "No Kafka Connect is configured."
NO_CONNECT_HINT = 'Set connect_url in provider "kafka", or KPLAN_CONNECT_URL.'


@dataclass(frozen=True, slots=True)
class Connector:
    """A connector as its workers hold it. `config` has no entry for the name.

    `state` is one of the target states, FAILED, UNASSIGNED while workers take it on, or a state of
    later versions. `failure` says why one has failed, "" where no worker says it.
    """

    name: str
    config: Mapping[str, str] = field(repr=False)
    state: str = "RUNNING"
    failure: str = ""


@dataclass(frozen=True, slots=True)
class NewConnector:
    """A connector to create or change. An existing one keeps its state."""

    name: str
    config: Mapping[str, str] = field(repr=False)
    state: str = "RUNNING"


class Connect(Protocol):
    """A Kafka Connect cluster.

    Reads raise `UnreadableError` when the list was refused or no worker can be asked. Writes never
    raise: an item without an answer is refused as in doubt. Requests for many items are in flight
    together, a few at a time.
    """

    def connectors(self) -> Mapping[str, Connector]:
        """List all connectors with config and state, in one request.

        Raises:
            UnreadableError: no right to list them, or no worker answers.

        """
        ...

    def validate_connectors(self, specs: Sequence[NewConnector]) -> Mapping[str, ItemResult]:
        """Ask a worker whether it would take the configs; a refusal names each key with its fault.

        Nothing is created or changed.
        """
        ...

    def create_connectors(self, specs: Sequence[NewConnector]) -> Mapping[str, ItemResult]:
        """Create connectors in their state."""
        ...

    def configure_connectors(self, specs: Sequence[NewConnector]) -> Mapping[str, ItemResult]:
        """Replace the configs of connectors; their state and their offsets stay."""
        ...

    def set_connector_states(self, states: Mapping[str, str]) -> Mapping[str, ItemResult]:
        """Pause, resume or stop connectors."""
        ...

    def restart_failed(self, names: Collection[str]) -> Mapping[str, ItemResult]:
        """Restart what has failed of connectors and their tasks (KIP-745)."""
        ...

    def rename_connectors(self, specs: Mapping[str, NewConnector]) -> Mapping[str, ItemResult]:
        """Put a connector in the place of another one, with its offsets (KIP-875).

        `specs` are by the name of the old one, and so is the answer. The old one is stopped first,
        and deleted when the new one has the offsets.
        """
        ...

    def delete_connectors(self, names: Collection[str]) -> Mapping[str, ItemResult]:
        """Delete connectors; one that is not there is a success. Workers keep the offsets."""
        ...

    def close(self) -> None:
        """Free sockets."""
        ...
