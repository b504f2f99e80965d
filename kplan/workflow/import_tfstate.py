"""Use case: take over what a state of Terraform owns."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kplan.kinds import KINDS
from kplan.model.address import Address
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import SourceRange
from kplan.model.resource import Identity, Lifecycle, Resource
from kplan.model.snapshot import Snapshot
from kplan.model.state import OwnedObject
from kplan.workflow.adoption import adopted, together
from kplan.workflow.clusters import read_clusters
from kplan.workflow.opened import Opened, check_no_journal, opened
from kplan.workflow.project import Ports, Project
from kplan.workflow.tfstate import Claim, Unclaimed, claims


@dataclass(frozen=True, slots=True)
class TakenOver:
    """What is owned now, and which entries of Terraform's state were left out, and why."""

    owned: tuple[OwnedObject, ...]
    left_out: tuple[Unclaimed, ...]


def import_tfstate(project: Project, file: Path, data: bytes, ports: Ports) -> TakenOver:
    """Own, at the same addresses, every object of Terraform's state that is on the cluster.

    What is recorded as last applied is read from the cluster. Nothing there changes, nothing
    secret is taken over, and Terraform's file is only read.

    Raises:
        UsageError: the file is no state of Terraform.

    """
    found_claims, others = claims(file, data, KINDS)
    with opened(project, ports) as found:
        check_no_journal(project)
        ports.progress.stage("Reading the cluster")
        wanted: dict[str, dict[str, set[Identity]]] = defaultdict(lambda: defaultdict(set))
        declared = {each.address: each.provider for each in found.configuration.resources}
        for claim in found_claims:
            wanted[declared.get(claim.address, "")][claim.address.kind].add(claim.identity)
        snapshots = read_clusters(found.clusters, wanted)
        sorted_out = list(_sorted_out(found_claims, found, snapshots))
        owned = tuple(each for each in sorted_out if isinstance(each, OwnedObject))
        if owned:
            state = found.state
            project.store.write(
                replace(
                    found.clusters.known_to(state),
                    serial=state.serial + 1,
                    owned=together(state.owned, owned),
                ),
            )
    left_out = tuple(each for each in sorted_out if isinstance(each, Unclaimed))
    return TakenOver(owned, (*others, *left_out))


def _sorted_out(
    found_claims: Sequence[Claim], found: Opened, snapshots: Mapping[str, Snapshot]
) -> Iterator[OwnedObject | Unclaimed]:
    declared = {each.address: each for each in found.configuration.resources}
    holders: dict[str, dict[tuple[str, Identity], OwnedObject]] = defaultdict(dict)
    for each in found.state.owned.values():
        holders[each.provider][each.address.kind, each.identity] = each
    for claim in found_claims:
        resource = declared.get(claim.address)
        if resource is None and found.clusters.are_several:
            told = "it is not declared, so nothing says on which cluster it is"
            yield Unclaimed(str(claim.address), told)
            continue
        provider = "" if resource is None else resource.provider
        snapshot = snapshots[provider]
        if reason := _reason(claim, holders[provider], found.state.owned, snapshot):
            yield Unclaimed(str(claim.address), reason)
            continue
        live = snapshot.readings[claim.address.kind].objects[claim.identity]
        at = SourceRange("", 0, 0, 0, 0) if resource is None else resource.declared_at
        rules = Lifecycle() if resource is None else resource.lifecycle
        claimed = Resource(claim.address, claim.identity, claim.value, at, rules, provider=provider)
        owned = adopted(claimed, live)
        yield owned if resource is not None else replace(owned, declared_at="")


def _reason(
    claim: Claim,
    holders: Mapping[tuple[str, Identity], OwnedObject],
    owned: Mapping[Address, OwnedObject],
    snapshot: Snapshot,
) -> str:
    """Say why an object cannot be owned, "" where it can."""
    kind, identity = claim.address.kind, claim.identity
    if (holder := holders.get((kind, identity))) is not None:
        return f"{identity} is owned at {holder.address} already"
    if claim.address in owned:
        return f"the address owns {owned[claim.address].identity} already"
    if kind in snapshot.unread:
        return f"{kind} objects could not be read: {snapshot.unread[kind]}"
    reading = snapshot.readings[kind]
    if identity in reading.hidden:
        return f"the cluster will not show {identity} ({reading.hidden[identity]})"
    return "" if identity in reading.objects else f"{identity} is not on the cluster"
