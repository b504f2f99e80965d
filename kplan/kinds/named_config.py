"""Kinds whose objects are a name with configs: groups, metrics subscriptions."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Annotated, Any

from kplan.cluster.port import Cluster
from kplan.cluster.request import ConfigSource, ItemResult
from kplan.cluster.setting_keys import known_configs
from kplan.cluster.settings import (
    ConfigDetail,
    ConfigResource,
    ConfigResourceAlteration,
    ConfigScope,
)
from kplan.cluster.topic import canonical_config, value_fault
from kplan.kinds.base import (
    Problem,
    ResolvedAttributes,
    config_changes,
    merge_config,
    setting_steps,
)
from kplan.kinds.schema import Attribute
from kplan.model.dataclass import dataclass
from kplan.model.errors import Refusal, UnsupportedError
from kplan.model.plan import Action, Change, Step
from kplan.model.resource import Identity, Path
from kplan.model.state import KindSnapshot, LiveObject

_FIRST_RELEASES: Mapping[ConfigScope, tuple[str, str]] = {
    ConfigScope.GROUP: ("configs of groups", "4.0 (KIP-848)"),
    ConfigScope.CLIENT_METRICS: ("metrics subscriptions", "3.7 (KIP-714, with KRaft only)"),
}
"""Name and first release by scope; a broker that does not know it calls the request invalid."""

_UNKNOWN_SCOPE = frozenset({"INVALID_REQUEST", "UNSUPPORTED_VERSION"})

OWN_SOURCES = frozenset({ConfigSource.GROUP, ConfigSource.CLIENT_METRICS})
"""Sources of the values that were set for the object itself."""

_ConfigMap = Annotated[Mapping[str, str], Attribute("Configs that are set.", "map(string)")]


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """Configs of a consumer, share or streams group (KIP-848, KIP-932)."""

    group_id: Annotated[str, Attribute("Name of the group.", forces_replacement=True)]
    config: _ConfigMap = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClientMetrics:
    """A subscription to metrics that clients push to the brokers (KIP-714)."""

    name: Annotated[str, Attribute("Name of the subscription.", forces_replacement=True)]
    config: _ConfigMap = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NamedConfigKind:
    """A name with configs: the declared ones are complete, and without any the object is absent.

    `key` is the attribute with the name, `rank` the place of setting, which is followed by the two
    of replacing, and `removal_rank` that of removing.
    """

    name: str
    noun: str
    schema: type[Any]
    key: str
    scope: ConfigScope
    rank: int
    removal_rank: int
    is_replaceable: bool = True
    is_deletable: bool = True
    is_always_read: bool = False
    is_shareable: bool = False

    def identify(self, value: Any) -> Identity:  # noqa: ANN401 - of `schema`
        """Name it by its name."""
        return Identity(getattr(value, self.key))

    def normalize(self, value: Any) -> Any:  # noqa: ANN401
        """Write configs as Kafka returns them."""
        types = {key: each.definition.type for key, each in known_configs(self.scope).items()}
        return replace(value, config=canonical_config(value.config, types.get))

    def check(self, value: Any) -> Iterator[Problem]:  # noqa: ANN401
        """Compare values with the types that are known here; the broker knows all keys."""
        if not self.identify(value):
            yield Problem("KP226", f"A {self.noun} has a name.", path=(self.key,))
        if not value.config:
            yield Problem(
                "KP226",
                f"A {self.noun} without configs does not exist for Kafka.",
                "Declare at least one key in config, or remove the block.",
                ("config",),
            )
        known = known_configs(self.scope)
        for key, text in sorted(value.config.items()):
            if key in known and (fault := value_fault(known[key].definition, text)):
                detail = f'{key} is "{text}": {fault}.'
                yield Problem("KP226", detail, path=("config", key), is_independent=True)

    def check_all(
        self,
        declared: Collection[Identity],  # noqa: ARG002 - they are beside each other
        live: Collection[Identity] = (),  # noqa: ARG002
    ) -> Iterator[tuple[Identity, Problem]]:
        """Find nothing: they do not get in each other's way."""
        return iter(())

    def read(self, cluster: Cluster, wanted: Collection[Identity]) -> KindSnapshot:
        """Read the requested objects, and those that the cluster lists if it can."""
        listed = cluster.config_names(self.scope) or frozenset()
        return self.read_objects(cluster, {*wanted, *(Identity(each) for each in listed)}, None)

    def fill_from_state(self, live: Any, applied: Any) -> Any:  # noqa: ANN401, ARG002 - see docstring
        """Keep the live value: Kafka returns all of it."""
        return live

    def align(self, live: Any, desired: Any, ignored: Collection[Path] = ()) -> tuple[Any, Any]:  # noqa: ANN401
        """Compare all keys that are set: one that is not declared is to go.

        Without any key the object would be gone; it has the ignored ones then, as a new one has.
        """
        config = merge_config(live.config, desired.config, ignored) or desired.config
        return live, replace(desired, config=config)

    def check_change(self, live: LiveObject, desired: Any) -> Iterator[Problem]:  # noqa: ANN401, ARG002 - see docstring
        """Refuse nothing: any config may become any other."""
        return iter(())

    def steps(self, change: Change) -> tuple[Step, ...]:
        """Set in one request, and remove late in one of its own."""
        set_, out, into, remove = (
            Step(rank, "alter_configs")
            for rank in (self.rank, self.rank + 1, self.rank + 2, self.removal_rank)
        )
        return setting_steps(change, set_, (out, into), remove)

    def record_count(self, step: Step, change: Change) -> int:
        """Count one record for each key."""
        spec = self.alteration(step, change)
        return max(1, len(spec.set) + len(spec.delete))

    def apply(
        self, cluster: Cluster, step: Step, changes: Sequence[Change]
    ) -> Mapping[Identity, ItemResult]:
        """Set and reset in one request."""
        return self._send(cluster, step, changes, validate_only=False)

    def validate(
        self, cluster: Cluster, step: Step, changes: Sequence[Change]
    ) -> Mapping[Identity, Refusal | ResolvedAttributes]:
        """Ask the broker (IncrementalAlterConfigs, validate only)."""
        answers = self._send(cluster, step, changes, validate_only=True)
        return {name: answer or {} for name, answer in answers.items()}

    def is_done(self, step: Step, change: Change, reading: KindSnapshot) -> bool:
        """Look for the values that the step leaves behind."""
        spec = self.alteration(step, change)
        live = reading.objects.get(self.identity_of(spec.resource))
        held: Mapping[str, str] = live.value.config if live else {}  # type: ignore[attr-defined] # of `schema`
        return spec.set.items() <= held.items() and not held.keys() & set(spec.delete)

    def find_visible(
        self, cluster: Cluster, broker: int, changes: Sequence[Change]
    ) -> Mapping[Identity, str]:
        """Compare with this broker's values."""
        specs = {
            each.identity: [self.alteration(step, each) for step in self.steps(each)]
            for each in changes
        }
        names = {self.identity_of(spec.resource) for found in specs.values() for spec in found}
        reading = self.read_objects(cluster, names, broker)
        return {
            each.identity: ""
            for each in changes
            if all(self.is_done(step, each, reading) for step in self.steps(each))
        }

    def identity_of(self, resource: ConfigResource) -> Identity:
        """Name the object that a resource of Kafka's is."""
        return Identity(resource.name)

    def config_resource(self, name: Identity) -> ConfigResource:
        """Return Kafka's word for an object."""
        return ConfigResource(self.scope, name)

    def live_value(self, resource: ConfigResource, found: Mapping[str, ConfigDetail]) -> Any | None:  # noqa: ANN401
        """Make the live value, None where nothing is set."""
        own = {
            key: each.entry.value
            for key, each in sorted(found.items())
            if each.entry.source in OWN_SOURCES and each.entry.value is not None
        }
        return self.schema(resource.name, own) if own else None

    def read_objects(
        self, cluster: Cluster, names: Collection[Identity], broker: int | None
    ) -> KindSnapshot:
        """Read these; a refused one is hidden."""
        resources = [self.config_resource(each) for each in sorted(names)]
        answers = cluster.configs(resources, broker=broker) if resources else {}
        objects: dict[Identity, LiveObject] = {}
        hidden: dict[Identity, Refusal] = {}
        for resource, found in answers.items():
            name = self.identity_of(resource)
            if isinstance(found, Refusal):
                self._check_supported(found)
                hidden[name] = found
            elif (value := self.live_value(resource, found)) is not None:
                objects[name] = LiveObject(value)
        return KindSnapshot(objects, hidden)

    def _check_supported(self, refused: Refusal) -> None:
        """Distinguish a cluster without such configs from one that hides them (K117-21)."""
        if self.scope in _FIRST_RELEASES and refused.error in _UNKNOWN_SCOPE:
            what, since = _FIRST_RELEASES[self.scope]
            raise UnsupportedError(f"The cluster has no {what}. Kafka has them since {since}.")

    def is_removal(self, step: Step, change: Change) -> bool:
        """Whether the step removes the old object."""
        is_swap = change.action is Action.REPLACE
        return change.after is None or (is_swap and step.rank == self.rank + 1)

    def alteration(self, step: Step, change: Change) -> ConfigResourceAlteration:
        """Return what the step sends for the change."""
        before: Any = change.before
        after: Any = change.after
        if self.is_removal(step, change):
            resource = self.config_resource(self.identify(before))
            return ConfigResourceAlteration(resource, delete=tuple(sorted(before.config)))
        is_new = before is None or change.action is Action.REPLACE
        has = {} if is_new else before.config
        return ConfigResourceAlteration(
            self.config_resource(self.identify(after)), *config_changes(has, after.config)
        )

    def _send(
        self, cluster: Cluster, step: Step, changes: Sequence[Change], *, validate_only: bool
    ) -> Mapping[Identity, ItemResult]:
        specs = {change.identity: self.alteration(step, change) for change in changes}
        answers = cluster.alter_configs(list(specs.values()), validate_only=validate_only)
        return {
            name: answers[spec.resource] for name, spec in specs.items() if spec.resource in answers
        }


GROUP_CONFIG = NamedConfigKind(
    "kafka_group_config", "group config", GroupConfig, "group_id", ConfigScope.GROUP, 70, 95
)
CLIENT_METRICS = NamedConfigKind(
    "kafka_client_metrics",
    "metrics subscription",
    ClientMetrics,
    "name",
    ConfigScope.CLIENT_METRICS,
    74,
    94,
)
