"""Quotas, credentials, configs and features: the same on every implementation of the port."""

from collections.abc import Callable, Iterator

import pytest

from kplan.cluster.port import Cluster
from kplan.cluster.request import ConfigSource
from kplan.cluster.settings import (
    ConfigDetail,
    ConfigResource,
    ConfigResourceAlteration,
    ConfigScope,
    Downgrade,
    FeatureUpdate,
    QuotaAlteration,
    QuotaEntity,
    ScramAlteration,
    ScramUser,
)
from kplan.cluster.topic import ConfigType
from kplan.model.errors import Refusal, UnreadableError
from tests.brokers import Has
from tests.capability import (
    CONFIG_NAMES,
    ERROR_CODES,
    FEATURES,
    GROUP_CONFIGS,
    KRAFT,
    SCRAM,
)
from tests.contract.clusters import alike, errors, soon

Lacking = Callable[..., Cluster]
RATE = "producer_byte_rate"


@pytest.fixture
def settled(cluster: Cluster, prefix: str, has: Has) -> Iterator[Cluster]:
    """Leave no setting of the test behind."""
    yield cluster
    own = [each for each in cluster.quotas() if prefix in f"{each}" or "<default>" in f"{each}"]
    cluster.alter_quotas(
        [QuotaAlteration(each, remove=tuple(cluster.quotas()[each])) for each in own]
    )
    if has(SCRAM):
        users = [each for each in cluster.scram_users() if each.user.startswith(prefix)]
        cluster.alter_scram_users([ScramAlteration(each) for each in users])
    for scope in (ConfigScope.GROUP, ConfigScope.CLIENT_METRICS):
        names = [each for each in cluster.config_names(scope) or () if each.startswith(prefix)]
        resources = [ConfigResource(scope, each) for each in names]
        cluster.alter_configs(
            [
                ConfigResourceAlteration(each, delete=tuple(own_values(cluster, each)))
                for each in resources
            ]
        )


def own_values(cluster: Cluster, resource: ConfigResource) -> dict[str, str | None]:
    """Give what is set for the resource itself."""
    found = details(cluster, resource)
    own = {
        ConfigScope.BROKER: ConfigSource.DYNAMIC_BROKER
        if resource.name
        else ConfigSource.DYNAMIC_DEFAULT_BROKER,
        ConfigScope.GROUP: ConfigSource.GROUP,
        ConfigScope.CLIENT_METRICS: ConfigSource.CLIENT_METRICS,
    }[resource.scope]
    return {key: each.entry.value for key, each in found.items() if each.entry.source is own}


def details(cluster: Cluster, resource: ConfigResource) -> dict[str, ConfigDetail]:
    found = cluster.configs([resource])[resource]
    assert not isinstance(found, Refusal), found
    return dict(found)


# Quotas.


def test_quotas_of_every_shape_are_set_listed_and_removed(settled: Cluster, prefix: str) -> None:
    """S27, KIP-546, KIP-612."""
    user, client = f"{prefix}u|ser", f"{prefix}client"
    entities = [
        QuotaEntity(user=user),
        QuotaEntity(user=""),
        QuotaEntity(client_id=client),
        QuotaEntity(client_id=""),
        QuotaEntity(user=user, client_id=client),
        QuotaEntity(user=user, client_id=""),
        QuotaEntity(user="", client_id=client),
        QuotaEntity(user="", client_id=""),
    ]
    values = {RATE: 1000.0, "consumer_byte_rate": 2e9, "request_percentage": 12.5}
    specs = [QuotaAlteration(each, values) for each in entities]
    assert settled.alter_quotas(specs, validate_only=True) == dict.fromkeys(entities)
    assert not set(entities) & settled.quotas().keys(), "validated only"
    assert settled.alter_quotas(specs) == dict.fromkeys(entities)
    soon(lambda: all(settled.quotas(broker=1).get(each) == values for each in entities))
    change = [QuotaAlteration(each, {RATE: 7.0}, ("request_percentage",)) for each in entities]
    assert settled.alter_quotas(change) == dict.fromkeys(entities)
    soon(lambda: settled.quotas().get(entities[5]) == {RATE: 7.0, "consumer_byte_rate": 2e9})
    gone = [QuotaAlteration(each, remove=(RATE, "consumer_byte_rate")) for each in entities]
    assert settled.alter_quotas(gone) == dict.fromkeys(entities)
    soon(lambda: not set(entities) & settled.quotas().keys())
    assert settled.alter_quotas(gone) == dict.fromkeys(entities), "removing what is not there"


