"""`kafka_connector`: a connector of Kafka Connect, with its state."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Annotated

from kplan.cluster.connect import (
    NO_CONNECT,
    NO_CONNECT_HINT,
    TARGET_STATES,
    Connect,
    Connector,
    NewConnector,
)
from kplan.cluster.errors import CLIENT_INVALID, CLIENT_SECRET_DIFFERS, client_refusal
from kplan.cluster.port import Cluster
from kplan.cluster.request import ItemResult
from kplan.kinds.base import Problem, ResolvedAttributes, is_marked, merge_config, secret_mark
from kplan.kinds.schema import SECRET_MARK, Attribute
from kplan.model.dataclass import dataclass
from kplan.model.errors import Refusal, UnreadableError
from kplan.model.plan import Action, Change, Step
from kplan.model.resource import Identity, Path
from kplan.model.state import KindSnapshot, LiveObject

DELETE = Step(6, "delete_connectors")
SET = Step(67, "configure_connectors")
RENAME = Step(68, "rename_connectors")

STATES = tuple(each.lower() for each in TARGET_STATES)
RUNNING, FAILED, UNASSIGNED = "running", "failed", "unassigned"

ConfigMap = Mapping[str, str]

_SECRET_KEY = re.compile(
    r"(^|[._-])(password|passphrase|passwd|secret|secret[._-]key|api[._-]key|private[._-]key|token"
    r"|credentials|jaas[._-]config)$",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"\$\{[^}]+\}")
_MASK = re.compile(r"\*+|\[hidden\]", re.IGNORECASE)
"""What managed services return in place of a secret."""


@dataclass(frozen=True, slots=True)
class KafkaConnector:
    """A connector in the words of Terraform's provider for Kafka Connect."""

    name: Annotated[str, Attribute("Name of the connector.", forces_replacement=True)]
    config: Annotated[
        ConfigMap, Attribute("Its config; what is not declared is removed.", "map(string)")
    ] = field(default_factory=dict)
    config_sensitive: Annotated[
        ConfigMap,
        Attribute(
            "Secret configs; they are never shown or stored.", "map(string)", is_sensitive=True
        ),
    ] = field(default_factory=dict, repr=False)
    state: Annotated[str, Attribute("What it is to be. Default: running.", choices=STATES)] = (
        RUNNING
    )
    marks: Annotated[ConfigMap, SECRET_MARK] = field(default_factory=dict, repr=False)


