"""`kplan state list | show | mv | rm | pull | push | history | restore | verify | rebuild`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.options import AutoApprove, InputOptions, Json, StateOptions
from kplan.cli.progress import show_progress
from kplan.cli.session import Session
from kplan.cli.verb import verb

Address = Annotated[str, typer.Argument(metavar="ADDRESS", help="kafka_topic.NAME, with its key.")]
Addresses = Annotated[
    list[str],
    typer.Argument(metavar="ADDRESS", help="kafka_topic.NAME; without a key all of its block."),
]


@verb(
    ("kplan state list", "Every address that is owned."),
    ("kplan state list kafka_topic.events", "Those of one block."),
)
def list_(
    session: Session,
    inputs: InputOptions,
    states: StateOptions,
    addresses: Annotated[
        list[str] | None, typer.Argument(metavar="ADDRESS", help="Only these, or of blocks.")
    ] = None,
) -> int:
    """List the addresses that the state holds."""
    from kplan.cli.wiring import build_project  # noqa: PLC0415 - help needs none of these
    from kplan.report.views import state_list_text  # noqa: PLC0415
    from kplan.workflow.state.state import owned_objects  # noqa: PLC0415

    owned = owned_objects(build_project(session, states, inputs), tuple(addresses or ()))
    session.terminal.write_stdout(state_list_text(owned))
    return ExitCode.DONE


@verb(("kplan state show 'kafka_topic.events[\"orders\"]'", "What was applied last."))
def show(
    session: Session,
    address: Address,
    inputs: InputOptions,
    states: StateOptions,
    *,
    json_: Json = False,
) -> int:
    """Show one resource as last applied."""
    from kplan.cli.wiring import build_project  # noqa: PLC0415 - help needs none of these
    from kplan.report import views  # noqa: PLC0415
    from kplan.workflow.state.state import owned_objects  # noqa: PLC0415

    found, terminal = (
        owned_objects(build_project(session, states, inputs), (address,)),
        session.terminal,
    )
    look = terminal.stdout_style
    terminal.write_stdout(views.owned_json(found) if json_ else views.state_show_text(found, look))
    return ExitCode.DONE


@verb(
    ("kplan state mv kafka_topic.a kafka_topic.b", "Follow a rename in the configuration."),
)
def mv(
    session: Session,
    source: Address,
    target: Annotated[str, typer.Argument(metavar="NEW", help="The address from now on.")],
    inputs: InputOptions,
    states: StateOptions,
) -> int:
    """Give a resource another address. Nothing on the cluster is touched."""
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.state.state import move_object  # noqa: PLC0415

    with show_progress(session.terminal) as shown:
        ports = wiring.build_ports(session, "state mv", states, shown)
        old, new = move_object(wiring.build_project(session, states, inputs), source, target, ports)
    session.terminal.write_stdout(f"Moved {old} to {new}.")
    return ExitCode.DONE


@verb(
    ("kplan state rm kafka_topic.events", "Forget all topics of a block."),
    ("kplan state rm -dry-run kafka_topic.events", "Tell what would be forgotten."),
)
def rm(
    session: Session,
    addresses: Addresses,
    inputs: InputOptions,
    states: StateOptions,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only tell what would be forgotten.")
    ] = False,
) -> int:
    """Forget resources and leave them on the cluster.

    The next plan takes them over again as long as they are declared.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.state.state import forget_objects, owned_objects  # noqa: PLC0415

    project, wanted = wiring.build_project(session, states, inputs), tuple(addresses)
    with show_progress(session.terminal) as shown:
        ports = wiring.build_ports(session, "state rm", states, shown)
        gone = owned_objects(project, wanted) if dry_run else forget_objects(project, wanted, ports)
    said = "Would forget" if dry_run else "Forgot"
    session.terminal.write_stdout(
        "\n".join(f"{said} {each.address} ({each.identity})." for each in gone)
    )
    return ExitCode.DONE


DryRun = Annotated[bool, typer.Option("--dry-run", help="Only tell what would become of it.")]


@verb(("kplan state pull", "Redirect it into a file to keep a copy."))
def pull(session: Session, inputs: InputOptions, states: StateOptions) -> int:
    """Write the state to stdout, once it has proved to be whole."""
    from kplan.cli.wiring import build_project  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.state.state import pull_state  # noqa: PLC0415

    session.terminal.write_stdout(
        pull_state(build_project(session, states, inputs)).decode("utf-8", "surrogatepass")
    )
    return ExitCode.DONE


