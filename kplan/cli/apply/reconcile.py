"""`kplan reconcile`: keep a cluster as declared, as a service."""

from contextlib import nullcontext
from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer

from kplan.cli import wiring
from kplan.cli.apply.health_server import ServiceHealth, serve_health
from kplan.cli.diagnostics import show_diagnostics, timestamp
from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, PlanningOptions, StateOptions, duration_s
from kplan.cli.progress import show_progress
from kplan.cli.signals import SignalInterrupt, find_interrupt
from kplan.cli.terminal import Session
from kplan.cli.verb import verb
from kplan.cli.watcher import ApplyWatcher
from kplan.model.dataclass import dataclass
from kplan.model.errors import ConfigError, KplanError, StateLockedError, UsageError
from kplan.model.outcome import OutcomeStatus
from kplan.model.plan import Risk
from kplan.report.documents.gauge import ReconcileCounts, reconcile_gauges
from kplan.report.documents.plan import missing_state_text
from kplan.report.views import gauges_text
from kplan.workflow.apply.reconcile import Reconciliation, reconcile


class RiskLimit(StrEnum):
    """The largest risk of a change that is applied without a person."""

    SAFE = "safe"
    REVIEW = "review"


_RISKS = {
    RiskLimit.SAFE: frozenset({Risk.SAFE}),
    RiskLimit.REVIEW: frozenset({Risk.SAFE, Risk.REVIEW}),
}


@dataclass(frozen=True, slots=True)
class ReconcileOptions:
    """How often, what is applied without a person, and where health is served."""

    interval: Annotated[
        str, typer.Option("--interval", metavar="SPAN", help="Wait this long between rounds.")
    ] = "5m"
    risk: Annotated[
        str,
        typer.Option(
            "--risk", metavar="RISK", help="Apply changes up to this risk: safe or review."
        ),
    ] = RiskLimit.SAFE.value
    listen: Annotated[
        str,
        typer.Option(
            "--listen",
            metavar="HOST:PORT",
            help="Serve /livez, /readyz and /metrics over HTTP at this address.",
        ),
    ] = ""
    once: Annotated[bool, typer.Option("--once", help="Do one round and exit.")] = False

    @property
    def risks(self) -> frozenset[Risk]:
        """The risks that are applied. Raises UsageError."""
        try:
            return _RISKS[RiskLimit(self.risk)]
        except ValueError:
            raise UsageError(f'-risk={self.risk} is not "safe" or "review".') from None


@verb(
    ("kplan reconcile", "Every five minutes, apply what is safe and report what is not."),
    ("kplan reconcile -interval=1m -listen=:9464", "With an endpoint for probes and Prometheus."),
    ("kplan reconcile -risk=review -max-deletes=0", "Also apply changes that need review."),
    ("kplan reconcile -once", "One round, from cron."),
)
def reconcile_(
    session: Session,
    what: ReconcileOptions,
    inputs: InputOptions,
    states: StateOptions,
    planning: PlanningOptions,
) -> int:
    """Keep the cluster as declared, as a service.

    Until a signal, each round plans under the lock of the state, with guards and policies, applies
    the changes without risk, and reports the others, which wait for kplan apply. Of several
    instances the one that holds the lock leads a round; the others skip it. SIGTERM finishes the
    changes in flight and exits with 0. With -once kplan exits with 0 if the cluster is as
    declared, 2 if changes are left, and 1 on errors or if another run holds the lock.
    """
    interval_s = duration_s("-interval", what.interval)
    if interval_s < 1:
        raise UsageError("-interval must be 1s or more.")
    service = ReconcileService(session, what, inputs, states, planning)
    if what.once:
        return service.run_once()
    with serve_health(what.listen, service.health) if what.listen else nullcontext() as address:
        if address:
            session.terminal.write_stderr(f"Serving health and metrics at http://{address}")
        return service.run(interval_s)


