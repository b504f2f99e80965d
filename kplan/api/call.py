"""One call of the library: its progress, its cancellation, and the ports of the use case."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from datetime import UTC, datetime
from threading import Event, Lock

from kplan.cluster.port import Cluster
from kplan.config.load import Configuration
from kplan.model.ci_job import ci_commit, ci_facts, ci_run_url
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic
from kplan.model.errors import RunInterruptedError
from kplan.state.lock_holder import current_holder
from kplan.workflow.connection import ConnectionSource, SystemClock, connect_cluster
from kplan.workflow.ports import Ports

__all__ = ["CallOptions", "ConnectionFactory", "LibraryCall", "Progress", "begin_call"]

# Without a handler Python writes warnings of a library to stderr.
logging.getLogger("kplan").addHandler(logging.NullHandler())

ConnectionFactory = Callable[[str], Cluster]
"""Opens the cluster behind a connection: "" for the provider block without alias, else `west`.

kplan closes it when the call that it was opened for is done.
"""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a call is.

    `stage` is what it does, such as "Reading the cluster"; `done` counts finished items of the
    stage, and `total` is their number, None where it is not known. `note` is a sentence for
    people about an event, "" where nothing but the counts changed.
    """

    stage: str
    done: int = 0
    total: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class CallOptions:
    """Who hears the progress of a call, what cancels it, and how long it waits for the lock."""

    on_progress: Callable[[Progress], None] | None = None
    cancel: Event | None = None
    lock: bool = True
    lock_timeout_s: float = 0.0


class LibraryCall:
    """The progress that a use case reports to.

    It ends the call between two stages once `cancel` is set. From `begin_sending` on it does not:
    the apply itself stops then, after the requests in flight. What a callback raises is kept for
    `raise_failure`, and stops an apply in the same way.
    """

    def __init__(self, options: CallOptions) -> None:
        self.warnings: list[Diagnostic] = []
        self._options = options
        self._failure: BaseException | None = None
        self.is_sending = False
        self._now = Progress("")
        self._turn = Lock()

    def stage(self, name: str, total: int | None = None) -> None:
        """Begin a stage. Raises RunInterruptedError where the call was cancelled."""
        self._check_cancelled()
        self._report(Progress(name, 0, total))

    def advance(self, done: int = 1) -> None:
        """Count finished items of the stage."""
        self._report(Progress(self._now.stage, self._now.done + done, self._now.total))

    def note(self, text: str) -> None:
        """Report one sentence."""
        now = self._now
        self.tell(lambda: self._hear(Progress(now.stage, now.done, now.total, text)))

    def warn(self, found: tuple[Diagnostic, ...]) -> None:
        """Keep warnings about connections; several clusters are connected at the same time."""
        with self._turn:
            self.warnings.extend(found)

    def begin_sending(self) -> None:
        """Let the apply stop by itself from here on."""
        self._check_cancelled()
        self.is_sending = True

    def is_stopped(self) -> bool:
        """Whether no further request may be sent."""
        cancel = self._options.cancel
        return self._failure is not None or (cancel is not None and cancel.is_set())

    def tell(self, act: Callable[[], None]) -> None:
        """Run a callback; while requests are sent, what it raises waits until they are settled."""
        try:
            act()
        except Exception as failure:
            if not self.is_sending:
                raise
            self._failure = self._failure or failure

    def raise_failure(self) -> None:
        """Raise what a callback raised while requests were sent."""
        if self._failure is not None:
            raise self._failure

    def _check_cancelled(self) -> None:
        if self.is_stopped() and not self.is_sending:
            raise RunInterruptedError("The call was cancelled before anything was changed.")

    def _report(self, progress: Progress) -> None:
        self._now = progress
        self.tell(lambda: self._hear(progress))

    def _hear(self, progress: Progress) -> None:
        if self._options.on_progress is not None:
            self._options.on_progress(progress)


@dataclass(frozen=True, slots=True)
class CallSource:
    """What every call of a project connects with."""

    connection: ConnectionSource
    connect: ConnectionFactory | None = field(default=None, repr=False)


@contextmanager
def begin_call(
    verb: str, source: CallSource, options: CallOptions
) -> Iterator[tuple[LibraryCall, Ports]]:
    """Build the ports of one call, and raise at its end what a callback raised."""
    call = LibraryCall(options)
    environ = source.connection.environ

    def connect(configuration: Configuration, key: str) -> Cluster:
        if source.connect is not None:
            return source.connect(key)
        return connect_cluster(configuration, key, source.connection, call.warn)

    holder = current_holder(verb, ci=ci_run_url(environ), commit=ci_commit(environ))
    yield (
        call,
        Ports(
            connect=connect,
            progress=call,
            clock=SystemClock(),
            now=lambda: datetime.now(UTC),
            is_stopped=call.is_stopped,
            holder=holder if options.lock else None,
            lock_timeout_s=options.lock_timeout_s,
            ci=ci_facts(environ),
            cluster_name=environ.get("KPLAN_CLUSTER_NAME", ""),
        ),
    )
    call.raise_failure()
