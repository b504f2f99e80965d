"""Use cases: delete groups, and the offsets that a group has committed in topics."""

import shlex
from collections.abc import Iterator, Mapping, Sequence

from kplan.cluster.errors import Handling, handling
from kplan.cluster.port import Cluster
from kplan.cluster.usage import GroupDescription, TopicPartition
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic
from kplan.model.errors import ConfigError, Refusal, UnreadableError
from kplan.model.table import Cell, Figures, FigureTable
from kplan.workflow.groups.offset_file import Offsets
from kplan.workflow.groups.reset import (
    FAILED,
    OffsetChange,
    OffsetPlan,
    absent_group_problem,
    explain_refusal,
    live_group_problem,
    problem,
    read_group,
)
from kplan.workflow.groups.target import Selection

_GROUP_NOT_FOUND = "GROUP_ID_NOT_FOUND"


@dataclass(frozen=True, slots=True)
class GroupDeletionPlan:
    """Groups to delete, each with what is lost."""

    groups: tuple[GroupDescription, ...]

    @property
    def undo(self) -> Mapping[str, Offsets]:
        """The committed offsets of each group; those of share groups cannot be committed again."""
        return {
            each.name: dict(each.committed_offsets)
            for each in self.groups
            if each.committed_offsets and each.type != "share"
        }


GroupOutcomes = Mapping[str, str]
"""What became of each group: "" is success."""


def plan_group_deletion(cluster: Cluster, names: Sequence[str]) -> GroupDeletionPlan:
    """Describe the groups that are deleted.

    Raises:
        ConfigError: groups are live or absent; all of them are named.
        UnreadableError: a group cannot be read.

    """
    wanted = sorted(set(names))
    found = cluster.describe_groups(wanted)
    problems = list(_deletion_problems(wanted, found))
    if problems:
        raise ConfigError(problems)
    return GroupDeletionPlan(
        tuple(each for each in found.values() if isinstance(each, GroupDescription))
    )


def _deletion_problems(
    wanted: Sequence[str], found: Mapping[str, GroupDescription | Refusal]
) -> Iterator[Diagnostic]:
    for name in wanted:
        each = found.get(name)
        if isinstance(each, GroupDescription):
            if not each.has_offsets:
                raise UnreadableError(f"Group {name} cannot be read: {'; '.join(each.unread)}")
            if live := live_group_problem(each):
                yield live
        elif each is not None and each.error == _GROUP_NOT_FOUND:
            yield absent_group_problem(name)
        else:
            raise UnreadableError(f"Group {name} cannot be read: {each or 'no answer'}")


def stale_groups(shown: GroupDeletionPlan, now: GroupDeletionPlan) -> str:
    """Say whose offsets are no longer as they were shown; "" if all are."""
    offsets = {each.name: each.committed_offsets for each in now.groups}
    moved = [each.name for each in shown.groups if offsets.get(each.name) != each.committed_offsets]
    return f"The committed offsets of {', '.join(moved)} have changed." if moved else ""


def delete_groups(cluster: Cluster, plan: GroupDeletionPlan) -> GroupOutcomes:
    """Delete the groups of a plan; an answer that was lost is settled by listing the groups.

    Raises:
        ClusterError: an outcome is unknown, and the groups cannot be read either.

    """
    names = [each.name for each in plan.groups]
    results = cluster.delete_groups(names)
    outcomes: dict[str, str] = {}
    for name in names:
        result = results.get(name)
        is_lost = name not in results or (
            result is not None and handling(result) is Handling.IN_DOUBT
        )
        if is_lost and read_group(cluster, name) is None:
            result = None
        elif name not in results:
            outcomes[name] = "no answer"
            continue
        is_done = result is None or result.error == _GROUP_NOT_FOUND
        outcomes[name] = "" if is_done or result is None else explain_refusal(result)
    return outcomes


def group_deletion_figures(
    plan: GroupDeletionPlan, outcomes: GroupOutcomes | None = None
) -> Figures:
    """Return the groups as a table, with the outcome of each once it was executed."""
    columns: tuple[str, ...] = ("group", "type", "state", "topics", "offsets", "lag")
    columns += ("outcome",) if outcomes is not None else ()
    rows = tuple(_group_row(each, outcomes) for each in plan.groups)
    failed = outcomes is not None and any(outcomes.values())
    return Figures(
        "Groups to delete" if outcomes is None else "Groups",
        (FigureTable("groups", columns, rows),),
        notes=tuple(
            f"The start offsets of share group {each.name} cannot be restored."
            for each in plan.groups
            if each.type == "share" and outcomes is None
        ),
        findings=frozenset({FAILED} if failed else ()),
    )


def _group_row(group: GroupDescription, outcomes: GroupOutcomes | None) -> tuple[Cell, ...]:
    lags = [group.lag(at) for at in group.committed_offsets]
    known = [each for each in lags if each is not None]
    said: tuple[Cell, ...] = () if outcomes is None else (outcomes.get(group.name) or "deleted",)
    return (
        group.name,
        group.type,
        group.state,
        len({topic for topic, _ in group.committed_offsets}),
        len(group.committed_offsets),
        sum(known) if len(known) == len(lags) else None,
        *said,
    )


def plan_offset_deletion(cluster: Cluster, name: str, topics: Selection) -> OffsetPlan:
    """List the committed offsets that are deleted.

    Raises:
        ConfigError: the group is absent, members read the topics, or nothing is committed there.
        UnreadableError: the group cannot be read.

    """
    group = read_group(cluster, name)
    if group is None:
        raise ConfigError([absent_group_problem(name)])
    problems = list(_offset_problems(group, topics))
    if problems:
        raise ConfigError(problems)
    chosen = {
        at: offset
        for at, offset in sorted(group.committed_offsets.items())
        if _is_selected(at, topics)
    }
    return OffsetPlan(
        name,
        tuple(
            OffsetChange(at, offset, None, None, group.end_offsets.get(at))
            for at, offset in chosen.items()
        ),
    )


def _is_selected(at: TopicPartition, topics: Selection) -> bool:
    numbers = topics.get(at[0], frozenset())
    return numbers is None or at[1] in numbers


def _offset_problems(group: GroupDescription, topics: Selection) -> Iterator[Diagnostic]:
    if group.type == "share":
        detail = f"Group {group.name} is a share group: it has no committed offsets."
        yield problem("KP544", detail, "Use kafka-share-groups.sh --delete-offsets.")
        return
    readers = {topic for each in group.members or () for topic, _ in each.assignment}
    for name in sorted(topics):
        if name in readers:
            detail = f"Members of group {group.name} read topic {name}."
            yield problem("KP540", detail, "Stop the members of the group that read it.")
        elif not any(_is_selected(at, {name: topics[name]}) for at in group.committed_offsets):
            detail = f"Group {group.name} has committed no offsets in topic {name}, or not in "
            detail += "these partitions."
            yield problem(
                "KP542", detail, f"Run kplan groups describe -- {shlex.quote(group.name)}."
            )
