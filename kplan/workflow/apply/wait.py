"""Use case: wait until every broker serves the changes applied without waiting."""

from collections.abc import Iterable
from dataclasses import replace

from kplan.apply.limits import ApplyContext, Limits, Watcher
from kplan.apply.progress import ApplyProgress, ChangeProgress
from kplan.apply.visibility import wait_until_visible
from kplan.kinds import KINDS
from kplan.kinds.schema import from_document, schema_fields, to_document
from kplan.model.dataclass import dataclass
from kplan.model.plan import Action, Change
from kplan.model.state import OwnedObject
from kplan.workflow.adopt.import_ import kind_of_address, merge_owned
from kplan.workflow.open_project import check_no_journal, open_project
from kplan.workflow.ports import Ports, Project


@dataclass(frozen=True, slots=True)
class WaitResult:
    """Which objects every broker was seen to serve, and which are still waited for."""

    served: tuple[OwnedObject, ...]
    pending: tuple[OwnedObject, ...]


def wait_until_served(project: Project, pace: Limits, ports: Ports, watcher: Watcher) -> WaitResult:
    """Wait for `visible_s` at most, and unmark the changes that are served."""
    until = ports.clock.now() + pace.visible_s
    with open_project(project, ports) as found:
        check_no_journal(project)
        state = found.state
        waiting = [each for each in state.owned.values() if each.is_pending]
        served: tuple[OwnedObject, ...] = ()
        for provider, connection in found.clusters.connections.items():
            here = [each for each in waiting if each.provider == provider]
            context = ApplyContext(
                connection.cluster, KINDS, ports.clock, watcher, pace, is_stopped=ports.is_stopped
            )
            served += _wait_for_cluster(here, context, until)
        if served:
            owned = merge_owned(state.owned, served)
            project.store.write(replace(state, serial=state.serial + 1, owned=owned))
        return WaitResult(served, _still_pending(waiting, served))


def _wait_for_cluster(
    waiting: Iterable[OwnedObject], context: ApplyContext, until: float
) -> tuple[OwnedObject, ...]:
    """Wait for the objects of one cluster, and give those that every broker serves."""
    lines = {(each.address.kind, each.identity): each for each in waiting}
    progress = ApplyProgress(
        {key: ChangeProgress(pending_change(each), 0) for key, each in lines.items()}
    )
    wait_until_visible(progress, context, until)
    return tuple(
        replace(each, is_pending=False, uid=progress.changes[key].uid or each.uid)
        for key, each in lines.items()
        if progress.changes[key].is_verified
    )


def _still_pending(
    waiting: Iterable[OwnedObject], served: Iterable[OwnedObject]
) -> tuple[OwnedObject, ...]:
    known = {each.address for each in served}
    return tuple(each for each in waiting if each.address not in known)


def pending_change(owned: OwnedObject) -> Change:
    """Make the change that brings about all of the object, as if only its name had been there."""
    kind = kind_of_address(owned.address)
    names = {each.name for each in schema_fields(kind.schema) if each.is_required}
    whole = to_document(owned.value)
    bare = from_document(kind.schema, {name: whole[name] for name in names})
    is_more = bare != owned.value and kind.identify(bare) == owned.identity
    return Change(
        owned.address,
        kind.name,
        owned.identity,
        Action.UPDATE if is_more else Action.CREATE,
        bare if is_more else None,
        owned.value,
        uid=owned.uid,
    )
