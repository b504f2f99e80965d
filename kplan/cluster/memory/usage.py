"""Use of topics, groups, and record deletion of the cluster in memory."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from kplan.cluster.errors import refusal
from kplan.cluster.memory.faults import Call
from kplan.cluster.memory.settings import SettingRequests
from kplan.cluster.memory.store import apply_faults
from kplan.cluster.request import ItemResult
from kplan.cluster.usage import (
    EARLIEST,
    LATEST,
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
        """Add groups that use no topic; groups of a topic come from `set_topic_use`."""
        self._store.groups.update(groups)

    def group_names(self) -> frozenset[str]:
        """Name all groups; raises UnreadableError."""
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
        _, faults = self._read(Call("describe_groups", tuple(sorted(names))))
        found: dict[str, GroupDescription | Refusal] = {}
        for name in sorted(names):
            held = self._store.described_groups.get(name)
            is_down = held is not None and held.coordinator in self._store.setup.fenced
            found[name] = _GROUP_NOT_FOUND if held is None or is_down else held
        return apply_faults(found, faults)

    def partition_offsets(
        self, times: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | Refusal]:
        """Look up an offset of each partition; a time finds the end, or else no record."""
        uses = self.topic_use({name for name, _ in times})
        self._record_call(Call("partition_offsets", tuple(sorted({name for name, _ in times}))))
        found: dict[TopicPartition, int | Refusal] = {}
        for key, time_ms in sorted(times.items()):
            held = uses[key[0]].partitions.get(key[1])
            if held is None or held.start is None or held.end is None:
                found[key] = refusal(3)
            elif time_ms == LATEST:
                found[key] = held.end
            elif time_ms == EARLIEST or (held.newest_ms is not None and time_ms <= held.newest_ms):
                found[key] = held.start
            else:
                found[key] = -1
        return found

    def commit_offsets(
        self, group: str, offsets: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, ItemResult]:
        """Set committed offsets of a group without members."""
        call = self._record_offsets("commit_offsets", offsets)
        held = self._store.described_groups.get(group) or GroupDescription(
            group, "classic", "", "Empty", self._store.setup.brokers[0].id
        )
        refused = refusal(25, name="UNKNOWN_MEMBER_ID") if held.members else None

        def change_group(key: TopicPartition) -> GroupDescription:
            current = self._store.described_groups.get(group, held)
            moved = {**current.committed_offsets, key: offsets[key]}
            return replace(current, committed_offsets=moved)

        return self._change_offsets(call, offsets, refused, change_group)

    def delete_offsets(
        self, group: str, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, ItemResult]:
        """Delete committed offsets of topics that no member has partitions of."""
        call = self._record_offsets("delete_offsets", partitions)
        held = self._store.described_groups.get(group)
        if held is None:
            return dict.fromkeys(sorted(partitions), _GROUP_NOT_FOUND)
        subscribed = {name for each in held.members or () for name, _ in each.assignment}
        used = {
            key: refusal(86, name="GROUP_SUBSCRIBED_TO_TOPIC")
            for key in partitions
            if key[0] in subscribed
        }

        def change_group(key: TopicPartition) -> GroupDescription:
            current = self._store.described_groups[group]
            left = {at: each for at, each in current.committed_offsets.items() if at != key}
            return replace(current, committed_offsets=left)

        free = set(partitions) - used.keys()
        return {**self._change_offsets(call, free, None, change_group), **used}

    def _record_offsets(self, method: str, keys: Collection[TopicPartition]) -> Call:
        call = Call(method, tuple(sorted({name for name, _ in keys})))
        self._record_call(call)
        return call

    def _change_offsets(
        self,
        call: Call,
        keys: Collection[TopicPartition],
        refused: Refusal | None,
        change_group: Callable[[TopicPartition], GroupDescription],
    ) -> Mapping[TopicPartition, ItemResult]:
        with self._store.lock:
            faults = self._match_faults(call)
            found: dict[TopicPartition, ItemResult] = {}
            for key in sorted(keys):
                found[key] = faults.refused.get(key[0]) or refused
                if found[key] is None and faults.is_applied:
                    group = change_group(key)
                    self._store.described_groups[group.name] = group
            lost = faults.lost_response
        return found if lost is None else dict.fromkeys(found, lost)

    def delete_groups(self, names: Collection[str]) -> Mapping[str, ItemResult]:
        """Delete groups without members."""
        call = Call("delete_groups", tuple(sorted(names)))
        self._record_call(call)
        with self._store.lock:
            faults = self._match_faults(call)
            found: dict[str, ItemResult] = {}
            for name in sorted(names):
                held = self._store.described_groups.get(name)
                refused = (
                    refusal(68, name="NON_EMPTY_GROUP")
                    if held is not None and held.members
                    else None
                )
                absent = _GROUP_NOT_FOUND if held is None else None
                found[name] = faults.refused.get(name) or absent or refused
                if found[name] is None and faults.is_applied:
                    del self._store.described_groups[name]
            lost = faults.lost_response
        return found if lost is None else dict.fromkeys(found, lost)

    def topic_use(self, names: Collection[str]) -> Mapping[str, TopicUse]:
        """Return contents and consumers of topics."""
        contents, faults = self._read(Call("topic_use", tuple(sorted(names))))
        found: dict[str, TopicUse] = {}
        for name in sorted(names):
            refused = faults.refused.get(name) or self._check_right(Call("topics"), name)
            held = contents.topics.get(name)
            if refused is None and held is None:
                refused = refusal(3)
            if refused is not None or held is None:
                found[name] = TopicUse(unread=(f"the topic is not shown ({refused})",))
                continue
            used = self._store.topic_use.get(name, TopicUse(groups=()))
            numbers = range(len(held.assignment))
            partitions = {each: used.partitions.get(each, _EMPTY_PARTITION) for each in numbers}
            found[name] = replace(used, partitions=partitions, topic_id=held.topic_id)
        return found

    def delete_records(
        self, before: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | Refusal]:
        """Delete the records before an offset of each partition."""
        call = Call("delete_records", tuple(sorted({name for name, _ in before})))
        uses = self.topic_use({name for name, _ in before})
        self._record_call(call)
        with self._store.lock:
            faults = self._match_faults(call)
            if faults.lost_response is not None and not faults.is_applied:
                return dict.fromkeys(before, faults.lost_response)
            found = {
                key: faults.refused.get(key[0])
                or self._check_right(call, key[0])
                or self._delete_records(key, before[key], uses[key[0]])
                for key in sorted(before)
            }
        return (
            found if faults.lost_response is None else dict.fromkeys(before, faults.lost_response)
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
