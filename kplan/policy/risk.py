"""How much a reviewer should worry about each change, with the reason."""

from collections.abc import Iterator
from dataclasses import replace

from kplan.kinds.acl import Acl
from kplan.kinds.topic import Topic
from kplan.model.plan import Action, AttributeChange, Change, Plan, Risk
from kplan.policy.layout_risk import layout_findings
from kplan.policy.setting_risk import Finding, setting_findings

_ORDER = (Risk.SAFE, Risk.UNKNOWN, Risk.REVIEW, Risk.DANGEROUS)


def with_risks(plan: Plan) -> Plan:
    """Give every change of the plan its risk class and the notes that explain it."""
    return plan.with_each(_judged)


def _judged(change: Change) -> Change:
    found = list(_findings(change))
    if not found:
        return change
    risk = max((each for each, _ in found), key=_ORDER.index)
    return replace(change, risk=risk, notes=change.notes + tuple(note for _, note in found))


def _findings(change: Change) -> Iterator[Finding]:
    match change.before if change.action is not Action.CREATE else None:
        case Topic() if change.action in {Action.DELETE, Action.REPLACE}:
            yield Risk.DANGEROUS, "KP2101 every record of the topic is lost"
        case Topic() if change.action is Action.UPDATE:
            for attribute in change.attributes:
                yield from _topic_finding(change, attribute)
                yield from layout_findings(change, attribute)
        case Acl() as before:
            yield from _acl_findings(change, before)
        case _:
            yield from setting_findings(change)


def _topic_finding(change: Change, attribute: AttributeChange) -> Iterator[Finding]:
    match attribute.path:
        case ("partitions",) if _is_compacted(change.before):
            yield (
                Risk.DANGEROUS,
                "KP2207 the latest record of a key stays behind in its old partition",
            )
        case ("partitions",):
            yield Risk.REVIEW, "KP2203 keys go to other partitions than before"
        case ("config", "retention.ms" | "retention.bytes" as key) if _shrinks(attribute):
            yield Risk.DANGEROUS, f"KP2102 {key} shrinks: older records are deleted"
        case ("config", "retention.ms" | "retention.bytes" as key) if attribute.after is None:
            yield Risk.UNKNOWN, f"KP2102 {key} is the broker's then: older records may be deleted"
        case ("config", "cleanup.policy"):
            yield Risk.REVIEW, "KP2204 cleanup.policy decides which records are deleted"
        case ("config", "min.insync.replicas") if _starves(change, attribute):
            yield Risk.REVIEW, "KP2205 one lost replica stops writes: min.insync.replicas = RF"
        case _:
            pass


def _acl_findings(change: Change, before: Acl) -> Iterator[Finding]:
    if before.acl_permission_type == "Deny" and change.action in {Action.DELETE, Action.REPLACE}:
        yield Risk.REVIEW, f"KP2302 {before.acl_principal} may gain what this Deny withheld"
    elif change.action is Action.DELETE:
        yield Risk.REVIEW, f"KP2301 {before.acl_principal} loses this permission"
    elif change.action is Action.REPLACE and change.adds_first:
        yield Risk.SAFE, f"KP2304 {before.acl_principal} has both for the moment between: no gap"
    elif change.action is Action.REPLACE:
        yield (
            Risk.REVIEW,
            f"KP2303 {before.acl_principal} is without it for the moment between two requests",
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


def _starves(change: Change, attribute: AttributeChange) -> bool:
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
