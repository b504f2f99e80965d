"""Use case: move the state from the file to the cluster, or back."""

from kplan.model.dataclass import dataclass
from kplan.model.errors import StateError, UsageError
from kplan.model.state import State
from kplan.state.codec import decode_state
from kplan.state.holder import Holder
from kplan.state.store import StateStore
from kplan.workflow.ports import Ports


@dataclass(frozen=True, slots=True)
class MigrationResult:
    """A state that was moved."""

    state: State
    source: str
    target: str


def migrate_state(source: StateStore, target: StateStore, ports: Ports) -> MigrationResult:
    """Move the state, byte by byte; where it was a note says where it is.

    The earlier states stay where they are. A move that was killed is finished by moving again, and
    one that was done is left as it is.

    Raises:
        UsageError: there is no state to move.
        StateError: an apply was interrupted, or the target holds another state, or a later one.

    """

    def waiting(holder: Holder) -> None:
        ports.progress.note(f"Waiting for the state lock, held by {holder}")

    with (
        source.held(ports.holder, ports.lock_timeout_s, waiting),
        target.held(ports.holder, ports.lock_timeout_s, waiting),
    ):
        _check_no_journal(source)
        _check_no_journal(target)
        document = target.document() if source.moved_to() == target.place else None
        if document is None:
            document = source.document()
            if document is None:
                raise UsageError(f"There is no state in {source.place} to move.")
            target.put(document)
            source.retire(target.place)
    return MigrationResult(decode_state(document), source.place, target.place)


def _check_no_journal(store: StateStore) -> None:
    if store.has_journal():
        raise StateError(
            f"An apply was interrupted, and left its journal at {store.place}.",
            "Finish it first: kplan apply -resume",
        )
