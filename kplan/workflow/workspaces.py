"""What the states of the other workspaces own: no object is owned by two of them."""

import shlex
import uuid
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import field, replace

from kplan.model.address import Address
from kplan.model.codes import SUMMARIES
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.errors import KplanError
from kplan.model.outcome import Outcome, OutcomeStatus
from kplan.model.plan import ObjectKey
from kplan.model.resource import Identity
from kplan.model.state import OwnedObject, State, owned_after
from kplan.model.workspace import DEFAULT_WORKSPACE
from kplan.state.file import new_state
from kplan.state.journal import replay_unlocked
from kplan.state.store import StateStore
from kplan.workflow.ports import Ports, Project

_Place = tuple[str, Identity, str]
OWNED_ELSEWHERE, UNREAD_ELSEWHERE = "KP250", "KP251"


@dataclass(frozen=True, slots=True)
class OtherOwner:
    """The workspace that owns an object, and where; `release` is the command that gives it up.

    What `is_sent` an apply there has sent, which has not recorded an answer. While its state
    `is_locked` that may come yet.
    """

    workspace: str
    location: str
    owned: OwnedObject
    release: str
    is_sent: bool = False
    is_locked: bool = False

    @property
    def is_at_work(self) -> bool:
        """Whether a run is about to find out whether it is owned there."""
        return self.is_sent and self.is_locked

    @property
    def sentence(self) -> str:
        """Say who owns it."""
        where = f'at {self.owned.address} in the workspace "{self.workspace}" ({self.location})'
        return (
            f"an unfinished apply has sent it {where}" if self.is_sent else f"it is owned {where}"
        )

    @property
    def hint(self) -> str:
        """Name both ways out; what was only sent there may come to be owned by no one."""
        finish = "finish that apply and " if self.is_sent else ""
        owned = ", where it is owned then" if self.is_sent else ""
        return (
            f"Declare another name here, or {finish}release it there first{owned}: {self.release}"
        )


@dataclass(frozen=True, slots=True)
class OtherOwners:
    """The owners by kind, identity and cluster id; `unread` are states that are not known."""

    owners: Mapping[_Place, Sequence[OtherOwner]] = field(default_factory=dict)
    unread: tuple[Diagnostic, ...] = ()

    def find(
        self, key: ObjectKey, cluster_id: str, uid: str, kept: Container[ObjectKey] = ()
    ) -> OtherOwner | None:
        """Return the owner of a live object; of one made again since that no longer is one.

        An interrupted apply may have sent it here too, and it is to be `kept`. Neither of the two
        gets an answer any more, and the first that is finished owns it: until then the other one
        finds this state locked.
        """
        kind, identity, _ = key
        for at in (cluster_id, ""):  # what an old state does not say may be this cluster
            for found in self.owners.get((kind, identity, at), ()):
                is_open = found.is_sent and not found.is_locked and key in kept
                if not is_open and (not uid or found.owned.uid in {"", uid}):
                    return found
        return None


def read_other_owners(project: Project) -> OtherOwners:
    """Read the states of all other workspaces, with what an interrupted apply did there."""
    owners: dict[_Place, list[OtherOwner]] = defaultdict(list)
    unread: list[Diagnostic] = []
    own = project.store
    try:
        names = own.list_workspaces()
    except (KplanError, OSError) as failure:
        unread.append(_unread("The workspaces cannot be listed", failure))
        names = ()  # default can be read without a list
    for name in (DEFAULT_WORKSPACE, *names):
        store = own.for_workspace(name)
        if store.location == own.location:
            continue
        try:
            # Before the journal: an apply that begins after this finds the lock of this run.
            is_locked = store.has_journal() and store.lock_status().is_held
            states = _read_states(store)
        except (KplanError, OSError) as failure:
            unread.append(_unread(f'The state of the workspace "{name}" cannot be read', failure))
            continue
        held = {each.key for each in states[0].owned.values()}
        for state in states:
            for place, owner in _state_owners(project, name, store.location, state):
                is_sent = owner.owned.key not in held
                owners[place].append(replace(owner, is_sent=is_sent, is_locked=is_locked))
    return OtherOwners(owners, tuple(unread))


def note_unread(owners: OtherOwners, ports: Ports) -> None:
    """Note the states that are not known, where no plan warns of them."""
    for each in owners.unread:
        ports.progress.note(each.detail)


def _read_states(store: StateStore) -> tuple[State, ...]:
    """Read what is owned, and what will be if all is done that an apply sent there.

    An apply that has ended, or ends between two reads, has removed its journal: all of it is in the
    state, which is read after that.
    """
    if not store.has_journal():
        return (store.read() or new_state(str(uuid.uuid4())),)
    state = store.read() or new_state(str(uuid.uuid4()))
    journal = store.read_journal()
    if journal is None:
        return (store.read() or state,)
    folded, unsettled = replay_unlocked(state, journal, lambda: store.read() or state)
    sent = (
        (each, Outcome(each, OutcomeStatus.APPLIED, uid=""))
        for each in journal.changes
        if each.key in unsettled and each.after is not None
    )
    return folded, replace(folded, owned=owned_after(folded.owned, sent))


def _state_owners(
    project: Project, name: str, location: str, state: State
) -> Iterator[tuple[_Place, OtherOwner]]:
    for each in state.owned.values():
        kind, identity, provider = each.key
        address = shlex.quote(str(each.address))
        release = (
            f"kplan state rm -state={shlex.quote(location)} {address}"
            if project.is_state_exact
            else f"KPLAN_WORKSPACE={name} kplan state rm {address}"
        )
        place = (kind, identity, state.cluster_id_of(provider))
        yield place, OtherOwner(name, location, each, release)


def _unread(what: str, failure: KplanError | OSError) -> Diagnostic:
    detail = failure.detail if isinstance(failure, KplanError) else str(failure)
    return Diagnostic(
        UNREAD_ELSEWHERE,
        Severity.WARNING,
        SUMMARIES[UNREAD_ELSEWHERE],
        f"{what}: {detail.rstrip('.')}. Whether another workspace owns what is adopted here is "
        "unknown.",
        "Look there whether it owns these objects: KPLAN_WORKSPACE=NAME kplan state list -id=ID",
    )


def owned_elsewhere(address: Address, identity: Identity, owner: OtherOwner) -> Diagnostic:
    """Refuse to own what another workspace owns: each of the two could delete it."""
    return Diagnostic(
        OWNED_ELSEWHERE,
        Severity.ERROR,
        SUMMARIES[OWNED_ELSEWHERE],
        f"{address} ({identity}) would be adopted, and {owner.sentence}.",
        owner.hint,
        address,
    )
