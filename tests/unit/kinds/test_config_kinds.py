"""Configs of brokers, groups and metrics subscriptions between declaration, cluster and plan."""

from dataclasses import replace

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.settings import ConfigResource, ConfigResourceAlteration, ConfigScope
from kplan.kinds.broker_config import BROKER_CONFIG, BrokerConfig
from kplan.kinds.logger import LoggerKind
from kplan.kinds.named_config import CLIENT_METRICS, GROUP_CONFIG, ClientMetrics, GroupConfig
from kplan.kinds.schema import to_stored_document
from kplan.model.codes import SUMMARIES
from kplan.model.errors import Refusal, UnreadableError, UnsupportedError
from kplan.model.plan import Action, Change
from kplan.model.resource import Identity
from tests.values import address

EVERY, ONE = ConfigResource(ConfigScope.BROKER, ""), ConfigResource(ConfigScope.BROKER, "1")
GROUP = ConfigResource(ConfigScope.GROUP, "g")
TRUSTED = "listener.name.tls.ssl.truststore.certificates"
CHAIN = "ssl.keystore.certificate.chain"
TIMEOUT, PASSWORD = "consumer.session.timeout.ms", "ssl.keystore.password"


def cluster_with(**given: dict[str, str]) -> MemoryCluster:
    """Set configs of all brokers, of broker 1, and of a group."""
    places = {"every": EVERY, "one": ONE, "group": GROUP}
    cluster = MemoryCluster()
    cluster.seed_settings(
        configs=[ConfigResourceAlteration(places[name], given[name]) for name in given]
    )
    return cluster


def broker(config: dict[str, str] | None = None, **given: object) -> BrokerConfig:
    return BROKER_CONFIG.normalize(BrokerConfig(config=config or {}, **given))  # type: ignore[arg-type]


def change(before: object, after: object, action: Action) -> Change:
    kind = BROKER_CONFIG if isinstance(after or before, BrokerConfig) else GROUP_CONFIG
    name = kind.identify(after or before)
    return Change(address(f"{kind.name}.a"), kind.name, name, action, before, after)


# Names with configs.


def test_a_group_is_made_changed_and_removed() -> None:
    cluster = MemoryCluster()
    first = GroupConfig("g", {TIMEOUT: "50000"})
    second = GroupConfig("g", {"consumer.heartbeat.interval.ms": "6000"})
    for before, after, action in (
        (None, first, Action.CREATE),
        (first, second, Action.UPDATE),
        (second, None, Action.DELETE),
    ):
        each = change(before, after, action)
        (step,) = GROUP_CONFIG.steps(each)
        assert GROUP_CONFIG.validate(cluster, step, [each]) == {"g": {}}
        assert not GROUP_CONFIG.is_done(step, each, GROUP_CONFIG.read(cluster, ["g"]))  # type: ignore[list-item]
        assert GROUP_CONFIG.apply(cluster, step, [each]) == {"g": None}
        reading = GROUP_CONFIG.read(cluster, [each.identity])
        assert [live.value for live in reading.objects.values()] == ([after] if after else [])
        assert GROUP_CONFIG.is_done(step, each, reading)
        assert GROUP_CONFIG.find_visible(cluster, 1, [each]) == {"g": ""}


def test_another_name_is_another_group() -> None:
    cluster = cluster_with(group={TIMEOUT: "50000"})
    swap = change(
        GroupConfig("g", {TIMEOUT: "50000"}), GroupConfig("h", {TIMEOUT: "51000"}), Action.REPLACE
    )
    for step in GROUP_CONFIG.steps(swap):
        assert GROUP_CONFIG.apply(cluster, step, [swap]) == {"h": None}
    assert cluster.config_names(ConfigScope.GROUP) == frozenset({"h"})
    assert GROUP_CONFIG.find_visible(cluster, 1, [swap]) == {"h": ""}


def test_a_cluster_that_cannot_list_is_asked_for_what_is_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """KIP-1142 came with Kafka 4.1."""
    cluster = cluster_with(group={TIMEOUT: "50000"})
    monkeypatch.setattr(cluster, "config_names", lambda _: None)
    assert GROUP_CONFIG.read(cluster, []).objects == {}
    assert [*GROUP_CONFIG.read(cluster, ["g"]).objects] == ["g"]  # type: ignore[list-item]