class ConnectorKind:
    """Connectors: workers return configs with their secrets, which go no further than here."""

    name = "kafka_connector"
    noun = "connector"
    schema = KafkaConnector
    is_replaceable = True
    is_deletable = True
    is_always_read = False
    is_shareable = False

    def identify(self, value: KafkaConnector) -> Identity:
        """Name it as Connect does."""
        return Identity(value.name)

    def normalize(self, value: KafkaConnector) -> KafkaConnector:
        """Leave out the name, which Terraform's provider has in the config too; mark secrets."""
        config = {
            key: each
            for key, each in value.config.items()
            if not (key == "name" and each == value.name)
        }
        marks = {key: secret_mark(each) for key, each in sorted(value.config_sensitive.items())}
        return replace(value, config=config, state=value.state.lower(), marks=marks)

    def check(self, value: KafkaConnector) -> Iterator[Problem]:
        """Hold the connector against what can be known without a worker."""
        if not value.name:
            yield Problem("KP530", "A connector has a name.", path=("name",))
        if value.state not in STATES:
            detail = f'A connector cannot be "{value.state}".'
            hint = f"state is one of {', '.join(STATES)}."
            yield Problem("KP530", detail, hint, ("state",), is_independent=True)
        if "connector.class" not in value.config:
            detail = f'The config of {value.name} has no "connector.class".'
            yield Problem("KP530", detail, path=("config",))
        if "name" in value.config:
            detail = f'The config names another connector, "{value.config["name"]}".'
            yield Problem("KP530", detail, "Leave it out of config.", ("config", "name"))
        for key, text in sorted(value.config.items()):
            if key in value.config_sensitive:
                detail = f"{key} is declared in config and in config_sensitive."
                yield Problem("KP530", detail, path=("config", key))
            elif _is_secret(key, text):
                yield Problem(
                    "KP531",
                    f"{key} is a secret, and config is shown and stored in the state.",
                    "Declare it in config_sensitive, or as ${provider:path:key} for the worker.",
                    ("config", key),
                )

    def check_all(
        self,
        declared: Collection[Identity],  # noqa: ARG002 - connectors are beside each other
        live: Collection[Identity] = (),  # noqa: ARG002
    ) -> Iterator[tuple[Identity, Problem]]:
        """Find nothing: connectors do not get in each other's way."""
        return iter(())

    def read(self, cluster: Cluster, wanted: Collection[Identity]) -> KindSnapshot:
        """Read all connectors in one request; without Connect there are none."""
        connect = cluster.kafka_connect()
        if connect is None:
            if not wanted:
                return KindSnapshot({})
            raise UnreadableError(f"{NO_CONNECT} {NO_CONNECT_HINT}")
        found = connect.connectors()
        return KindSnapshot(
            {Identity(name): LiveObject(_live_value(each)) for name, each in found.items()}
        )

    def fill_from_state(self, live: KafkaConnector, applied: KafkaConnector) -> KafkaConnector:
        """Know which keys are secrets, and what was set last where a service masks it."""
        held = {**live.config, **live.config_sensitive}
        secret = {*live.config_sensitive, *applied.marks} & held.keys()
        marks = {
            key: applied.marks[key]
            for key in sorted(secret & applied.marks.keys())
            if _MASK.fullmatch(held[key]) or is_marked(applied.marks[key], held[key], "")
        }
        return replace(_split(live, secret), marks=marks)

    def align(
        self, live: KafkaConnector, desired: KafkaConnector, ignored: Collection[Path] = ()
    ) -> tuple[KafkaConnector, KafkaConnector]:
        """Compare all keys: one that is not declared is to go. A failed connector does not run.

        One that workers take on will run, and is compared, shown and stored as if it did already.
        """
        desired = _assume_running(desired)
        secret = {*desired.config_sensitive, *desired.marks}
        before = _split(live, {*live.config_sensitive, *live.marks, *secret})
        if () in ignored:
            before = _mark(before, before.config_sensitive)
            return before, before
        before, values, marks = _align_secrets(before, desired, ignored)
        before = _assume_running(before) if desired.state == RUNNING else before
        after = replace(
            desired,
            config=merge_config(before.config, desired.config, ignored),
            config_sensitive=values,
            state=before.state if ("state",) in ignored else desired.state,
            marks=marks,
        )
        return before, after

    def check_change(self, live: LiveObject, desired: KafkaConnector) -> Iterator[Problem]:  # noqa: ARG002 - see docstring
        """Refuse nothing: what a config may become is for the worker to say."""
        return iter(())

    def steps(self, change: Change) -> tuple[Step, ...]:
        """Begin when topics and schemas are there, end before anything is taken away."""
        match change.action:
            case Action.CREATE | Action.UPDATE:
                return (SET,)
            case Action.REPLACE:
                return (RENAME,)
            case Action.DELETE:
                return (DELETE,)
            case _:
                return ()

    def record_count(self, step: Step, change: Change) -> int:  # noqa: ARG002 - no controller writes it
        """Count one each."""
        return 1

    def apply(
        self, cluster: Cluster, step: Step, changes: Sequence[Change]
    ) -> Mapping[Identity, ItemResult]:
        """Create, configure, start and stop; or delete."""
        connect = cluster.kafka_connect()
        if connect is None:
            refused = client_refusal(CLIENT_INVALID, NO_CONNECT)
            return {change.identity: refused for change in changes}
        if step == DELETE:
            return _by_identity(connect.delete_connectors([str(each.identity) for each in changes]))
        missing = client_refusal(CLIENT_SECRET_DIFFERS, "A secret is not the planned one.")
        unknown: dict[Identity, ItemResult] = {
            each.identity: missing for each in changes if not self.has_secrets(step, each)
        }
        known = [each for each in changes if each.identity not in unknown]
        if step == RENAME:
            specs = {_name(each.before): _spec(each) for each in known}
            answers = connect.rename_connectors(specs)
            renamed = {specs[old].name: each for old, each in answers.items()}
            return {**unknown, **_by_identity(renamed)}
        return {**unknown, **_apply_settings(connect, known)}

    def validate(
        self, cluster: Cluster, step: Step, changes: Sequence[Change]
    ) -> Mapping[Identity, Refusal | ResolvedAttributes]:
        """Have a worker validate each key."""
        connect = cluster.kafka_connect()
        if connect is None or step == DELETE:
            return {}
        specs = [_spec(each) for each in changes if _is_configured(each)]
        answers = _by_identity(connect.validate_connectors(specs)) if specs else {}
        return {name: each or {} for name, each in answers.items()}

    def has_secrets(self, step: Step, change: Change) -> bool:
        """Compare all secrets, which are sent together; a worker may return a mask for one."""
        return step == DELETE or all(
            (value := _after(change).config_sensitive.get(key)) is not None
            and (is_marked(mark, value, "") if mark else not _MASK.fullmatch(value))
            for key, mark in _after(change).marks.items()
        )

    def is_done(self, step: Step, change: Change, reading: KindSnapshot) -> bool:
        """Look at config and state."""
        if step == DELETE:
            return change.identity not in reading.objects
        live = reading.objects.get(change.identity)
        if live is None or (step == RENAME and Identity(_name(change.before)) in reading.objects):
            return False
        wanted: KafkaConnector = change.after  # type: ignore[assignment] # a connector
        before, after = self.align(live.value, wanted)  # type: ignore[arg-type] # a connector
        is_same = (before.config, before.config_sensitive) == (after.config, after.config_sensitive)
        return is_same and live.value.state == wanted.state  # type: ignore[attr-defined] # as above

    def find_visible(
        self,
        cluster: Cluster,
        broker: int,  # noqa: ARG002 - brokers do not serve connectors
        changes: Sequence[Change],
    ) -> Mapping[Identity, str]:
        """Ask a worker, which knows of all."""
        reading = self.read(cluster, [each.identity for each in changes])
        return {
            change.identity: ""
            for change in changes
            if all(self.is_done(step, change, reading) for step in self.steps(change))
        }


