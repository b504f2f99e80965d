"""The settings of a cluster in memory: the part of the port about them."""

from collections.abc import Collection, Mapping, Sequence

from kplan.cluster import setting_requests
from kplan.cluster.contents import Contents
from kplan.cluster.errors import client_refusal, refusal
from kplan.cluster.faults import Call, Item
from kplan.cluster.memory_serving import Serving, answered
from kplan.cluster.resource_configs import FEATURES, ResourceConfig, keys_of
from kplan.cluster.rights import needed
from kplan.cluster.setting_specs import (
    ConfigDetail,
    ConfigResource,
    ConfigScope,
    FeatureUpdate,
    Lack,
    NodeVersions,
    QuotaAlteration,
    QuotaEntity,
    ResourceAlteration,
    ScramAlteration,
    ScramUser,
)
from kplan.cluster.specs import ConfigEntry, ConfigSource, Verdict
from kplan.model.errors import Unread
from kplan.model.refusal import Refusal

_METHODS = frozenset(
    (
        "quotas",
        "alter_quotas",
        "scram_users",
        "alter_scram_users",
        "config_names",
        "configs",
        "alter_configs",
        "update_features",
        "group_names",
    )
)
"""What is served here; a cluster without authorizer lets everybody do it."""

_SOURCES = {
    ConfigScope.GROUP: ConfigSource.GROUP,
    ConfigScope.CLIENT_METRICS: ConfigSource.CLIENT_METRICS,
}
_APIS = {"ApiVersions": (0, 4), "CreateTopics": (2, 7), "Metadata": (0, 13)}


