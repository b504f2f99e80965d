"""Reassignments on a cluster with ZooKeeper, where only the controller lists them."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace

import pytest

from kplan.kafka.settings.connection import Timeouts, seconds
from kplan.kafka.wire import messages
from kplan.kafka.wire.driver import WireCluster
from kplan.kafka.wire.messages import Message
from kplan.model.errors import UnreadableError
from tests.unit.kafka.wire.fake_broker import FakeBroker, fake_broker, settings_for

NOT_CONTROLLER = 41
LIST = messages.LIST_REASSIGNMENTS


def listed(code: int = 0) -> Message:
    """Answer ListPartitionReassignments with one partition, or with an error."""
    part = LIST.response.OngoingTopicReassignment
    moving = part.OngoingPartitionReassignment(
        partition_index=0, replicas=[1, 2], adding_replicas=[2], removing_replicas=[1]
    )
    topics = [] if code else [part(name="a", partitions=[moving])]
    return LIST.response(error_code=code, topics=topics)


def controller_is(broker: FakeBroker, number: int, *brokers: FakeBroker) -> None:
    """Let a broker say which of the brokers is the controller."""
    answer = messages.DESCRIBE_CLUSTER.response
    rows = [
        answer.DescribeClusterBroker(broker_id=id_, host="127.0.0.1", port=each.port)
        for id_, each in enumerate(brokers, 1)
    ]
    broker.on(
        messages.DESCRIBE_CLUSTER, answer(cluster_id="fake", controller_id=number, brokers=rows)
    )


@contextmanager
def two_brokers(controller: int) -> Iterator[tuple[FakeBroker, FakeBroker, WireCluster]]:
    """Connect to two brokers, the first of which is asked first and is not the controller."""
    with ExitStack() as stack:
        one, two = (stack.enter_context(fake_broker()) for _ in range(2))
        for each in (one, two):
            controller_is(each, controller, one, two)
        one.on(LIST, listed(NOT_CONTROLLER))
        settings = replace(
            settings_for(one.endpoint),
            bootstrap_servers=(one.endpoint, two.endpoint),
            timeouts=Timeouts(seconds(1), seconds(1)),
        )
        yield one, two, stack.enter_context(closing(WireCluster(settings)))


def test_what_moves_is_read_from_the_controller() -> None:
    """A process that has written nothing yet asks whichever broker it is given."""
    with two_brokers(controller=2) as (one, two, cluster):
        two.on(LIST, listed())
        assert cluster.reassignments().keys() == {("a", 0)}
        assert (one.count(LIST), two.count(LIST)) == (1, 1)
        assert cluster.reassignments([("a", 0)]).keys() == {("a", 0)}
        assert (one.count(LIST), two.count(LIST)) == (1, 2), "it stays with the controller"


def test_an_election_of_a_controller_is_waited_for() -> None:
    with two_brokers(controller=2) as (_, two, cluster):
        two.on(LIST, listed(NOT_CONTROLLER), listed())
        assert cluster.reassignments().keys() == {("a", 0)}


def test_a_controller_that_is_never_found_is_an_error_with_its_refusal() -> None:
    """The wait has an end, and what the broker has answered decides what is done about it."""
    with two_brokers(controller=1) as (one, _, cluster):
        with pytest.raises(UnreadableError, match="Reassignments cannot be read: NOT_") as told:
            cluster.reassignments()
        assert one.count(LIST) > 1
    assert told.value.answer is not None
    assert told.value.answer.error == "NOT_CONTROLLER"
