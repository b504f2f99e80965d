"""Risk of each change, and the impact of a topic change on records and clients."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from kplan.cluster.usage import TopicUse
from kplan.kinds.acl import Acl, acl_binding
from kplan.kinds.broker_config import RETENTION_KEYS, BrokerConfig
from kplan.kinds.connector import KafkaConnector
from kplan.kinds.feature import Feature
from kplan.kinds.quota import Quota
from kplan.kinds.schema_subject import SchemaSubject
from kplan.kinds.scram import ScramCredential
from kplan.kinds.topic_layout import added_replicas
from kplan.kinds.topic_retention import RETENTION, retention_step_note
from kplan.kinds.topic_rules import THROTTLED_REPLICAS, Topic
from kplan.model.impact import GroupImpact, Impact
from kplan.model.plan import Action, AttributeChange, Change, ObjectKey, Plan, Risk
from kplan.policy.service_risk import Finding, connector_findings, schema_findings


def setting_findings(change: Change, in_force: Mapping[str, str]) -> Iterator[Finding]:
    """Return the risk of a change to other kinds than topics and ACLs."""
    match change.before if change.action is not Action.CREATE else change.after:
        case Quota() as quota:
            yield from _quota_findings(change, quota)
        case BrokerConfig():
            yield from _broker_findings(change, in_force)
        case Feature():
            yield Risk.REVIEW, "KP2431 not every level of a feature can be left again"
        case ScramCredential() as credential:
            yield from _credential_findings(change, credential)
        case KafkaConnector():
            yield from connector_findings(change)
        case SchemaSubject():
            yield from schema_findings(change)
        case _:
            pass


def _quota_findings(change: Change, quota: Quota) -> Iterator[Finding]:
    if change.action in {Action.DELETE, Action.REPLACE}:
        yield Risk.REVIEW, "KP2401 without its quota nothing limits it but the defaults"
    elif change.action is Action.CREATE and quota.entity_name is None:
        yield Risk.REVIEW, "KP2402 a default quota limits all that have none of their own"
    elif change.action is Action.UPDATE:
        for each in change.attributes:
            if each.path[0] == "config" and _tightens(each):
                yield Risk.REVIEW, f"KP2403 {each.path[1]} tightens: clients may be throttled"


def _credential_findings(change: Change, credential: ScramCredential) -> Iterator[Finding]:
    if change.action in {Action.DELETE, Action.REPLACE}:
        yield Risk.REVIEW, f"KP2411 {credential.username} cannot log in with it any more"
    elif change.action is Action.UPDATE:
        yield Risk.REVIEW, f"KP2412 {credential.username} logs in with the new password only"


def _broker_findings(change: Change, in_force: Mapping[str, str]) -> Iterator[Finding]:
    """Judge a broker config by the values in force before it, where they are known."""
    yield Risk.REVIEW, "KP2421 what a broker is set to applies to all its topics at once"
    before, after = change.before, change.after
    new = after.config if isinstance(after, BrokerConfig) else {}
    old = before.config if isinstance(before, BrokerConfig) else {}
    hidden = {each.path for each in change.attributes if each.sensitive}
    for key in sorted({*old, *new}):
        value, held = new.get(key), in_force.get(key, old.get(key))
        if value == old.get(key):
            continue
        if key == "unclean.leader.election.enable":
            if _is_true(value) and not _is_true(held):
                yield Risk.DANGEROUS, "KP2422 an unclean election loses records"
        elif key in RETENTION_KEYS and value is None:
            yield Risk.UNKNOWN, f"KP2423 {key} is the file's then: older records may be deleted"
        elif key in RETENTION_KEYS and _shrinks(AttributeChange((key,), held, value)):
            was = "" if ("config", key) in hidden else f" from {held}"
            how = "is set" if held is None else f"shrinks{was}"
            yield Risk.DANGEROUS, f"KP2423 {key} {how}: older records of all topics are deleted"


def _is_true(value: str | None) -> bool:
    return value is not None and value.casefold() == "true"


def _tightens(attribute: AttributeChange) -> bool:
    before, after = attribute.before, attribute.after
    if not isinstance(after, str):
        return False
    return before is None or (isinstance(before, str) and float(after) < float(before))


def layout_findings(change: Change, attribute: AttributeChange) -> Iterator[Finding]:
    """Judge a change of the replication factor or of where replicas are."""
    if attribute.path == ("replica_assignment",) and added_replicas(change.before, change.after):
        yield Risk.REVIEW, "KP2211 replicas of partitions move between brokers"
        for key in _declared_throttles(change):
            yield Risk.REVIEW, f"KP2216 {key} has the replicas of the move, too, until it is done"
    if attribute.path == ("replication_factor",) and _is_less(attribute):
        yield Risk.REVIEW, "KP2212 fewer replicas: less is left when a broker is lost"
        if _is_below_min_isr(change):
            yield Risk.DANGEROUS, _TOO_FEW_IN_SYNC


_TOO_FEW_IN_SYNC = (
    "KP2213 fewer replicas than min.insync.replicas: writes with acks=all stop, since Kafka 3.7 as "
    "soon as one replica is not in sync"
)


def _declared_throttles(change: Change) -> list[str]:
    topic = change.after
    return [key for key in THROTTLED_REPLICAS if isinstance(topic, Topic) and key in topic.config]


def _is_less(attribute: AttributeChange) -> bool:
    before, after = attribute.before, attribute.after
    return isinstance(before, int) and isinstance(after, int) and after < before


def _is_below_min_isr(change: Change) -> bool:
    topic = change.after
    if not isinstance(topic, Topic):
        return False
    wanted = topic.config.get("min.insync.replicas", "")
    return wanted.isdigit() and (topic.replication_factor or 0) < int(wanted)


_RISK_ORDER = (Risk.SAFE, Risk.UNKNOWN, Risk.REVIEW, Risk.DANGEROUS)


Fallbacks = Mapping[ObjectKey, Mapping[str, str]]
"""What configs are without the change, by change and key; what is not known is left out.

