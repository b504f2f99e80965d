"""Use case: reset committed offsets; plan, undo file, outcome of each partition."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from kplan.cluster.errors import Handling, handling
from kplan.cluster.port import Cluster
from kplan.cluster.request import ItemResult, TopicDescription
from kplan.cluster.usage import EARLIEST, LATEST, GroupDescription, TopicPartition
from kplan.model.codes import SUMMARIES
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.errors import ConfigError, Refusal, UnreadableError
from kplan.model.table import Cell, Figures, FigureTable
from kplan.workflow.groups.offset_file import Offsets
from kplan.workflow.groups.target import OffsetTarget, ResetRequest, TargetType

FAILED = "failed"
"""The finding that an item failed."""

_GROUP_NOT_FOUND = "GROUP_ID_NOT_FOUND"
_IDLE_STATES = ("Empty", "Dead", "")
_SHOWN_MEMBERS = 5
_LIVE_REFUSALS = ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "STALE_MEMBER_EPOCH")


@dataclass(frozen=True, slots=True)
class OffsetChange:
    """A partition with its committed and new offset, None for none; `start` and `end` of its log.

    The ends of the log are None where they are not known.

    `note` says why the new offset is another than asked for.
    """

    partition: TopicPartition
    before: int | None
    after: int | None
    start: int | None
    end: int | None
    note: str = ""

    @property
    def is_change(self) -> bool:
        """Whether there is anything to do."""
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class OffsetPlan:
    """Offsets to set in a group; `is_new` says that the group does not exist yet."""

    group: str
    changes: tuple[OffsetChange, ...]
    is_new: bool = False

    @property
    def real_changes(self) -> tuple[OffsetChange, ...]:
        """The partitions whose offset changes."""
        return tuple(each for each in self.changes if each.is_change)

    @property
    def undo(self) -> Offsets:
        """The committed offsets before the change."""
        return {each.partition: each.before for each in self.real_changes}


def problem(code: str, detail: str, hint: str) -> Diagnostic:
    """Build the diagnostic of a change that is refused."""
    return Diagnostic(code, Severity.ERROR, SUMMARIES[code], detail, hint=hint)


def live_group_problem(group: GroupDescription) -> Diagnostic | None:
    """Return why a group with members cannot be changed, None for one without."""
    members = group.members or ()
    if not members and group.state in _IDLE_STATES and group.members is not None:
        return None
    shown = ", ".join(f"{each.client_id} at {each.host}" for each in members[:_SHOWN_MEMBERS])
    more = f" and {len(members) - _SHOWN_MEMBERS} more" if len(members) > _SHOWN_MEMBERS else ""
    who = f" Its members are {shown}{more}." if members else ""
    return problem(
        "KP540",
        f"Group {group.name} is {group.state or 'in an unknown state'}.{who} Members overwrite "
        "offsets that others commit, and Kafka refuses them.",
        "Stop the members of the group, and run the command again.",
    )


def absent_group_problem(name: str, hint: str = "") -> Diagnostic:
    """Return the diagnostic of a group that no broker lists."""
    shown = "Run kplan groups list for the visible groups."
    return problem("KP541", f"No broker lists group {name}.", f"{hint} {shown}".strip())


def read_group(cluster: Cluster, name: str) -> GroupDescription | None:
    """Describe a group that offsets can be set in; None where there is none.

    Raises:
        UnreadableError: the group or its offsets cannot be read.

    """
    found = cluster.describe_groups([name]).get(name)
    if isinstance(found, Refusal) and found.error == _GROUP_NOT_FOUND:
        return None
    if not isinstance(found, GroupDescription):
        raise UnreadableError(f"Group {name} cannot be read: {found or 'no answer'}")
    if not found.has_offsets:
        raise UnreadableError(f"Group {name} cannot be read: {'; '.join(found.unread)}")
    return found


def plan_reset(cluster: Cluster, wanted: ResetRequest) -> OffsetPlan:
    """Compute the new offset of each partition.

    Raises:
        ConfigError: the group is live or absent, or partitions cannot be reset; every problem.
        UnreadableError: the group cannot be read.

    """
    group = read_group(cluster, wanted.group)
    problems = list(_group_problems(group, wanted))
    if problems:
        raise ConfigError(problems)
    before = group.committed_offsets if group is not None else {}
    keys, problems = _select_partitions(cluster, wanted, before)
    if problems:
        raise ConfigError(problems)
    offsets, problems = _read_logs(cluster, wanted.target, keys)
    if problems:
        raise ConfigError(problems)
    changes = [_offset_change(key, before.get(key), wanted.target, offsets[key]) for key in keys]
    return OffsetPlan(wanted.group, tuple(changes), is_new=group is None)


def _group_problems(group: GroupDescription | None, wanted: ResetRequest) -> Iterator[Diagnostic]:
    if group is None:
        if not wanted.may_create:
            yield absent_group_problem(wanted.group, "Use -create to create it with these offsets.")
        return
    if group.type == "share":
        yield problem(
            "KP544",
            f"Group {group.name} is a share group: it has start offsets and no committed offsets.",
            "Use kafka-share-groups.sh --reset-offsets.",
        )
    elif live := live_group_problem(group):
        yield live


def _select_partitions(
    cluster: Cluster, wanted: ResetRequest, before: Mapping[TopicPartition, int]
) -> tuple[tuple[TopicPartition, ...], list[Diagnostic]]:
    """Return the partitions in order, and the problems of those that do not exist.

    Of a topic that is not chosen by name, they are those of the file or with committed offsets.
    """
    rows = frozenset(wanted.target.rows or (before if wanted.topics is None else ()))
    chosen = wanted.topics if wanted.topics is not None else {name: None for name, _ in rows}
    topics = cluster.topics(chosen.keys()) if chosen else {}
    keys: list[TopicPartition] = []
    problems: list[Diagnostic] = []
    for name, numbers in sorted(chosen.items()):
        topic = topics.get(name)
        if not isinstance(topic, TopicDescription):
            why = str(topic or "no answer").rstrip(".")
            hint = "Run kplan topics list for the visible topics."
            if wanted.target.type is TargetType.FILE:
                hint += " To leave it out, name the other topics of the file with -topic=TOPIC."
            problems.append(problem("KP542", f"Topic {name} cannot be read: {why}.", hint))
            continue
        existing = range(len(topic.assignment))
        own = {at for row, at in rows if row == name} if rows else existing
        asked = sorted(own if numbers is None else numbers)
        lacking = [each for each in asked if each not in existing]
        problems += _missing_partitions(name, lacking, len(existing))
        keys += [(name, each) for each in asked if each in existing]
    if wanted.target.type is TargetType.FILE:
        keys = [each for each in keys if each in rows]
    if not keys and not problems:
        hint = "Use -topic=TOPIC for a topic without committed offsets."
        problems.append(problem("KP542", "No partition is selected.", hint))
    return tuple(keys), problems


def _missing_partitions(topic: str, lacking: Sequence[int], count: int) -> Iterator[Diagnostic]:
    for each in lacking:
        detail = f"Topic {topic} has {count} partitions, and no partition {each}."
        yield problem("KP542", detail, "Partitions are numbered from 0.")


_Log = tuple[int, int, int]
"""The first offset of a partition, its end, and the offset that was looked up for a time."""


def _read_logs(
    cluster: Cluster, target: OffsetTarget, keys: Collection[TopicPartition]
) -> tuple[Mapping[TopicPartition, _Log], list[Diagnostic]]:
    times = (EARLIEST, LATEST, target.number if target.type is TargetType.TIME else EARLIEST)
    values = {each: cluster.partition_offsets(dict.fromkeys(keys, each)) for each in set(times)}
    found: dict[TopicPartition, _Log] = {}
    problems: list[Diagnostic] = []
    for key in keys:
        offsets = [values[each].get(key) for each in times]
        known = [each for each in offsets if isinstance(each, int)]
        if len(known) == len(offsets):
            found[key] = (known[0], known[1], known[2])
        else:
            why = next((str(each) for each in offsets if isinstance(each, Refusal)), "no answer")
            detail = f"Offsets of {key[0]} partition {key[1]} cannot be read: {why}"
            problems.append(problem("KP542", detail, "Check the topic, and try again."))
    return found, problems


def _offset_change(
    key: TopicPartition, before: int | None, target: OffsetTarget, log: _Log
) -> OffsetChange:
    """Compute the new offset; one outside the log is moved to its nearer end."""
    start, end, found = log
    wanted: int | None
    note = ""
    match target.type:
        case TargetType.FILE:
            wanted = target.rows[key]
        case TargetType.OFFSET:
            wanted = target.number
        case TargetType.SHIFT:
            wanted = (start if before is None else before) + target.number
            note = "shifted from the first offset: nothing is committed" if before is None else ""
        case TargetType.TIME:
            wanted = found if found >= 0 else end
            note = "" if found >= 0 else "no record is that young: the end is used"
    if wanted is not None and not start <= wanted <= end:
        which = "first offset" if wanted < start else "end"
        note = f"{wanted:,} is outside the log: the {which} is used"
        wanted = min(max(wanted, start), end)
    return OffsetChange(key, before, wanted, start, end, note)


def stale_offsets(shown: OffsetPlan, now: OffsetPlan) -> str:
    """Say what is no longer as it was shown; "" if all is.

    The ends of logs move all the time: they matter only where a new offset is outside by now.
    """
    before = {each.partition: each.before for each in shown.changes}
    moved = {each.partition: each.before for each in now.changes if each.partition in before}
    if moved != before or shown.is_new != now.is_new:
        return f"The committed offsets of group {shown.group} have changed."
    logs = {each.partition: (each.start, each.end) for each in now.changes}
    for each in shown.real_changes:
        start, end = logs[each.partition]
        if each.after is None or start is None or end is None or start <= each.after <= end:
            continue
        topic, number = each.partition
        return (
            f"Offset {each.after:,} is outside the log of {topic} partition {number} by now: it "
            f"is from {start:,} to {end:,}."
        )
    return ""


Outcomes = Mapping[TopicPartition, str]
"""What became of each partition: "" is success."""


def commit_plan(cluster: Cluster, plan: OffsetPlan) -> Outcomes:
    """Set and delete the offsets of a plan, and read back what the answers leave open.

    The broker refuses every offset if the group has members by now.

    Raises:
        UnreadableError: an outcome is unknown, and the group cannot be read either.

    """
    changes = plan.real_changes
    put = {each.partition: each.after for each in changes if each.after is not None}
    drop = [each.partition for each in changes if each.after is None]
    results: dict[TopicPartition, ItemResult] = {}
    if put:
        results |= cluster.commit_offsets(plan.group, put)
    if drop:
        results |= cluster.delete_offsets(plan.group, drop)
    return _build_outcomes(cluster, plan.group, changes, results)


def _build_outcomes(
    cluster: Cluster,
    group: str,
    changes: Sequence[OffsetChange],
    results: Mapping[TopicPartition, ItemResult],
) -> Outcomes:
    in_doubt = [each for each in changes if _is_in_doubt(each.partition, results)]
    after: Mapping[TopicPartition, int] = {}
    if in_doubt:
        found = read_group(cluster, group)
        after = found.committed_offsets if found is not None else {}
    outcomes: dict[TopicPartition, str] = {}
    for each in changes:
        result = results.get(each.partition)
        if each in in_doubt and after.get(each.partition) == each.after:
            outcomes[each.partition] = ""
        elif each.partition not in results:
            outcomes[each.partition] = "no answer"
        else:
            outcomes[each.partition] = "" if result is None else explain_refusal(result)
    return outcomes


def _is_in_doubt(key: TopicPartition, results: Mapping[TopicPartition, ItemResult]) -> bool:
    result = results.get(key)
    return key not in results or (result is not None and handling(result) is Handling.IN_DOUBT)


def explain_refusal(refused: Refusal) -> str:
    """Return the meaning of errors that only groups have; else the error as it is."""
    if refused.error in _LIVE_REFUSALS:
        return f"{refused.error}: the group has members by now"
    if refused.error == "NON_EMPTY_GROUP":
        return "NON_EMPTY_GROUP: the group has members by now"
    if refused.error == "GROUP_SUBSCRIBED_TO_TOPIC":
        return "GROUP_SUBSCRIBED_TO_TOPIC: members of the group subscribe to the topic"
    return str(refused)


def offset_figures(plan: OffsetPlan, outcomes: Outcomes | None = None) -> Figures:
    """Return a plan as a table, with the outcome of each partition once it was executed."""
    columns: tuple[str, ...] = (
        "topic", "partition", "committed", "new", "first", "end", "lag", "new_lag",
    )  # fmt: skip
    columns += ("note",) if outcomes is None else ("outcome", "note")
    rows = tuple(_offset_row(each, outcomes) for each in plan.changes)
    notes = [f"Group {plan.group} does not exist yet; it is created."] if plan.is_new else []
    count = len(plan.real_changes)
    notes.append(f"{count:,} of {len(plan.changes):,} partitions change.")
    failed = outcomes is not None and any(outcomes.values())
    return Figures(
        f"Offsets of group {plan.group}",
        (FigureTable("offsets", columns, rows),),
        notes=tuple(notes),
        findings=frozenset({FAILED} if failed else ()),
    )


def _offset_row(change: OffsetChange, outcomes: Outcomes | None) -> tuple[Cell, ...]:
    said: tuple[Cell, ...] = ()
    if outcomes is not None:
        done = "set" if change.after is not None else "deleted"
        found = outcomes.get(change.partition) if change.is_change else "unchanged"
        said = (found or done,)
    return (
        *change.partition,
        change.before,
        change.after,
        change.start,
        change.end,
        _lag(change.before, change.end),
        _lag(change.after, change.end),
        *said,
        change.note,
    )


def _lag(offset: int | None, end: int | None) -> int | None:
    return None if offset is None or end is None else max(0, end - offset)
