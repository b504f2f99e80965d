"""Quotas, SCRAM credentials, delegation tokens, configs and features of the cluster in memory."""

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from kplan.cluster.authorization import required_operation
from kplan.cluster.errors import client_refusal, refusal, remedy_for
from kplan.cluster.memory import settings_controller
from kplan.cluster.memory.faults import Call, Item
from kplan.cluster.memory.store import Contents, MemoryConnection, apply_faults
from kplan.cluster.request import ConfigEntry, ConfigSource, ItemResult
from kplan.cluster.setting_keys import ROOT_LOGGER, ResourceConfigDefinition, known_configs
from kplan.cluster.settings import (
    BROKER_DEFAULT_MS,
    SUPPORTED_FEATURES,
    ConfigDetail,
    ConfigResource,
    ConfigResourceAlteration,
    ConfigScope,
    DelegationToken,
    FeatureUpdate,
    MissingApi,
    NodeVersions,
    QuotaAlteration,
    QuotaEntity,
    ScramAlteration,
    ScramUser,
    TokenRequest,
)
from kplan.model.errors import Refusal, UnreadableError

_SETTING_METHODS = frozenset(
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
    ConfigScope.LOGGER: ConfigSource.OTHER,
    ConfigScope.CLIENT_METRICS: ConfigSource.CLIENT_METRICS,
}
_APIS = {"ApiVersions": (0, 4), "CreateTopics": (2, 7), "Metadata": (0, 13)}


