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
    terms: RecordPolicyOptions,
    inputs: InputOptions,
    states: StateOptions,
    answer: OutputOptions,
) -> int:
    """Delete the records of partitions before an offset.

    kplan shows the records and asks for approval. Policies with `delete_records` are checked first.
    Records written after the plan stay. Kafka frees the disk space later.
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