def test_an_address_has_a_quota_of_its_own_kind(settled: Cluster) -> None:
    one, every = QuotaEntity(ip="10.1.2.3"), QuotaEntity(ip="")
    specs = [QuotaAlteration(each, {"connection_creation_rate": 5.0}) for each in (one, every)]
    assert settled.alter_quotas(specs) == {one: None, every: None}
    soon(lambda: settled.quotas().get(one) == {"connection_creation_rate": 5.0})
    drop = [QuotaAlteration(each, remove=("connection_creation_rate",)) for each in (one, every)]
    assert settled.alter_quotas(drop) == {one: None, every: None}
    soon(lambda: not {one, every} & settled.quotas().keys())


def test_a_bad_quota_fails_alone(settled: Cluster, prefix: str, has: Has) -> None:
    good = QuotaEntity(user=f"{prefix}good")
    bad = {
        QuotaEntity(user=f"{prefix}key"): {"connection_creation_rate": 1.0},
        QuotaEntity(user=f"{prefix}unknown"): {"no_such_rate": 1.0},
        QuotaEntity(user=f"{prefix}zero"): {RATE: 0.0},
        QuotaEntity(user=f"{prefix}less"): {RATE: -1.0},
        QuotaEntity(user=f"{prefix}part"): {RATE: 1.5},
        QuotaEntity(): {RATE: 1.0},
        QuotaEntity(user=f"{prefix}both", ip="10.1.2.3"): {RATE: 1.0},
    }
    if not has(ERROR_CODES):  # older releases take a rate of zero
        del bad[QuotaEntity(user=f"{prefix}zero")]
    specs = [QuotaAlteration(good, {RATE: 1.0})]
    specs += [QuotaAlteration(each, values) for each, values in bad.items()]
    wanted = {good: "ok", **dict.fromkeys(bad, "INVALID_REQUEST")}
    assert errors(settled.alter_quotas(specs, validate_only=True)) == wanted
    assert errors(settled.alter_quotas(specs)) == wanted
    soon(lambda: good in settled.quotas())


# Credentials.


@pytest.mark.needs(SCRAM)
def test_credentials_are_set_listed_and_deleted(settled: Cluster, prefix: str) -> None:
    """S27, KIP-554."""
    names = [
        ScramUser(f"{prefix}alice", "SCRAM-SHA-256"),
        ScramUser(f"{prefix}alice", "SCRAM-SHA-512"),
        ScramUser(f"{prefix}bob, b=1", "SCRAM-SHA-512"),
    ]
    specs = [ScramAlteration(each, 4096 + number, "x") for number, each in enumerate(names)]
    assert settled.alter_scram_users(specs) == dict.fromkeys(names)
    soon(lambda: [settled.scram_users(broker=1).get(each) for each in names] == [4096, 4097, 4098])
    assert settled.alter_scram_users([ScramAlteration(names[0], 16384, "y")]) == {names[0]: None}
    soon(lambda: settled.scram_users()[names[0]] == 16384)
    assert settled.alter_scram_users([ScramAlteration(names[1])]) == {names[1]: None}
    soon(lambda: names[1] not in settled.scram_users())
    assert settled.scram_users()[names[0]] == 16384