def test_what_may_not_be_read_is_hidden_or_unread() -> None:
    cluster = cluster_with(group={TIMEOUT: "50000"})
    cluster.deny_operation("DESCRIBE_CONFIGS", "GROUP")
    assert GROUP_CONFIG.read(cluster, []).hidden["g"].error == "GROUP_AUTHORIZATION_FAILED"  # type: ignore[index]
    cluster.deny_operation("DESCRIBE_CONFIGS", "CLUSTER")
    with pytest.raises(UnreadableError):
        CLIENT_METRICS.read(cluster, [])


def test_a_cluster_without_configs_of_groups_is_told_from_one_that_hides_them() -> None:
    """K117-21: Kafka 3.9 answers INVALID_REQUEST (measured)."""
    cluster = MemoryCluster()
    cluster.refuse("INVALID_REQUEST", call="configs")
    with pytest.raises(UnsupportedError, match=r"no configs of groups.*since 4\.0"):
        GROUP_CONFIG.read(cluster, ["g"])  # type: ignore[list-item]
    with pytest.raises(UnsupportedError, match=r"no metrics subscriptions.*since 3\.7"):
        CLIENT_METRICS.read(cluster, ["m"])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (GroupConfig("", {TIMEOUT: "50000"}), ("group_id",)),
        (GroupConfig("g"), ("config",)),
        (GroupConfig("g", {TIMEOUT: "soon"}), ("config", TIMEOUT)),
        (ClientMetrics("m", {"interval.ms": "5"}), ("config", "interval.ms")),
    ],
)
def test_what_is_known_to_be_wrong_is_told_without_a_cluster(
    value: GroupConfig | ClientMetrics, path: tuple[str, ...]
) -> None:
    kind = GROUP_CONFIG if isinstance(value, GroupConfig) else CLIENT_METRICS
    (problem,) = kind.check(value)
    assert (problem.code, problem.path) == ("KP226", path)
    assert problem.code in SUMMARIES


# Brokers.


def test_brokers_and_all_of_them_are_read_without_throttles() -> None:
    """Section 3 of issue 8: a throttle of a reassignment is never drift."""
    cluster = cluster_with(
        every={"background.threads": "9"},
        one={"leader.replication.throttled.rate": "5", "log.cleaner.threads": "2"},
    )
    found = BROKER_CONFIG.read(cluster, [])
    assert {name: live.value.config for name, live in found.objects.items()} == {  # type: ignore[attr-defined]
        "<default>": {"background.threads": "9"},
        "1": {"log.cleaner.threads": "2"},
    }
    assert found.hidden == {}


def test_a_broker_that_is_down_is_hidden_and_not_empty() -> None:
    """Design law 2, S04: a dead broker makes no drift."""
    cluster = cluster_with(one={"log.cleaner.threads": "2"})
    cluster.stop_brokers(1)
    found = BROKER_CONFIG.read(cluster, ["1", "9"])  # type: ignore[list-item]
    assert {name: each.error for name, each in found.hidden.items()} == {
        "1": "CLIENT_DISCONNECTED",
        "9": "CLIENT_DISCONNECTED",
    }


@pytest.mark.parametrize("name", ["abc", "-1", "01", "1 ", "", "1²", "2147483648"])
def test_what_is_no_id_of_a_broker_names_no_object(name: str) -> None:
    """As in kplan import: no node can be asked about it."""
    cluster = cluster_with(one={"log.cleaner.threads": "2"})
    found = BROKER_CONFIG.read(cluster, [Identity(name)])
    assert found.objects.keys() == {"1"}
    assert found.hidden == {}
    reading = LoggerKind().read(cluster, [Identity(f"{name}|root"), Identity(name)])
    assert (reading.objects, reading.hidden) == ({}, {})
    calls = [call for call in cluster.calls if call.method == "configs"]
    asked = {item.name for call in calls for item in call.items if isinstance(item, ConfigResource)}
    assert asked == {"", "1", "2", "3"}


def test_keys_of_others_are_left_as_they_are() -> None:
    live = broker({"a": "1", "b": "2", "c": "3"})
    before, after = BROKER_CONFIG.align(live, broker({"a": "5"}))
    assert (before.config, after.config) == ({"a": "1"}, {"a": "5"})
    known = BROKER_CONFIG.fill_from_state(live, broker({"a": "1", "b": "2"}))
    before, after = BROKER_CONFIG.align(known, broker({"a": "5"}))
    assert (before.config, after.config) == ({"a": "1", "b": "2"}, {"a": "5"}), "b was ours"
    before, after = BROKER_CONFIG.align(known, broker({"a": "5"}), [()])
    assert before == after


