"""`kafka_broker_config`: dynamic configs of a broker, or of all of them (KIP-226)."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Annotated, Any

from kplan.cluster.errors import (
    CLIENT_DISCONNECTED,
    CLIENT_SECRET_DIFFERS,
    client_refusal,
)
from kplan.cluster.port import Cluster
from kplan.cluster.request import ConfigSource, ItemResult
from kplan.cluster.setting_keys import BROKER_CONFIG_TYPES
from kplan.cluster.settings import (
    ConfigDetail,
    ConfigResource,
    ConfigResourceAlteration,
    ConfigScope,
)
from kplan.cluster.topic import ConfigType, canonical_config
from kplan.kinds.base import (
    HIDDEN_VALUE,
    Problem,
    ResolvedAttributes,
    config_changes,
    is_marked,
    is_node_id,
    merge_config,
    node_id_problems,
    secret_mark,
)
from kplan.kinds.broker_config_key import (
    KnownKeys,
    absent_broker_refusal,
    declared_value_fault,
    find_refusal,
    is_secret_key,
    is_throttle_key,
)
from kplan.kinds.named_config import NamedConfigKind
from kplan.kinds.schema import SECRET_MARK, Attribute, InternalField
from kplan.model.dataclass import dataclass
from kplan.model.errors import Refusal
from kplan.model.plan import Action, Change, Step
from kplan.model.resource import Identity, Path
from kplan.model.state import KindSnapshot

DEFAULT_BROKER = "<default>"
"""Names what is set for all brokers, as Kafka's own tools print it."""

RETENTION_KEYS = ("log.retention.bytes", "log.retention.ms")
"""What decides which records of topics without their own are deleted, and can be set live."""

ConfigMap = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """Dynamic configs; keys that are not declared are left as they are.

    A live value has the keys of `owned_keys`, which kplan set, and those of others.
    """

    broker_id: Annotated[
        int | None,
        Attribute(
            "Id of the broker; left out it is all of them.", "number", forces_replacement=True
        ),
    ] = None
    config: Annotated[ConfigMap, Attribute("Configs that are set.", "map(string)")] = field(
        default_factory=dict
    )
    sensitive_config: Annotated[
        ConfigMap,
        Attribute(
            "Sensitive configs; their values are never shown.", "map(string)", is_sensitive=True
        ),
    ] = field(default_factory=dict, repr=False)
    marks: Annotated[ConfigMap, SECRET_MARK] = field(default_factory=dict, repr=False)
    owned_keys: Annotated[tuple[str, ...], InternalField()] = ()


