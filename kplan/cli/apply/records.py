"""`kplan records delete`."""

from dataclasses import field
from pathlib import Path
from typing import Annotated

import typer

from kplan.cli.options import (
    AutoApprove,
    InputOptions,
    OutputOptions,
    Overrides,
    PlanningOptions,
    Policies,
    Provider,
    StateOptions,
)
from kplan.cli.session import Session
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """Which records are to go, and who approves it."""

    records: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TOPIC[:PARTITION][=OFFSET]",
            help="A topic or partition, with an offset of its own where -before is not meant.",
        ),
    ] = None
    before: Annotated[
        str,
        typer.Option(
            "--before",
            metavar="OFFSET",
            help="The first offset that stays; end for all that is there now.",
        ),
    ] = ""
    offset_json_file: Annotated[
        str,
        typer.Option(
            "--offset-json-file",
            metavar="FILE",
            help="Read partitions and offsets from a file as kafka-delete-records.sh takes it.",
        ),
    ] = ""
    auto_approve: AutoApprove = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would go.")] = False


@dataclass(frozen=True, slots=True)
class RecordPolicyOptions:
    """Which cluster, and which policies are asked."""

    provider: Provider = ""
    policy: Policies = field(default_factory=list)
    override: Overrides = field(default_factory=list)


@verb(
    ("kplan records delete orders -before=end -dry-run", "What would go if all of it went."),
    ("kplan records delete orders:0=100 orders:1=250", "Up to an offset of each partition."),
    ("kplan records delete orders -before=end -auto-approve", "In a pipeline, without a yes."),
    ("kplan records delete -offset-json-file=offsets.json", "As kafka-delete-records.sh reads it."),
)
def delete(
    session: Session,
    what: RecordOptions,
    terms: RecordPolicyOptions,
    inputs: InputOptions,
    states: StateOptions,
    answer: OutputOptions,
) -> int:
    """Delete records before an offset, after showing what goes.

    Policies that decide `delete_records` are asked first. Records that are written after the plan
    stay. The first offset of each partition moves; Kafka frees the disk in its own time.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.cli.apply import record_deletion  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.apply.record_target import parse_targets  # noqa: PLC0415
    from kplan.workflow.apply.records import RecordDeletionRequest  # noqa: PLC0415

    file = Path(what.offset_json_file) if what.offset_json_file else None
    targets = parse_targets(what.records or (), what.before, file)
    planning = PlanningOptions(policy=terms.policy, override=terms.override)
    policies = wiring.build_plan_options(planning, is_destroy=False).policies
    wish = record_deletion.RecordDeletionOptions(
        RecordDeletionRequest(targets, terms.provider, policies),
        inputs,
        states,
        answer,
        auto_approve=what.auto_approve,
        dry_run=what.dry_run,
    )
    return record_deletion.run_record_deletion(session, wish)
