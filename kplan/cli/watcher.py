"""Watchers of an apply and of the start of a sandbox: progress, lines, and messages."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kplan.cli.diagnostics import timestamp
from kplan.cli.progress import Progress
from kplan.cli.signals import Signals
from kplan.cli.terminal import Terminal
from kplan.kinds.service_status import SERVICES
from kplan.kinds.throttle import (
    CANCEL_MOVES,
    awaited_broker_text,
    kept_rate_text,
    rate_removal_command,
)
from kplan.kinds.topic import REASSIGN
from kplan.model.errors import InProgress
from kplan.model.outcome import BrokerBacklog, Outcome, OutcomeStatus, Visibility
from kplan.model.plan import Batch, Change
from kplan.report.documents.notation import size_text
from kplan.report.format import PLAIN_STYLE, TextStyle
from kplan.report.views import outcome_line, outcome_stream, start_line, verified_stream

if TYPE_CHECKING:
    from kplan.sandbox.sandbox import ProgressStep

MAX_CHANGE_LINES = 200
"""Up to so many changes in a batch each have a line of their own."""


class ApplyWatcher:
    """Shows every change of a small batch, and only failures of a large one.

    After the first request a signal no longer stops the run at once: requests in flight finish.
    """

    def __init__(self, progress: Progress, signals: Signals, look: TextStyle) -> None:
        self._progress = progress
        self._signals = signals
        self._look = replace(look, colour=False)
        self._is_large = False
        self._step = ""
        self._provider = ""
        self._settled: int | None = None
        self._left: int | None = None
        self._has_size = False
        self._fenced: set[int] = set()
        self._awaited: frozenset[int] = frozenset()
        self._limited: frozenset[int] = frozenset()
        self._protocol = ""
        self._has_kept_rate: set[int] = set()

    def on_send(self, batch: Batch, changes: Sequence[Change]) -> None:
        """Show the changes that are about to be sent."""
        self._signals.defer()
        if batch.provider != self._provider:  # another cluster, with stages of its own
            self._provider, self._settled, self._left = batch.provider, None, None
        self._is_large = len(batch.changes) > MAX_CHANGE_LINES or (
            self._is_large and batch.step.name == self._step  # the last and smaller one of many
        )
        self._step = batch.step.name
        if self._is_large:
            self._progress.note(f"Sending {len(changes):,} changes: {batch.kind} {batch.step.name}")

    def on_outcomes(self, outcomes: Sequence[Outcome]) -> None:
        """Show the outcomes of changes."""
        sent = [each for each in outcomes if each.status is not OutcomeStatus.SKIPPED]
        self._advance(sent)
        is_large = self._is_large or len(sent) > MAX_CHANGE_LINES
        for each in sent:
            is_noted = bool(each.note) and self._step == REASSIGN.name  # a throttle that stays
            if each.status is not OutcomeStatus.APPLIED or is_noted or not is_large:
                self._progress.note(outcome_line(each, self._look))

    def _advance(self, outcomes: Sequence[Outcome]) -> None:
        """Count outcomes; those that were held back come when another stage is shown."""
        if self._settled is None:
            own = [each for each in outcomes if each.change.provider == self._provider]
            self._progress.advance(len(own))

    def on_visibility(self, visibility: Visibility) -> None:
        """Show how many applied changes are not served by every broker yet, and by which."""
        has_begun = visibility.waiting == visibility.total and not visibility.backlogs
        if self._settled is None or has_begun:  # a wait for each cluster
            self._progress.stage("Waiting until every broker serves the changes", visibility.total)
            self._settled = 0
        served = visibility.total - visibility.waiting
        self._progress.advance(served - self._settled)
        self._settled = served
        self._progress.detail("; ".join(dict.fromkeys(map(_backlog_text, visibility.backlogs))))
        for broker in visibility.fenced:
            if broker not in self._fenced:
                self._fenced.add(broker)
                self._progress.note(f"Broker {broker} is down: kplan does not wait for it.")
                if broker in self._limited:
                    command = rate_removal_command(broker, self._protocol)
                    self._progress.note(
                        "It went down while replicas moved, and still has the throttle of the "
                        f"move. When it is back: {command}"
                    )

    def on_verified(self, outcomes: Sequence[Outcome]) -> None:
        """Show nothing: the summary reports changes that are not visible."""

    def on_reassignment(self, progress: InProgress) -> None:
        """Show how many partitions are still being reassigned, and the brokers they wait for."""
        if self._left is None:
            self._progress.stage("Moving replicas", progress.total)
            self._left = progress.total
        self._progress.advance(max(0, self._left - progress.left))
        self._left = min(self._left, progress.left)
        if progress.bytes_left is not None:
            self._progress.detail(f"{size_text(progress.bytes_left)} left to copy")
        elif self._has_size:
            self._progress.detail("")
        self._has_size = progress.bytes_left is not None
        for broker in sorted(progress.awaited - self._awaited):
            self._progress.note(f"{awaited_broker_text(broker)} {CANCEL_MOVES}")
        for broker in sorted(progress.limited - self._has_kept_rate):
            self._has_kept_rate.add(broker)
            self._progress.note(kept_rate_text(broker, progress.security_protocol))
        self._awaited, self._limited = progress.awaited, progress.limited
        self._protocol = progress.security_protocol or self._protocol


def _backlog_text(backlog: BrokerBacklog) -> str:
    """Report the changes that a broker does not serve yet, or why it cannot be queried."""
    if backlog.broker < 0:
        return "no broker answers"
    changes = [each for each in backlog.changes if each.kind not in SERVICES] or backlog.changes
    asked = SERVICES.get(changes[0].kind, f"broker {backlog.broker}")
    if backlog.reason:
        return f"{asked} cannot be asked: {backlog.reason.rstrip('.')}"
    others = len(backlog.changes) - 1
    more = f" and {others:,} more" if others else ""
    return f"{asked} does not serve {changes[0].address}{more} yet"


class StreamWatcher(ApplyWatcher):
    """Writes every change as one message a line to stdout."""

    def __init__(self, progress: Progress, signals: Signals, terminal: Terminal) -> None:
        super().__init__(progress, signals, PLAIN_STYLE)
        self._terminal = terminal

    def on_send(self, batch: Batch, changes: Sequence[Change]) -> None:
        """Write the changes that are about to be sent."""
        super().on_send(batch, changes)
        at = timestamp()
        self._terminal.write_stdout("".join(start_line(each, at) for each in changes))

    def on_outcomes(self, outcomes: Sequence[Outcome]) -> None:
        """Write the outcomes of changes."""
        self._advance(outcomes)
        at = timestamp()
        self._terminal.write_stdout("".join(outcome_stream(each, at) for each in outcomes))

    def on_verified(self, outcomes: Sequence[Outcome]) -> None:
        """Write which changes every broker serves by now."""
        self._terminal.write_stdout(verified_stream(outcomes, timestamp()))


_SANDBOX_STAGES: Mapping[str, str] = {
    "fetch": "Downloading Apache Kafka (first start)",
    "warm": "Recording Java classes (first start)",
    "format": "Formatting storage",
    "start": "Starting Kafka",
}


class SandboxWatcher:
    """Shows the progress of starting a sandbox."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._stage, self._total, self._done = "", 0, 0

    def __call__(self, step: "ProgressStep") -> None:
        """Show one step."""
        if (step.stage.value, step.total) != (self._stage, self._total):
            self._stage, self._total, self._done = step.stage.value, step.total, 0
            self._progress.stage(_SANDBOX_STAGES[self._stage], step.total or None)
        self._progress.advance(step.done - self._done)
        self._done = step.done