@pytest.mark.needs(SCRAM)
def test_a_bad_credential_fails_alone(settled: Cluster, prefix: str) -> None:
    sha = "SCRAM-SHA-256"
    good = ScramUser(f"{prefix}good", sha)
    wanted = {
        good: "ok",
        ScramUser(f"{prefix}few", sha): "UNACCEPTABLE_CREDENTIAL",
        ScramUser(f"{prefix}few", "SCRAM-SHA-512"): "ok",
        ScramUser(f"{prefix}many", sha): "UNACCEPTABLE_CREDENTIAL",
        ScramUser("", sha): "UNACCEPTABLE_CREDENTIAL",
        ScramUser(f"{prefix}gone", sha): "RESOURCE_NOT_FOUND",
    }
    specs = [
        ScramAlteration(good, 4096, "x"),
        ScramAlteration(ScramUser(f"{prefix}few", sha), 4095, "x"),
        ScramAlteration(ScramUser(f"{prefix}few", "SCRAM-SHA-512"), 4096, "x"),
        ScramAlteration(ScramUser(f"{prefix}many", sha), 16385, "x"),
        ScramAlteration(ScramUser("", sha), 4096, "x"),
        ScramAlteration(ScramUser(f"{prefix}gone", sha)),
    ]
    assert errors(settled.alter_scram_users(specs)) == wanted
    soon(lambda: good in settled.scram_users())


# Configs.


def test_configs_of_brokers_are_told_with_type_and_source(settled: Cluster, has: Has) -> None:
    """S26, K919-15, KIP-226, KIP-569."""
    one, every = ConfigResource(ConfigScope.BROKER, "1"), ConfigResource(ConfigScope.BROKER, "")
    found = details(settled, one)
    own_id = found["node.id" if has(KRAFT) else "broker.id"]
    assert (own_id.entry.value, own_id.is_read_only) == ("1", True)
    assert found["log.cleaner.threads"].type is ConfigType.INT
    assert not found["log.cleaner.threads"].is_read_only
    assert found["ssl.keystore.password"].entry.is_sensitive
    assert found["ssl.keystore.password"].entry.value is None
    was = own_values(settled, every)
    sets = [
        ConfigResourceAlteration(one, {"log.cleaner.threads": "2", "background.threads": "12"}),
        ConfigResourceAlteration(every, {"max.connections": "1000", "background.threads": "11"}),
    ]
    assert settled.alter_configs(sets, validate_only=True) == {one: None, every: None}
    assert own_values(settled, one) == {}, "validated only"
    assert settled.alter_configs(sets) == {one: None, every: None}
    soon(lambda: own_values(settled, one) == sets[0].set)
    soon(lambda: own_values(settled, every) == {**was, **sets[1].set})
    found = details(settled, one)
    assert found["background.threads"].entry.value == "12"
    assert found["max.connections"].entry.source is ConfigSource.DYNAMIC_DEFAULT_BROKER
    drop = [ConfigResourceAlteration(each.resource, delete=tuple(each.set)) for each in sets]
    assert settled.alter_configs(drop) == {one: None, every: None}
    soon(lambda: own_values(settled, one) == {} and own_values(settled, every) == was)


def test_what_a_broker_does_not_take_is_refused(settled: Cluster, prefix: str, has: Has) -> None:
    one, every = ConfigResource(ConfigScope.BROKER, "1"), ConfigResource(ConfigScope.BROKER, "")
    group = ConfigResource(ConfigScope.GROUP, f"{prefix}g")
    metrics = ConfigResource(ConfigScope.CLIENT_METRICS, f"{prefix}m")
    fixed = settled.alter_configs(
        [ConfigResourceAlteration(one, {"node.id" if has(KRAFT) else "broker.id": "7"})],
        validate_only=True,
    )
    assert errors(fixed) == {one: "INVALID_REQUEST"}
    typed = [
        ConfigResourceAlteration(every, {"log.cleaner.threads": "many"}),
        ConfigResourceAlteration(group, {"consumer.session.timeout.ms": "soon"}),
        ConfigResourceAlteration(metrics, {"interval.ms": "often"}),
    ]
    answers = settled.alter_configs(typed, validate_only=True)
    assert all(isinstance(each, Refusal) for each in answers.values())
    assert len(answers) == 3
    away = ConfigResource(ConfigScope.BROKER, "99")
    both = settled.configs([one, away])
    assert errors(both) == {one: "ok", away: "CLIENT_DISCONNECTED"}, "K117-08"
    assert isinstance(
        settled.alter_configs([ConfigResourceAlteration(away, {"a": "b"})])[away], Refusal
    )