class SettingRequests(MemoryConnection):
    """Serves quotas, credentials, configs and features."""

    def quotas(self, *, broker: int | None = None) -> Mapping[QuotaEntity, Mapping[str, float]]:
        """List all quotas of clients; raises UnreadableError."""
        return self._read_list(Call("quotas", broker=broker), "Quotas").quotas

    def alter_quotas(
        self, specs: Sequence[QuotaAlteration], *, validate_only: bool = False
    ) -> Mapping[QuotaEntity, ItemResult]:
        """Set and remove single quotas."""
        call = Call("alter_quotas", tuple(spec.entity for spec in specs), validate_only)
        keyed = [(spec.entity, spec) for spec in specs]
        return self._write(call, keyed, settings_controller.alter_quotas).results

    def scram_users(self, *, broker: int | None = None) -> Mapping[ScramUser, int]:
        """List the iterations of all SCRAM credentials; raises UnreadableError."""
        contents = self._read_list(Call("scram_users", broker=broker), "SCRAM credentials")
        return {name: held.iterations for name, held in contents.scram.items()}

    def alter_scram_users(self, specs: Sequence[ScramAlteration]) -> Mapping[ScramUser, ItemResult]:
        """Set and delete SCRAM credentials."""
        call = Call("alter_scram_users", tuple(spec.name for spec in specs))
        keyed = [(spec.name, spec) for spec in specs]
        return self._write(call, keyed, settings_controller.alter_scram_users).results

    def seed_settings(
        self,
        quotas: Sequence[QuotaAlteration] = (),
        users: Sequence[ScramAlteration] = (),
        configs: Sequence[ConfigResourceAlteration] = (),
    ) -> None:
        """Put settings there without a trace in the log.

        Raises:
            ValueError: the cluster refuses one of them.

        """
        contents, site = self._store.contents, self._store.setup
        first = settings_controller.alter_quotas(contents, quotas)
        second = settings_controller.alter_scram_users(first.contents, users)
        third = settings_controller.alter_configs(second.contents, site, configs)
        results = [*first.results.items(), *second.results.items(), *third.results.items()]
        for item, result in results:
            if result is not None:
                raise ValueError(f"{item}: {result}")
        self._commit(third.contents)

    def stored_password(self, name: ScramUser) -> str:
        """Return a password that was set, which no real cluster would."""
        return self._store.contents.scram[name].password

    def config_names(self, scope: ConfigScope) -> frozenset[str] | None:
        """Name all that has configs of its own in the scope; raises UnreadableError."""
        contents = self._read_list(Call("config_names"), "Configs")
        return frozenset(each.name for each in contents.configs if each.scope is scope)

    def configs(
        self, resources: Collection[ConfigResource], *, broker: int | None = None
    ) -> Mapping[ConfigResource, Mapping[str, ConfigDetail] | Refusal]:
        """Read every effective config of brokers, groups and metrics subscriptions."""
        call = Call("configs", tuple(sorted(resources)), broker=broker)
        contents, faults = self._read(call)
        found: dict[ConfigResource, Mapping[str, ConfigDetail] | Refusal] = {
            each: self._check_right(call, each) or self._effective_configs(contents, each)
            for each in sorted(resources)
        }
        return apply_faults(found, faults)

    def alter_configs(
        self, specs: Sequence[ConfigResourceAlteration], *, validate_only: bool = False
    ) -> Mapping[ConfigResource, ItemResult]:
        """Set and reset single config keys of them."""
        call = Call("alter_configs", tuple(spec.resource for spec in specs), validate_only)
        keyed = [(spec.resource, spec) for spec in specs]
        return self._write(
            call,
            keyed,
            lambda found, fine: settings_controller.alter_configs(found, self._store.setup, fine),
        ).results

    def versions(self, *, broker: int | None = None) -> NodeVersions:
        """Return the APIs and features that a broker offers."""
        contents, _ = self._read(Call("versions", broker=broker))
        finalized = {name: level for name, level in contents.features.items() if level}
        return NodeVersions(_APIS, SUPPORTED_FEATURES, dict(sorted(finalized.items())), "4.3")

    def update_features(
        self, updates: Sequence[FeatureUpdate], *, validate_only: bool = False
    ) -> Mapping[str, ItemResult]:
        """Bring features of the cluster to levels."""
        call = Call("update_features", tuple(each.name for each in updates), validate_only)
        keyed = [(each.name, each) for each in updates]
        return self._write(call, keyed, settings_controller.update_features).results

    def remove_api(self, method: str, api: str, needed: tuple[int, int]) -> None:
        """Behave as a cluster that does not support the method of the port."""
        self._lacking[method] = MissingApi(api, needed, None)

    def missing_apis(self, methods: Collection[str]) -> Mapping[str, MissingApi]:
        """Return which of these methods the cluster cannot serve."""
        return {name: self._lacking[name] for name in sorted(methods) if name in self._lacking}

    def _read_list(self, call: Call, what: str) -> Contents:
        """Read a list, which is whole or refused."""
        contents, faults = self._read(call)
        refused = faults.refused.get("") or self._check_right(call, "")
        if refused is not None:
            raise UnreadableError(f"{what} cannot be read: {refused}")
        return contents

    def _check_right(self, call: Call, item: Item) -> Refusal | None:
        if call.method not in _SETTING_METHODS:
            return super()._check_right(call, item)
        operation, sort, _ = required_operation(call.method, item)
        if (operation, sort, "*") not in self._denied:
            return None
        return refusal(30 if sort == "GROUP" else 31, self._missing_message(call, item))

    def _effective_configs(
        self, contents: Contents, resource: ConfigResource
    ) -> Mapping[str, ConfigDetail] | Refusal:
        own = contents.configs.get(resource, {})
        scope, name = resource.scope, resource.name
        site = self._store.setup
        live = {str(each.id) for each in site.brokers if each.id not in site.fenced}
        if scope is ConfigScope.LOGGER and name not in live:
            return client_refusal("CLIENT_DISCONNECTED", f"Broker {name} does not answer.")
        if scope is ConfigScope.LOGGER and ROOT_LOGGER in own:
            own = {**dict.fromkeys(known_configs(scope), own[ROOT_LOGGER]), **own}
        if scope is not ConfigScope.BROKER:
            return _merge_configs(scope, own, _SOURCES[scope], {})
        shared = contents.configs.get(ConfigResource(scope, ""), {})
        if not name:
            found = _merge_configs(scope, shared, ConfigSource.DYNAMIC_DEFAULT_BROKER, {})
            return {key: each for key, each in found.items() if key in shared}
        if name not in live:
            return client_refusal("CLIENT_DISCONNECTED", f"Broker {name} does not answer.")
        return _merge_configs(scope, own, ConfigSource.DYNAMIC_BROKER, shared)


def _merge_configs(
    scope: ConfigScope, own: Mapping[str, str], source: ConfigSource, shared: Mapping[str, str]
) -> Mapping[str, ConfigDetail]:
    """Merge the configs of one entity over those for all entities and the defaults."""
    entries = {
        key: ConfigEntry(each.definition.default, ConfigSource.DEFAULT)
        for key, each in known_configs(scope).items()
    }
    entries |= {
        key: ConfigEntry(value, ConfigSource.DYNAMIC_DEFAULT_BROKER)
        for key, value in shared.items()
    }
    entries |= {key: ConfigEntry(value, source) for key, value in own.items()}
    known = known_configs(scope)
    return {key: _config_detail(entries[key], known.get(key)) for key in sorted(entries)}