class ReconcileService:
    """Rounds, and what is shown of them: only what is new since the last one."""

    def __init__(
        self,
        session: Session,
        what: ReconcileOptions,
        inputs: InputOptions,
        states: StateOptions,
        planning: PlanningOptions,
    ) -> None:
        self.health = ServiceHealth()
        self._session = session
        self._inputs, self._states = inputs, states
        self._risks = what.risks
        self._options = wiring.build_plan_options(planning, is_destroy=False)
        self._counts = ReconcileCounts()
        self._shown: object = None

    def run(self, interval_s: float) -> int:
        """Do a round at every interval until a signal.

        It ends a wait, also one for the lock, and reads; once changes are sent, the first one only
        asks to stop (`ApplyWatcher`).
        """
        signals = self._session.signals
        try:
            while not signals.stop_event.is_set():
                self._run_round()
                signals.stop_deferring()
                signals.stop_event.wait(interval_s)
        except (SignalInterrupt, SystemError) as failure:
            if find_interrupt(failure) is None or signals.stop_event.is_set():
                raise
        self.health.is_alive = self.health.is_ready = False
        self._session.terminal.write_stderr("Stopped.")
        return ExitCode.DONE

    def run_once(self) -> int:
        """Do one round and return its exit code. Raises what keeps it from being done."""
        return self._show_round(self._reconcile())

    def _run_round(self) -> None:
        """Do one round of many. Errors are shown and not raised."""
        try:
            self._show_round(self._reconcile())
        except StateLockedError as locked:
            self._count("standby")
            self.health.is_ready = True
            self._show_new(("standby", ""), f"Another run leads: {locked.detail}")
        except KplanError as error:
            self._count("failed")
            if self._is_new(str(error)):
                sources = error.sources if isinstance(error, ConfigError) else {}
                show_diagnostics(error.diagnostics, self._session.terminal, sources=sources)

    def _reconcile(self) -> Reconciliation:
        session = self._session
        project = wiring.build_project(session, self._states, self._inputs)
        with show_progress(session.terminal) as progress:
            ports = wiring.build_ports(session, "reconcile", self._states, progress)
            watcher = ApplyWatcher(progress, session.signals, session.terminal.stderr_style)
            return reconcile(project, self._options, ports, watcher, self._risks)

    def _show_round(self, found: Reconciliation) -> int:
        failed = sum(each.status is not OutcomeStatus.APPLIED for each in found.outcomes)
        self._counts = replace(
            self._counts,
            applied=self._counts.applied + len(found.outcomes) - failed,
            failed=self._counts.failed + failed,
            left=len(found.left),
        )
        self.health.is_ready = True
        has_error = bool(failed or found.problems or found.plan.unread)
        self._count("failed" if has_error else "led", is_leader=True)
        said = missing_state_text(found.plan)
        lines = [
            f"Left for kplan apply: {each.address} ({each.action.value}, {each.risk.value})"
            for each in found.left
        ]
        unread = tuple(each for each in found.plan.diagnostics if each.code == "KP234")
        problems = (*found.problems, *unread)
        is_new = self._is_new((said, tuple(lines), problems))
        if found.outcomes or is_new:
            if said:
                self._session.terminal.write_stderr(said)
            show_diagnostics(problems, self._session.terminal)
            done = len(found.outcomes) - failed
            lines.append(f"Reconciled: {done} applied, {failed} failed, {len(found.left)} left.")
            self._session.terminal.write_stdout("\n".join(lines))
        if has_error:
            return ExitCode.ERROR
        return ExitCode.CHANGES if found.left else ExitCode.DONE

    def _count(self, result: str, *, is_leader: bool = False) -> None:
        rounds = {**self._counts.rounds, result: self._counts.rounds.get(result, 0) + 1}
        self._counts = replace(self._counts, rounds=rounds, is_leader=is_leader)
        self.health.metrics = gauges_text(reconcile_gauges(self._counts, timestamp()))

    def _is_new(self, shown: object) -> bool:
        """Whether something differs from what was shown last, and remember it."""
        before, self._shown = self._shown, shown
        return shown != before

    def _show_new(self, key: object, text: str) -> None:
        if self._is_new(key):
            self._session.terminal.write_stderr(text)