def _is_secret(key: str, text: str) -> bool:
    return bool(_SECRET_KEY.search(key)) and not _REFERENCE.fullmatch(text)


def _live_value(found: Connector) -> KafkaConnector:
    secret = {key for key, each in found.config.items() if _is_secret(key, each)}
    return _split(KafkaConnector(found.name, found.config, state=found.state.lower()), secret)


def _assume_running(value: KafkaConnector) -> KafkaConnector:
    """Return one that workers take on, live or in a state of an older kplan, as it will be."""
    return replace(value, state=RUNNING) if value.state == UNASSIGNED else value


def _split(value: KafkaConnector, secret: Collection[str]) -> KafkaConnector:
    """Put what is secret apart."""
    held = {**value.config, **value.config_sensitive}
    return replace(
        value,
        config={key: held[key] for key in sorted(held) if key not in secret},
        config_sensitive={key: held[key] for key in sorted(held) if key in secret},
    )


def _align_secrets(
    live: KafkaConnector, desired: KafkaConnector, ignored: Collection[Path]
) -> tuple[KafkaConnector, ConfigMap, ConfigMap]:
    """Return the live value, and the secrets to be reached with their marks."""
    values, marks = _desired_secrets(live, desired)
    before = _with_known_values(live, desired)
    merge = partial(merge_config, ignored=ignored, attribute="config_sensitive")
    before = _mark(before, merge(before.config_sensitive, {}))
    values = merge(before.config_sensitive, values)
    marks = merge(before.marks, marks)
    held = {key for key in values if before.config_sensitive.get(key) == values[key]}
    marks = {**marks, **{key: before.marks[key] for key in held & before.marks.keys()}}
    # One that is adopted has no marks yet.
    return (
        replace(before, marks={**{key: marks[key] for key in held}, **before.marks}),
        values,
        marks,
    )


