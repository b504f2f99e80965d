"""HCL for review of one cluster after another: what kplan owns there, and blocks to remove it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple, TypeVar

from kplan.config.fleet_file import FleetCluster
from kplan.fleet.snapshot import CLUSTER
from kplan.model.address import Address
from kplan.model.errors import WrongClusterError
from kplan.model.resource import Identity, connection_name
from kplan.model.state import OwnedObject, State
from kplan.report.documents.notation import hcl_comment
from kplan.state.file import check_same_cluster
from kplan.workflow.fleet.desired import read_owned
from kplan.workflow.fleet.open_run import OpenSnapshot
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts

T = TypeVar("T")
INSTANCES_NOTE = """\
# Of blocks with count or for_each, and in modules, comments below say which instances go.
"""
"""The end of the header of a file that has what `render_removed` writes."""
_REST_HEADER = """\
# A removed block is for all instances at once, and other instances of these blocks stay. Take the
# ones below out of for_each or count of the block, and plan: the plan deletes them. Out of those of
# a module only if all that the module declares for this key may go.
#
"""


class ClusterState(NamedTuple):
    """The state of a configuration, and the id of the cluster that an answer is about."""

    state: State
    cluster_id: str

    @property
    def owned(self) -> Mapping[tuple[str, Identity], OwnedObject]:
        """What is owned on this cluster, through any of its connections, by kind and identity."""
        return {
            (each.address.kind, each.identity): each
            for each in self.state.owned.values()
            if self.state.cluster_id_of(each.provider) == self.cluster_id
            or (not each.provider and not self.state.cluster_id)  # never applied: fits any
        }

    def block_names(self, kind: str) -> set[str]:
        """Return the names that blocks of a kind have, on whatever cluster."""
        at = (address for each in self.state.owned.values() for address in each.addresses)
        return {each.name for each in at if each.kind == kind}


def render_clusters(
    found: OpenSnapshot,
    clusters: Mapping[str, FleetCluster],
    answers: Iterable[tuple[str, T]],
    render: Callable[[ClusterState, T], Mapping[str, str]],
    given: tuple[FleetOptions, FleetPorts],
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Write the HCL of each of the clusters by the ending of a file, from what kplan owns there.

    There is none, and a note, where the state of the configuration is of another cluster: its
    addresses are those of other objects. Raises StateError and ClusterError.
    """
    options, ports = given
    at = found.objects.where(found.objects["kind"] == CLUSTER).select("cluster", "identity")
    ids = {str(name): str(identity) for name, identity in at.collect()}
    for name, answer in answers:
        if name not in clusters:
            continue
        known = ClusterState(read_owned(clusters[name], options, ports), ids.get(name, ""))
        try:
            check_same_cluster(*known)
        except WrongClusterError as failure:
            ports.progress.note(f"{name}: no HCL is written. {failure.detail}")
            continue
        texts = render(known, answer)
        others = sorted({each.provider for each in known.owned.values()} - {""})
        if others and any("\nresource " in each for each in texts.values()):
            ports.progress.note(
                f"{name}: objects are owned through {', '.join(map(connection_name, others))}. The "
                "resource blocks of the HCL have no provider: add it to those that belong there."
            )
        yield name, texts


def render_removed(state: State, gone: Mapping[Address, str]) -> str:
    """Write `removed` blocks; in: the owned addresses that go, each with its evidence or "".

    There is one for each block of which all instances go, and a list of instances, in comments,
    for the others. "" for nothing.
    """
    total: dict[str, set[Address]] = {}
    for each in (at for owned in state.owned.values() for at in owned.addresses):
        total.setdefault(_keyless_address(each), set()).add(each)
    whole: dict[str, list[str]] = {}
    rest: list[str] = []
    for each in sorted(gone, key=lambda each: each.sort_key):
        block, evidence = _keyless_address(each), gone[each]
        if total[block] <= gone.keys():
            whole.setdefault(block, []).append(hcl_comment(evidence) if evidence else "")
        else:
            rest.append(hcl_comment(f"{each}: {evidence}" if evidence else str(each)))
    texts = [
        f"{''.join(comments)}removed {{\n  from = {block}\n  lifecycle {{\n    destroy = true\n"
        "  }\n}\n"
        for block, comments in whole.items()
    ]
    if rest:
        texts.append(_REST_HEADER + "".join(rest))
    return "\n".join(texts)


def _keyless_address(address: Address) -> str:
    """Return the address that means all instances of a block, in all instances of its modules."""
    modules = tuple(step.partition("[")[0] for step in address.module)
    return replace(address, module=modules).block_address