def _config_detail(entry: ConfigEntry, definition: ResourceConfigDefinition | None) -> ConfigDetail:
    if definition is None:  # a key of a plugin, of which Kafka tells nothing
        return ConfigDetail(ConfigEntry(None, entry.source, is_sensitive=True))
    if definition.is_sensitive:
        entry = ConfigEntry(None, entry.source, is_sensitive=True)
    return ConfigDetail(
        entry, is_read_only=definition.is_read_only, type=definition.definition.type
    )


ResponseT = TypeVar("ResponseT")

NOW_MS = 1_767_225_600_000
_DAY_MS = 86_400_000
_LIFETIME_MS = 7 * _DAY_MS
_DISABLED, _NOT_FOUND, _OWNER_MISMATCH, _AUTHORIZATION_FAILED = 61, 62, 63, 65


class TokenRequests(MemoryConnection):
    """Serves tokens; each ends after a day, and can be renewed for a week."""

    def disable_tokens(self) -> None:
        """Run the cluster without a secret key: it has no tokens."""
        self._store.has_tokens = False

    def delegation_tokens(self) -> tuple[DelegationToken, ...]:
        """List the tokens that we may see; raises UnreadableError."""
        _, faults = self._read(Call("delegation_tokens"))
        if refused := faults.refused.get("") or self._check_enabled():
            raise UnreadableError(
                f"Delegation tokens cannot be read: {refused}", hint=remedy_for(refused)
            )
        is_denied = ("DESCRIBE", "DELEGATION_TOKEN", "*") in self._denied
        found = sorted(self._store.tokens.values(), key=lambda token: token.id)
        return tuple(each for each in found if not is_denied or self._is_ours(each))

    def create_token(self, order: TokenRequest) -> DelegationToken | Refusal:
        """Make a token."""
        owner = order.owner or self._principal

        def make_token() -> DelegationToken | Refusal:
            if owner != self._principal and ("CREATE_TOKENS", "USER", "*") in self._denied:
                return refusal(
                    _AUTHORIZATION_FAILED, self._missing_message(Call("create_token"), owner)
                )
            number = len(self._store.tokens) + 1
            life_ms = _LIFETIME_MS if order.lifetime_ms == BROKER_DEFAULT_MS else order.lifetime_ms
            token = DelegationToken(
                f"token-{number}",
                owner,
                self._principal,
                tuple(sorted(order.renewers)),
                NOW_MS,
                NOW_MS + min(_DAY_MS, life_ms),
                NOW_MS + life_ms,
                hashlib.sha512(f"{number}".encode()).digest(),
            )
            self._store.tokens[token.id] = token
            return token

        return self._serve_token("create_token", owner, make_token)

    def renew_token(self, hmac: bytes, span_ms: int) -> int | Refusal:
        """Let a token be valid for longer."""

        def renew_token() -> int | Refusal:
            return self._set_expiry(hmac, _DAY_MS if span_ms == BROKER_DEFAULT_MS else span_ms)

        return self._serve_token("renew_token", "", renew_token)

    def expire_token(self, hmac: bytes, span_ms: int) -> int | Refusal:
        """Let a token end sooner."""

        def expire_token() -> int | Refusal:
            until = self._set_expiry(hmac, max(0, span_ms))
            if span_ms < 0 and not isinstance(until, Refusal):
                held = self._store.tokens
                self._store.tokens = {key: each for key, each in held.items() if each.hmac != hmac}
            return until

        return self._serve_token("expire_token", "", expire_token)

    def _set_expiry(self, hmac: bytes, span_ms: int) -> int | Refusal:
        token = next((each for each in self._store.tokens.values() if each.hmac == hmac), None)
        if token is None:
            return refusal(_NOT_FOUND, name="DELEGATION_TOKEN_NOT_FOUND")
        if not self._is_ours(token):
            return refusal(_OWNER_MISMATCH)
        until = min(token.max_ms, NOW_MS + span_ms)
        self._store.tokens[token.id] = replace(token, expires_ms=until)
        return until

    def _is_ours(self, token: DelegationToken) -> bool:
        return self._principal in {token.owner, *token.renewers}

    def _check_enabled(self) -> Refusal | None:
        return None if self._store.has_tokens else refusal(_DISABLED)

    def _serve_token(
        self, method: str, item: str, work: Callable[[], ResponseT]
    ) -> ResponseT | Refusal:
        """Serve a request about one token."""
        call = Call(method, (item,))
        self._record_call(call)
        with self._store.lock:
            faults = self._match_faults(call)
            if faults.lost_response is not None and not faults.is_applied:
                return faults.lost_response
            found = faults.refused.get(item) or self._check_enabled() or work()
            return faults.lost_response or found
