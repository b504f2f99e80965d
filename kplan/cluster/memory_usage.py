"""The use of topics of a cluster in memory: what a test says stands in them."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from kplan.cluster.errors import refusal
from kplan.cluster.faults import Call
from kplan.cluster.memory_settings import SettingRequests
from kplan.cluster.usage import PartitionUse, TopicPartition, TopicUse
from kplan.model.refusal import Refusal

_EMPTY = PartitionUse(0, 0, None, 0, 0)


class UsageRequests(SettingRequests):
    """Serves what stands in topics and who uses it."""

    def use(self, topic: str, used: TopicUse) -> None:
        """Put records, groups and producers there; partitions that are left out are empty."""
        self._store.used[topic] = used

    def topic_use(self, names: Collection[str]) -> Mapping[str, TopicUse]:
        """Tell what stands in topics and who uses it."""
        contents, struck = self._read(Call("topic_use", tuple(sorted(names))))
        found: dict[str, TopicUse] = {}
        for name in sorted(names):
            refused = struck.refused.get(name) or self._barred(Call("topics"), name)
            held = contents.topics.get(name)
            if refused is None and held is None:
                refused = refusal(3)
            if refused is not None or held is None:
                found[name] = TopicUse(unread=(f"the topic is not shown ({refused})",))
                continue
            used = self._store.used.get(name, TopicUse(groups=()))
            numbers = range(len(held.assignment))
            partitions = {each: used.partitions.get(each, _EMPTY) for each in numbers}
            found[name] = replace(used, partitions=partitions)
        return found

    def delete_records(
        self, before: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | Refusal]:
        """Delete the records before an offset of each partition."""
        names = sorted({name for name, _ in before})
        uses = self.topic_use(names)
        self._enter(Call("delete_records", tuple(names)))
        found: dict[TopicPartition, int | Refusal] = {}
        for (name, number), offset in sorted(before.items()):
            held = uses[name].partitions.get(number)
            if ("DELETE", "TOPIC", "*") in self._denied or name in self._hidden:
                found[name, number] = refusal(29)
            elif held is None or held.start is None or held.end is None:
                found[name, number] = refusal(3)
            elif not 0 <= offset <= held.end:
                found[name, number] = refusal(1)
            else:
                start = max(held.start, offset)
                left = replace(held, start=start)
                used = self._store.used.get(name, TopicUse(groups=()))
                partitions = {**used.partitions, number: left}
                self._store.used[name] = replace(used, partitions=partitions)
                found[name, number] = start
        return found