class SettingRequests(Serving):
    """Serves quotas, credentials, configs and features."""

    def quotas(self, *, broker: int | None = None) -> Mapping[QuotaEntity, Mapping[str, float]]:
        """List all quotas of clients; raises Unread."""
        return self._listed(Call("quotas", broker=broker), "Quotas").quotas

    def alter_quotas(
        self, specs: Sequence[QuotaAlteration], *, validate_only: bool = False
    ) -> Mapping[QuotaEntity, Verdict]:
        """Set and remove single quotas."""
        call = Call("alter_quotas", tuple(spec.entity for spec in specs), validate_only)
        keyed = [(spec.entity, spec) for spec in specs]
        return self._write(call, keyed, setting_requests.alter_quotas).verdicts

    def scram_users(self, *, broker: int | None = None) -> Mapping[ScramUser, int]:
        """List the iterations of all SCRAM credentials; raises Unread."""
        contents = self._listed(Call("scram_users", broker=broker), "SCRAM credentials")
        return {name: held.iterations for name, held in contents.scram.items()}

    def alter_scram_users(self, specs: Sequence[ScramAlteration]) -> Mapping[ScramUser, Verdict]:
        """Set and delete SCRAM credentials."""
        call = Call("alter_scram_users", tuple(spec.name for spec in specs))
        keyed = [(spec.name, spec) for spec in specs]
        return self._write(call, keyed, setting_requests.alter_scram_users).verdicts

    def settle(
        self,
        quotas: Sequence[QuotaAlteration] = (),
        users: Sequence[ScramAlteration] = (),
        configs: Sequence[ResourceAlteration] = (),
    ) -> None:
        """Put settings there without a trace in the log.

        Raises:
            ValueError: the cluster refuses one of them.

        """
        contents, site = self._store.contents, self._store.site
        first = setting_requests.alter_quotas(contents, quotas)
        second = setting_requests.alter_scram_users(first.contents, users)
        third = setting_requests.alter_configs(second.contents, site, configs)
        verdicts = [*first.verdicts.items(), *second.verdicts.items(), *third.verdicts.items()]
        for item, verdict in verdicts:
            if verdict is not None:
                raise ValueError(f"{item}: {verdict}")
        self._commit(third.contents)

    def password(self, name: ScramUser) -> str:
        """Give a password that was set, which no real cluster would."""
        return self._store.contents.scram[name].password

    def config_names(self, scope: ConfigScope) -> frozenset[str] | None:
        """Name all that has configs of its own in the scope; raises Unread."""
        contents = self._listed(Call("config_names"), "Configs")
        return frozenset(each.name for each in contents.configs if each.scope is scope)

    def configs(
        self, resources: Collection[ConfigResource], *, broker: int | None = None
    ) -> Mapping[ConfigResource, Mapping[str, ConfigDetail] | Refusal]:
        """Read every effective config of brokers, groups and metrics subscriptions."""
        call = Call("configs", tuple(sorted(resources)), broker=broker)
        contents, struck = self._read(call)
        found: dict[ConfigResource, Mapping[str, ConfigDetail] | Refusal] = {
            each: self._barred(call, each) or self._details(contents, each)
            for each in sorted(resources)
        }
        return answered(found, struck)

    def alter_configs(
        self, specs: Sequence[ResourceAlteration], *, validate_only: bool = False
    ) -> Mapping[ConfigResource, Verdict]:
        """Set and reset single config keys of them."""
        call = Call("alter_configs", tuple(spec.resource for spec in specs), validate_only)
        keyed = [(spec.resource, spec) for spec in specs]
        return self._write(
            call,
            keyed,
            lambda found, fine: setting_requests.alter_configs(found, self._store.site, fine),
        ).verdicts

    def versions(self, *, broker: int | None = None) -> NodeVersions:
        """Tell the APIs and features that a broker offers."""
        contents, _ = self._read(Call("versions", broker=broker))
        finalized = {name: level for name, level in contents.features.items() if level}
        return NodeVersions(_APIS, FEATURES, dict(sorted(finalized.items())), "4.3")

    def update_features(
        self, updates: Sequence[FeatureUpdate], *, validate_only: bool = False
    ) -> Mapping[str, Verdict]:
        """Bring features of the cluster to levels."""
        call = Call("update_features", tuple(each.name for each in updates), validate_only)
        keyed = [(each.name, each) for each in updates]
        return self._write(call, keyed, setting_requests.update_features).verdicts

    def lack(self, method: str, api: str, needed: tuple[int, int]) -> None:
        """Be a cluster that does not serve what the method of the port takes."""
        self._lacking[method] = Lack(api, needed, None)

    def lacks(self, methods: Collection[str]) -> Mapping[str, Lack]:
        """Tell which of these methods the cluster cannot serve."""
        return {name: self._lacking[name] for name in sorted(methods) if name in self._lacking}

    def _listed(self, call: Call, what: str) -> Contents:
        """Read a list, which is whole or refused."""
        contents, struck = self._read(call)
        refused = struck.refused.get("") or self._barred(call, "")
        if refused is not None:
            raise Unread(f"{what} cannot be read: {refused}")
        return contents

    def _barred(self, call: Call, item: Item) -> Refusal | None:
        if call.method not in _METHODS:
            return super()._barred(call, item)
        operation, sort, _ = needed(call.method, item)
        if (operation, sort, "*") not in self._denied:
            return None
        return refusal(30 if sort == "GROUP" else 31, self._missing(call, item))

    def _details(
        self, contents: Contents, resource: ConfigResource
    ) -> Mapping[str, ConfigDetail] | Refusal:
        own = contents.configs.get(resource, {})
        scope, name = resource.scope, resource.name
        if scope is not ConfigScope.BROKER:
            return _effective(scope, own, _SOURCES[scope], {})
        shared = contents.configs.get(ConfigResource(scope, ""), {})
        if not name:
            found = _effective(scope, shared, ConfigSource.DYNAMIC_DEFAULT_BROKER, {})
            return {key: each for key, each in found.items() if key in shared}
        site = self._store.site
        if name not in {str(each.id) for each in site.brokers if each.id not in site.fenced}:
            return client_refusal("CLIENT_DISCONNECTED", f"Broker {name} does not answer.")
        return _effective(scope, own, ConfigSource.DYNAMIC_BROKER, shared)


def _effective(
    scope: ConfigScope, own: Mapping[str, str], source: ConfigSource, shared: Mapping[str, str]
) -> Mapping[str, ConfigDetail]:
    """Lay what is set for one over what is set for all and over the defaults."""
    entries = {
        key: ConfigEntry(each.row.default, ConfigSource.DEFAULT)
        for key, each in keys_of(scope).items()
    }
    entries |= {
        key: ConfigEntry(value, ConfigSource.DYNAMIC_DEFAULT_BROKER)
        for key, value in shared.items()
    }
    entries |= {key: ConfigEntry(value, source) for key, value in own.items()}
    known = keys_of(scope)
    return {key: _detail(entries[key], known.get(key)) for key in sorted(entries)}


def _detail(entry: ConfigEntry, known: ResourceConfig | None) -> ConfigDetail:
    if known is None:  # a key of a plugin, of which Kafka tells nothing
        return ConfigDetail(ConfigEntry(None, entry.source, is_sensitive=True))
    if known.is_sensitive:
        entry = ConfigEntry(None, entry.source, is_sensitive=True)
    return ConfigDetail(entry, is_read_only=known.is_read_only, type=known.row.type)
