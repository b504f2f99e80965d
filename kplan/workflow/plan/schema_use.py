"""Guard of schemas: none is deleted under producers and consumers of its topic unasked."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from kplan.cluster.port import Cluster
from kplan.cluster.usage import TopicUse
from kplan.kinds.schema_subject import SchemaSubject, topic_of_subject
from kplan.kinds.topic_rules import Topic
from kplan.model.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, Severity, sort_diagnostics
from kplan.model.errors import ClusterError, Refusal
from kplan.model.impact import Impact
from kplan.model.plan import Action, Change, Plan
from kplan.policy.risk import topic_impact
from kplan.report.documents.notation import count_text
from kplan.workflow.clusters import Clusters
from kplan.workflow.ports import PlanOptions

SCHEMA_IN_USE = "KP521"
_MAX_NAMES = 5
_ABSENT = frozenset(("UNKNOWN_TOPIC_OR_PARTITION", "INVALID_TOPIC_EXCEPTION"))
"""How brokers answer that there is no such topic, or can be none."""


def check_schema_use(plan: Plan, clusters: Clusters, options: PlanOptions, now_ms: int) -> Plan:
    """Refuse to delete a schema whose topic is in use, or may be; `-accept` lets it through.

    A topic that goes in the same plan is judged by its own delete.
    """
    if not options.has_broker_check:
        return plan
    found: list[Diagnostic] = []
    for key in sorted({each.provider for each in plan.changes} & clusters.connections.keys()):
        topics = _remaining_topics(plan, key)
        if topics:
            uses = _read_uses(clusters.connections[key].cluster, sorted(set(topics.values())))
            found += _use_diagnostics(plan, topics, uses, now_ms)
    if not found:
        return plan
    if SCHEMA_IN_USE in options.accepted_guards:
        found = [replace(each, severity=Severity.WARNING, hint="") for each in found]
    return replace(plan, diagnostics=sort_diagnostics([*plan.diagnostics, *found]))


def _remaining_topics(plan: Plan, provider: str) -> Mapping[tuple[str, str, str], str]:
    """Return the topic of each schema that is to go, where the topic stays."""
    mine = [each for each in plan.changes if each.provider == provider]
    going = {
        each.before.name
        for each in mine
        if isinstance(each.before, Topic) and each.action is Action.DELETE
    }
    topics = {
        each.key: topic_of_subject(each.before.subject)
        for each in mine
        if isinstance(each.before, SchemaSubject) and each.action in {Action.DELETE, Action.REPLACE}
    }
    return {key: name for key, name in topics.items() if name and name not in going}


def _read_uses(cluster: Cluster, topics: list[str]) -> Mapping[str, TopicUse]:
    """Ask who uses the topics that exist; one that cannot be asked for is of unknown use."""
    try:
        described = cluster.topics(topics)
        live = [name for name, each in described.items() if not isinstance(each, Refusal)]
        hidden = {
            name: TopicUse(unread=(str(each),))
            for name, each in described.items()
            if isinstance(each, Refusal) and each.error not in _ABSENT
        }
        return {**hidden, **(cluster.topic_use(live) if live else {})}
    except ClusterError as failure:
        return dict.fromkeys(topics, TopicUse(unread=(failure.detail,)))


def _use_diagnostics(
    plan: Plan,
    topics: Mapping[tuple[str, str, str], str],
    uses: Mapping[str, TopicUse],
    now_ms: int,
) -> Iterator[Diagnostic]:
    for change in plan.changes:
        topic = topics.get(change.key)
        if topic is None or topic not in uses:
            continue
        if text := _use_text(topic_impact(uses[topic], now_ms)):
            yield _use_diagnostic(change, topic, text)


def _use_text(impact: Impact) -> str:
    """Say who uses a topic now, "" where it is known that no one does."""
    if impact.groups is None or impact.producers is None:
        why = "; ".join(impact.unread) or "it could not be read"
        return f"whose use is unknown: {why}"
    live = [each.group for each in impact.groups if each.is_live]
    rest = f" and {len(live) - _MAX_NAMES} more" if len(live) > _MAX_NAMES else ""
    parts = [f"is consumed by {', '.join(live[:_MAX_NAMES])}{rest}"] if live else []
    if impact.producers:
        parts.append(f"has {count_text(impact.producers, 'recent producer')}")
    return f"which {' and '.join(parts)}" if parts else ""


def _use_diagnostic(change: Change, topic: str, text: str) -> Diagnostic:
    before = change.before
    assert isinstance(before, SchemaSubject)  # noqa: S101 - only those are asked for
    return Diagnostic(
        SCHEMA_IN_USE,
        Severity.ERROR,
        SUMMARIES[SCHEMA_IN_USE],
        f"Subject {before.subject} is that of topic {topic}, {text}. Without it producers cannot "
        "look up or register their schema.",
        f"Stop its clients first, or accept it: -accept={SCHEMA_IN_USE}. To keep it on the "
        f"registry and forget it: kplan state rm '{change.address}'",
        change.address,
        change.declared_at,
    )
