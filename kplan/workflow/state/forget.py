"""Use case: forget objects of the state, or what an interrupted apply sent without an answer."""

from dataclasses import replace

from kplan.kinds.base import forget_secrets
from kplan.model.address import Address
from kplan.model.dataclass import dataclass
from kplan.model.plan import Change
from kplan.model.state import OwnedObject, State
from kplan.plan.request import address_names
from kplan.state.journal import Journal, replay_journal, replay_unlocked, unanswered_creations
from kplan.workflow.apply.apply import add_interrupted_plan
from kplan.workflow.open_project import check_no_journal, lock_state, read_or_create_state
from kplan.workflow.ports import Ports, Project
from kplan.workflow.state.state import (
    at_every_address,
    find_objects,
    owned_by_address,
    parse_address,
)


@dataclass(frozen=True, slots=True)
class ForgottenObjects:
    """What was owned, and the creations of an interrupted apply that got no answer.

    `left_count` is the number of its other changes without an answer, which stay recorded.
    """

    owned: tuple[OwnedObject, ...]
    creations: tuple[Change, ...] = ()
    left_count: int = 0


def forget_objects(project: Project, addresses: tuple[str, ...], ports: Ports) -> ForgottenObjects:
    """Forget objects by address, block or module; they stay on the cluster.

    An object that other addresses declare as well stays owned at those. After an interrupted apply
    only what it has sent without an answer is forgotten, with what is owned under the same name but
    not at the same address, where it is what was to be replaced: everything else that it has done
    is in the state then, and its journal stays for the rest.

    Raises:
        UsageError: a name fits nothing.
        StateError: an apply was interrupted, and a name fits no such creation.

    """
    with lock_state(project, ports):
        stored, journal = read_or_create_state(project), project.store.read_journal()
        if journal is None:
            gone = ForgottenObjects(find_objects(stored, addresses))
            project.store.write(_state_without(stored, gone.owned))
            return gone
        folded, _ = replay_journal(stored, journal)
        creations = _find_creations(folded, journal, addresses)
        if not creations:
            check_no_journal(project)
        owned = _find_owned(folded, addresses, creations)
        state = _state_without(folded, owned)
        if not state.for_provider("").owned:  # its cluster may be gone with what was sent there
            state = replace(state, cluster_id=stored.cluster_id)
        rest = _journal_without(journal, creations, folded, state)
        if not rest.unsettled_keys:  # nothing else will know of these doubts
            doubtful = (each.change for each in journal.outcomes if each.may_be_done)
            state = replace(state, owned=forget_secrets(state.owned, doubtful))
        project.store.replace_journal(rest.before_write(state.serial))
        if rest.unsettled_keys:
            project.store.write(state)
        else:
            project.store.write(add_interrupted_plan(state, journal, ports))
            project.store.discard_journal()
        return ForgottenObjects(owned, creations, len(rest.unsettled_keys))


def preview_forgotten(project: Project, addresses: tuple[str, ...]) -> ForgottenObjects:
    """Return what `forget_objects` would forget, without a lock; raises UsageError as that does."""
    stored, journal = read_or_create_state(project), project.store.read_journal()
    if journal is not None:
        folded, _ = replay_unlocked(stored, journal, lambda: read_or_create_state(project))
        if creations := _find_creations(folded, journal, addresses):
            owned = _find_owned(folded, addresses, creations)
            state = _state_without(folded, owned)
            rest = _journal_without(journal, creations, folded, state)
            return ForgottenObjects(owned, creations, len(rest.unsettled_keys))
    return ForgottenObjects(find_objects(stored, addresses))


def _find_creations(
    state: State, journal: Journal, addresses: tuple[str, ...]
) -> tuple[Change, ...]:
    """Find the creations without an answer that are named; none where a name fits none of them."""
    sent = tuple(unanswered_creations(journal, state))
    found: dict[Address, Change] = {}
    for text in map(str, map(parse_address, addresses)):
        named = [
            each
            for each in sent
            if any(text in address_names(at) for at in (each.address, *each.others))
        ]
        if not named:
            return ()
        found.update((each.address, each) for each in named)
    return tuple(found.values())


def _find_owned(
    state: State, addresses: tuple[str, ...], creations: tuple[Change, ...]
) -> tuple[OwnedObject, ...]:
    """Find what is owned under these names, except at the addresses of the creations.

    What is owned there is another object, which the creation was to replace.
    """
    taken = {at for each in creations for at in each.addresses}
    found = {
        each.address: each
        for wanted in map(parse_address, addresses)
        for each in at_every_address(state.owned.values(), within=str(wanted))
        if each.address not in taken
    }
    return tuple(found.values())


def _state_without(state: State, gone: tuple[OwnedObject, ...]) -> State:
    names = {each.address for each in gone}
    left = (each.without(names) for each in state.owned.values())
    kept = owned_by_address(each for each in left if each is not None)
    return replace(state, serial=state.serial + 1, owned=kept)


def _journal_without(
    journal: Journal, creations: tuple[Change, ...], before: State, after: State
) -> Journal:
    """Leave out what is forgotten, so that the next run does not look for it."""
    released = {each.key for each in before.owned.values()}
    released -= {each.key for each in after.owned.values()}
    return journal.without(released | {each.key for each in creations})
