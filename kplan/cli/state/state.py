"""The verbs of `kplan state`: list, show, mv, rm, pull, push, history, restore, verify, ..."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.options import AutoApprove, InputOptions, Json, StateOptions
from kplan.cli.progress import show_progress
from kplan.cli.terminal import Session
from kplan.cli.verb import verb

Address = Annotated[
    str, typer.Argument(metavar="ADDRESS", help="The address of a resource, with its key.")
]
Addresses = Annotated[
    list[str],
    typer.Argument(
        metavar="ADDRESS",
        help="Addresses of resources or modules; without a key all instances.",
    ),
]


@verb(
    ("kplan state list", "List every resource."),
    ("kplan state list kafka_topic.events", "List the resources of one block."),
    ("kplan state list module.topics", "List the resources in a module."),
    ("kplan state list -id=shop.orders", "Find the resource that owns an object of the cluster."),
)
def list_(
    session: Session,
    inputs: InputOptions,
    states: StateOptions,
    addresses: Annotated[
        list[str] | None,
        typer.Argument(metavar="ADDRESS", help="List only these resources, blocks or modules."),
    ] = None,
    *,
    id_: Annotated[
        str, typer.Option("--id", metavar="ID", help="List only resources with this id.")
    ] = "",
) -> int:
    """List the resources in the state.

    What an interrupted apply has done is in its journal until it is resumed; a note says so.
    """
    from kplan.cli.wiring import build_project  # noqa: PLC0415 - help needs none of these
    from kplan.report.documents.notation import count_text  # noqa: PLC0415
    from kplan.report.views import state_list_text  # noqa: PLC0415
    from kplan.workflow.state.state import at_every_address, list_owned_objects  # noqa: PLC0415

    project = build_project(session, states, inputs)
    owned = list_owned_objects(project, tuple(addresses or ()))
    owned = owned if addresses else at_every_address(owned)
    owned = tuple(each for each in owned if id_ in {"", str(each.identity)})
    session.terminal.write_stdout(state_list_text(owned))
    if (journal := project.store.read_journal()) is not None:
        count = f"An apply of {count_text(len(journal.changes), 'change')}"
        session.terminal.write_stderr(
            f"Note: {count} ended without all answers; what it did without one is not in this "
            "list yet.\nTo find it out: kplan apply"
            if journal.is_finished
            else f"Note: {count} was interrupted; what it has done is not in this list yet.\n"
            "To finish it: kplan apply -resume"
        )
    return ExitCode.DONE


@verb(("kplan state show 'kafka_topic.events[\"orders\"]'", "Show the values of the last apply."))
def show(
    session: Session,
    address: Address,
    inputs: InputOptions,
    states: StateOptions,
    *,
    json_: Json = False,
) -> int:
    """Show one resource in the state."""
    from kplan.cli.wiring import build_project  # noqa: PLC0415 - help needs none of these
    from kplan.report import views  # noqa: PLC0415
    from kplan.workflow.state.state import show_objects  # noqa: PLC0415

    found = show_objects(build_project(session, states, inputs), address)
    terminal = session.terminal
    look = terminal.stdout_style
    terminal.write_stdout(views.owned_json(found) if json_ else views.state_show_text(found, look))
    return ExitCode.DONE


@verb(
    ("kplan state mv kafka_topic.a kafka_topic.b", "Follow a rename in the configuration."),
    ("kplan state mv module.topics module.events", "Move all that is in a module."),
    ("kplan state mv -dry-run kafka_topic.a kafka_topic.b", "Only show what would be moved."),
)
def mv(
    session: Session,
    source: Annotated[
        str,
        typer.Argument(
            metavar="ADDRESS", help="A resource or a module; without a key all instances."
        ),
    ],
    target: Annotated[str, typer.Argument(metavar="NEW", help="The new address.")],
    inputs: InputOptions,
    states: StateOptions,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be moved.")
    ] = False,
) -> int:
    """Move a resource or a module to another address in the state.

    Instances keep their keys, and all of them move or none. The cluster is not changed.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.state.move import move_objects, preview_moves  # noqa: PLC0415

    with show_progress(session.terminal) as progress:
        ports = wiring.build_ports(session, "state mv", states, progress)
        project = wiring.build_project(session, states, inputs)
        done = (
            preview_moves(project, source, target)
            if dry_run
            else move_objects(project, source, target, ports)
        )
    prefix = "Would move" if dry_run else "Moved"
    lines = [f"{prefix} {old} to {new}." for old, new in done.addresses]
    if not dry_run:
        lines.append(f"Successfully moved {done.object_count:,} object(s).")
    session.terminal.write_stdout("\n".join(lines))
    return ExitCode.DONE


