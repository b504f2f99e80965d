"""Read, check and write records of a state, refusing concurrent writers."""

import threading
from collections.abc import Callable

from kplan.cluster.records import Records, UncertainWriteError
from kplan.model.errors import StateError, StateLockedError
from kplan.state.record_document import Changes, View

_TRIES = 5

Step = Callable[[View], Changes]
"""Works out changes from what is there, or raises: then nothing is changed."""


class RecordTransaction:
    """Where one run works on records. May be used from several threads."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._view: View | None = None
        self._turn = threading.RLock()

    @property
    def place(self) -> str:
        """Where the records are."""
        return str(self._records.state_topic)

    def glance(self) -> View | None:
        """Return what is known to be written; None where there is no place for records yet."""
        with self._turn:
            return self._records.peek()

    def read(self) -> View | None:
        """Return all that was written before the call; None as `glance`."""
        with self._turn:
            found = self._records.read()
            if found != self._view:
                self._view = None  # another writer came; the next step claims again
            return found

    def change(self, step: Step) -> None:
        """Take a step on what is there at that moment, once more if another writer came between.

        Raises:
            StateLocked: other writers came between again and again.

        """
        with self._turn:
            self._change(step)

    def _change(self, step: Step) -> None:
        reason = ""
        for _ in range(_TRIES):
            view, is_fresh = self._current()
            try:
                changes = step(view)
            except StateError:
                if is_fresh:
                    raise
                self._view = None  # nothing is refused because of what was there a while ago
                continue
            if not changes:
                return
            try:
                self._records.write(changes)
            except UncertainWriteError as failure:
                reason = str(failure)
                if self._holds(changes):
                    return
                continue
            self._view = _changed(view, changes)
            return
        raise StateLockedError(
            f"Another run keeps writing to {self.place}, or it cannot be written: {reason}.",
            "See who holds the lock: kplan lock status",
        )

    def _current(self) -> tuple[View, bool]:
        """Return what is there, and whether that was looked up just now."""
        if self._view is None:
            return self._claimed(), True
        return self._view, False

    def _claimed(self) -> View:
        self._view = None
        self._view = self._records.claim()
        return self._view

    def _holds(self, changes: Changes) -> bool:
        """Look up whether a write without an answer was carried out."""
        view = self._claimed()
        return all(view.get(name) == each for name, each in changes.items())

    def close(self) -> None:
        """Let go of the cluster, until the next change."""
        with self._turn:
            self._view = None
            self._records.close()


def _changed(view: View, changes: Changes) -> View:
    merged = {**view, **changes}
    return {name: each for name, each in merged.items() if each is not None}