@pytest.mark.needs(GROUP_CONFIGS, CONFIG_NAMES)
def test_groups_and_metrics_subscriptions_have_configs(settled: Cluster, prefix: str) -> None:
    """KIP-714, KIP-848, KIP-1142."""
    values = {
        ConfigResource(ConfigScope.GROUP, f"{prefix}g"): {"consumer.session.timeout.ms": "50000"},
        ConfigResource(ConfigScope.CLIENT_METRICS, f"{prefix}m"): {
            "interval.ms": "60000",
            "metrics": "org.apache.kafka.consumer.",
        },
    }
    assert all(own_values(settled, each) == {} for each in values)
    specs = [ConfigResourceAlteration(each, config) for each, config in values.items()]
    assert settled.alter_configs(specs) == dict.fromkeys(values)
    for resource, config in values.items():
        soon(lambda each=resource, held=config: own_values(settled, each) == held)  # type: ignore[misc] # bound now
        soon(lambda each=resource: each.name in (settled.config_names(each.scope) or ()))  # type: ignore[misc]
    drop = [ConfigResourceAlteration(each, delete=tuple(config)) for each, config in values.items()]
    assert settled.alter_configs(drop) == dict.fromkeys(values)
    for resource in values:
        soon(lambda each=resource: each.name not in (settled.config_names(each.scope) or ()))  # type: ignore[misc]


# Features.


@pytest.mark.needs(FEATURES, GROUP_CONFIGS)
def test_features_are_told_and_updated(cluster: Cluster) -> None:
    """S25, K919-20, K117-17."""
    found = cluster.versions(broker=1)
    assert found.release
    assert found.apis["CreateTopics"][1] >= 7
    lowest, highest = found.supported["metadata.version"]
    level = found.finalized["metadata.version"]
    assert lowest <= level <= highest
    assert found.supported["group.version"][0] == 0
    again = FeatureUpdate("metadata.version", level)
    assert cluster.update_features([again], validate_only=True) == {"metadata.version": None}
    bad = [
        FeatureUpdate("no.such.feature", 1),
        FeatureUpdate("metadata.version", highest + 100),
        FeatureUpdate("group.version", 0),
    ]
    refused = cluster.update_features(bad, validate_only=True)
    assert [each and each.error for each in refused.values()] == ["INVALID_UPDATE_VERSION"] * 3
    assert cluster.versions().finalized == found.finalized
    down = FeatureUpdate("group.version", 0, Downgrade.SAFE)
    assert cluster.update_features([down], validate_only=True) == {"group.version": None}


# Rights.


