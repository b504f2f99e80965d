"""Use case: tell who may do what, on the live cluster or as it will be after the plan."""

from dataclasses import replace

from kplan.cluster.request import AclBinding
from kplan.kinds import KINDS
from kplan.model.dataclass import dataclass
from kplan.model.errors import UnreadableError, UsageError
from kplan.model.impact import AllowedPrincipal, PrincipalPermission
from kplan.policy.access_guard import CLUSTER_NAME
from kplan.policy.access_query import holdings, who_can
from kplan.policy.authorizer import OPERATIONS, AuthorizerRules
from kplan.workflow.access import KIND, Ground, declared_after, live_names, rules_of
from kplan.workflow.opened import Opened, opened
from kplan.workflow.plan import planned
from kplan.workflow.project import PlanOptions, Ports, Project
from kplan.workflow.snapshot import read_snapshot


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: `principal`, or else `operation` on `resource` (type and name).

    `provider` is the key of the connection.
    """

    principal: str = ""
    operation: str = ""
    resource: tuple[str, str] = ("", "")
    is_planned: bool = False
    provider: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """The answer; `unread` says which live resources could not be counted, and why."""

    question: Question
    rules: AuthorizerRules
    holders: tuple[AllowedPrincipal, ...] = ()
    holdings: tuple[PrincipalPermission, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def is_super(self) -> bool:
        """Whether the principal is a super user."""
        return self.rules.is_super(self.question.principal)


def resource_of(operation: str, text: str) -> tuple[str, tuple[str, str]]:
    """Read an operation and a resource, as in `read topic:orders` and `alter cluster`.

    Raises:
        UsageError: there is no such type of resource, or no such operation on it.

    """
    sort, name = typed_name(text)
    wanted = operation.strip().upper().replace("-", "_")
    if wanted not in OPERATIONS[sort]:
        raise UsageError(
            f'Kafka never asks for "{operation}" on a {sort.lower()}.',
            hint=f"Operations are {', '.join(each.lower() for each in OPERATIONS[sort])}.",
        )
    return wanted, (sort, name)


def typed_name(text: str) -> tuple[str, str]:
    """Read type and name of a resource, as in `topic:orders` and `cluster`.

    Raises:
        UsageError: there is no such type of resource, or the name is missing.

    """
    sort, _, name = text.partition(":")
    sort = sort.strip().upper().replace("-", "_")
    if sort not in OPERATIONS:
        raise UsageError(
            f'"{text}" is no resource.',
            hint=f"Write it as TYPE:NAME, for example topic:orders; types are "
            f"{', '.join(each.lower() for each in OPERATIONS)}.",
        )
    if sort == "CLUSTER":
        name = name or CLUSTER_NAME
    if not name:
        raise UsageError(f"Which {sort.lower()}?", hint=f"Write it as {sort.lower()}:NAME.")
    return sort, name


def access(project: Project, question: Question, ports: Ports) -> Told:
    """Work out the answer; changes nothing anywhere.

    Raises:
        Unread: the ACLs could not be read.

    """
    with opened(project, ports, frozenset({question.provider})) as found:
        ground, acls = _acls(found, question, ports)
        rules = rules_of(ground)
        told = Told(question, rules)
        if question.principal:
            names, unread = live_names(ground, OPERATIONS.keys())
            held = holdings(question.principal, acls, rules, names)
            return replace(told, holdings=held, unread=unread)
        return replace(told, holders=who_can(question.operation, question.resource, acls, rules))


def _acls(found: Opened, question: Question, ports: Ports) -> tuple[Ground, frozenset[AclBinding]]:
    key = question.provider
    connection = found.clusters.at(key)
    if question.is_planned:
        made = planned(found, PlanOptions(asks_broker=False), ports)
        ground = Ground(connection.cluster, made.snapshots[key], found.configuration, key)
        acls = declared_after(ground, made.plan)
    else:
        ports.progress.stage("Reading the cluster")
        kinds = [kind for kind in KINDS if kind.name in {KIND, "kafka_topic"}]
        snapshot = read_snapshot(connection.cluster, connection.description, kinds, {})
        ground = Ground(connection.cluster, snapshot, found.configuration, key)
        acls = ground.acls
    if KIND in ground.snapshot.unread:
        raise UnreadableError(ground.snapshot.unread[KIND])
    return ground, acls