@verb(
    ("kplan state push copy.json", "Only if it is a later state of the one that is here."),
    ("kplan state push -force copy.json", "Whatever is here, even if that is damaged."),
    ("kplan state push -", "From stdin."),
)
def push(
    session: Session,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The state; - is stdin.")],
    inputs: InputOptions,
    states: StateOptions,
    *,
    force: Annotated[
        bool,
        typer.Option("--force", help="Take an older one, or one of another lineage or cluster."),
    ] = False,
) -> int:
    """Put a state in the place of the current one.

    Lineage, serial and cluster must fit: it must be a later state of the one that is here, which
    is kept as a backup. Nothing on the cluster is touched.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.report.views import replacement_text  # noqa: PLC0415
    from kplan.workflow.state.state import push_state  # noqa: PLC0415

    data = _read_state_file(file)
    with show_progress(session.terminal) as shown:
        ports = wiring.build_ports(session, "state push", states, shown)
        project = wiring.build_project(session, states, inputs)
        found = push_state(project, Path(file), data, ports, is_forced=force)
    look = session.terminal.stdout_style
    session.terminal.write_stdout(replacement_text(found.state, found.differences, look))
    return ExitCode.DONE


@verb(
    ("kplan state history", "When the state was written, and what each write changed."),
    ("kplan state history -json", "The same for scripts, with every address."),
)
def history(
    session: Session, inputs: InputOptions, states: StateOptions, *, json_: Json = False
) -> int:
    """List the state and its backups.

    The last 20 states before the current one are kept beside it.
    """
    from kplan.cli.wiring import build_project  # noqa: PLC0415 - help needs none of these
    from kplan.report import views  # noqa: PLC0415

    found = build_project(session, states, inputs).store.history()
    look = session.terminal.stdout_style
    told = views.history_json(found) if json_ else views.history_text(found, look)
    session.terminal.write_stdout(told or "There is no state yet.")
    return ExitCode.DONE


@verb(
    ("kplan state restore -dry-run 41", "What would be owned again, and what not any more."),
    ("kplan state restore 41", "Let the state say again what it said at serial 41."),
)
def restore(
    session: Session,
    serial: Annotated[int, typer.Argument(metavar="SERIAL", help="One of `state history`.")],
    inputs: InputOptions,
    states: StateOptions,
    *,
    dry_run: DryRun = False,
) -> int:
    """Go back to an earlier state, from its backup.

    It becomes the newest state, and the one that is replaced is kept. Nothing on the cluster is
    touched: the next plan tells how the two differ.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.report.views import replacement_text  # noqa: PLC0415
    from kplan.workflow.state import state  # noqa: PLC0415

    project = wiring.build_project(session, states, inputs)
    with show_progress(session.terminal) as shown:
        ports = wiring.build_ports(session, "state restore", states, shown)
        found = (
            state.preview_restore(project, serial)
            if dry_run
            else state.restore_state(project, serial, ports)
        )
    look = session.terminal.stdout_style
    told = replacement_text(found.state, found.differences, look, is_done=not dry_run)
    session.terminal.write_stdout(told)
    return ExitCode.DONE


def _read_state_file(file: str) -> bytes:
    from kplan.model.errors import UsageError  # noqa: PLC0415 - help needs it not

    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as failure:
        raise UsageError(f"{file} cannot be read: {failure.strerror}.") from None


@verb(
    ("kplan state verify", "Whether the file is whole and everything in it is on the cluster."),
    ("kplan state verify -json", "How every object stands, for scripts."),
)
def verify(
    session: Session, inputs: InputOptions, states: StateOptions, *, json_: Json = False
) -> int:
    """Compare the state with the cluster, object by object.

    Nothing is changed anywhere. Exits with 0 when everything is as last applied, 2 when something
    is not, 1 when it cannot be told.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.cli.state.reconciliation import verification_exit, verification_text  # noqa: PLC0415
    from kplan.workflow.state.verify import verify_state  # noqa: PLC0415

    project = wiring.build_project(session, states, inputs)
    with show_progress(session.terminal) as shown:
        found = verify_state(project, wiring.build_ports(session, "state verify", states, shown))
    session.terminal.write_stdout(verification_text(session, found, is_json=json_))
    return verification_exit(found)


@verb(
    ("kplan state rebuild -dry-run", "What is declared and live, and would be owned."),
    ("kplan state rebuild", "Make a lost or damaged state anew, after a yes."),
)
def rebuild(
    session: Session,
    inputs: InputOptions,
    states: StateOptions,
    *,
    auto_approve: AutoApprove = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only tell what would be owned.")
    ] = False,
) -> int:
    """Make a state anew from what is declared and live.

    Every declared object that is on the cluster is proposed to be owned as it is; the next plan
    tells how it differs from what is declared. Nothing on the cluster is touched. What was owned
    and is not declared any more cannot be found this way.
    """
    from kplan.cli.state import reconciliation  # noqa: PLC0415 - help needs none of these

    wish = reconciliation.RebuildOptions(inputs, states, auto_approve=auto_approve, dry_run=dry_run)
    return reconciliation.run_rebuild(session, wish)
