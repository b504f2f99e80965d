"""`kafka_logger`: the level of one logger of a broker or controller (KIP-412, KIP-919)."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated

from kplan.cluster.errors import CLIENT_DISCONNECTED, client_refusal
from kplan.cluster.port import Cluster
from kplan.cluster.request import ClusterDescription, ItemResult
from kplan.cluster.setting_keys import LOG_LEVELS
from kplan.cluster.settings import ConfigResource, ConfigResourceAlteration, ConfigScope
from kplan.kinds.base import (
    Problem,
    ResolvedAttributes,
    is_node_id,
    node_id_problems,
    setting_steps,
)
from kplan.kinds.schema import Attribute
from kplan.model.dataclass import dataclass
from kplan.model.errors import Refusal
from kplan.model.plan import Change, Step
from kplan.model.resource import Identity, Path
from kplan.model.state import KindSnapshot, LiveObject

SET = Step(29, "alter_configs")
REPLACE_RESET = Step(77, "alter_configs")
REPLACE_SET = Step(78, "alter_configs")
RESET = Step(91, "alter_configs")


@dataclass(frozen=True, slots=True)
class Logger:
    """The level of a logger on one node; a restart of the node brings back that of its file."""

    node_id: Annotated[
        int, Attribute("Id of the broker or controller.", "number", forces_replacement=True)
    ]
    logger: Annotated[
        str,
        Attribute('Name of the logger, such as "kafka.request.logger".', forces_replacement=True),
    ]
    level: Annotated[str, Attribute("The level.", choices=LOG_LEVELS)]


def absent_node_refusal(described: ClusterDescription, node: str) -> Refusal | None:
    """Return what to say of the loggers of a node that the brokers do not list, else None."""
    if described.controller_access is not None or node in {
        str(each.id) for each in described.brokers
    }:
        return None
    if node in {str(each.id) for each in described.fenced}:
        detail = f"Broker {node} does not answer: it is registered and not running."
        return client_refusal(CLIENT_DISCONNECTED, detail, f"Start broker {node} and plan again.")
    return client_refusal(
        CLIENT_DISCONNECTED,
        f"No running broker has the id {node}, and brokers do not answer for controllers.",
        f"Start broker {node}; if it is a controller, use -bootstrap-controller.",
    )


class LoggerKind:
    """Levels of loggers per node; they last until the node restarts."""

    name = "kafka_logger"
    noun = "logger"
    schema = Logger
    is_replaceable = True
    is_deletable = True
    is_always_read = False
    is_shareable = False

    def identify(self, value: Logger) -> Identity:
        """Name it by node and logger: `1|kafka.request.logger`."""
        return Identity(f"{value.node_id}|{value.logger}")

    def normalize(self, value: Logger) -> Logger:
        """Write the level in capitals."""
        return replace(value, level=value.level.upper())

    def check(self, value: Logger) -> Iterator[Problem]:
        """Hold the node and the level against those there may be."""
        yield from node_id_problems(value.node_id, "node_id")
        if value.level not in LOG_LEVELS:
            detail = f'"{value.level}" is not a log level.'
            hint = f"Use one of {', '.join(LOG_LEVELS)}."
            yield Problem("KP226", detail, hint, ("level",), is_independent=True)
        if not value.logger:
            detail = "A logger has a name."
            yield Problem("KP226", detail, path=("logger",), is_independent=True)

    def check_all(
        self,
        declared: Collection[Identity],  # noqa: ARG002 - loggers do not get in each other's way
        live: Collection[Identity] = (),  # noqa: ARG002
    ) -> Iterator[tuple[Identity, Problem]]:
        """Find nothing."""
        return iter(())

    def read(self, cluster: Cluster, wanted: Collection[Identity]) -> KindSnapshot:
        """Read the requested loggers; every node has a few hundred."""
        wanted = [each for each in wanted if is_node_id(_node(each))]
        nodes = sorted({_node(each) for each in wanted})
        answers = cluster.configs([_resource(node) for node in nodes]) if nodes else {}
        objects: dict[Identity, LiveObject] = {}
        hidden: dict[Identity, Refusal] = {}
        for identity in wanted:
            node, _, logger = identity.partition("|")
            found = answers.get(_resource(node))
            if isinstance(found, Refusal):
                hidden[identity] = absent_node_refusal(cluster.describe(), node) or found
            elif found is not None and (detail := found.get(logger)) is not None:
                level = detail.entry.value or ""
                objects[identity] = LiveObject(Logger(int(node), logger, level))
        return KindSnapshot(objects, hidden)

    def fill_from_state(self, live: Logger, applied: Logger) -> Logger:  # noqa: ARG002 - see docstring
        """Keep the live value: Kafka returns all of it."""
        return live

    def align(
        self, live: Logger, desired: Logger, ignored: Collection[Path] = ()
    ) -> tuple[Logger, Logger]:
        """Compare the levels."""
        is_ignored = bool({(), ("level",)} & set(ignored))
        return live, replace(desired, level=live.level) if is_ignored else desired

    def check_change(self, live: LiveObject, desired: Logger) -> Iterator[Problem]:  # noqa: ARG002 - see docstring
        """Refuse nothing: any level may become any other."""
        return iter(())

    def steps(self, change: Change) -> tuple[Step, ...]:
        """Set in one request for each node, and reset late in one of its own."""
        return setting_steps(change, SET, (REPLACE_RESET, REPLACE_SET), RESET)

    def record_count(self, step: Step, change: Change) -> int:  # noqa: ARG002 - the same for all
        """Count one: nothing is written to the metadata."""
        return 1

    def apply(
        self, cluster: Cluster, step: Step, changes: Sequence[Change]
    ) -> Mapping[Identity, ItemResult]:
        """Set and reset, with one request for each node."""
        return _send(cluster, step, changes, validate_only=False)

    def validate(
        self, cluster: Cluster, step: Step, changes: Sequence[Change]
    ) -> Mapping[Identity, Refusal | ResolvedAttributes]:
        """Ask the node whether it has the logger and the level."""
        answers = _send(cluster, step, changes, validate_only=True)
        return {name: answer or {} for name, answer in answers.items()}

    def is_done(self, step: Step, change: Change, reading: KindSnapshot) -> bool:
        """Check the level; a reset logger has the level of its parent, which may be any."""
        if _is_reset(step):
            return True
        live = reading.objects.get(change.identity)
        after: Logger = change.after  # type: ignore[assignment] # a set has an `after`
        return live is not None and live.value == after

    def find_visible(
        self,
        cluster: Cluster,
        broker: int,  # noqa: ARG002 - a level is that of one node, which alone tells it
        changes: Sequence[Change],
    ) -> Mapping[Identity, str]:
        """Ask the node that each level is of."""
        reading = self.read(cluster, [each.identity for each in changes])
        return {
            each.identity: ""
            for each in changes
            if all(self.is_done(step, each, reading) for step in self.steps(each))
        }

    def node_of(self, change: Change) -> int | None:
        """Return the node that has the logger."""
        values: tuple[Logger | None, ...] = (change.before, change.after)  # type: ignore[assignment]
        nodes = {each.node_id for each in values if each is not None}
        return nodes.pop() if len(nodes) == 1 else None


def _node(identity: Identity) -> str:
    return identity.partition("|")[0]


def _resource(node: str) -> ConfigResource:
    return ConfigResource(ConfigScope.LOGGER, node)


def _is_reset(step: Step) -> bool:
    return step in {REPLACE_RESET, RESET}


def _send(
    cluster: Cluster, step: Step, changes: Sequence[Change], *, validate_only: bool
) -> Mapping[Identity, ItemResult]:
    """Send the loggers of each node together; of a node that refuses, each by itself."""
    by_node: dict[str, list[tuple[Identity, Logger]]] = defaultdict(list)
    for change in changes:
        value: Logger = change.before if _is_reset(step) else change.after  # type: ignore[assignment]
        by_node[str(value.node_id)].append((change.identity, value))
    results = cluster.alter_configs(
        [_alteration(node, step, members) for node, members in by_node.items()],
        validate_only=validate_only,
    )
    found: dict[Identity, ItemResult] = {}
    for node, members in by_node.items():
        resource = _resource(node)
        if resource not in results:
            continue
        if results[resource] is None or len(members) == 1:
            found |= dict.fromkeys((identity for identity, _ in members), results[resource])
            continue
        for member in members:  # one unknown logger refuses all of the node
            answers = cluster.alter_configs(
                [_alteration(node, step, [member])], validate_only=validate_only
            )
            if resource in answers:
                found[member[0]] = answers[resource]
    return found


def _alteration(
    node: str, step: Step, members: Sequence[tuple[Identity, Logger]]
) -> ConfigResourceAlteration:
    if _is_reset(step):
        loggers = tuple(sorted(value.logger for _, value in members))
        return ConfigResourceAlteration(_resource(node), delete=loggers)
    return ConfigResourceAlteration(
        _resource(node), {value.logger: value.level for _, value in members}
    )
