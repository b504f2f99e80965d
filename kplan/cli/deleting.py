"""Deleting records: show what goes, ask, delete, tell what became of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from kplan.cli import approval, wiring
from kplan.cli.exits import Exit, of_refusals
from kplan.cli.options import AnswerOptions, InputOptions, StateOptions
from kplan.cli.progress import Progress, progress
from kplan.cli.session import Session
from kplan.model.errors import UsageError
from kplan.model.outcome import Status
from kplan.model.record_deletion import CutOutcome, DeletionPlan
from kplan.report.documents.record_deletion import (
    deletion_data,
    deletion_outcome_document,
    deletion_plan_document,
)
from kplan.report.formats.json_text import json_text
from kplan.report.formats.text import text
from kplan.workflow.record_deletion import Deleted, Wanted, delete_records

QUESTION = """
Do you really want to delete these records?
  They are gone for every consumer. There is no undo.
  Only 'yes' will be accepted to confirm.

  Enter a value: """


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be deleted, and how that is approved and told; with `dry_run` only shown."""

    wanted: Wanted
    inputs: InputOptions
    states: StateOptions
    answer: AnswerOptions
    auto_approve: bool = False
    dry_run: bool = False

    @property
    def needs_approval(self) -> bool:
        """Whether somebody has to say yes."""
        return not (self.auto_approve or self.dry_run)


def deleted(session: Session, wish: Wish) -> int:
    """Plan, ask and delete; give the exit code.

    Raises:
        UsageError: nobody can be asked, before any work.

    """
    if wish.needs_approval:
        if wish.answer.json:
            raise UsageError("-json needs -auto-approve or -dry-run: it cannot ask.")
        approval.check_can_approve(session, auto_approve=False, may_ask=wish.inputs.input)
    with progress(session.terminal) as shown:

        def approve(plan: DeletionPlan) -> bool:
            _show(session, shown, wish, plan)
            if wish.dry_run or not wish.needs_approval:
                return not wish.dry_run
            return not plan.granted or approval.asked(session, shown, QUESTION)

        ports = wiring.ports(session, "records delete", wish.states, shown)
        project = wiring.project(session, wish.states, wish.inputs)
        done = delete_records(project, wish.wanted, ports, approve)
    if wish.answer.json:
        session.terminal.data(json_text(deletion_data(done.plan, done.outcomes)))
    elif done.is_approved:
        look = session.terminal.data_look
        session.terminal.data(text(deletion_outcome_document(done.outcomes), look))
    return _code(wish, done)


def _show(session: Session, shown: Progress, wish: Wish, plan: DeletionPlan) -> None:
    if not wish.answer.json:
        with shown.hidden():
            look = session.terminal.data_look
            session.terminal.data(text(deletion_plan_document(plan), look))


def _code(wish: Wish, done: Deleted) -> Exit:
    detailed = wish.answer.detailed_exitcode
    if done.is_approved:
        return _of_outcomes(done.outcomes, detailed=detailed)
    if not wish.dry_run:
        return Exit.ERROR  # somebody looked at it and did not say yes
    if done.plan.refusals:
        return Exit.REFUSED if detailed else Exit.ERROR
    return Exit.CHANGES if detailed and done.plan.granted else Exit.DONE


def _of_outcomes(outcomes: Sequence[CutOutcome], *, detailed: bool) -> Exit:
    met = {each.status for each in outcomes}
    if met <= {Status.APPLIED}:
        return Exit.DONE
    if not detailed:
        return Exit.ERROR
    if Status.UNKNOWN in met:
        return Exit.UNKNOWN
    gone = any(each.status is Status.APPLIED and each.cut.records for each in outcomes)
    refusals = [each.refusal for each in outcomes if each.refusal is not None]
    return Exit.PARTLY if gone else of_refusals(refusals)