Of a topic it is the value without an override, of brokers the one in force.
"""


def add_risks(plan: Plan, fallbacks: Fallbacks = MappingProxyType({})) -> Plan:
    """Return every change of the plan its risk class and the notes that explain it.

    Configs are judged by the values that are in force before and after (K4-31): `fallbacks`.
    """
    return plan.map_changes(lambda change: _add_risk(change, fallbacks.get(change.key, {})))


def overridden_configs(change: Change) -> frozenset[str]:
    """Name the configs of a topic that gain or lose an override of their own."""
    if not isinstance(change.before, Topic) or change.action is not Action.UPDATE:
        return frozenset()
    return frozenset(
        each.path[1]
        for each in change.attributes
        if each.path[0] == "config" and len(each.path) > 1 and None in (each.before, each.after)
    )


def _add_risk(change: Change, fallbacks: Mapping[str, str]) -> Change:
    found = list(_change_findings(change, fallbacks)) if change.touches_cluster else []
    if not found:
        return change
    risk = max((each for each, _ in found), key=_RISK_ORDER.index)
    return replace(change, risk=risk, notes=change.notes + tuple(note for _, note in found))


def _change_findings(change: Change, fallbacks: Mapping[str, str]) -> Iterator[Finding]:
    match change.before if change.action is not Action.CREATE else None:
        case Topic() if change.action in {Action.DELETE, Action.REPLACE}:
            yield Risk.DANGEROUS, "KP2101 every record of the topic is lost"
        case Topic() if change.action is Action.UPDATE:
            for attribute in change.attributes:
                yield from _config_findings(change, attribute, fallbacks)
                yield from layout_findings(change, attribute)
        case Acl() as before:
            yield from _acl_findings(change, before)
        case _:
            yield from setting_findings(change, fallbacks)


def _config_findings(
    change: Change, attribute: AttributeChange, fallbacks: Mapping[str, str]
) -> Iterator[Finding]:
    """Judge an attribute of a topic; a config without an override has its default value."""
    key = attribute.path[1] if attribute.path[0] == "config" and len(attribute.path) > 1 else ""
    if not key or None not in (attribute.before, attribute.after) or key not in fallbacks:
        yield from _topic_finding(change, attribute)
        return
    value = fallbacks[key]
    if attribute.after is None:
        yield Risk.SAFE, f"KP2208 {key} falls back to {value}"
    else:
        yield Risk.SAFE, f"KP2208 {key} is {value} without an override"
    before = value if attribute.before is None else attribute.before
    after = value if attribute.after is None else attribute.after
    if before != after:
        effective = replace(attribute, before=before, after=after)
        yield from _topic_finding(change, effective)


def _topic_finding(change: Change, attribute: AttributeChange) -> Iterator[Finding]:
    match attribute.path:
        case ("partitions",) if _is_compacted(change.before):
            yield (
                Risk.DANGEROUS,
                "KP2207 the latest record of a key can remain in its old partition",
            )
        case ("partitions",):
            yield Risk.REVIEW, "KP2203 keys go to other partitions than before"
        case ("config", "retention.ms" | "retention.bytes" as key) if _shrinks(attribute):
            yield Risk.DANGEROUS, f"KP2102 {key} shrinks: older records are deleted"
            if key == RETENTION and (note := retention_step_note(change.after)):
                yield Risk.DANGEROUS, note
        case ("config", "retention.ms" | "retention.bytes" as key) if attribute.after is None:
            yield Risk.UNKNOWN, f"KP2102 {key} is the broker's then: older records may be deleted"
        case ("config", "cleanup.policy"):
            yield Risk.REVIEW, "KP2204 cleanup.policy decides which records are deleted"
        case ("config", "min.insync.replicas") if _blocks_writes(change, attribute):
            yield Risk.REVIEW, "KP2205 one lost replica stops writes: min.insync.replicas = RF"
        case _:
            pass


def _acl_findings(change: Change, before: Acl) -> Iterator[Finding]:
    if change.action not in {Action.DELETE, Action.REPLACE}:
        return
    is_kept = change.action is Action.REPLACE and acl_binding(change.after).covers(
        acl_binding(before)
    )
    if before.acl_permission_type == "Deny" and is_kept and change.adds_first:
        yield Risk.SAFE, "KP2304 the Deny holds all the time: the new ACL is added first"
    elif before.acl_permission_type == "Deny":
        when = ", until the new ACL is added" if is_kept else ""
        yield Risk.REVIEW, f"KP2302 {before.acl_principal} may gain what this Deny withheld{when}"
    elif not is_kept:
        yield Risk.REVIEW, f"KP2301 {before.acl_principal} loses this permission"
    elif change.adds_first:
        yield (
            Risk.SAFE,
            f"KP2304 {before.acl_principal} keeps this permission: the new ACL is added first",
        )
    else:
        yield (
            Risk.REVIEW,
            (
                f"KP2303 {before.acl_principal} briefly loses this permission "
                "while the ACL is replaced"
            ),
        )


def _is_compacted(value: object) -> bool:
    return isinstance(value, Topic) and "compact" in value.config.get("cleanup.policy", "")


def _shrinks(attribute: AttributeChange) -> bool:
    """Compare two bounds; -1 is no bound, and an absent one is the broker's."""
    before, after = _bound(attribute.before), _bound(attribute.after)
    return after is not None and (before is None or after < before)