def test_a_secret_is_set_known_and_removed_without_being_told() -> None:
    """Design law 11: sensitive values are never printed."""
    cluster = cluster_with(every={"background.threads": "9"})
    wanted = broker({"background.threads": "9"}, sensitive_config={PASSWORD: "hunter2"})
    assert "hunter2" not in f"{wanted!r} {to_stored_document(wanted)}"
    (live,) = BROKER_CONFIG.read(cluster, []).objects.values()
    before, after = BROKER_CONFIG.align(live.value, wanted)  # type: ignore[arg-type]
    update = change(before, after, Action.UPDATE)
    (step,) = BROKER_CONFIG.steps(update)
    assert BROKER_CONFIG.alteration(step, update).set == {PASSWORD: "hunter2"}
    assert BROKER_CONFIG.apply(cluster, step, [update]) == {"<default>": None}
    assert BROKER_CONFIG.find_visible(cluster, 2, [update]) == {"<default>": ""}
    reading = BROKER_CONFIG.read(cluster, [])
    assert BROKER_CONFIG.is_done(step, update, reading)
    held = reading.objects[update.identity].value
    assert "hunter2" not in f"{held}"
    known = BROKER_CONFIG.fill_from_state(held, wanted)  # type: ignore[arg-type]
    before, after = BROKER_CONFIG.align(known, wanted)
    assert before == after
    other = broker({"background.threads": "9"}, sensitive_config={PASSWORD: "hunter3"})
    rotated = change(*BROKER_CONFIG.align(known, other), Action.UPDATE)
    assert BROKER_CONFIG.alteration(step, rotated).set == {PASSWORD: "hunter3"}
    assert not BROKER_CONFIG.is_done(step, rotated, reading), "that does not show"
    gone = change(*BROKER_CONFIG.align(known, broker({"background.threads": "9"})), Action.UPDATE)
    assert BROKER_CONFIG.alteration(step, gone).delete == (PASSWORD,)


def test_a_secret_that_is_not_the_planned_one_is_not_sent() -> None:
    cluster = MemoryCluster()
    wanted = broker(sensitive_config={PASSWORD: "hunter2"})
    for value in (
        replace(wanted, sensitive_config={}),
        replace(wanted, sensitive_config={PASSWORD: "x"}),
    ):
        create = change(None, value, Action.CREATE)
        (refused,) = BROKER_CONFIG.apply(cluster, BROKER_CONFIG.steps(create)[0], [create]).values()
        assert isinstance(refused, Refusal)
        assert refused.error == "CLIENT_SECRET_DIFFERS"
    assert cluster.configs([EVERY])[EVERY] == {}


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"node.id": "7"}, "read-only: set it in the broker's server.properties"),
        ({"log.cleaner.threads": "two"}, "(INT)"),
        ({"log.cleaner.thread": "2"}, "Did you mean log.cleaner.threads?"),
        ({"quite.something.else": "2"}, "stored and never used."),
    ],
)
@pytest.mark.parametrize("broker_id", [1, None])
def test_a_broker_tells_which_keys_and_values_it_has(
    config: dict[str, str], words: str, broker_id: int | None
) -> None:
    create = change(None, broker(config, broker_id=broker_id), Action.CREATE)
    (refused,) = BROKER_CONFIG.validate(
        MemoryCluster(), BROKER_CONFIG.steps(create)[0], [create]
    ).values()
    assert isinstance(refused, Refusal)
    assert words in refused.message


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"config": {"listener.name.tls.ssl.keystore.password": "hunter2"}},
            "is a secret: declare it in sensitive_config",
        ),
        (
            {"sensitive_config": {"listener.name.tls.max.connections": "5"}},
            "is no secret to Kafka, which shows it: declare it in config",
        ),
    ],
)
def test_a_key_of_a_listener_is_a_secret_where_the_plain_key_is_one(
    given: dict[str, dict[str, str]], words: str
) -> None:
    """Else what is live would be in the other map, and every later plan a change."""
    create = change(None, broker(broker_id=1, **given), Action.CREATE)
    (refused,) = BROKER_CONFIG.validate(
        MemoryCluster(), BROKER_CONFIG.steps(create)[0], [create]
    ).values()
    assert isinstance(refused, Refusal)
    assert words in refused.message
    assert "hunter2" not in refused.message