@verb(
    ("kplan state rm kafka_topic.events", "Forget all topics of a block."),
    ("kplan state rm module.topics", "Forget all that is in a module."),
    ("kplan state rm -dry-run kafka_topic.events", "Only show what would be forgotten."),
)
def rm(
    session: Session,
    addresses: Addresses,
    inputs: InputOptions,
    states: StateOptions,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be forgotten.")
    ] = False,
) -> int:
    """Forget resources and leave their objects on the cluster.

    A module is forgotten with all its resources. If they are still declared, the next plan imports
    them again. What an apply sent without an answer can be forgotten as well, for
    example if its cluster is gone: no state owns it then, if it was created.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.report.formats.text import clean_text  # noqa: PLC0415
    from kplan.workflow.state.forget import forget_objects, preview_forgotten  # noqa: PLC0415

    project, wanted = wiring.build_project(session, states, inputs), tuple(addresses)
    with show_progress(session.terminal) as progress:
        ports = wiring.build_ports(session, "state rm", states, progress)
        gone = (
            preview_forgotten(project, wanted)
            if dry_run
            else forget_objects(project, wanted, ports)
        )
    prefix = "Would forget" if dry_run else "Forgot"
    lines = [f"{prefix} {each.address} ({clean_text(each.identity)})." for each in gone.owned]
    lines += (
        f"{prefix} {each.address} ({clean_text(each.identity)}), which an apply sent without an "
        "answer. If it was created, it stays, and this state does not own it."
        for each in gone.creations
    )
    session.terminal.write_stdout("\n".join(lines))
    if gone.left_count:
        session.terminal.write_stderr(
            f"Note: {gone.left_count:,} other changes of that apply have no answer, and stay "
            "recorded.\nTo find out what came of them: kplan apply"
        )
    return ExitCode.DONE


DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show the differences.")]


@verb(("kplan state pull", "Redirect the output to a file to keep a copy."))
def pull(session: Session, inputs: InputOptions, states: StateOptions) -> int:
    """Write the state to stdout.

    kplan checks the integrity of the state first.
    """
    from kplan.cli.wiring import build_project  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.state.state import pull_state  # noqa: PLC0415

    session.terminal.write_stdout(
        pull_state(build_project(session, states, inputs)).decode("utf-8", "surrogatepass")
    )
    return ExitCode.DONE


@verb(
    ("kplan state push copy.json", "Replace the state with a later version of it."),
    ("kplan state push -force copy.json", "Replace any state, even a damaged one."),
    ("kplan state push -", "Read the state from stdin."),
)
def push(
    session: Session,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The file with the state; - is stdin.")
    ],
    inputs: InputOptions,
    states: StateOptions,
    *,
    force: Annotated[
        bool,
        typer.Option("--force", help="Accept an older state or one of another lineage or cluster."),
    ] = False,
) -> int:
    """Replace the state with a file.

    The new state must have the lineage and cluster of the current one and a higher serial. The
    current state is kept as a backup. The cluster is not changed.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.report.views import replacement_text  # noqa: PLC0415
    from kplan.workflow.state.state import push_state  # noqa: PLC0415

    data = _read_state_file(file)
    with show_progress(session.terminal) as progress:
        ports = wiring.build_ports(session, "state push", states, progress)
        project = wiring.build_project(session, states, inputs)
        found = push_state(project, Path(file), data, ports, is_forced=force)
    look = session.terminal.stdout_style
    session.terminal.write_stdout(replacement_text(found.state, found.differences, look))
    return ExitCode.DONE


