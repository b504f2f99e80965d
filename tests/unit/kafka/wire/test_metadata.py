"""Topics in pages: what belongs together is put together, and no request is too large."""

from dataclasses import dataclass, field
from uuid import UUID

from kplan.cluster.request import TopicDescription
from kplan.kafka.wire import messages, metadata
from kplan.kafka.wire.driver import WireCluster
from kplan.kafka.wire.messages import Api, Message
from kplan.kafka.wire.metadata import DESCRIBE_TOPIC_PARTITIONS
from kplan.kafka.wire.transport import Deadline
from tests.unit.kafka.wire.fake_broker import fake_broker, settings_for

ANSWER = DESCRIBE_TOPIC_PARTITIONS.response
TOPIC = ANSWER.DescribeTopicPartitionsResponseTopic
ID = UUID("6f9619ff-8b86-d011-b42d-00c04fc964ff")


@dataclass
class Node:
    """A broker with KIP-966, which gives prepared pages in turn."""

    pages: list[Message]
    asked: list[tuple[str, int] | None] = field(default_factory=list)
    versions: dict[int, tuple[int, int]] = field(
        default_factory=lambda: {DESCRIBE_TOPIC_PARTITIONS.key: (0, 0)}
    )

    def ask(self, api: Api, request: Message, _: Deadline) -> Message:
        again = messages.encode_request(request, 0, 1, "tests")  # it must be writable, too
        assert api is DESCRIBE_TOPIC_PARTITIONS
        assert again
        cursor = request.cursor
        self.asked.append(None if cursor is None else (cursor.topic_name, cursor.partition_index))
        return self.pages.pop(0)


def partition(number: int) -> Message:
    return TOPIC.DescribeTopicPartitionsResponsePartition(
        partition_index=number, leader_id=1, replica_nodes=[1, 2], isr_nodes=[1]
    )


def page(*held: tuple[str, range], cursor: tuple[str, int] | None = None) -> Message:
    listed = [
        TOPIC(name=name, topic_id=ID, partitions=[partition(each) for each in numbers])
        for name, numbers in held
    ]
    after = ANSWER.Cursor(topic_name=cursor[0], partition_index=cursor[1]) if cursor else None
    return ANSWER(topics=listed, next_cursor=after)


def test_a_topic_that_spans_pages_is_put_together() -> None:
    """S04, K919-32."""
    node = Node(
        [
            page(("a", range(1)), ("b", range(2)), cursor=("b", 2)),
            page(("b", range(2, 4)), cursor=("b", 4)),
            page(("b", range(4, 5)), ("c", range(1))),
        ]
    )
    found = metadata._read_all(node, Deadline.after(5))  # type: ignore[arg-type] # all that is asked
    assert node.asked == [None, ("b", 2), ("b", 4)]
    assert {
        name: len(each.assignment)
        for name, each in found.items()
        if isinstance(each, TopicDescription)
    } == {"a": 1, "b": 5, "c": 1}


def test_a_cluster_without_topics_is_one_empty_page() -> None:
    assert metadata._read_all(Node([page()]), Deadline.after(5)) == {}  # type: ignore[arg-type]


def test_many_names_are_asked_for_in_several_requests() -> None:
    """K919-32: by one or two thousand."""
    with fake_broker() as broker:
        answer = messages.METADATA.response
        broker.on(
            messages.METADATA,
            lambda request: answer(
                topics=[
                    answer.MetadataResponseTopic(name=each.name, topic_id=ID, partitions=[])
                    for each in request.topics
                ]
            ),
        )
        cluster = WireCluster(settings_for(broker.endpoint))
        names = [f"t-{number:05}" for number in range(metadata.TOPICS_PER_REQUEST + 1)]
        assert list(cluster.topics(names)) == names
        assert broker.count(messages.METADATA) == 2
        cluster.close()