@pytest.mark.parametrize("declared", ["config", "sensitive_config"])
def test_no_key_is_both_set_and_removed(declared: str) -> None:
    """A key that comes to be a secret, or to be none: Kafka refuses the request."""
    both = {"config": broker({"a": "1"}), "sensitive_config": broker(sensitive_config={"a": "1"})}
    after = both.pop(declared)
    (before,) = both.values()
    update = change(before, after, Action.UPDATE)
    sent = BROKER_CONFIG.alteration(BROKER_CONFIG.steps(update)[0], update)
    assert (dict(sent.set), sent.delete) == ({"a": "1"}, ())


def test_what_a_broker_takes_is_asked_of_it() -> None:
    cluster = cluster_with(one={"log.cleaner.threads": "2"})
    keys = {"log.cleaner.threads": "3", "listener.name.sasl.ssl.keystore.type": "PEM"}
    update = change(
        broker({"log.cleaner.threads": "2"}, broker_id=1), broker(keys, broker_id=1), Action.UPDATE
    )
    (step,) = BROKER_CONFIG.steps(update)
    assert BROKER_CONFIG.validate(cluster, step, [update]) == {"1": {}}
    assert BROKER_CONFIG.record_count(step, update) == 2
    cluster.stop_brokers(1)
    (silent,) = BROKER_CONFIG.validate(cluster, step, [update]).values()
    assert isinstance(silent, Refusal)
    assert silent.error == "CLIENT_DISCONNECTED"


def test_only_the_broker_itself_serves_its_config() -> None:
    cluster = cluster_with(one={"log.cleaner.threads": "2"})
    done = change(None, broker({"log.cleaner.threads": "2"}, broker_id=1), Action.CREATE)
    assert BROKER_CONFIG.find_visible(cluster, 3, [done]) == {"1": ""}
    delete = change(done.after, None, Action.DELETE)
    assert BROKER_CONFIG.find_visible(cluster, 3, [delete]) == {}
    assert BROKER_CONFIG.apply(cluster, BROKER_CONFIG.steps(delete)[0], [delete]) == {"1": None}
    assert BROKER_CONFIG.find_visible(cluster, 3, [delete]) == {"1": ""}


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (BrokerConfig(), ("config",)),
        (
            BrokerConfig(1, {"leader.replication.throttled.rate": "5"}),
            ("config", "leader.replication.throttled.rate"),
        ),
        (BrokerConfig(1, {PASSWORD: "hunter2"}), ("config", PASSWORD)),
        (BrokerConfig(1, {TRUSTED: "PEM"}), ("config", TRUSTED)),
        (BrokerConfig(1, {CHAIN: "PEM"}), ("config", CHAIN)),
        (BrokerConfig(1, {"a": "1"}, {"a": "2"}), ("config", "a")),
        (BrokerConfig(2**31, {"a": "1"}), ("broker_id",)),
        (BrokerConfig(-1, {"a": "1"}), ("broker_id",)),
    ],
)
def test_what_must_not_be_declared_is_told(value: BrokerConfig, path: tuple[str, ...]) -> None:
    (problem,) = BROKER_CONFIG.check(value)
    assert (problem.code, problem.path) == ("KP226", path)
    assert "hunter2" not in f"{problem}"


@pytest.mark.parametrize(
    ("key", "text", "fault"),
    [
        ("log.cleaner.threads", "-4", "at least 0"),
        ("min.insync.replicas", "0", "at least 1"),
        ("compression.lz4.level", "18", "at most 17"),
        ("log.cleaner.min.cleanable.ratio", "1.5", "at most 1"),
    ],
)
def test_a_number_out_of_the_bounds_of_brokers_is_refused_before_it_is_sent(
    key: str, text: str, fault: str
) -> None:
    """K919-06: a controller stores it, brokers ignore it, and no one would ever serve it."""
    (problem,) = BROKER_CONFIG.check(BrokerConfig(None, {key: text}))
    assert (problem.code, problem.path) == ("KP226", ("config", key))
    assert fault in problem.detail
    assert list(BROKER_CONFIG.check(BrokerConfig(None, {key: "1"}))) == []


def test_an_object_keeps_ignored_keys_that_someone_removed_when_nothing_else_is_left() -> None:
    """Without a key it would be gone, and created by the next apply."""
    live = ClientMetrics("m", {"match": "client_id=a"})
    wish = ClientMetrics("m", {"interval.ms": "60000"})
    _, after = CLIENT_METRICS.align(live, wish, [("config", "interval.ms")])
    assert after.config == {"interval.ms": "60000"}
    _, after = CLIENT_METRICS.align(
        live, replace(wish, config={**wish.config, "metrics": "x"}), [("config", "interval.ms")]
    )
    assert after.config == {"metrics": "x"}
