"""Use case: find problems of ACLs, declared and live."""

from collections.abc import Iterable, Mapping

from kplan.cluster.request import AclBinding
from kplan.config.load import Configuration
from kplan.kinds.acl import Acl, acl_binding
from kplan.kinds.topic_rules import Topic
from kplan.model.codes import SUMMARIES
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, Severity, sort_diagnostics
from kplan.model.plan import Action, Plan
from kplan.model.resource import Resource
from kplan.model.state import Snapshot
from kplan.policy.lint import AclInventory, Declaration, lint_acls
from kplan.workflow.access import KIND, AccessContext, acls_after_plan, live_acls
from kplan.workflow.clusters import desired_identities, read_clusters
from kplan.workflow.open_project import open_project
from kplan.workflow.ports import Ports, Project

TOPICS = "kafka_topic"
_NO_TOPIC = "KP405"


@dataclass(frozen=True, slots=True)
class LintResult:
    """What was found, and the configuration it was found in."""

    diagnostics: tuple[Diagnostic, ...]
    configuration: Configuration
    acl_count: int
    topic_count: int


def lint_project(project: Project, ports: Ports) -> LintResult:
    """Look at everything that is declared or live; changes nothing anywhere."""
    with open_project(project, ports) as found:
        ports.progress.stage("Reading the cluster")
        wanted = desired_identities(found.configuration, found.state)
        snapshots = read_clusters(found.clusters, wanted)
    problems = list(found.configuration.diagnostics)
    acls = topics = 0
    for key, snapshot in snapshots.items():
        resources = [each for each in found.configuration.resources if each.provider == key]
        declared = {acl_binding(each.value) for each in resources if isinstance(each.value, Acl)}
        estate = _acl_inventory(live_acls(snapshot) | declared, snapshot, resources)
        problems += [*lint_acls(estate), *_unread_diagnostics(snapshot)]
        acls, topics = acls + len(estate.acls), topics + len(estate.topics or ())
    return LintResult(sort_diagnostics(problems), found.configuration, acls, topics)


def lint_plan(plan: Plan, context: AccessContext) -> tuple[Diagnostic, ...]:
    """Look at the ACLs that a plan brings, beside all that will be there after it.

    Topics that no one may read or write, and prefixes that no topic has yet, are left to
    `kplan lint`: what they are for is often made elsewhere.
    """
    brought = {
        each.address: each.after
        for each in plan.changes
        if each.kind == KIND
        and each.provider == context.provider
        and each.action in {Action.CREATE, Action.UPDATE, Action.REPLACE}
    }
    if not brought or KIND not in context.snapshot.readings:
        return ()
    acls = acls_after_plan(context, plan)
    declared = context.configuration.resources
    resources = [each for each in declared if each.provider == context.provider]
    estate = _acl_inventory(acls, context.snapshot, resources)
    return tuple(
        each
        for each in lint_acls(estate)
        if each.address in brought
        and not (each.code == _NO_TOPIC and _is_prefixed(brought[each.address]))
    )


def _is_prefixed(acl: object) -> bool:
    return isinstance(acl, Acl) and acl.resource_pattern_type_filter == "Prefixed"


def _acl_inventory(
    acls: frozenset[AclBinding], snapshot: Snapshot, resources: Iterable[Resource]
) -> AclInventory:
    places: dict[AclBinding, Declaration] = {}
    topics: dict[str, Declaration] = {}
    for each in resources:
        match each.value:
            case Acl() as acl:
                places[acl_binding(acl)] = Declaration(each.address, each.declared_at)
            case Topic(name=name):
                topics[name] = Declaration(each.address, each.declared_at)
            case _:
                pass
    return AclInventory(acls, _topic_names(snapshot, topics), places, topics, snapshot.principal)


def _topic_names(snapshot: Snapshot, declared: Mapping[str, Declaration]) -> frozenset[str] | None:
    reading = snapshot.readings.get(TOPICS)
    return None if reading is None else frozenset({*reading.objects, *reading.hidden, *declared})


def _unread_diagnostics(snapshot: Snapshot) -> Iterable[Diagnostic]:
    for kind in (KIND, TOPICS):
        if kind in snapshot.unread:
            yield Diagnostic(
                "KP410",
                Severity.ERROR,
                SUMMARIES["KP410"],
                f"{kind} objects could not be read: {snapshot.unread[kind]}",
                "Grant DESCRIBE on the cluster and on topics to the principal kplan runs as.",
            )
