"""The journal of an apply as records: pieces of the file that it would be, in order."""

from collections.abc import Callable

from kplan.model.errors import ClusterError, StateCorruptError, StateError
from kplan.state.record_documents import Changes, View, pieces_of

_JOURNAL = "journal/"

Write = Callable[[Callable[[View], Changes]], None]
"""Takes a step on the records."""


def has_journal(view: View) -> bool:
    """Whether there is one."""
    return any(name.startswith(_JOURNAL) for name in view)


def journal_bytes(view: View) -> bytes:
    """Put it together.

    Raises:
        StateCorrupt: a piece is missing.

    """
    names = _names(view)
    for number, name in enumerate(names):
        if name != _name(number):
            raise StateCorruptError(f"Piece {number} of the journal is missing.")
    return b"".join(view[name] for name in names)


def without_journal(view: View) -> Changes:
    """Remove it."""
    return dict.fromkeys(_names(view))


def begun(lines: bytes) -> Changes:
    """Begin one."""
    return {_name(number): each for number, each in enumerate(pieces_of(lines))}


class RecordSink:
    """Appends to a journal that was begun; `sync` is one write, whatever was added before it."""

    def __init__(self, write: Write, pieces: int) -> None:
        self._write = write
        self._pieces = pieces
        self._waiting = b""

    def add(self, lines: bytes) -> None:
        """Keep lines for the next write."""
        self._waiting += lines

    def sync(self) -> None:
        """Write what was added.

        Raises:
            StateLocked: the lock was lost.
            StateError: it cannot be written.

        """
        pieces = {
            _name(self._pieces + number): each
            for number, each in enumerate(pieces_of(self._waiting))
        }
        try:
            self._write(lambda _: pieces)
        except ClusterError as failure:
            raise StateError(
                f"The journal cannot be written: {failure.detail} Nothing more was sent.",
                "Once the cluster answers again: kplan apply -resume",
            ) from failure
        self._pieces += len(pieces)
        self._waiting = b""


def _names(view: View) -> list[str]:
    return sorted(name for name in view if name.startswith(_JOURNAL))


def _name(number: int) -> str:
    return f"{_JOURNAL}{number:06}"
