"""Settings over the wire: what is asked, and what is made of answers that are rare."""

import hashlib
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from kplan.cluster.settings import (
    ConfigResource,
    ConfigResourceAlteration,
    ConfigScope,
    MissingApi,
    ScramAlteration,
    ScramUser,
)
from kplan.kafka.settings.connection import Timeouts, seconds
from kplan.kafka.wire import cluster, messages
from kplan.kafka.wire.driver import WireCluster
from kplan.kafka.wire.messages import Message
from kplan.model.errors import Refusal, UnreadableError
from tests.unit.kafka.wire.fake_broker import FakeBroker, fake_broker, settings_for

ALICE = ScramUser("alice", "SCRAM-SHA-256")
GROUP = ConfigResource(ConfigScope.GROUP, "g")


@contextmanager
def connected(*lacking: int, **newest: int) -> Iterator[tuple[FakeBroker, WireCluster]]:
    patient = Timeouts(seconds(30), seconds(30))
    limits = {getattr(messages, name).key: version for name, version in newest.items()}
    with (
        fake_broker(frozenset(lacking), newest=limits) as broker,
        closing(WireCluster(settings_for(broker.endpoint, timeouts=patient))) as cluster,
    ):
        yield broker, cluster


def test_a_refused_list_is_unread_and_never_empty() -> None:
    with connected() as (broker, cluster):
        for api in (messages.DESCRIBE_QUOTAS, messages.DESCRIBE_SCRAM):
            broker.on(api, api.response(error_code=31))
        broker.on(
            messages.LIST_CONFIG_RESOURCES, messages.LIST_CONFIG_RESOURCES.response(error_code=31)
        )
        for read in (
            cluster.quotas,
            cluster.scram_users,
            lambda: cluster.config_names(GROUP.scope),
        ):
            with pytest.raises(UnreadableError, match="CLUSTER_AUTHORIZATION_FAILED"):
                read()


def test_one_user_that_cannot_be_told_leaves_the_list_unread() -> None:
    with connected() as (broker, cluster):
        answer = messages.DESCRIBE_SCRAM.response
        result = answer.DescribeUserScramCredentialsResult
        gone = result(user="bob", error_code=91)
        broker.on(
            messages.DESCRIBE_SCRAM,
            answer(results=[gone]),
            answer(results=[result(user="a", error_code=-1)]),
        )
        assert cluster.scram_users() == {}, "deleted since it was listed"
        with pytest.raises(UnreadableError):
            cluster.scram_users()


def test_a_password_is_salted_before_it_is_sent_and_each_time_anew() -> None:
    """RFC 5802: the broker learns what proves the password, and not the password."""
    with connected() as (broker, cluster):
        answer = messages.ALTER_SCRAM.response
        broker.on(
            messages.ALTER_SCRAM,
            answer(results=[answer.AlterUserScramCredentialsResult(user="alice", error_code=0)]),
        )
        for _ in range(2):
            assert cluster.alter_scram_users([ScramAlteration(ALICE, 4096, "hunter2")]) == {
                ALICE: None
            }
        first, second = (each.upsertions[0] for each in broker.requests[-2:])
    assert first.salted_password == hashlib.pbkdf2_hmac("sha256", b"hunter2", first.salt, 4096)
    assert first.salt != second.salt
    assert len(first.salt) >= 16


def test_a_mechanism_that_kafka_does_not_know_is_not_sent() -> None:
    with connected() as (broker, cluster):
        odd = ScramUser("alice", "SCRAM-MD5")
        refused = cluster.alter_scram_users([ScramAlteration(odd, 4096, "x")])[odd]
        assert isinstance(refused, Refusal)
        assert refused.error == "CLIENT_INVALID"
        assert broker.count(messages.ALTER_SCRAM) == 0


def test_a_user_that_is_left_out_of_the_answer_has_none() -> None:
    with connected() as (broker, cluster):
        broker.on(messages.ALTER_SCRAM, messages.ALTER_SCRAM.response(results=[]))
        assert cluster.alter_scram_users([ScramAlteration(ALICE)]) == {}


