"""`kplan records delete`: show the plan, ask for approval, delete, and show the outcomes."""

from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import Annotated

import typer

from kplan.cli import approval, wiring
from kplan.cli.exit_code import ExitCode, refusals_exit
from kplan.cli.options import (
    AutoApprove,
    InputOptions,
    OutputOptions,
    PlanningOptions,
    Provider,
    StateOptions,
)
from kplan.cli.progress import Progress, show_progress
from kplan.cli.terminal import Session
from kplan.cli.trust_option import AllowPython, Overrides, Policies
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError
from kplan.model.outcome import OutcomeStatus, PartitionDeletionOutcome, RecordDeletionPlan
from kplan.report.documents.outcome import (
    deletion_data,
    deletion_outcome_document,
    deletion_plan_document,
)
from kplan.report.formats.json_text import json_text
from kplan.report.formats.text import render_text
from kplan.workflow.apply.records import RecordDeletionRequest, RecordDeletionResult, delete_records


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """Which records to delete, and how it is approved."""

    records: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TOPIC[:PARTITION][=OFFSET]",
            help="A topic or partition, with an offset if -before is not given.",
        ),
    ] = None
    before: Annotated[
        str,
        typer.Option(
            "--before",
            metavar="OFFSET",
            help="Delete the records before this offset; end deletes all current records.",
        ),
    ] = ""
    offset_json_file: Annotated[
        str,
        typer.Option(
            "--offset-json-file",
            metavar="FILE",
            help="Read partitions and offsets from a file of kafka-delete-records.sh.",
        ),
    ] = ""
    auto_approve: AutoApprove = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the plan.")] = False


@dataclass(frozen=True, slots=True)
class RecordPolicyOptions:
    """The cluster, and the policies to check."""

    provider: Provider = ""
    policy: Policies = field(default_factory=list)
    allow_python: AllowPython = False
    override: Overrides = field(default_factory=list)


@verb(
    (
        "kplan records delete orders -before=end -dry-run",
        "Show what deleting all records would remove.",
    ),
    ("kplan records delete orders:0=100 orders:1=250", "Set an offset for each partition."),
    (
        "kplan records delete orders -before=end -auto-approve",
        "Delete without asking, in a pipeline.",
    ),
    (
        "kplan records delete -offset-json-file=offsets.json",
        "Use a file of kafka-delete-records.sh.",
    ),
)
def delete(
    session: Session,
    what: RecordOptions,
    options: RecordPolicyOptions,
    inputs: InputOptions,
    states: StateOptions,
    answer: OutputOptions,
) -> int:
    """Delete the records of partitions before an offset.

    kplan shows the records and asks for approval. Policies with `delete_records` are checked first.
    Records written after the plan stay. Kafka frees the disk space later.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.apply.record_target import parse_targets  # noqa: PLC0415
    from kplan.workflow.apply.records import RecordDeletionRequest  # noqa: PLC0415

    file = Path(what.offset_json_file) if what.offset_json_file else None
    targets = parse_targets(what.records or (), what.before, file)
    planning = PlanningOptions(
        policy=options.policy, override=options.override, allow_python=options.allow_python
    )
    policies = wiring.build_plan_options(planning, is_destroy=False).policies
    deletion_options = RecordDeletionOptions(
        RecordDeletionRequest(targets, options.provider, policies),
        inputs,
        states,
        answer,
        auto_approve=what.auto_approve,
        dry_run=what.dry_run,
    )
    return run_record_deletion(session, deletion_options)


QUESTION = """
Do you really want to delete these records?
  No consumer can read them again. There is no undo.
  Only 'yes' will be accepted to confirm.

  Enter a value: """


@dataclass(frozen=True, slots=True)
class RecordDeletionOptions:
    """What to delete, how it is approved, and the output; `dry_run` only shows the plan."""

    request: RecordDeletionRequest
    inputs: InputOptions
    states: StateOptions
    output: OutputOptions
    auto_approve: bool = False
    dry_run: bool = False

    @property
    def needs_approval(self) -> bool:
        """Whether a person has to approve."""
        return not (self.auto_approve or self.dry_run)


def run_record_deletion(session: Session, options: RecordDeletionOptions) -> int:
    """Plan, ask for approval and delete; return the exit code.

    Raises:
        UsageError: approval is not possible; raised before any work.

    """
    if options.needs_approval:
        if options.output.json:
            raise UsageError("-json requires -auto-approve or -dry-run because kplan cannot ask.")
        approval.check_can_approve(
            session, auto_approve=False, may_ask=options.inputs.input, takes_plan=False
        )
    with show_progress(session.terminal) as progress:

        def approve(plan: RecordDeletionPlan) -> bool:
            _show_plan(session, progress, options, plan)
            if options.dry_run or not options.needs_approval:
                return not options.dry_run
            return not plan.allowed_deletions or approval.ask_approval(session, progress, QUESTION)

        ports = wiring.build_ports(session, "records delete", options.states, progress)
        project = wiring.build_project(session, options.states, options.inputs)
        done = delete_records(project, options.request, ports, approve)
    if options.output.json:
        session.terminal.write_stdout(json_text(deletion_data(done.plan, done.outcomes)))
    elif done.is_approved and (done.plan.allowed_deletions or done.plan.refusals):
        look = session.terminal.stdout_style
        session.terminal.write_stdout(render_text(deletion_outcome_document(done.outcomes), look))
    return _exit_code(options, done)


def _show_plan(
    session: Session, progress: Progress, options: RecordDeletionOptions, plan: RecordDeletionPlan
) -> None:
    if not options.output.json:
        with progress.pause():
            look = session.terminal.stdout_style
            session.terminal.write_stdout(render_text(deletion_plan_document(plan), look))


def _exit_code(options: RecordDeletionOptions, done: RecordDeletionResult) -> ExitCode:
    detailed = options.output.detailed_exitcode
    if done.is_approved:
        return _outcomes_exit(done.outcomes, detailed=detailed)
    if not options.dry_run:
        return ExitCode.ERROR  # the plan was not approved
    if done.plan.refusals:
        return ExitCode.REFUSED if detailed else ExitCode.ERROR
    return ExitCode.CHANGES if detailed and done.plan.allowed_deletions else ExitCode.DONE


def _outcomes_exit(outcomes: Sequence[PartitionDeletionOutcome], *, detailed: bool) -> ExitCode:
    met = {each.status for each in outcomes}
    if met <= {OutcomeStatus.APPLIED}:
        return ExitCode.DONE
    if not detailed:
        return ExitCode.ERROR
    if OutcomeStatus.UNKNOWN in met:
        return ExitCode.UNKNOWN
    gone = any(each.status is OutcomeStatus.APPLIED and each.deletion.records for each in outcomes)
    refusals = [each.refusal for each in outcomes if each.refusal is not None]
    return ExitCode.PARTIAL if gone else refusals_exit(refusals)
