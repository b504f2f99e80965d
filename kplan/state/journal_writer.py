"""Writes the journal while an apply runs."""

import contextlib
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from kplan.model.dataclass import dataclass
from kplan.model.errors import InProgress, StateError
from kplan.model.outcome import Outcome, OutcomeStatus, Visibility
from kplan.model.plan import Action, Batch, Change, ObjectKey, Plan
from kplan.model.version import VERSION
from kplan.state.atomic_file import make_private_folder, write_atomically
from kplan.state.journal import (
    NO_VARIABLES,
    ChecksumChain,
    Journal,
    JournalHeader,
    PlanVariables,
    change_line,
    encode_journal,
    header_line,
    journal_path,
    outcome_line,
)
from kplan.state.lock import check_held
from kplan.state.lock_holder import LockHolder, utc_now


class JournalSink(Protocol):
    """Where the lines of a journal go."""

    def add(self, lines: bytes) -> None:
        """Take lines. They may be lost when this process dies before the next `sync`."""
        ...

    def sync(self) -> None:
        """Let nothing that was added be lost any more.

        Raises:
            StateError: that cannot be done (disk full, cluster gone).

        """
        ...


class JournalWriter:
    """Writes to an open journal. It can be used from several threads, and as an apply's watcher."""

    def __init__(
        self,
        sink: JournalSink,
        chain: ChecksumChain,
        numbers: Mapping[ObjectKey, int],
        unanswered: Container[ObjectKey] = (),
    ) -> None:
        self._sink = sink
        self._unanswered = unanswered
        self._chain = chain
        self._numbers = numbers
        self._sent: defaultdict[str, set[int]] = defaultdict(set)
        self._mutex = threading.Lock()

    def on_send(self, batch: Batch, changes: Sequence[Change]) -> None:
        """Make the journal entry durable before the request is sent.

        What is sent again, as under a quota many times, is written down already.

        Raises:
            StateError: that cannot be done. Nothing may be sent then.

        """
        step = batch.step.name
        with self._mutex:
            known = self._sent[step]
            sent = (self._numbers[each.key] for each in changes)
            news = [each for each in sent if each not in known]
            if news:
                line = {"sent": news, "step": step, "at": utc_now()}
                self._sink.add(self._chain.encode_line(line))
            self._sink.sync()
            known.update(news)

    def on_outcomes(self, outcomes: Sequence[Outcome]) -> None:
        """Record the outcome of changes; it is durable before the next request is sent.

        What an earlier apply has created without an answer has none before it is adopted.
        """
        items = [
            outcome_line(self._numbers[each.change.key], each)
            for each in outcomes
            if each.status is OutcomeStatus.APPLIED or each.change.key not in self._unanswered
        ]
        with self._mutex:
            self._sink.add(b"".join([self._chain.encode_line(each) for each in items]))

    def on_visibility(self, visibility: Visibility) -> None:
        """Record nothing: the state marks changes that are not visible yet."""

    def on_verified(self, outcomes: Sequence[Outcome]) -> None:
        """Note nothing: it is marked in the state."""

    def on_reassignment(self, progress: InProgress) -> None:
        """Record nothing: the cluster shows the moves."""

    def on_state_write(self, serial: int) -> None:
        """Note that the state is about to be written with this serial and all outcomes so far."""
        self._write_through({"writes": serial})

    def end(self) -> None:
        """Note that nothing more will be sent; raises StateError as `on_send`."""
        self._write_through({"end": True})

    def _write_through(self, document: Mapping[str, object]) -> None:
        with self._mutex:
            self._sink.add(self._chain.encode_line(document))
            self._sink.sync()


@dataclass(frozen=True, slots=True)
class JournalStart:
    """The first lines of a journal, and the data needed to continue it."""

    lines: bytes
    chain: ChecksumChain
    numbers: Mapping[ObjectKey, int]
    unanswered: frozenset[ObjectKey] = frozenset()

    def open_writer(self, sink: JournalSink) -> JournalWriter:
        """Continue in a sink that has the first lines."""
        return JournalWriter(sink, self.chain, self.numbers, self.unanswered)


