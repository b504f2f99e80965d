"""How the authorizer of the brokers is set, as far as they show it."""

from collections.abc import Mapping, Sequence

from kplan.cluster.port import Cluster
from kplan.cluster.settings import ConfigDetail, ConfigResource, ConfigScope
from kplan.model.dataclass import dataclass
from kplan.model.errors import ClusterError, Refusal
from kplan.model.state import Broker

_SUPER_USERS = "super.users"
_ALLOW_EVERYONE = "allow.everyone.if.no.acl.found"


@dataclass(frozen=True, slots=True)
class AuthorizerSettings:
    """Who is asked for nothing, and whether what has no ACL is open to everyone; None: unknown."""

    super_users: frozenset[str] | None = None
    allow_everyone: bool | None = None


def read_authorizer_settings(cluster: Cluster, brokers: Sequence[Broker]) -> AuthorizerSettings:
    """Ask one of the brokers for its settings.

    Brokers show which keys are set, but not to what: they take every key that is not theirs for a
    secret. A key that is not set has Kafka's default.
    """
    if not brokers:
        return AuthorizerSettings()
    asked = ConfigResource(ConfigScope.BROKER, str(min(each.id for each in brokers)))
    try:
        found = cluster.configs([asked]).get(asked)
    except ClusterError:
        return AuthorizerSettings()
    if found is None or isinstance(found, Refusal):
        return AuthorizerSettings()
    users, everyone = _value(found, _SUPER_USERS, ""), _value(found, _ALLOW_EVERYONE, "false")
    return AuthorizerSettings(
        None
        if users is None
        else frozenset(each.strip() for each in users.split(";") if each.strip()),
        None if everyone is None else everyone.strip().lower() == "true",
    )


def _value(found: Mapping[str, ConfigDetail], key: str, default: str) -> str | None:
    """Return the value of a key; None where the broker keeps it to itself."""
    return found[key].entry.value if key in found else default
