"""Drift: changes on the cluster outside kplan."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from kplan.model.dataclass import dataclass
from kplan.model.plan import Action, Change, Reason
from kplan.model.state import AppliedPlan
from kplan.model.table import TopicHealth
from kplan.report.data import Data
from kplan.report.document import (
    Block,
    Document,
    Mark,
    Paragraph,
    Row,
    Rows,
    Tone,
    Totals,
    faint_span,
    line,
    strong_span,
)
from kplan.report.documents.attribute import (
    ABSENT,
    SENSITIVE,
    AttributeEntry,
    Verbatim,
    attribute_rows,
)
from kplan.report.documents.notation import count_text, path_text
from kplan.report.documents.plan_data import change_data
from kplan.report.documents.tally import drift_tallies

_NAMED_REASONS = frozenset({Reason.RECREATED_OUTSIDE, Reason.DELETED_OUTSIDE})


@dataclass(frozen=True, slots=True)
class DriftCoverage:
    """The coverage of the drift: live objects per kind, and unread parts.

    `hidden` names the objects of each kind that kplan cannot see.
    `ignored` counts objects that patterns left out. `last_apply` is the latest one, and
    `serial` that of the state. With `lists_unmanaged` what is not managed is named, and not only
    counted. `health` is that of the owned topics, None where it was not asked for.
    """

    managed: Mapping[str, int] = field(default_factory=dict)
    unmanaged: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)
    hidden: Mapping[str, Sequence[str]] = field(default_factory=dict)
    cluster_id: str = ""
    ignored: int = 0
    last_apply: AppliedPlan | None = None
    serial: int = 0
    lists_unmanaged: bool = False
    health: tuple[TopicHealth, ...] | None = None
    cluster_name: str = ""

    @property
    def cluster_label(self) -> str:
        """Name the cluster: as people do, or by its id."""
        return self.cluster_name or self.cluster_id

    @property
    def hidden_objects(self) -> tuple[str, ...]:
        """Name the hidden objects with their kind: a broker config has only a number."""
        return tuple(f"{kind}/{name}" for kind in sorted(self.hidden) for name in self.hidden[kind])

    @property
    def unhealthy(self) -> tuple[TopicHealth, ...]:
        """Return the owned topics with partitions that lack a leader or replicas."""
        return tuple(each for each in self.health or () if not each.is_healthy)

    @property
    def is_complete(self) -> bool:
        """Whether all of the cluster was read."""
        return not self.unread and not self.hidden

    @property
    def managed_share(self) -> float | None:
        """Return the part of the live objects that is managed.

        None where there are none, or it is unknown because some could not be read.
        """
        if not self.is_complete:
            return None
        managed = sum(self.managed.values())
        whole = managed + sum(len(each) for each in self.unmanaged.values())
        return managed / whole if whole else None


def drift_document(changes: Sequence[Change], coverage: DriftCoverage) -> Document:
    """Show every drifted object, the unmanaged ones, and the unread parts."""
    blocks: list[Block] = []
    if changes:
        blocks.append(
            Rows(
                tuple(row for each in changes for row in drift_rows(each)),
                title=line(strong_span("Objects have changed outside of kplan:")),
            )
        )
    if coverage.health is not None:
        blocks.append(_health_block(coverage.health, coverage.unhealthy))
    blocks += _notes(coverage)
    summary = Totals((line(strong_span(_summary(changes, coverage))),))
    name = f" of {coverage.cluster_label}" if coverage.cluster_label else ""
    return Document((*blocks, summary), f"kplan drift{name}", drift_tallies(changes))


_MAX_UNHEALTHY = 50


def _health_block(owned: Sequence[TopicHealth], unhealthy: Sequence[TopicHealth]) -> Block:
    if not unhealthy:
        return Paragraph(
            f"Health: {count_text(len(owned), 'owned topic')}, every partition has a leader and "
            "all its replicas in sync."
        )
    rows = [
        Row(line(f"{each.name}: {health_text(each)}"), Mark.ALARM)
        for each in unhealthy[:_MAX_UNHEALTHY]
    ]
    if more := len(unhealthy) - len(rows):
        rows.append(Row(line(f"and {more:,} more")))
    return Rows(tuple(rows), title=line(strong_span("Owned topics that are not healthy:")))


def health_text(topic: TopicHealth) -> str:
    """Say how many partitions lack a leader or replicas, and which brokers are down."""
    parts = [
        f"{count} of {count_text(topic.partitions, 'partition')} {what}"
        for count, what in (
            (topic.leaderless, "without a leader"),
            (topic.under_replicated, "under-replicated"),
        )
        if count
    ]
    if topic.offline:
        brokers = ", ".join(map(str, topic.offline))
        parts.append(
            f"replicas on {'brokers' if len(topic.offline) > 1 else 'broker'} {brokers} offline"
        )
    return "; ".join(parts)


def _summary(changes: Sequence[Change], coverage: DriftCoverage) -> str:
    if changes:
        gone = sum(1 for each in changes if each.action is Action.DELETE)
        return f"Drift: {len(changes) - gone:,} changed, {gone:,} deleted."
    if not coverage.is_complete:
        return "No drift in what could be read."
    return "No drift. What kplan owns is as it was last applied."


def _notes(coverage: DriftCoverage) -> Iterator[Block]:
    if text := ", ".join(_managed_counts(coverage)):
        share = coverage.managed_share
        whole = "of what could be read" if share is None else f"{share:.0%} of all"
        yield Paragraph(f"Managed by kplan: {text} ({whole}).")
    if coverage.lists_unmanaged and any(coverage.unmanaged.values()):
        names = [f"{kind}/{each}" for kind, found in coverage.unmanaged.items() for each in found]
        rows_ = tuple(Row(line(each)) for each in sorted(names))
        yield Rows(rows_, title=line(strong_span("Not managed by kplan:")))
    if coverage.ignored:
        yield Paragraph(f"Ignored: {count_text(coverage.ignored, 'object')}, wholly or in part.")
    if coverage.last_apply is not None:
        by = f" by {coverage.last_apply.by}" if coverage.last_apply.by else ""
        checksum = coverage.last_apply.checksum or "unknown"
        yield Paragraph(
            f"Last applied {coverage.last_apply.at}{by}, checksum {checksum}, "
            f"state serial {coverage.serial}."
        )
    for kind, reason in sorted(coverage.unread.items()):
        yield Paragraph(
            f"Note: {kind} objects could not be read ({reason.rstrip('.')}).", Tone.WARNING
        )
    if hidden := coverage.hidden_objects:
        names_ = ", ".join(hidden[:20]) + (" ..." if len(hidden) > 20 else "")  # noqa: PLR2004 - a line's worth
        count = count_text(len(hidden), "object")
        yield Paragraph(f"Note: kplan cannot see {count}: {names_}.", Tone.WARNING)


def _managed_counts(coverage: DriftCoverage) -> Iterator[str]:
    for kind in sorted(coverage.managed.keys() | coverage.unmanaged.keys()):
        managed = coverage.managed.get(kind, 0)
        if total := managed + len(coverage.unmanaged.get(kind, ())):
            yield f"{kind} {managed:,} of {total:,}"


def drift_rows(change: Change) -> Iterator[Row]:
    """Show one drifted object, before as last applied, after as it is live."""
    mark = Mark.REMOVE if change.action is Action.DELETE else Mark.CHANGE
    why = f"  ({change.reason.value})" if change.reason in _NAMED_REASONS else ""
    yield Row(line(strong_span(str(change.address)), why), mark)
    entries = [
        AttributeEntry(
            path_text(each.path),
            _attribute_side(each.before, "before", is_hidden=each.sensitive),
            _attribute_side(each.after, "after", is_hidden=each.sensitive),
            each.path[-1],
        )
        for each in change.attributes
    ]
    yield from attribute_rows(entries, 8)
    for note in change.notes:
        yield Row(line(faint_span(f"# {note}")), column=8)


def _attribute_side(value: object, which: str, *, is_hidden: bool) -> object:
    if value is None:
        return ABSENT
    return Verbatim(SENSITIVE, which) if is_hidden else value


def drift_data(changes: Sequence[Change], coverage: DriftCoverage) -> Data:
    """Write the drift; each entry of `resource_drift` has the shape it has in a plan."""
    last = coverage.last_apply
    return {
        "format_version": "1.1",
        "drifted": bool(changes),
        "complete": coverage.is_complete,
        "cluster_id": coverage.cluster_id,
        **({"cluster_name": coverage.cluster_name} if coverage.cluster_name else {}),
        "resource_drift": [change_data(each, frozenset()) for each in changes],
        "coverage": None if coverage.managed_share is None else round(coverage.managed_share, 4),
        "managed": dict(sorted(coverage.managed.items())),
        "unmanaged": {kind: len(each) for kind, each in sorted(coverage.unmanaged.items())},
        "unmanaged_objects": {
            kind: list(each) for kind, each in sorted(coverage.unmanaged.items())
        },
        "missing": missing_objects(changes),
        "ignored": coverage.ignored,
        "unread": dict(sorted(coverage.unread.items())),
        "hidden": sorted(name for names in coverage.hidden.values() for name in names),
        "health": None
        if coverage.health is None
        else [
            {
                "topic": each.name,
                "partitions": each.partitions,
                "leaderless": each.leaderless,
                "under_replicated": each.under_replicated,
                "offline_brokers": list(each.offline),
            }
            for each in coverage.unhealthy
        ],
        "last_apply": None
        if last is None
        else {"at": last.at, "by": last.by, "checksum": last.checksum, "serial": coverage.serial},
    }


def missing_objects(changes: Sequence[Change]) -> dict[str, int]:
    """Count owned objects per kind that are gone from the cluster."""
    gone = [each.kind for each in changes if each.action is Action.DELETE]
    return {kind: gone.count(kind) for kind in sorted(set(gone))}