class BrokerConfigKind(NamedConfigKind):
    """Configs of brokers: only keys that are or were declared are set and reset.

    Others belong to whoever set them: Kafka itself, or a reassignment that is throttled.
    """

    def identify(self, value: BrokerConfig) -> Identity:
        """Name it by the id of the broker."""
        return Identity(DEFAULT_BROKER if value.broker_id is None else str(value.broker_id))

    def normalize(self, value: BrokerConfig) -> BrokerConfig:
        """Mark the secrets, and write other configs as Kafka returns them."""
        secrets = sorted(value.sensitive_config.items())
        config = canonical_config(
            value.config, lambda key: BROKER_CONFIG_TYPES.get(key, ConfigType.STRING)
        )
        marks = {key: secret_mark(each) for key, each in secrets}
        return replace(value, config=config, marks=marks)

    def check(self, value: BrokerConfig) -> Iterator[Problem]:
        """Find forbidden declarations; keys and types are checked by the broker."""
        yield from node_id_problems(value.broker_id, "broker_id")
        if not value.config and not value.sensitive_config:
            detail = "A broker config without any key sets nothing."
            yield Problem("KP226", detail, "Declare at least one key in config.", ("config",))
        for key in sorted({*value.config, *value.sensitive_config}):
            if is_throttle_key(key):
                yield Problem(
                    "KP226",
                    f"{key} belongs to a reassignment while it runs.",
                    "Leave it out; kplan never touches it.",
                    ("config", key),
                )
        for key, text in sorted(value.config.items()):
            if fault := declared_value_fault(key, text):
                yield Problem("KP226", f'{key} is "{text}": {fault}.', path=("config", key))
        for key in sorted(value.config):
            if is_secret_key(key) or key in value.sensitive_config:
                yield Problem(
                    "KP226",
                    f"{key} is a secret.",
                    "Declare it in sensitive_config.",
                    ("config", key),
                )

    def read(self, cluster: Cluster, wanted: Collection[Identity]) -> KindSnapshot:
        """Read the configs of all live brokers, of the requested ones, and those for all."""
        described = cluster.describe()
        live = {Identity(str(each.id)) for each in described.brokers}
        named = {each for each in wanted if is_node_id(each)}
        found = self.read_objects(cluster, {*named, *live, Identity(DEFAULT_BROKER)}, None)
        hidden = {
            name: absent_broker_refusal(described, name) or refused
            for name, refused in found.hidden.items()
            if name in wanted
        }
        return replace(found, hidden=hidden)

    def fill_from_state(self, live: BrokerConfig, applied: BrokerConfig) -> BrokerConfig:
        """Know which keys kplan set, and the secrets among them by their marks."""
        marks = {key: applied.marks.get(key, "") for key in live.marks}
        return replace(
            live, marks=marks, owned_keys=tuple(sorted({*applied.config, *applied.marks}))
        )

    def align(
        self, live: BrokerConfig, desired: BrokerConfig, ignored: Collection[Path] = ()
    ) -> tuple[BrokerConfig, BrokerConfig]:
        """Compare the keys that are declared or were; secrets by their marks."""
        concerned = {*desired.config, *desired.marks, *live.owned_keys}
        before = _select_keys(live, concerned)
        if () in ignored:
            return before, before
        config = merge_config(before.config, desired.config, ignored)
        # A secret that is as it was set last is as hidden as the live one: nothing to do.
        kept = {
            key: before.marks[key]
            for key, each in desired.sensitive_config.items()
            if is_marked(before.marks.get(key, ""), each, self._mark_name(desired, key))
        }
        marks = {key: kept.get(key, mark) for key, mark in sorted(desired.marks.items())}
        secrets = {
            key: HIDDEN_VALUE if key in kept else desired.sensitive_config.get(key, HIDDEN_VALUE)
            for key in marks
        }
        return before, BrokerConfig(
            desired.broker_id,
            config,
            merge_config(before.sensitive_config, secrets, ignored, "sensitive_config"),
            merge_config(before.marks, marks, ignored, "sensitive_config"),
        )

    def apply(
        self, cluster: Cluster, step: Step, changes: Sequence[Change]
    ) -> Mapping[Identity, ItemResult]:
        """Set and reset; a secret that is not the planned one is not sent."""
        odd = {each.identity for each in changes if not self.has_secrets(step, each)}
        other = client_refusal(CLIENT_SECRET_DIFFERS, "A secret is not the planned one.")
        fine = [each for each in changes if each.identity not in odd]
        return dict.fromkeys(odd, other) | dict(super().apply(cluster, step, fine))

    def validate(
        self, cluster: Cluster, step: Step, changes: Sequence[Change]
    ) -> Mapping[Identity, Refusal | ResolvedAttributes]:
        """Check keys and types against a broker's own list, then validate on the broker."""
        resources = {each.identity: self.config_resource(each.identity) for each in changes}
        known = _read_known_keys(cluster, resources.values())
        refusals: dict[Identity, Refusal | ResolvedAttributes] = {}
        for change in changes:
            keys = known[resources[change.identity]]
            fault = (
                keys
                if isinstance(keys, Refusal)
                else find_refusal(self.alteration(step, change), keys, _marked_keys(change))
            )
            if fault is not None:
                refusals[change.identity] = fault
        fine = [each for each in changes if each.identity not in refusals]
        answers = dict(super().validate(cluster, step, fine) if fine else {})
        if cluster.describe().controller_access is not None:
            # A controller accepts any value: that no one refused it says nothing.
            answers = {name: each for name, each in answers.items() if isinstance(each, Refusal)}
        return refusals | answers

    def is_done(self, step: Step, change: Change, reading: KindSnapshot) -> bool:
        """Check the values; a changed secret is not visible."""
        before: BrokerConfig | None = change.before  # type: ignore[assignment] # a change of this kind
        again = {*before.marks} & {*self.alteration(step, change).set} if before else set()
        return not again and self._is_visible(step, change, reading)

    def find_visible(
        self, cluster: Cluster, broker: int, changes: Sequence[Change]
    ) -> Mapping[Identity, str]:
        """Compare with each broker's own values; those for all with each broker."""
        every = [each for each in changes if each.identity == DEFAULT_BROKER]
        own = [each for each in changes if each.identity != DEFAULT_BROKER]
        names = {name for each in own for name in self._identities(each)}
        objects = {
            **self.read_objects(
                cluster, [Identity(DEFAULT_BROKER)] if every else [], broker
            ).objects,
            **self.read_objects(cluster, names, None).objects,
        }
        return {
            each.identity: ""
            for each in changes
            if all(self._is_visible(step, each, KindSnapshot(objects)) for step in self.steps(each))
        }

    def node_of(self, change: Change) -> int | None:
        """Return the broker that the configs are of; those for all are of none."""
        names = self._identities(change)
        name = names.pop()
        return None if names or name == DEFAULT_BROKER else int(name)

    def identity_of(self, resource: ConfigResource) -> Identity:
        """Name the object that a resource of Kafka's is."""
        return Identity(resource.name or DEFAULT_BROKER)

    def config_resource(self, name: Identity) -> ConfigResource:
        """Return Kafka's word for an object."""
        return ConfigResource(self.scope, "" if name == DEFAULT_BROKER else name)

    def live_value(
        self, resource: ConfigResource, found: Mapping[str, ConfigDetail]
    ) -> BrokerConfig | None:
        """Build the live value from dynamic configs, None if there are none."""
        source = (
            ConfigSource.DYNAMIC_BROKER if resource.name else ConfigSource.DYNAMIC_DEFAULT_BROKER
        )
        own = {
            key: each.entry
            for key, each in sorted(found.items())
            if each.entry.source is source and not is_throttle_key(key)
        }
        secrets = [key for key, each in own.items() if each.is_sensitive]
        config = {key: each.value or "" for key, each in own.items() if not each.is_sensitive}
        if not own:
            return None
        hidden = dict.fromkeys(secrets, HIDDEN_VALUE)
        broker_id = int(resource.name) if resource.name else None
        return BrokerConfig(broker_id, config, hidden, dict.fromkeys(secrets, ""))

    def alteration(self, step: Step, change: Change) -> ConfigResourceAlteration:
        """Return what the step sends for the change; of secrets only new ones."""
        before: Any = change.before
        after: Any = change.after
        if self.is_removal(step, change):
            keys = {*before.config, *before.marks}
            return ConfigResourceAlteration(
                self.config_resource(self.identify(before)), delete=_sort_keys(keys)
            )
        is_new = before is None or change.action is Action.REPLACE
        has = BrokerConfig() if is_new else before
        changed, gone = config_changes(has.config, after.config)
        marked, forgotten = config_changes(has.marks, after.marks)
        secrets = {key: after.sensitive_config.get(key, "") for key in marked}
        resource = self.config_resource(self.identify(after))
        new = {**changed, **secrets}  # a key may come to be a secret, or none any more
        return ConfigResourceAlteration(resource, new, _sort_keys({*gone, *forgotten} - {*new}))

    def has_secrets(self, step: Step, change: Change) -> bool:
        """Compare the secrets that are sent with their marks."""
        after: BrokerConfig | None = change.after  # type: ignore[assignment] # a change of this kind
        if after is None or self.is_removal(step, change):
            return True
        sent = self.alteration(step, change).set.keys() & after.marks.keys()
        given = after.sensitive_config
        return all(
            key in given and is_marked(after.marks[key], given[key], self._mark_name(after, key))
            for key in sent
        )

    def _mark_name(self, value: BrokerConfig, key: str) -> str:
        return f"{self.identify(value)} {key}"

    def _is_visible(self, step: Step, change: Change, reading: KindSnapshot) -> bool:
        spec = self.alteration(step, change)
        live = reading.objects.get(self.identity_of(spec.resource))
        value: BrokerConfig | None = live.value if live else None  # type: ignore[assignment]
        held = {**value.config, **dict.fromkeys(value.marks, HIDDEN_VALUE)} if value else {}
        secret = _marked_keys(change)
        wanted = {key: HIDDEN_VALUE if key in secret else each for key, each in spec.set.items()}
        return wanted.items() <= held.items() and not held.keys() & set(spec.delete)

    def _identities(self, change: Change) -> set[Identity]:
        return {
            self.identity_of(self.alteration(step, change).resource) for step in self.steps(change)
        }


