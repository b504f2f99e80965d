"""A member of a share group (KIP-932), as no client library at hand has one."""

import time
import uuid
from types import new_class
from typing import Any

from kafka.protocol.api_message import ApiMessage

from kplan.kafka.settings.connection import ConnectionSettings, Endpoint
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.group_offset import FIND_COORDINATOR
from kplan.kafka.wire.messages import Api
from tests.contract import messages

_LEAVE = -1


class _TestApi(Api):
    __slots__ = ()

    @property
    def request(self) -> Any:  # noqa: ANN401 - a class of kafka-python
        return new_class(f"{self.name}Request", (ApiMessage,), {"load_json": messages})

    @property
    def response(self) -> Any:  # noqa: ANN401 - as above
        return new_class(f"{self.name}Response", (ApiMessage,), {"load_json": messages})


_HEARTBEAT = _TestApi("ShareGroupHeartbeat", 76, 1, 1, "")
_ALTER_OFFSETS = _TestApi("AlterShareGroupOffsets", 91, 0, 0, "")


class ShareMember:
    """Joins a group by heartbeats, and sets its start offsets once it has left."""

    def __init__(self, settings: ConnectionSettings, group: str, topic: str) -> None:
        self._gateway = Gateway(settings)
        self._group = group
        self._topic = topic
        self._id = str(uuid.uuid4())

    def join(self) -> None:
        """Send heartbeats until partitions are assigned."""
        epoch, end = 0, time.monotonic() + 30
        while True:
            answer = self._beat(epoch)
            if answer.error_code == 0:
                epoch = answer.member_epoch
                if answer.assignment is not None and answer.assignment.topic_partitions:
                    return
            assert time.monotonic() < end, answer
            time.sleep(0.2)

    def leave(self) -> None:
        """Leave the group, which stays."""
        assert self._beat(_LEAVE).error_code == 0

    def set_start(self, partition: int, offset: int) -> None:
        """Set the start offset of a partition; the group has no members."""
        request = _ALTER_OFFSETS.request
        part = request.AlterShareGroupOffsetsRequestTopic
        row = part.AlterShareGroupOffsetsRequestPartition(
            partition_index=partition, start_offset=offset
        )
        topics = [part(topic_name=self._topic, partitions=[row])]
        asked = request(group_id=self._group, topics=topics)
        answer = self._gateway.ask(_ALTER_OFFSETS, asked, at=self._home())
        codes = [each.error_code for topic in answer.responses for each in topic.partitions]
        assert (answer.error_code, codes) == (0, [0]), answer

    def close(self) -> None:
        """Close the connections."""
        self._gateway.close()

    def _beat(self, epoch: int) -> Any:  # noqa: ANN401 - a message of kafka-python
        request = _HEARTBEAT.request(
            group_id=self._group,
            member_id=self._id,
            member_epoch=epoch,
            subscribed_topic_names=[self._topic],
        )
        return self._gateway.ask(_HEARTBEAT, request, at=self._home())

    def _home(self) -> Endpoint:
        request = FIND_COORDINATOR.request(key_type=0, coordinator_keys=[self._group])
        end = time.monotonic() + 30
        while True:
            (found,) = self._gateway.ask(FIND_COORDINATOR, request).coordinators
            if found.error_code == 0:
                return Endpoint(found.host, found.port)
            assert time.monotonic() < end, found
            time.sleep(0.2)