def journal_start(
    plan: Plan,
    nonce: str = "",
    variables: PlanVariables = NO_VARIABLES,
    unanswered: Sequence[Change] = (),
) -> JournalStart:
    """Write down every change of the plan's batches, for a journal to begin with.

    `nonce` is that of a saved plan. What is `unanswered` was sent as a creation by another apply.
    """
    changes = {each.key: each for batch in plan.batches for each in batch.changes}
    for each in unanswered:
        changes[each.key] = replace(changes.get(each.key, each), action=Action.CREATE)
    numbers = {key: number for number, key in enumerate(changes)}
    chain = ChecksumChain()
    lines = [chain.encode_line(header_line(_journal_header(plan, nonce, variables), len(changes)))]
    lines += [chain.encode_line(change_line(each)) for each in changes.values()]
    if unanswered:
        lines.append(chain.encode_line({"sent": [numbers[each.key] for each in unanswered]}))
    keys = frozenset(each.key for each in unanswered)
    return JournalStart(b"".join(lines), chain, numbers, keys)


def interrupted_apply_error(where: str) -> StateError:
    """Refuse to begin a journal where there is one."""
    return StateError(
        f"An apply was interrupted and left its journal {where}.",
        "Finish it first: kplan apply -resume",
    )


class _FileSink:
    """Appends to a file, for as long as `check` lets it."""

    def __init__(self, descriptor: int, check: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._check = check
        self._buffer = b""
        self._size = os.fstat(descriptor).st_size

    def add(self, lines: bytes) -> None:
        self._buffer += lines
        with contextlib.suppress(OSError):  # `sync` tries again
            self._flush()

    def sync(self) -> None:
        self._check()
        try:
            self._flush()
            os.fdatasync(self._descriptor)
        except OSError as failure:
            raise StateError(
                f"The journal cannot be written: {failure.strerror}. Nothing more was sent.",
                "Make room, then: kplan apply -resume",
            ) from failure

    def _flush(self) -> None:
        """Append whole lines or nothing; unwritten lines are retried with the next call."""
        left = self._buffer
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError:
            os.ftruncate(self._descriptor, self._size)
            raise
        self._size += len(self._buffer)
        self._buffer = b""


@contextmanager
def open_journal(
    path: Path,
    plan: Plan,
    nonce: str = "",
    holder: LockHolder | None = None,
    variables: PlanVariables = NO_VARIABLES,
    unanswered: Sequence[Change] = (),
) -> Iterator[JournalWriter]:
    """Keep a journal of the plan beside the state at `path`; the file stays when this ends.

    It begins with every change of the plan's batches, written as a whole or not at all. The caller
    holds the lock, as `holder` if there is one, and calls `discard_journal` when all of it is in
    the state. With `unanswered` creations it takes the place of the journal that has them.

    Raises:
        StateLockedError: the lock was taken away from `holder`; so does the writer, before a
            request.
        StateError: there is one already, or it cannot be written.

    """

    def check() -> None:
        if holder is not None:
            check_held(path, holder)

    check()
    file = journal_path(path)
    if file.exists() and not unanswered:
        raise interrupted_apply_error(str(file))
    first = journal_start(plan, nonce, variables, unanswered)
    try:
        make_private_folder(file.parent)
        write_atomically(file, first.lines)
        descriptor = os.open(file, os.O_WRONLY | os.O_APPEND)
    except OSError as failure:
        raise StateError(
            f"The journal {file} cannot be written: {failure.strerror}. Nothing was sent."
        ) from failure
    try:
        yield first.open_writer(_FileSink(descriptor, check))
    finally:
        os.close(descriptor)


def replace_journal(path: Path, journal: Journal) -> None:
    """Put another journal in the place of the one beside the state at `path`, at once.

    Raises:
        StateError: it cannot be written.

    """
    file = journal_path(path)
    try:
        write_atomically(file, encode_journal(journal))
    except OSError as failure:
        raise StateError(f"The journal {file} cannot be written: {failure.strerror}.") from failure


def _journal_header(plan: Plan, nonce: str, variables: PlanVariables) -> JournalHeader:
    return JournalHeader(
        plan=plan.checksum,
        lineage=plan.based_on.lineage,
        from_serial=plan.based_on.serial,
        cluster_id=plan.based_on.cluster_id,
        kplan_version=VERSION,
        at=utc_now(),
        clusters=plan.based_on.clusters,
        nonce=nonce,
        variables=variables.values,
        secret_variables=variables.secrets,
    )
