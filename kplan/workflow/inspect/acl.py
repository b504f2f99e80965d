"""The ACLs of a cluster, as a table."""

from dataclasses import astuple, fields

from kplan.cluster.port import Cluster
from kplan.cluster.request import AclBinding
from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError
from kplan.model.table import Figures, FigureTable
from kplan.policy.authorizer import AclIndex
from kplan.workflow.inspect.access import parse_resource


@dataclass(frozen=True, slots=True)
class AclFilter:
    """Which ACLs are listed: those that fit all that is given; "" is not given.

    `resource` and `match` are written as TYPE:NAME. `resource` is what an ACL says itself, with
    either type of pattern; `match` is a resource that the ACL applies to.
    """

    principal: str = ""
    resource: str = ""
    match: str = ""

    def matching_acls(self, acls: frozenset[AclBinding]) -> list[AclBinding]:
        """Return the ACLs that fit, sorted. Raises UsageError."""
        found = set(acls)
        if self.match:
            held = AclIndex(acls).acls_on_name(*parse_resource(self.match))
            found = {each for side in held for bindings in side.values() for each in bindings}
        if self.resource:
            said = parse_resource(self.resource)
            found = {each for each in found if (each.resource_type, each.resource_name) == said}
        if self.principal:
            found = {each for each in found if each.principal == self.principal}
        return sorted(found)

    def check(self) -> None:
        """Refuse a filter that matches nothing. Raises UsageError."""
        for each in (self.resource, self.match):
            if each:
                parse_resource(each)
        if self.principal and ":" not in self.principal:
            raise UsageError(
                f'"{self.principal}" is not a principal.',
                hint=f"Write it as User:{self.principal}.",
            )


def list_acls(cluster: Cluster, wanted: AclFilter) -> Figures:
    """List ACLs.

    Raises:
        UsageError: the filter makes no sense.
        UnreadableError: no right to describe the cluster, or no authorizer is configured.

    """
    wanted.check()
    rows = tuple(astuple(each) for each in wanted.matching_acls(cluster.acls()))
    columns = tuple(each.name for each in fields(AclBinding))
    return Figures("ACLs", (FigureTable("acls", columns, rows),))
