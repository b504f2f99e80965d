"""Use of topics, groups, and record deletion of the cluster in memory."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from kplan.cluster.errors import refusal
from kplan.cluster.memory.faults import Call
from kplan.cluster.memory.settings import SettingRequests
from kplan.cluster.memory.store import apply_faults
from kplan.cluster.usage import (
    GroupDescription,
    GroupListing,
    PartitionUse,
    TopicPartition,
    TopicUse,
)
from kplan.model.errors import Refusal

_BROKER_NOT_AVAILABLE = refusal(8, name="BROKER_NOT_AVAILABLE")
_GROUP_NOT_FOUND = refusal(69, name="GROUP_ID_NOT_FOUND")
_EMPTY_PARTITION = PartitionUse(0, 0, None, 0, 0)


class UsageRequests(SettingRequests):
    """Serves the contents and consumers of topics."""

    def set_topic_use(self, topic: str, used: TopicUse) -> None:
        """Put records, groups and producers there; partitions that are left out are empty."""
        self._store.topic_use[topic] = used

    def add_groups(self, *groups: str) -> None:
        """Add groups that use no topic; groups of a topic come from `use`."""
        self._store.groups.update(groups)

    def group_names(self) -> frozenset[str]:
        """Name all groups; raises Unread."""
        self._read_list(Call("group_names"), "Groups")
        using = (each.groups or () for each in self._store.topic_use.values())
        held = self._store.groups | self._store.described_groups.keys()
        return frozenset(held).union(each.group for held in using for each in held)

    def add_described_group(self, group: GroupDescription) -> None:
        """Have a group, at the broker that it names as its coordinator."""
        self._store.described_groups[group.name] = group

    def groups(self) -> Mapping[int, tuple[GroupListing, ...] | Refusal]:
        """List the groups that each broker coordinates, or the reason why not."""
        self._read(Call("groups"))
        site = self._store.setup
        at: dict[int, list[GroupListing]] = {each.id: [] for each in site.brokers}
        for each in self._store.described_groups.values():
            at[each.coordinator].append(each.listing)
        return {
            number: _BROKER_NOT_AVAILABLE if number in site.fenced else tuple(sorted(found))
            for number, found in sorted(at.items())
        }

    def describe_groups(self, names: Collection[str]) -> Mapping[str, GroupDescription | Refusal]:
        """Describe groups."""
        _, struck = self._read(Call("describe_groups", tuple(sorted(names))))
        found: dict[str, GroupDescription | Refusal] = {}
        for name in sorted(names):
            held = self._store.described_groups.get(name)
            is_down = held is not None and held.coordinator in self._store.setup.fenced
            found[name] = _GROUP_NOT_FOUND if held is None or is_down else held
        return apply_faults(found, struck)

    def topic_use(self, names: Collection[str]) -> Mapping[str, TopicUse]:
        """Return contents and consumers of topics."""
        contents, struck = self._read(Call("topic_use", tuple(sorted(names))))
        found: dict[str, TopicUse] = {}
        for name in sorted(names):
            refused = struck.refused.get(name) or self._check_right(Call("topics"), name)
            held = contents.topics.get(name)
            if refused is None and held is None:
                refused = refusal(3)
            if refused is not None or held is None:
                found[name] = TopicUse(unread=(f"the topic is not shown ({refused})",))
                continue
            used = self._store.topic_use.get(name, TopicUse(groups=()))
            numbers = range(len(held.assignment))
            partitions = {each: used.partitions.get(each, _EMPTY_PARTITION) for each in numbers}
            found[name] = replace(used, partitions=partitions)
        return found

    def delete_records(
        self, before: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | Refusal]:
        """Delete the records before an offset of each partition."""
        call = Call("delete_records", tuple(sorted({name for name, _ in before})))
        uses = self.topic_use({name for name, _ in before})
        self._record_call(call)
        with self._store.lock:
            struck = self._match_faults(call)
            if struck.lost_response is not None and not struck.is_applied:
                return dict.fromkeys(before, struck.lost_response)
            found = {
                key: struck.refused.get(key[0])
                or self._check_right(call, key[0])
                or self._delete_records(key, before[key], uses[key[0]])
                for key in sorted(before)
            }
        return (
            found if struck.lost_response is None else dict.fromkeys(before, struck.lost_response)
        )

    def _delete_records(
        self, key: TopicPartition, offset: int, topic_use: TopicUse
    ) -> int | Refusal:
        name, number = key
        held = topic_use.partitions.get(number)
        if held is None or held.start is None or held.end is None:
            return refusal(3)
        if not 0 <= offset <= held.end:
            return refusal(1)
        start = max(held.start, offset)
        used = self._store.topic_use.get(name, TopicUse(groups=()))
        partitions = {**used.partitions, number: replace(held, start=start)}
        self._store.topic_use[name] = replace(used, partitions=partitions)
        return start
