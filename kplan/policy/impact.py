"""Impact of a topic change: records, consumer groups and producers, and limits on it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from kplan.cluster.usage import TopicUse
from kplan.kinds.topic_value import Topic
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.impact import GroupImpact, Impact
from kplan.model.plan import Action, Change, Plan, Risk

TOPIC_DELETED, RECORDS_EXPIRE = "KP2101", "KP2102"
CLEANUP_CHANGED = "KP2204"
UNUSED_NOTE = "KP2103 topic is empty; no consumer groups or recent producers"
_MAX_GROUPS = 5
_RETENTION_KEYS = ("retention.ms", "retention.bytes", "cleanup.policy")


def destructive_changes(plan: Plan) -> tuple[Change, ...]:
    """List the changes that can destroy records."""
    return tuple(each for each in plan.changes if _can_lose_records(each))


def _can_lose_records(change: Change) -> bool:
    if not isinstance(change.before, Topic):
        return False
    if change.action in {Action.DELETE, Action.REPLACE}:
        return True
    paths = {each.path for each in change.attributes}
    return change.action is Action.UPDATE and any(
        ("config", key) in paths for key in _RETENTION_KEYS
    )


def topic_impact(used: TopicUse, now_ms: int) -> Impact:
    """Sum up the partitions of a topic; a sum of which a part is not known is not known."""
    parts = list(used.partitions.values())
    newest = [each.newest_ms for each in parts if each.newest_ms is not None]
    records = _sum(each.records for each in parts) if parts else None
    groups = (
        None
        if used.groups is None
        else tuple(
            GroupImpact(each.group, each.is_live, each.members, each.lag)
            for each in sorted(used.groups, key=lambda each: (not each.is_live, each.group))
        )
    )
    return Impact(
        records,
        _sum(each.size_bytes for each in parts) if parts else None,
        max(0, now_ms - max(newest)) if newest and records else None,
        groups,
        _sum(each.producers for each in parts) if parts else None,
        used.unread,
    )


def _sum(parts: Iterable[int | None]) -> int | None:
    total = 0
    for each in parts:
        if each is None:
            return None
        total += each
    return total


def add_impacts(plan: Plan, found: Mapping[tuple[str, str, str], Impact]) -> Plan:
    """Return changes their impact, by key, and let it speak in their risk and notes."""
    return plan.map_changes(lambda change: _add_impact(change, found.get(change.key)))


def _add_impact(change: Change, found: Impact | None) -> Change:
    if found is None:
        return change
    if found.is_unused:  # which says nothing of the moment of the apply: the risk stays
        return replace(change, impact=found, notes=(*change.notes, UNUSED_NOTE))
    notes = (*change.notes, *impact_notes(found))
    risk = change.risk
    if found.unread and risk in {Risk.SAFE, Risk.REVIEW}:
        risk = Risk.UNKNOWN
    return replace(change, impact=found, notes=notes, risk=risk)


def impact_notes(found: Impact) -> Iterator[str]:
    """Say the facts, each with its code."""
    yield f"KP2104 {_records(found)}"
    if found.groups is None:
        yield "KP2105 which groups read it is UNKNOWN"
    elif found.groups:
        shown = ", ".join(_group(each) for each in found.groups[:_MAX_GROUPS])
        more = len(found.groups) - _MAX_GROUPS
        yield f"KP2105 groups: {shown}" + (f" and {more} more" if more > 0 else "")
    if found.producers is None:
        yield "KP2106 who writes it is UNKNOWN"
    elif found.producers:
        yield f"KP2106 producers with an id that have written it lately: {found.producers:,}"
    for each in found.unread:
        yield f"KP2107 not read: {each}"


def _records(found: Impact) -> str:
    records = "UNKNOWN records" if found.records is None else f"{found.records:,} records"
    size = "UNKNOWN bytes" if found.size_bytes is None else f"{found.size_bytes:,} bytes"
    age = "" if found.age_ms is None else f", the newest {_age(found.age_ms)} old"
    return f"{records}, {size}{age}"


def _age(milliseconds: int) -> str:
    for length, unit in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min")):
        if milliseconds >= length:
            return f"{milliseconds // length} {unit}"
    return f"{milliseconds // 1000} s"


def _group(each: GroupImpact) -> str:
    parts = ["live" if each.is_live else "not live"]
    if each.is_live and each.members is not None:
        parts[0] = f"{each.members} live"
    parts.append("lag UNKNOWN" if each.lag is None else f"lag {each.lag:,}")
    return f"{each.group} ({', '.join(parts)})"


THRESHOLD_SUMMARIES: Mapping[str, str] = {
    "KP451": "Too many dangerous changes",
    "KP452": "Too large a part would change",
}


def check_thresholds(
    plan: Plan, max_dangerous: int | None, max_change_pct: int | None
) -> Iterator[Diagnostic]:
    """Refuse a plan above a threshold; None is no threshold.

    The part that changes is that of what is owned: changed, replaced or deleted, not created.
    """
    dangerous = [each for each in plan.changes if each.risk is Risk.DANGEROUS]
    if max_dangerous is not None and len(dangerous) > max_dangerous:
        names = ", ".join(str(each.address) for each in dangerous[:_MAX_GROUPS])
        yield _refusal(
            "KP451",
            f"{len(dangerous)} changes are dangerous, and at most {max_dangerous} may be: {names}.",
            "Look at them; a higher -max-dangerous lets the plan through.",
        )
    standing = [each for each in plan.changes if each.action is not Action.CREATE]
    touched = [each for each in standing if each.touches_cluster]
    if max_change_pct is not None and len(touched) * 100 > max_change_pct * len(standing):
        yield _refusal(
            "KP452",
            f"{len(touched)} of {len(standing)} objects would be changed, replaced or deleted; at "
            f"most {max_change_pct} % may be.",
            "Look whether this is meant; a higher -max-change-pct lets the plan through.",
        )


def _refusal(code: str, detail: str, hint: str) -> Diagnostic:
    return Diagnostic(code, Severity.ERROR, THRESHOLD_SUMMARIES[code], detail, hint)