def _marked_keys(change: Change) -> Collection[str]:
    after: BrokerConfig | None = change.after  # type: ignore[assignment] # a change of this kind
    return after.marks.keys() if after else ()


def _select_keys(live: BrokerConfig, keys: Collection[str]) -> BrokerConfig:
    return BrokerConfig(
        live.broker_id,
        {key: each for key, each in live.config.items() if key in keys},
        {key: each for key, each in live.sensitive_config.items() if key in keys},
        {key: each for key, each in live.marks.items() if key in keys},
    )


def _sort_keys(keys: Collection[str]) -> tuple[str, ...]:
    return tuple(sorted(keys))


def _read_known_keys(
    cluster: Cluster, resources: Collection[ConfigResource]
) -> Mapping[ConfigResource, KnownKeys | Refusal]:
    """Read the keys of every broker; those for all brokers come from any node.

    Controllers take any key and any value of these without a look (K919-06), and know the keys.
    """
    nodes = sorted(str(each) for each in cluster.describe().verifying_node_ids)
    asked = {each: each if each.name else replace(each, name=nodes[0]) for each in resources}
    answers = cluster.configs(list({*asked.values()}))
    silent = client_refusal(CLIENT_DISCONNECTED, "The broker did not return its configs.")
    return {each: answers.get(whom, silent) for each, whom in asked.items()}


BROKER_CONFIG = BrokerConfigKind(
    "kafka_broker_config", "broker config", BrokerConfig, "broker_id", ConfigScope.BROKER, 26, 93
)