@pytest.mark.needs(GROUP_CONFIGS, CONFIG_NAMES)
def test_without_rights_on_the_cluster_settings_are_unread_and_refused(
    lacking: Lacking, prefix: str
) -> None:
    """P5: asking for credentials without the right must not end anything."""
    sorts = ("DESCRIBE", "ALTER", "DESCRIBE_CONFIGS", "ALTER_CONFIGS")
    us = lacking(*((each, sort) for each in sorts for sort in ("CLUSTER", "GROUP")))
    reads: dict[Callable[[], object], str] = {
        us.quotas: "DESCRIBE_CONFIGS",
        us.scram_users: "DESCRIBE",
        lambda: us.config_names(ConfigScope.CLIENT_METRICS): "DESCRIBE_CONFIGS",
    }
    for read, right in reads.items():
        with pytest.raises(UnreadableError, match=f"needs {right} on CLUSTER"):
            read()
    denied = "CLUSTER_AUTHORIZATION_FAILED"
    entity, user = QuotaEntity(user=f"{prefix}u"), ScramUser(f"{prefix}u", "SCRAM-SHA-256")
    broker, group = ConfigResource(ConfigScope.BROKER, ""), ConfigResource(ConfigScope.GROUP, "g")
    assert errors(us.alter_quotas([QuotaAlteration(entity, {RATE: 1.0})])) == {entity: denied}
    assert errors(us.alter_scram_users([ScramAlteration(user, 4096, "x")])) == {user: denied}
    wanted = {broker: denied, group: "GROUP_AUTHORIZATION_FAILED"}
    assert errors(us.configs([broker, group])) == wanted
    sets = [
        ConfigResourceAlteration(broker, {"background.threads": "11"}),
        ConfigResourceAlteration(group, {"consumer.session.timeout.ms": "50000"}),
    ]
    assert errors(us.alter_configs(sets)) == wanted
    update = FeatureUpdate("group.version", 1)
    assert errors(us.update_features([update])) == {"group.version": denied}


@pytest.mark.needs(FEATURES)
def test_a_modern_cluster_lacks_nothing(cluster: Cluster) -> None:
    """K117-21."""
    assert cluster.missing_apis(["topics", "alter_quotas", "update_features", "describe"]) == {}


def test_loggers_of_a_node_are_read_set_and_reset(cluster: Cluster, has: Has) -> None:
    """KIP-412: an unknown logger refuses all of the node."""
    name = "kafka.authorizer.logger"
    node = ConfigResource(ConfigScope.LOGGER, "1")

    def level() -> str | None:
        found = cluster.configs([node])[node]
        assert not isinstance(found, Refusal)
        return found[name].entry.value

    before = level()
    odd = ConfigResourceAlteration(node, {name: "TRACE", "no.such.logger": "INFO"})
    exact, refused = has(ERROR_CODES), {node: "INVALID_CONFIG"}
    assert alike(errors(cluster.alter_configs([odd])), refused, exact=exact)
    assert level() == before
    loud = ConfigResourceAlteration(node, {name: "LOUD"})
    assert alike(errors(cluster.alter_configs([loud])), refused, exact=exact)
    fine = ConfigResourceAlteration(node, {name: "TRACE"})
    assert errors(cluster.alter_configs([fine], validate_only=True)) == {node: "ok"}
    assert level() == before
    assert errors(cluster.alter_configs([fine])) == {node: "ok"}
    soon(lambda: level() == "TRACE")
    assert errors(cluster.alter_configs([ConfigResourceAlteration(node, delete=(name,))])) == {
        node: "ok"
    }
    soon(lambda: level() != "TRACE")


def test_a_logger_is_set_to_the_level_that_it_has_from_root_while_root_changes(
    cluster: Cluster,
) -> None:
    """A broker with log4j 2 ignores the level if root does not change before."""
    name, other = "kafka.request.logger", "kafka.authorizer.logger"
    node = ConfigResource(ConfigScope.LOGGER, "1")

    def levels() -> list[str | None]:
        found = cluster.configs([node])[node]
        assert not isinstance(found, Refusal)
        return [found[each].entry.value for each in (name, other)]

    cluster.alter_configs([ConfigResourceAlteration(node, delete=(name, other))])
    cluster.alter_configs([ConfigResourceAlteration(node, {"root": "INFO"})])
    soon(lambda: levels() == ["INFO", "INFO"])
    wanted = ConfigResourceAlteration(node, {name: "INFO", "root": "WARN"})
    try:
        assert errors(cluster.alter_configs([wanted])) == {node: "ok"}
        soon(lambda: levels() == ["INFO", "WARN"])
    finally:
        cluster.alter_configs([ConfigResourceAlteration(node, {"root": "INFO"})])
        cluster.alter_configs([ConfigResourceAlteration(node, delete=(name,))])
