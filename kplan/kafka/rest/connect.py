"""Kafka Connect over its REST API (Kafka: "REST API" of the Connect documentation)."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from kplan.cluster.connect import FAILED, UNASSIGNED, Connector, NewConnector
from kplan.cluster.errors import CONNECTOR_INVALID, ERRORS, refusal
from kplan.cluster.request import ItemResult
from kplan.kafka.rest.session import Answer, RestSession
from kplan.kafka.settings.connection import RestService, Timeouts
from kplan.model.errors import ClusterError, Refusal, UnreadableError

_VERBS = {"PAUSED": "pause", "RUNNING": "resume", "STOPPED": "stop"}
_BAD_REQUEST, _CONFLICT = 400, 409
_UNKNOWN_CLASS = (404, 500)
"""How workers answer that they lack the plugin: 500 is that of all but the newest."""
_STOP_PAUSE_S, _STOP_TRIES = 0.25, 80
"""How long a connector that is told to stop is waited for: its tasks end first."""


class RestConnect:
    """The `Connect` port over HTTP."""

    def __init__(self, service: RestService, timeouts: Timeouts) -> None:
        self._session = RestSession(service, timeouts, "application/json")

    def connectors(self) -> Mapping[str, Connector]:
        """List all connectors with config and state; raises UnreadableError."""
        answer = self._session.read("/connectors?expand=info&expand=status")
        if not answer.is_ok or not isinstance(answer.body, dict):
            raise UnreadableError(
                f"Connectors cannot be read from {self._session.url}: {answer.message}.",
                hint="Check that the URL is that of Kafka Connect's REST API.",
            )
        return {name: _connector(name, found) for name, found in sorted(answer.body.items())}

    def validate_connectors(self, specs: Sequence[NewConnector]) -> Mapping[str, ItemResult]:
        """Ask a worker whether it would take the configs."""
        return self._for_each({each.name: each for each in specs}, self._validate)

    def create_connectors(self, specs: Sequence[NewConnector]) -> Mapping[str, ItemResult]:
        """Create connectors in their state."""
        return self._for_each({each.name: each for each in specs}, self._create)

    def configure_connectors(self, specs: Sequence[NewConnector]) -> Mapping[str, ItemResult]:
        """Replace the configs of connectors."""
        return self._for_each(
            {each.name: each for each in specs},
            lambda spec: self._write("PUT", f"{_path(spec.name)}/config", _full_config(spec)),
        )

    def set_connector_states(self, states: Mapping[str, str]) -> Mapping[str, ItemResult]:
        """Pause, resume or stop connectors."""
        return self._session.map(
            states, lambda name: self._write("PUT", f"{_path(name)}/{_VERBS[states[name]]}")
        )

    def restart_failed(self, names: Collection[str]) -> Mapping[str, ItemResult]:
        """Restart what has failed of connectors and their tasks."""
        what = "restart?includeTasks=true&onlyFailed=true"
        return self._session.map(names, lambda name: self._write("POST", f"{_path(name)}/{what}"))

    def rename_connectors(self, specs: Mapping[str, NewConnector]) -> Mapping[str, ItemResult]:
        """Put a connector in the place of another one, with its offsets."""
        return self._session.map(specs, lambda old: self._rename(old, specs[old]))

    def delete_connectors(self, names: Collection[str]) -> Mapping[str, ItemResult]:
        """Delete connectors."""
        return self._session.map(names, self._delete)

    def close(self) -> None:
        """Close all connections."""
        self._session.close()

    def _for_each(
        self, specs: Mapping[str, NewConnector], ask: Callable[[NewConnector], ItemResult]
    ) -> Mapping[str, ItemResult]:
        return self._session.map(specs, lambda name: ask(specs[name]))

    def _validate(self, spec: NewConnector) -> ItemResult:
        plugin = quote(spec.config.get("connector.class", ""), safe="")
        path = f"/connector-plugins/{plugin}/config/validate"
        answer = self._session.write("PUT", path, _full_config(spec))
        if isinstance(answer, Refusal):
            return answer
        if answer.status in _UNKNOWN_CLASS:
            return _refuse(answer.message)
        if not answer.is_ok or not isinstance(answer.body, dict):
            return _connector_refusal(answer)
        faults = [*_faults(answer.body)]
        return _refuse("; ".join(faults)) if faults else None

    def _create(self, spec: NewConnector) -> ItemResult:
        if spec.state == "RUNNING":  # which workers before Kafka 3.7 understand too (KIP-980)
            return self._write("PUT", f"{_path(spec.name)}/config", _full_config(spec))
        body = {"name": spec.name, "config": _full_config(spec), "initial_state": spec.state}
        return self._write("POST", "/connectors", body)

    def _rename(self, old: str, spec: NewConnector) -> ItemResult:
        """Stop, read the offsets, create stopped, write them, start, delete; in this order."""
        offsets = self._stopped_offsets(old)
        if isinstance(offsets, Refusal):
            return offsets
        made = self._create(NewConnector(spec.name, spec.config, "STOPPED"))
        if made is not None:
            return made
        if offsets:
            put = self._patch_offsets(spec.name, offsets)
            if put is not None:
                return put
        if spec.state != "STOPPED":
            begun = self._write("PUT", f"{_path(spec.name)}/{_VERBS[spec.state]}")
            if begun is not None:
                return begun
        return self._delete(old)

    def _stopped_offsets(self, name: str) -> list[object] | Refusal:
        stopped = self._write("PUT", f"{_path(name)}/stop")
        if stopped is not None:
            return stopped
        try:
            answer = self._session.read(f"{_path(name)}/offsets")
        except ClusterError as failure:
            return refusal(ERRORS["REST_UNAVAILABLE"].code, failure.detail)
        if not answer.is_ok or not isinstance(answer.body, dict):
            return answer.refusal()
        found = answer.body.get("offsets")
        return found if isinstance(found, list) else []

    def _patch_offsets(self, name: str, offsets: list[object]) -> ItemResult:
        """Write offsets; a worker refuses until all have seen that the connector is stopped."""
        for left in reversed(range(_STOP_TRIES)):
            answer = self._session.write("PATCH", f"{_path(name)}/offsets", {"offsets": offsets})
            if isinstance(answer, Refusal):
                return answer
            if answer.is_ok:
                return None
            may_come = answer.status in {_BAD_REQUEST, _CONFLICT} or answer.is_absent
            if not may_come or not left:
                return _connector_refusal(answer)
            time.sleep(_STOP_PAUSE_S)
        return None

    def _delete(self, name: str) -> ItemResult:
        answer = self._session.write("DELETE", _path(name))
        if isinstance(answer, Refusal):
            return answer
        return None if answer.is_ok or answer.is_absent else _connector_refusal(answer)

    def _write(self, method: str, path: str, body: object = None) -> ItemResult:
        answer = self._session.write(method, path, body)
        if isinstance(answer, Refusal):
            return answer
        return None if answer.is_ok else _connector_refusal(answer)


def _path(name: str) -> str:
    return f"/connectors/{quote(name, safe='')}"


def _full_config(spec: NewConnector) -> Mapping[str, str]:
    return {**spec.config, "name": spec.name}


def _connector(name: str, found: Mapping[str, Any]) -> Connector:
    values = found.get("info", {}).get("config") or {}
    config = {str(key): str(each) for key, each in values.items() if key != "name"}
    status = found.get("status") or {}
    return Connector(name, config, _state(status), _failure(status))


def _state(status: Mapping[str, Any]) -> str:
    """Sum up: one task that has failed makes a connector a failed one."""
    own = str((status.get("connector") or {}).get("state") or UNASSIGNED)
    tasks = {str(each.get("state")) for each in status.get("tasks") or ()}
    if FAILED in {own, *tasks}:
        return FAILED
    return UNASSIGNED if own == "RUNNING" and UNASSIGNED in tasks else own


def _failure(status: Mapping[str, Any]) -> str:
    """Return the first line of the first stack trace, of the connector or with its task."""
    parts = [
        ("", status.get("connector") or {}),
        *((f"task {each.get('id')}: ", each) for each in status.get("tasks") or ()),
    ]
    for label, part in parts:
        trace = str(part.get("trace") or "").strip()
        if part.get("state") == FAILED and trace:
            return label + trace.splitlines()[0]
    return ""


def _faults(body: Mapping[str, Any]) -> list[str]:
    """Name each key with what the worker says of it."""
    values = (each.get("value") or {} for each in body.get("configs") or ())
    return [
        f"{value.get('name')}: {' '.join(str(each) for each in value['errors'])}"
        for value in values
        if value.get("errors")
    ]


def _connector_refusal(answer: Answer) -> Refusal:
    if answer.status == _BAD_REQUEST:
        return _refuse(answer.message)
    return answer.refusal()


def _refuse(message: str) -> Refusal:
    return refusal(ERRORS[CONNECTOR_INVALID].code, message)