def test_before_kafka_4_1_groups_with_configs_cannot_be_listed() -> None:
    """KIP-1142: what version 0 lists are metrics subscriptions."""
    key = messages.LIST_CONFIG_RESOURCES.key
    with connected(LIST_CONFIG_RESOURCES=0) as (broker, cluster):
        answer = messages.LIST_CONFIG_RESOURCES.response
        broker.on(
            messages.LIST_CONFIG_RESOURCES,
            answer(config_resources=[answer.ConfigResource(resource_name="m")]),
        )
        assert cluster.config_names(ConfigScope.GROUP) is None
        assert cluster.config_names(ConfigScope.CLIENT_METRICS) == frozenset({"m"})
    with connected(key) as (_, cluster):
        assert cluster.config_names(ConfigScope.CLIENT_METRICS) is None


def test_a_broker_that_is_away_is_refused_alone() -> None:
    """K117-08."""
    away = ConfigResource(ConfigScope.BROKER, "9")
    with connected() as (broker, cluster):
        answer = messages.DESCRIBE_CONFIGS.response
        told = answer.DescribeConfigsResult(resource_type=32, resource_name="g", configs=[])
        broker.on(messages.DESCRIBE_CONFIGS, answer(results=[told]))
        found = cluster.configs([away, GROUP])
        assert found[GROUP] == {}
        assert isinstance(found[away], Refusal)
        refused = cluster.alter_configs([ConfigResourceAlteration(away, {"a": "1"})])[away]
        assert isinstance(refused, Refusal)
        assert "Nothing was sent." in refused.message


def test_what_a_cluster_lacks_is_told_with_what_is_needed_and_offered() -> None:
    """K117-21."""
    with connected(messages.ALTER_QUOTAS.key, UPDATE_FEATURES=0) as (_, cluster):
        found = cluster.missing_apis(["alter_quotas", "update_features", "topics", "describe"])
    assert found == {
        "alter_quotas": MissingApi("AlterClientQuotas", (0, 1), None),
        "update_features": MissingApi("UpdateFeatures", (1, 2), (0, 0)),
    }
    assert [str(each) for each in found.values()] == [
        (
            "kplan needs AlterClientQuotas in versions 0 to 1; the cluster offers none. "
            "Kafka has AlterClientQuotas since 2.6 (KIP-546)"
        ),
        (
            "kplan needs UpdateFeatures in versions 1 to 2; the cluster offers version 0. "
            "Kafka has UpdateFeatures with levels since 3.3 (KIP-584, KIP-778)"
        ),
    ]


@pytest.mark.parametrize(("level", "is_lacking"), [(8, True), (11, False), (None, False)])
def test_an_api_that_an_old_metadata_version_refuses_is_lacking(
    level: int | None, *, is_lacking: bool
) -> None:
    """K117-21, KIP-900: brokers offer the API nevertheless."""
    with connected() as (broker, cluster):
        offers = broker.script[messages.API_VERSIONS.key]

        def leveled(request: Message) -> Message:
            answer: Message = offers(request)
            if level is not None:
                row = answer.FinalizedFeatureKey(
                    name="metadata.version", max_version_level=level, min_version_level=level
                )
                answer.finalized_features = [row]
            return answer

        broker.script[messages.API_VERSIONS.key] = leveled
        found = cluster.missing_apis(["alter_scram_users", "topics"])
    why = "AlterUserScramCredentials needs metadata.version at level 11 (3.5-IV2); "
    told = [why + "the cluster is at level 8"]
    assert [str(each) for each in found.values()] == (told if is_lacking else [])


def test_every_method_that_takes_an_api_is_one_of_the_port() -> None:
    from kplan.kafka.routes import ROUTES

    assert cluster.METHOD_APIS.keys() <= ROUTES.keys()


def test_an_api_of_a_newer_kafka_has_a_name_too() -> None:
    assert (messages.api_name(19), messages.api_name(999)) == ("CreateTopics", "Api999")
