"""SCRAM credentials as brokers list them."""

from contextlib import closing

from kplan.cluster.settings import ScramUser
from kplan.kafka.wire import messages
from kplan.kafka.wire.driver import WireCluster
from kplan.kafka.wire.messages import Message
from tests.unit.kafka.wire.fake_broker import fake_broker, settings_for

ANSWER = messages.DESCRIBE_SCRAM.response
UNKNOWN = 91


def listing(*names: str, error: int = 0) -> Message:
    row = ANSWER.DescribeUserScramCredentialsResult
    held = row.CredentialInfo(mechanism=1, iterations=4096)
    infos = [] if error else [held]
    return ANSWER(
        results=[row(user=each, error_code=error, credential_infos=infos) for each in names]
    )


def users(*answers: Message) -> set[str]:
    with fake_broker() as broker, closing(WireCluster(settings_for(broker.endpoint))) as cluster:
        broker.on(messages.DESCRIBE_SCRAM, *answers)
        return {each.user for each in cluster.scram_users()}


def test_names_that_zookeeper_has_encoded_are_decoded() -> None:
    """Kafka 2.8 lists `a b` as `a%20b`, and knows it by its real name."""
    assert users(listing("a%20b", "c"), listing("a b")) == {"a b", "c"}


def test_a_name_with_a_percent_sign_stays_where_no_user_has_the_decoded_one() -> None:
    assert users(listing("a%20b", "c"), listing("a b", error=UNKNOWN)) == {"a%20b", "c"}


def test_a_broker_that_lists_plain_names_is_not_asked_again() -> None:
    assert users(listing("a%20b", "a b")) == {"a%20b", "a b"}
    assert ScramUser("c", "SCRAM-SHA-256").user in users(listing("c"))
