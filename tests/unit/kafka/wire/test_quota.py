"""Whether a quota on changes may hold for us, as far as the cluster tells (KIP-599)."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from kplan.kafka.wire import messages
from kplan.kafka.wire.driver import WireCluster
from kplan.kafka.wire.messages import Message
from tests.unit.kafka.wire.fake_broker import FakeBroker, fake_broker, settings_for

ANSWER = messages.DESCRIBE_QUOTAS.response


@contextmanager
def connected(*lacking: int) -> Iterator[tuple[FakeBroker, WireCluster]]:
    with (
        fake_broker(frozenset(lacking)) as broker,
        closing(WireCluster(settings_for(broker.endpoint))) as cluster,
    ):
        yield broker, cluster


def quota_of(key: str) -> Message:
    entry = ANSWER.EntryData
    value = entry.ValueData(key=key, value=5.0)
    return ANSWER(entries=[entry(entity=[], values=[value])])


@pytest.mark.parametrize(
    ("answer", "is_expected"),
    [
        (quota_of("controller_mutation_rate"), True),
        (quota_of("producer_byte_rate"), False),
        (ANSWER(entries=[]), False),
        (ANSWER(error_code=31, error_message="no", entries=None), True),
    ],
    ids=["a rate", "another quota", "none", "not to be read"],
)
def test_a_quota_that_is_there_or_may_not_be_read_may_hold(
    answer: Message, *, is_expected: bool
) -> None:
    with connected() as (broker, cluster):
        broker.on(messages.DESCRIBE_QUOTAS, answer)
        assert cluster.may_have_mutation_quota() is is_expected


def test_a_cluster_without_such_quotas_has_none() -> None:
    with connected(messages.DESCRIBE_QUOTAS.key) as (_, cluster):
        assert not cluster.may_have_mutation_quota()
