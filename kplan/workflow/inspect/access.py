"""Use case: show who may do what, on the live cluster or as it will be after the plan."""

from contextlib import ExitStack
from dataclasses import replace

from kplan.cluster.request import AclBinding
from kplan.kinds import KINDS
from kplan.model.dataclass import dataclass
from kplan.model.errors import UnreadableError, UsageError
from kplan.model.impact import AllowedPrincipal, PrincipalPermission
from kplan.policy.access_guard import CLUSTER_NAME
from kplan.policy.access_query import principal_permissions, who_can
from kplan.policy.authorizer import OPERATIONS, AuthorizerRules
from kplan.workflow.access import (
    KIND,
    AccessContext,
    acls_after_plan,
    list_live_names,
    read_authorizer_rules,
)
from kplan.workflow.inspect.query import open_connection
from kplan.workflow.open_project import OpenProject, open_project
from kplan.workflow.plan.plan import plan_open_project
from kplan.workflow.ports import PlanOptions, Ports, Project
from kplan.workflow.snapshot import read_snapshot


@dataclass(frozen=True, slots=True)
class AccessQuestion:
    """The query: `principal`, or `operation` on `resource` (type and name).

    `provider` is the key of the connection.
    """

    principal: str = ""
    operation: str = ""
    resource: tuple[str, str] = ("", "")
    is_after_plan: bool = False
    provider: str = ""


@dataclass(frozen=True, slots=True)
class AccessAnswer:
    """The answer; `unread` says which live resources could not be counted, and why."""

    question: AccessQuestion
    rules: AuthorizerRules
    allowed_principals: tuple[AllowedPrincipal, ...] = ()
    permissions: tuple[PrincipalPermission, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def is_super(self) -> bool:
        """Whether the principal is a super user."""
        return self.rules.is_super(self.question.principal)


def parse_question(operation: str, text: str) -> tuple[str, tuple[str, str]]:
    """Read an operation and a resource, as in `read topic:orders` and `alter cluster`.

    Raises:
        UsageError: there is no such type of resource, or no such operation on it.

    """
    sort, name = parse_resource(text)
    wanted = operation.strip().upper().replace("-", "_")
    if wanted not in OPERATIONS[sort]:
        raise UsageError(
            f'Kafka never requires "{operation}" on a {sort.lower()}.',
            hint=f"Operations are {', '.join(each.lower() for each in OPERATIONS[sort])}.",
        )
    return wanted, (sort, name)


def parse_resource(text: str) -> tuple[str, str]:
    """Read type and name of a resource, as in `topic:orders` and `cluster`.

    Raises:
        UsageError: there is no such type of resource, or the name is missing.

    """
    sort, _, name = text.partition(":")
    sort = sort.strip().upper().replace("-", "_")
    if sort not in OPERATIONS:
        raise UsageError(
            f'"{text}" is not a resource.',
            hint=f"Write it as TYPE:NAME, for example topic:orders; types are "
            f"{', '.join(each.lower() for each in OPERATIONS)}.",
        )
    if sort == "CLUSTER":
        name = name or CLUSTER_NAME
    if not name:
        raise UsageError(f"Which {sort.lower()}?", hint=f"Write it as {sort.lower()}:NAME.")
    return sort, name


def answer_question(project: Project, question: AccessQuestion, ports: Ports) -> AccessAnswer:
    """Compute the answer; changes nothing anywhere.

    What is live is asked of the cluster alone: variables that no connection depends on need no
    value, and the state is neither read nor locked.

    Raises:
        UnreadableError: the ACLs could not be read.

    """
    with ExitStack() as stack:
        if question.is_after_plan:
            also = frozenset({question.provider})
            found = stack.enter_context(open_project(project, ports, also))
            ground, acls = _planned_acls(found, question.provider, ports)
        else:
            asked = stack.enter_context(open_connection(project, ports, question.provider))
            kinds = [kind for kind in KINDS if kind.name in {KIND, "kafka_topic"}]
            snapshot = read_snapshot(asked.cluster, asked.cluster.describe(), kinds, {})
            ground = AccessContext(asked.cluster, snapshot, asked.configuration, asked.key)
            acls = ground.acls
        if KIND in ground.snapshot.unread:
            raise UnreadableError(ground.snapshot.unread[KIND])
        rules = read_authorizer_rules(ground)
        result = AccessAnswer(question, rules)
        if question.principal:
            names, unread = list_live_names(ground, OPERATIONS.keys())
            held = principal_permissions(question.principal, acls, rules, names)
            return replace(result, permissions=held, unread=unread)
        return replace(
            result, allowed_principals=who_can(question.operation, question.resource, acls, rules)
        )


def _planned_acls(
    project: OpenProject, key: str, ports: Ports
) -> tuple[AccessContext, frozenset[AclBinding]]:
    connection = project.clusters.connection(key)
    made = plan_open_project(project, PlanOptions(has_broker_check=False), ports)
    ground = AccessContext(connection.cluster, made.snapshots[key], project.configuration, key)
    return ground, acls_after_plan(ground, made.plan)