@verb(
    ("kplan state history", "Show when the state was written and what changed."),
    ("kplan state history -json", "The same for scripts, with every address."),
)
def history(
    session: Session, inputs: InputOptions, states: StateOptions, *, json_: Json = False
) -> int:
    """List the state and its backups.

    kplan keeps the last 20 states as backups.
    """
    from kplan.cli.wiring import build_project  # noqa: PLC0415 - help needs none of these
    from kplan.report import views  # noqa: PLC0415

    found = build_project(session, states, inputs).store.list_versions()
    look = session.terminal.stdout_style
    text = views.history_json(found) if json_ else views.history_text(found, look)
    session.terminal.write_stdout(text or "No state exists.")
    return ExitCode.DONE


@verb(
    ("kplan state restore -dry-run 41", "Show the differences of serial 41."),
    ("kplan state restore 41", "Restore the state of serial 41."),
)
def restore(
    session: Session,
    serial: Annotated[
        int, typer.Argument(metavar="SERIAL", help="A serial of kplan state history.")
    ],
    inputs: InputOptions,
    states: StateOptions,
    *,
    dry_run: DryRun = False,
) -> int:
    """Restore an earlier state from a backup.

    The restored state becomes the newest one, and the replaced state is kept as a backup. The
    cluster is not changed: the next plan shows the differences.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.report.views import replacement_text  # noqa: PLC0415
    from kplan.workflow.state import state  # noqa: PLC0415

    project = wiring.build_project(session, states, inputs)
    with show_progress(session.terminal) as progress:
        ports = wiring.build_ports(session, "state restore", states, progress)
        found = (
            state.preview_restore(project, serial)
            if dry_run
            else state.restore_state(project, serial, ports)
        )
    look = session.terminal.stdout_style
    text = replacement_text(found.state, found.differences, look, is_done=not dry_run)
    session.terminal.write_stdout(text)
    return ExitCode.DONE


def _read_state_file(file: str) -> bytes:
    from kplan.model.errors import UsageError  # noqa: PLC0415 - help needs it not

    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as failure:
        raise UsageError(f"{file} cannot be read: {failure.strerror}.") from None


@verb(
    ("kplan state verify", "Check the state file and each object."),
    ("kplan state verify -json", "The status of each object, for scripts."),
)
def verify(
    session: Session, inputs: InputOptions, states: StateOptions, *, json_: Json = False
) -> int:
    """Compare the state with the cluster.

    Nothing is changed. Exits with 0 if each object is as last applied, 2 if one differs, and 1 if
    one could not be read.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.cli.state.reconciliation import verification_exit, verification_text  # noqa: PLC0415
    from kplan.workflow.state.state import verify_state  # noqa: PLC0415

    project = wiring.build_project(session, states, inputs)
    with show_progress(session.terminal) as progress:
        found = verify_state(project, wiring.build_ports(session, "state verify", states, progress))
    session.terminal.write_stdout(verification_text(session, found, is_json=json_))
    return verification_exit(found)


@verb(
    ("kplan state rebuild -dry-run", "Show the objects that would be owned."),
    ("kplan state rebuild", "Rebuild a lost or damaged state."),
)
def rebuild(
    session: Session,
    inputs: InputOptions,
    states: StateOptions,
    *,
    auto_approve: AutoApprove = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be owned.")
    ] = False,
) -> int:
    """Rebuild the state from the configuration and the cluster.

    kplan proposes to own every declared object that exists on the cluster, as it is; the next plan
    shows how it differs from the configuration. The cluster is not changed. Objects that were owned
    and are no longer declared cannot be found this way.
    """
    from kplan.cli.state import reconciliation  # noqa: PLC0415 - help needs none of these

    options = reconciliation.RebuildOptions(
        inputs, states, auto_approve=auto_approve, dry_run=dry_run
    )
    return reconciliation.run_rebuild(session, options)
