"""`kplan.apply`: carry out a plan, and hear the outcome of every change."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from threading import Event
from types import MappingProxyType

from kplan.api.call import CallOptions, LibraryCall, Progress, begin_call
from kplan.api.plan import Plan
from kplan.api.project import Project
from kplan.apply.limits import Limits
from kplan.model.dataclass import dataclass
from kplan.model.errors import InProgress, PlanRefusedError, UsageError
from kplan.model.outcome import Outcome, OutcomeStatus, Visibility
from kplan.model.plan import Batch, Change
from kplan.state.plan_file import SignatureCheck
from kplan.workflow.apply.apply import ApplyHandlers
from kplan.workflow.apply.apply import ApplyResult as WorkflowResult
from kplan.workflow.apply.resume import resume_apply
from kplan.workflow.apply.saved_plan import StaleAction, apply_reviewed
from kplan.workflow.apply.saved_plan import apply_saved as apply_saved_plan
from kplan.workflow.plan.plan import PlanResult
from kplan.workflow.plan.saved import SavedPlanApproval
from kplan.workflow.ports import PlanOptions

__all__ = ["ApplyResult", "apply", "apply_saved", "resume"]

OutcomeHandler = Callable[[Outcome], None]


@dataclass(frozen=True, slots=True)
class ApplyResult:
    """What an apply came to.

    Attributes:
        outcomes: One outcome for each change that was to be sent, refused ones included.
        outputs: The output values after the apply, by name; None for sensitive ones.
        is_resumable: Whether it stopped before its end; `resume` does the rest.
        serial: The serial of the state after the apply.

    """

    outcomes: tuple[Outcome, ...]
    outputs: Mapping[str, object]
    is_resumable: bool
    serial: int

    @property
    def is_complete(self) -> bool:
        """Whether every change was applied."""
        return all(each.status is OutcomeStatus.APPLIED for each in self.outcomes)

    @property
    def is_verified(self) -> bool:
        """Whether every change was applied, and every live broker was seen to serve it."""
        return self.is_complete and all(each.is_verified for each in self.outcomes)

    @property
    def failures(self) -> tuple[Outcome, ...]:
        """The outcomes of changes that were not applied."""
        return tuple(each for each in self.outcomes if each.status is not OutcomeStatus.APPLIED)


def apply(  # noqa: PLR0913 - keywords, each of them optional
    plan: Plan,
    *,
    on_outcome: OutcomeHandler | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    cancel: Event | None = None,
    wait: bool = True,
    deadline: timedelta = timedelta(hours=1),
    skip_stale: bool = False,
    lock_timeout: timedelta = timedelta(0),
    key: str = "",
) -> ApplyResult:
    """Carry out a plan, as `kplan apply` does with a saved one.

    A refused change does not stop the others: its outcome says why. What is done is recorded in
    the state, and in a journal meanwhile, so that a process may be killed at any moment.

    Args:
        plan: A plan that was made and reviewed. It is applied once.
        on_outcome: Called with the outcome of each change when it is known. What it raises stops
            the apply after the requests in flight, and is raised once the state is written.
        on_progress: Called when progress is made; what it raises is treated in the same way.
        cancel: Stops the apply once it is set: requests in flight are finished, and the other
            changes are SKIPPED.
        wait: Wait until every live broker serves the changes.
        deadline: After this time no request is sent.
        skip_stale: Leave out the changes of objects that changed since the plan was made. By
            default nothing is applied then.
        lock_timeout: How long to wait for the lock of the state.
        key: The key of signed plans, where the configuration requires them.

    Returns:
        The outcomes. Changes that failed do not raise: see `ApplyResult.is_complete`.

    Raises:
        PlanRefusedError: The plan has errors, or a guard or policy refuses all of it.
        StalePlanError: Something changed since the plan was made, or it was applied already.
        StateError: The state is locked, damaged or of another cluster.
        UnreachableError, AuthError: A cluster cannot be had.
        RunInterruptedError: The call was cancelled before anything was sent.

    """
    _check_plan(plan._result, plan)
    on_stale = StaleAction.SKIP if skip_stale else StaleAction.ABORT
    options = replace(plan._options, limits=_limits(wait=wait, deadline=deadline))
    call_options = CallOptions(on_progress, cancel, lock_timeout_s=lock_timeout.total_seconds())
    with begin_call("apply", plan.project._calls, call_options) as (call, ports):
        done = apply_reviewed(
            plan.project._source,
            plan._saved,
            options,
            (ports, _handlers(call, on_outcome)),
            on_stale,
            SavedPlanApproval(signature=SignatureCheck(key)),
        )
        return _result(done)


def apply_saved(  # noqa: PLR0913 - keywords, each of them optional
    project: Project,
    path: str | os.PathLike[str],
    *,
    checksum: str | None = None,
    on_outcome: OutcomeHandler | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    cancel: Event | None = None,
    wait: bool = True,
    deadline: timedelta = timedelta(hours=1),
    skip_stale: bool = False,
    lock_timeout: timedelta = timedelta(0),
    key: str = "",
    signers: str | os.PathLike[str] | None = None,
) -> ApplyResult:
    """Carry out a plan from a file of `Plan.save` or `kplan plan -out=FILE`.

    Args:
        project: The project that the plan was made for.
        path: The file.
        checksum: The checksum or digest that was approved; another plan is refused.
        on_outcome: As for `apply`.
        on_progress: As for `apply`.
        cancel: As for `apply`.
        wait: As for `apply`.
        deadline: As for `apply`.
        skip_stale: As for `apply`.
        lock_timeout: As for `apply`.
        key: The key that the file was signed with.
        signers: The allowed signers file of OpenSSH, one of whom must have signed the file.

    Returns:
        The outcomes, as `apply`.

    Raises:
        KplanError: There is no such file, or it is damaged, edited or not signed; and as `apply`.

    """
    on_stale = StaleAction.SKIP if skip_stale else StaleAction.ABORT
    options = PlanOptions(limits=_limits(wait=wait, deadline=deadline))
    call_options = CallOptions(on_progress, cancel, lock_timeout_s=lock_timeout.total_seconds())
    with begin_call("apply", project._calls, call_options) as (call, ports):
        done = apply_saved_plan(
            project._source,
            Path(path),
            options,
            (ports, _handlers(call, on_outcome)),
            on_stale,
            SavedPlanApproval(checksum, SignatureCheck(key, Path(signers) if signers else None)),
        )
        return _result(done)


def resume(
    project: Project,
    *,
    on_outcome: OutcomeHandler | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    cancel: Event | None = None,
    lock_timeout: timedelta = timedelta(0),
) -> ApplyResult:
    """Finish an apply that was cancelled, interrupted or killed, from its journal.

    Args:
        project: The project of that apply.
        on_outcome: As for `apply`; outcomes that were known before come first.
        on_progress: As for `apply`.
        cancel: As for `apply`.
        lock_timeout: As for `apply`.

    Returns:
        All outcomes of the apply, those of before included.

    Raises:
        UsageError: No apply was interrupted.
        StalePlanError: What is left is not what was approved.

    """
    call_options = CallOptions(on_progress, cancel, lock_timeout_s=lock_timeout.total_seconds())
    with begin_call("apply", project._calls, call_options) as (call, ports):
        done = resume_apply(project._source, PlanOptions(), ports, _handlers(call, on_outcome))
        return _result(done)


class OutcomeWatcher:
    """Gives outcomes and progress of an apply to the callbacks of a call."""

    def __init__(self, call: LibraryCall, on_outcome: OutcomeHandler | None) -> None:
        self._call = call
        self._on_outcome = on_outcome
        self._provider = ""
        self._served = -1
        self._moved = -1

    def on_send(self, batch: Batch, changes: Sequence[Change]) -> None:
        """Hear that requests are sent: from now on the apply stops by itself."""
        del changes
        self._call.is_sending = True
        if batch.provider != self._provider:  # another cluster, with stages of its own
            self._provider, self._served, self._moved = batch.provider, -1, -1

    def on_outcomes(self, outcomes: Sequence[Outcome]) -> None:
        """Report outcomes one by one."""
        if self._on_outcome is not None:
            for each in outcomes:
                self._call.tell(partial(self._on_outcome, each))
        if self._served < 0:  # those that were held back come when another stage is reported
            sent = [each for each in outcomes if each.status is not OutcomeStatus.SKIPPED]
            self._call.advance(sum(each.change.provider == self._provider for each in sent))

    def on_visibility(self, visibility: Visibility) -> None:
        """Report how many changes every live broker serves."""
        has_begun = visibility.waiting == visibility.total and not visibility.backlogs
        if self._served < 0 or has_begun:  # a wait for each cluster
            self._call.stage("Waiting until every broker serves the changes", visibility.total)
            self._served = 0
        served = visibility.total - visibility.waiting
        self._call.advance(served - self._served)
        self._served = served

    def on_verified(self, outcomes: Sequence[Outcome]) -> None:
        """Do nothing: the result has it."""

    def on_reassignment(self, progress: InProgress) -> None:
        """Report how many partitions are where they are to be."""
        if self._moved < 0:
            self._call.stage("Moving replicas", progress.total)
            self._moved = 0
        moved = progress.total - progress.left
        self._call.advance(moved - self._moved)
        self._moved = moved


def _handlers(call: LibraryCall, on_outcome: OutcomeHandler | None) -> ApplyHandlers:
    def approve(_: PlanResult) -> bool:
        return False  # nothing is planned anew: what was reviewed is applied

    return ApplyHandlers(approve, OutcomeWatcher(call, on_outcome), lambda _: call.begin_sending())


def _limits(*, wait: bool, deadline: timedelta) -> Limits:
    if deadline <= timedelta(0):
        raise UsageError("deadline must be greater than 0.")
    return Limits(total_s=deadline.total_seconds(), waits_for_visibility=wait)


def _check_plan(result: PlanResult, plan: Plan | None = None) -> None:
    """Raise PlanRefusedError with what forbids to apply a plan."""
    if result.plan.has_errors:
        found = plan.diagnostics if plan else result.plan.all_diagnostics
        raise PlanRefusedError(each for each in found if each.is_error)


def _result(done: WorkflowResult) -> ApplyResult:
    if not done.is_approved:
        _check_plan(done.plan_result)
    return ApplyResult(
        done.outcomes,
        MappingProxyType({name: each.value for name, each in done.state.outputs.items()}),
        done.is_resumable,
        done.state.serial,
    )
