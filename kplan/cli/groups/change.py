"""`kplan groups reset`, `groups delete` and `groups delete-offsets`."""

from functools import partial
from typing import Annotated

import typer

from kplan.cli.groups.execution import ChangeOptions
from kplan.cli.options import InputOptions
from kplan.cli.query import QueryOptions
from kplan.cli.terminal import Session
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass

GroupName = Annotated[str, typer.Argument(metavar="GROUP", help="The name of the group.")]
Topics = Annotated[
    list[str] | None,
    typer.Option(
        "--topic",
        metavar="TOPIC[:PARTITION,...]",
        help="Select the partitions of a topic, or some of them (repeatable).",
    ),
]


@dataclass(frozen=True, slots=True)
class ResetOptions:
    """Which offsets of a group to reset, and where to."""

    topic: Topics = None
    all_topics: Annotated[
        bool,
        typer.Option("--all-topics", help="Select all partitions with committed offsets."),
    ] = False
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="TARGET",
            help="earliest, latest, an offset, a time such as 2026-01-31T10:00:00Z or now-2h, or "
            "a CSV file of offsets.",
        ),
    ] = ""
    shift: Annotated[
        int | None,
        typer.Option("--shift", metavar="N", help="Move the offsets by N; back if N is negative."),
    ] = None
    create: Annotated[
        bool, typer.Option("--create", help="Create the group if it does not exist.")
    ] = False


@verb(
    (
        "kplan groups reset billing -topic=orders -to=earliest -dry-run",
        "Show what reading all records again would change.",
    ),
    ("kplan groups reset billing -all-topics -to=2026-01-31T10:00:00Z", "Go back to a time."),
    ("kplan groups reset billing -topic=orders:0,1 -shift=-100", "Go back by 100 records."),
    (
        "kplan groups reset billing -to=billing.20260131T100000Z.undo.csv -auto-approve",
        "Restore offsets from an undo file.",
    ),
)
def reset(
    session: Session,
    group: GroupName,
    what: ResetOptions,
    options: ChangeOptions,
    inputs: InputOptions,
    ask: QueryOptions,
) -> int:
    """Reset the committed offsets of a consumer group.

    The group must have no members. kplan shows committed and new offsets, asks for approval, and
    writes the offsets before the change to an undo file, in the CSV format of
    kafka-consumer-groups.sh. Offsets outside the log move to its nearer end.
    """
    from kplan.cli.groups.execution import (  # noqa: PLC0415 - help needs none of these
        GroupChange,
        run_group_change,
    )
    from kplan.workflow.groups import reset as work  # noqa: PLC0415
    from kplan.workflow.groups.target import parse_request  # noqa: PLC0415

    words = (what.topic or (), what.all_topics, what.to, what.shift)
    change = GroupChange(
        "groups reset",
        lambda ports: partial(
            work.plan_reset,
            wanted=parse_request(group, words, may_create=what.create, now=ports.now()),
        ),
        work.offset_figures,
        work.commit_plan,
        lambda plan: {plan.group: plan.undo},
        lambda plan: not plan.real_changes,
        work.stale_offsets,
        stage="Resetting offsets",
    )
    return run_group_change(session, inputs, ask, options, change)


@verb(
    ("kplan groups delete billing -dry-run", "Show what deleting a group would lose."),
    ("kplan groups delete billing audit -auto-approve", "Delete two groups without asking."),
)
def delete(
    session: Session,
    name: Annotated[list[str], typer.Argument(metavar="NAME", help="Names of groups.")],
    options: ChangeOptions,
    inputs: InputOptions,
    ask: QueryOptions,
) -> int:
    """Delete groups with their committed offsets.

    Groups with members are refused, and then no group is deleted. kplan asks for approval, and
    writes the committed offsets to an undo file for kplan groups reset -create.
    """
    from kplan.cli.groups.execution import (  # noqa: PLC0415 - help needs none of these
        DELETE_QUESTION,
        GroupChange,
        run_group_change,
    )
    from kplan.workflow.groups import delete as work  # noqa: PLC0415

    change = GroupChange(
        "groups delete",
        lambda _: lambda cluster: work.plan_group_deletion(cluster, name),
        work.group_deletion_figures,
        work.delete_groups,
        lambda plan: plan.undo,
        lambda _: False,
        work.stale_groups,
        question=DELETE_QUESTION,
        undo_options=" -create",
        stage="Deleting groups",
    )
    return run_group_change(session, inputs, ask, options, change)


@verb(
    (
        "kplan groups delete-offsets billing -topic=orders -dry-run",
        "Show which offsets would be deleted.",
    ),
    (
        "kplan groups delete-offsets billing -topic=orders:0 -auto-approve",
        "Delete the offset of one partition.",
    ),
)
def delete_offsets(
    session: Session,
    group: GroupName,
    options: ChangeOptions,
    inputs: InputOptions,
    ask: QueryOptions,
    topic: Topics = None,
) -> int:
    """Delete the committed offsets of a group in topics.

    The group may have members, but none that reads the topics. kplan asks for approval, and writes
    the offsets to an undo file.
    """
    from kplan.cli.groups.execution import (  # noqa: PLC0415 - help needs none of these
        DELETE_QUESTION,
        GroupChange,
        run_group_change,
    )
    from kplan.workflow.groups.delete import plan_offset_deletion  # noqa: PLC0415
    from kplan.workflow.groups.reset import (  # noqa: PLC0415
        commit_plan,
        offset_figures,
        stale_offsets,
    )
    from kplan.workflow.groups.target import parse_selection  # noqa: PLC0415

    topics = parse_selection(topic or (), all_topics=False, is_file=False) or {}
    change = GroupChange(
        "groups delete-offsets",
        lambda _: lambda cluster: plan_offset_deletion(cluster, group, topics),
        offset_figures,
        commit_plan,
        lambda plan: {plan.group: plan.undo},
        lambda plan: not plan.real_changes,
        stale_offsets,
        question=DELETE_QUESTION,
        stage="Deleting offsets",
    )
    return run_group_change(session, inputs, ask, options, change)
