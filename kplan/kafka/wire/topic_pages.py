"""DescribeTopicPartitions (KIP-966): all topics in pages, so that no answer is large."""

from collections.abc import Iterator

from kplan.kafka.wire.api import Message, api_of
from kplan.kafka.wire.connection import Connection
from kplan.kafka.wire.link import Deadline

PAGES = api_of("DescribeTopicPartitions", 75, range(1), "admin.topics")

PARTITIONS = 2000
"""Partitions in a page; brokers give no more, whatever is asked for."""


def all_topics(node: Connection, deadline: Deadline) -> Iterator[Message]:
    """Give all topics that we may see, by name; one that spans pages is put together.

    Raises:
        Broken: no answer came.

    """
    held: Message = None
    cursor: Message = None
    while True:
        request = PAGES.request(topics=[], response_partition_limit=PARTITIONS, cursor=cursor)
        page = node.ask(PAGES, request, deadline)
        for topic in page.topics:
            if held is not None and held.name == topic.name:
                held.partitions.extend(topic.partitions)
                continue
            if held is not None:
                yield held
            held = topic
        if page.next_cursor is None:
            break
        cursor = PAGES.request.Cursor(
            topic_name=page.next_cursor.topic_name,
            partition_index=page.next_cursor.partition_index,
        )
    if held is not None:
        yield held
