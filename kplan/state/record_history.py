"""The states that were, among the records of one state."""

from collections.abc import Iterator

from kplan.model.errors import StateCorruptError, StateError
from kplan.model.state import State, StateVersion, diff_owned
from kplan.state.codec import decode_state
from kplan.state.record_documents import View, document, is_current, manifest_of, serials


def versions(view: View, place: str) -> Iterator[StateVersion]:
    """List them, oldest first, each told by what it changed."""
    previous: State | None = None
    for serial in serials(view):
        where = f"{place}, serial {serial}"
        is_now = is_current(view, serial)
        try:
            state = _state(view, serial)
        except StateError as fault:
            yield StateVersion(where, "", serial, is_current=is_now, read_error=fault.detail)
            continue
        yield StateVersion(
            where,
            manifest_of(view, serial).written_at,
            state.serial,
            state.lineage,
            len(state.owned),
            None if previous is None else diff_owned(previous.owned, state.owned),
            is_now,
        )
        previous = state


def earlier(view: View, serial: int, place: str) -> State:
    """Read one.

    Raises:
        StateError: there is none with that serial, or it is damaged.

    """
    kept = serials(view)
    if serial not in kept:
        told = ", ".join(str(each) for each in kept) or "none"
        raise StateError(f"There is no state of serial {serial} in {place}; kept are: {told}.")
    try:
        return _state(view, serial)
    except StateCorruptError as fault:
        raise StateCorruptError(f"{place}: {fault.detail}", fault.hint) from fault


def way_back(view: View) -> str:
    """Name the newest state that is whole."""
    for serial in reversed(serials(view)):
        try:
            _state(view, serial)
        except StateError:
            continue
        return f"Restore serial {serial}: kplan state restore {serial}"
    return "No whole state is left; make one anew: kplan state rebuild"


def _state(view: View, serial: int) -> State:
    return decode_state(document(view, manifest_of(view, serial)))
