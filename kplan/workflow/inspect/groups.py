"""Consumer groups of a cluster, as tables."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from kplan.cluster.port import Cluster
from kplan.cluster.usage import GroupDescription, GroupListing
from kplan.model.errors import ClusterError, Refusal
from kplan.model.table import Cell, Figures, FigureTable

UNREAD = "unread"
"""The finding that something could not be read, so that what is reported is not all there is."""

_PARTIAL = (
    "Brokers list all groups to a principal with DESCRIBE on the cluster only; without it, "
    "the groups that it may not describe are left out."
)


def list_groups(cluster: Cluster, match: str = "*") -> Figures:
    """List the groups whose names fit a pattern, with `*` and `?`.

    Brokers that could not be asked are named, and the groups of the others are reported. A note
    says that groups may be hidden from this principal.

    Raises:
        ClusterError: the cluster does not answer, or no broker lists its groups.

    """
    found = cluster.groups()
    notes = tuple(
        f"Broker {number}: {str(each).rstrip('.')}."
        for number, each in found.items()
        if isinstance(each, Refusal)
    )
    if notes and len(notes) == len(found):
        raise ClusterError("No broker lists its groups. " + " ".join(notes))
    is_partial = "DESCRIBE" not in (cluster.rights(()).cluster or frozenset())
    rows = sorted(_group_row(number, each) for number, each in _matching_groups(found, match))
    columns = ("group", "type", "protocol", "state", "coordinator")
    return Figures(
        "Groups",
        (FigureTable("groups", columns, tuple(rows)),),
        notes=(*notes, _PARTIAL) if is_partial else notes,
        findings=frozenset({UNREAD} if notes else ()),
    )


def _matching_groups(
    values: Mapping[int, tuple[GroupListing, ...] | Refusal], match: str
) -> Iterator[tuple[int, GroupListing]]:
    for number, groups in values.items():
        if not isinstance(groups, Refusal):
            yield from ((number, each) for each in groups if fnmatchcase(each.name, match))


def _group_row(number: int, group: GroupListing) -> tuple[Cell, ...]:
    return (group.name, group.type, group.protocol, group.state, number)


def describe_groups(cluster: Cluster, names: Sequence[str]) -> Figures:
    """Return members, offsets and lag of groups; unreadable ones become a note.

    Raises:
        ClusterError: none of the groups can be read; all are named.

    """
    wanted = sorted(set(names))
    result = cluster.describe_groups(wanted)
    refused = [
        f"Group {name} cannot be read: {str(each).rstrip('.')}."
        for name, each in result.items()
        if isinstance(each, Refusal)
    ]
    found = [each for each in result.values() if isinstance(each, GroupDescription)]
    if refused and not found:
        raise ClusterError(" ".join(refused), "kplan groups list shows the visible groups.")
    notes = [*refused]
    notes += [f"Group {each.name}: {why.rstrip('.')}." for each in found for why in each.unread]
    return Figures(
        "Groups",
        (_group_table(found), _member_table(found), _offset_table(found)),
        notes=tuple(notes),
        findings=frozenset({UNREAD} if notes else ()),
    )


def _group_table(groups: Iterable[GroupDescription]) -> FigureTable:
    columns = (
        "group",
        "type",
        "protocol",
        "state",
        "assignor",
        "coordinator",
        "members",
        "lag",
    )
    rows = tuple(
        (
            each.name,
            each.type,
            each.protocol,
            each.state,
            each.assignor,
            each.coordinator,
            None if each.members is None else len(each.members),
            _total_lag(each),
        )
        for each in groups
    )
    return FigureTable("groups", columns, rows)


def _total_lag(group: GroupDescription) -> int | None:
    """Add up the lag; None where the end of a partition is not known."""
    lags = [group.lag(at) for at in group.committed_offsets]
    known = [each for each in lags if each is not None]
    return sum(known) if len(known) == len(lags) else None


def _member_table(groups: Iterable[GroupDescription]) -> FigureTable:
    columns = ("group", "member", "client", "host", "instance", "partitions")
    rows = tuple(
        (
            group.name,
            each.id,
            each.client_id,
            each.host,
            each.instance_id,
            ", ".join(f"{topic}-{number}" for topic, number in each.assignment),
        )
        for group in groups
        for each in group.members or ()
    )
    return FigureTable("members", columns, rows)


def _offset_table(groups: Iterable[GroupDescription]) -> FigureTable:
    """Return every partition that was read from or is assigned to a member."""
    columns = ("group", "topic", "partition", "committed", "end", "lag", "member")
    rows: list[tuple[Cell, ...]] = []
    for group in groups:
        readers = {at: each.id for each in group.members or () for at in each.assignment}
        rows.extend(
            (
                group.name,
                *at,
                group.committed_offsets.get(at),
                group.end_offsets.get(at),
                group.lag(at),
                readers.get(at),
            )
            for at in sorted({*group.committed_offsets, *readers})
        )
    return FigureTable("offsets", columns, tuple(rows))