def _bound(value: object) -> float | None:
    if not isinstance(value, str) or not value.lstrip("-").isdigit():
        return None
    return float("inf") if int(value) < 0 else float(value)


def _blocks_writes(change: Change, attribute: AttributeChange) -> bool:
    after = change.after
    factor = after.replication_factor if isinstance(after, Topic) else None
    wanted = attribute.after
    return (
        isinstance(wanted, str)
        and wanted.isdigit()
        and factor is not None
        and factor > 1
        and int(wanted) >= factor
    )


TOPIC_DELETED, RECORDS_EXPIRE = "KP2101", "KP2102"
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
    """Return changes their impact, by key, and derive their risk and notes from it."""
    return plan.map_changes(lambda change: _add_impact(change, found.get(change.key)))


def _add_impact(change: Change, impact: Impact | None) -> Change:
    if impact is None:
        return change
    if impact.is_unused:
        lowered = Risk.REVIEW if change.risk is Risk.DANGEROUS else change.risk
        return replace(change, impact=impact, notes=(*change.notes, UNUSED_NOTE), risk=lowered)
    notes = (*change.notes, *impact_notes(impact))
    risk = change.risk
    if impact.unread and risk in {Risk.SAFE, Risk.REVIEW}:
        risk = Risk.UNKNOWN
    return replace(change, impact=impact, notes=notes, risk=risk)


def impact_notes(impact: Impact) -> Iterator[str]:
    """Say the facts, each with its code."""
    yield f"KP2104 {_records(impact)}"
    if impact.groups is None:
        yield "KP2105 which groups read it is UNKNOWN"
    elif impact.groups:
        shown = ", ".join(_group(each) for each in impact.groups[:_MAX_GROUPS])
        more = len(impact.groups) - _MAX_GROUPS
        yield f"KP2105 groups: {shown}" + (f" and {more} more" if more > 0 else "")
    if impact.producers is None:
        yield "KP2106 who writes it is UNKNOWN"
    elif impact.producers:
        yield f"KP2106 producers with an id that have written it lately: {impact.producers:,}"
    for each in impact.unread:
        yield f"KP2107 not read: {each}"


def _records(impact: Impact) -> str:
    records = "UNKNOWN records" if impact.records is None else f"{impact.records:,} records"
    size = "UNKNOWN bytes" if impact.size_bytes is None else f"{impact.size_bytes:,} bytes"
    age = "" if impact.age_ms is None else f", the newest {_age(impact.age_ms)} old"
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