def _desired_secrets(live: KafkaConnector, desired: KafkaConnector) -> tuple[ConfigMap, ConfigMap]:
    """Return the secrets to be reached and their marks; one that is held stays as it is held.

    A value that comes from the state is known by its mark only.
    """
    values: dict[str, str] = {}
    marks: dict[str, str] = {}
    for key in sorted({*desired.config_sensitive, *desired.marks}):
        is_held = _is_held(key, live, desired)
        held = live.config_sensitive.get(key, "") if is_held else ""
        values[key] = desired.config_sensitive.get(key, held)
        marks[key] = desired.marks.get(key, "")
    return values, marks


def _with_known_values(live: KafkaConnector, desired: KafkaConnector) -> KafkaConnector:
    """Put what is declared in the place of the mask of a service, which must not be sent back."""
    known = {
        key: each
        for key, each in desired.config_sensitive.items()
        if key in live.config_sensitive and _is_held(key, live, desired)
    }
    return replace(live, config_sensitive={**live.config_sensitive, **known})


def _mark(live: KafkaConnector, keys: Collection[str]) -> KafkaConnector:
    """Mark secrets that stay as they are, for the state to know them; a mask has no mark."""
    made = {
        key: "" if _MASK.fullmatch(each) else secret_mark(each)
        for key, each in live.config_sensitive.items()
        if key in keys and not live.marks.get(key)
    }
    return replace(live, marks={**live.marks, **made})


def _is_held(key: str, live: KafkaConnector, desired: KafkaConnector) -> bool:
    held, wanted = live.config_sensitive.get(key), desired.config_sensitive.get(key)
    mark = desired.marks.get(key, "")
    if held is not None and not _MASK.fullmatch(held):
        return held == wanted if wanted is not None else is_marked(mark, held, "")
    known = live.marks.get(key, "")
    return is_marked(known, wanted, "") if wanted is not None and known else known == mark != ""


def _by_identity(answers: Mapping[str, ItemResult]) -> dict[Identity, ItemResult]:
    return {Identity(name): each for name, each in answers.items()}


def _name(value: object) -> str:
    assert isinstance(value, KafkaConnector)  # noqa: S101 - a change of this kind
    return value.name


def _after(change: Change) -> KafkaConnector:
    assert isinstance(change.after, KafkaConnector)  # noqa: S101 - not a deletion
    return change.after


def _spec(change: Change) -> NewConnector:
    after = _after(change)
    return NewConnector(after.name, {**after.config, **after.config_sensitive}, after.state.upper())


def _is_configured(change: Change) -> bool:
    """Whether the config is sent: of an update only where it differs."""
    before, after = change.before, _after(change)
    if change.action is not Action.UPDATE or not isinstance(before, KafkaConnector):
        return True
    return (before.config, before.config_sensitive) != (after.config, after.config_sensitive)


def _apply_settings(connect: Connect, changes: Sequence[Change]) -> Mapping[Identity, ItemResult]:
    """Send configs first, then states; a failed connector that is to run is started again."""
    made = [_spec(each) for each in changes if each.before is None]
    changed = [each for each in changes if each.before is not None and _is_configured(each)]
    answers = {**connect.create_connectors(made)} if made else {}
    if changed:
        answers |= connect.configure_connectors([_spec(each) for each in changed])
    refused = {name for name, each in answers.items() if each is not None}
    lost = {str(each.identity) for each in changed} - answers.keys()
    states: dict[str, str] = {}
    restarts: list[str] = []
    for each in changes:
        name, before = str(each.identity), each.before
        if not isinstance(before, KafkaConnector) or name in refused | lost:
            continue
        if before.state == FAILED and _after(each).state == RUNNING:
            restarts.append(name)
        elif before.state != _after(each).state:
            states[name] = _after(each).state.upper()
    answers |= connect.set_connector_states(states) if states else {}
    answers |= connect.restart_failed(restarts) if restarts else {}
    return _by_identity(answers)
