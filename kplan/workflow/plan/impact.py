"""Finding out, before anything is done, how far the changes of a plan reach."""

from collections.abc import Mapping
from dataclasses import replace

from kplan.cluster.usage import TopicUse
from kplan.kinds.topic_value import Topic
from kplan.model.diagnostic import sort_diagnostics
from kplan.model.errors import ClusterError
from kplan.model.impact import Impact
from kplan.model.plan import Change, Plan
from kplan.policy.impact import add_impacts, check_thresholds, destructive_changes, topic_impact
from kplan.workflow.clusters import Clusters
from kplan.workflow.ports import PlanOptions, Ports


def add_impact(plan: Plan, clusters: Clusters, options: PlanOptions, ports: Ports) -> Plan:
    """Add what changes destroy and whom they hit, and hold the plan against its thresholds."""
    changes = destructive_changes(plan) if options.asks_broker else ()
    if changes:
        ports.progress.stage("Looking at what changes destroy", len(changes))
        now_ms = int(ports.now().timestamp() * 1000)
        found: dict[tuple[str, str, str], Impact] = {}
        for key in sorted({each.provider for each in changes} & clusters.connections.keys()):
            mine = [each for each in changes if each.provider == key]
            uses = _uses(clusters, key, mine)
            found |= {each.key: topic_impact(uses[_name(each)], now_ms) for each in mine}
        plan = add_impacts(plan, found)
    problems = check_thresholds(plan, options.max_dangerous, options.max_change_pct)
    return replace(plan, diagnostics=sort_diagnostics([*plan.diagnostics, *problems]))


def _uses(clusters: Clusters, key: str, changes: list[Change]) -> Mapping[str, TopicUse]:
    """Ask; a cluster that cannot be asked leaves everything unknown."""
    names = [_name(each) for each in changes]
    silent = TopicUse(unread=("no answer",))
    try:
        found = clusters.connections[key].cluster.topic_use(names)
    except ClusterError as failure:
        return dict.fromkeys(names, TopicUse(unread=(failure.detail,)))
    return {name: found.get(name, silent) for name in names}


def _name(change: Change) -> str:
    """Name the topic as it stands; what replaces it may have another name."""
    assert isinstance(change.before, Topic)  # noqa: S101 - no others reach records
    return change.before.name
