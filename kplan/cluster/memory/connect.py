"""Kafka Connect in memory, beside the cluster in memory."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kplan.cluster.connect import Connect, Connector, NewConnector
from kplan.cluster.errors import CONNECTOR_INVALID, ERRORS, refusal
from kplan.cluster.memory.faults import Call
from kplan.cluster.memory.store import Contents, MemoryConnection, Response
from kplan.cluster.request import ItemResult
from kplan.model.errors import UnreadableError

_ABSENT = -207
_FILE_CONNECTORS = ("FileStreamSource", "FileStreamSink")
"""The plugins of this worker, as Kafka's own file connectors are called."""


class ConnectRequests(MemoryConnection):
    """Gives a cluster in memory its Kafka Connect."""

    def kafka_connect(self) -> Connect | None:
        """Give access to Kafka Connect."""
        return _MemoryConnect(self._read, self._write)

    def fail_connector(self, name: str, failure: str = "") -> None:
        """Let a task of a connector fail."""
        held = self._store.contents.connectors
        failed = {**held, name: replace(held[name], state="FAILED", failure=failure)}
        self._commit(replace(self._store.contents, connectors=failed))


class _MemoryConnect:
    """Connectors are part of the contents of the cluster, so that faults and reads are the same."""

    def __init__(self, read: Callable[..., Any], write: Callable[..., Response[str]]) -> None:
        self._read = read
        self._write = write

    def connectors(self) -> Mapping[str, Connector]:
        """List all connectors with config and state; raises UnreadableError."""
        contents, faults = self._read(Call("connectors"))
        if refused := faults.refused.get(""):
            raise UnreadableError(f"Connectors cannot be read: {refused}")
        found: Mapping[str, Connector] = dict(sorted(contents.connectors.items()))
        return found

    def validate_connectors(self, specs: Sequence[NewConnector]) -> Mapping[str, ItemResult]:
        """Ask whether the configs would be taken."""
        return self._put("validate_connectors", specs, validate_only=True)

    def create_connectors(self, specs: Sequence[NewConnector]) -> Mapping[str, ItemResult]:
        """Create connectors in their state."""
        return self._put("create_connectors", specs)

    def configure_connectors(self, specs: Sequence[NewConnector]) -> Mapping[str, ItemResult]:
        """Replace the configs of connectors."""
        return self._put("configure_connectors", specs)

    def set_connector_states(self, states: Mapping[str, str]) -> Mapping[str, ItemResult]:
        """Pause, resume or stop connectors."""
        return self._change("set_connector_states", sorted(states), states.__getitem__)

    def restart_failed(self, names: Collection[str]) -> Mapping[str, ItemResult]:
        """Restart what has failed."""
        return self._change("restart_failed", sorted(names), lambda _: "RUNNING")

    def rename_connectors(self, specs: Mapping[str, NewConnector]) -> Mapping[str, ItemResult]:
        """Put a connector in the place of another one, with its offsets."""

        def request(contents: Contents, names: Sequence[str]) -> Response[str]:
            held, offsets = dict(contents.connectors), dict(contents.connect_offsets)
            results: dict[str, ItemResult] = {}
            for old in names:
                spec = specs[old]
                results[old] = refusal(_ABSENT) if old not in held else _fault(spec)
                if results[old] is None:
                    del held[old]
                    held[spec.name] = Connector(spec.name, spec.config, spec.state)
                    offsets[spec.name] = offsets.get(old, 0)
            return Response(replace(contents, connectors=held, connect_offsets=offsets), results)

        call = Call("rename_connectors", tuple(sorted(specs)))
        return self._write(call, [(name, name) for name in sorted(specs)], request).results

    def delete_connectors(self, names: Collection[str]) -> Mapping[str, ItemResult]:
        """Delete connectors."""

        def request(contents: Contents, given: Sequence[str]) -> Response[str]:
            held = {key: each for key, each in contents.connectors.items() if key not in given}
            return Response(replace(contents, connectors=held), dict.fromkeys(given))

        call = Call("delete_connectors", tuple(sorted(names)))
        return self._write(call, [(name, name) for name in sorted(names)], request).results

    def close(self) -> None:
        """Do nothing: there is nothing to free."""

    def _put(
        self, method: str, specs: Sequence[NewConnector], *, validate_only: bool = False
    ) -> Mapping[str, ItemResult]:
        def request(contents: Contents, given: Sequence[NewConnector]) -> Response[str]:
            held = dict(contents.connectors)
            results: dict[str, ItemResult] = {}
            for spec in given:
                results[spec.name] = _fault(spec)
                if results[spec.name] is None and not validate_only:
                    state = held[spec.name].state if spec.name in held else spec.state
                    held[spec.name] = Connector(spec.name, spec.config, state)
            return Response(replace(contents, connectors=held), results)

        call = Call(method, tuple(each.name for each in specs), validate_only)
        return self._write(call, [(each.name, each) for each in specs], request).results

    def _change(
        self, method: str, names: Sequence[str], state: Callable[[str], str]
    ) -> Mapping[str, ItemResult]:
        def request(contents: Contents, given: Sequence[str]) -> Response[str]:
            held = dict(contents.connectors)
            results: dict[str, ItemResult] = {}
            for name in given:
                results[name] = None if name in held else refusal(_ABSENT)
                if name in held:
                    held[name] = replace(held[name], state=state(name), failure="")
            return Response(replace(contents, connectors=held), results)

        return self._write(
            Call(method, tuple(names)), [(name, name) for name in names], request
        ).results


def _fault(spec: NewConnector) -> ItemResult:
    """Check as a worker with the file connectors does."""
    plugin = spec.config.get("connector.class", "")
    if plugin.rpartition(".")[2].removesuffix("Connector") not in _FILE_CONNECTORS:
        return _refuse(f"Failed to find any class that implements Connector and is {plugin}")
    tasks = spec.config.get("tasks.max", "1")
    faults = [] if tasks.isdigit() and int(tasks) else [f"tasks.max: Invalid value {tasks}"]
    key = "topic" if "Source" in plugin else "topics"
    faults += [] if spec.config.get(key) else [f"{key}: Missing required configuration"]
    return _refuse("; ".join(faults)) if faults else None


def _refuse(message: str) -> ItemResult:
    return refusal(ERRORS[CONNECTOR_INVALID].code, message)
