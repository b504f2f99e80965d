"""`kplan state pull | push | history | restore`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from kplan.cli.exits import Exit
from kplan.cli.options import InputOptions, Json, StateOptions
from kplan.cli.progress import progress
from kplan.cli.session import Session
from kplan.cli.verb import verb

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only tell what would become of it.")]


@verb(("kplan state pull", "Redirect it into a file to keep a copy."))
def pull(session: Session, inputs: InputOptions, states: StateOptions) -> int:
    """Write the state to stdout, once it has proved to be whole."""
    from kplan.cli.wiring import project  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.state_files import pull as pulled  # noqa: PLC0415

    session.terminal.data(pulled(project(session, states, inputs)).decode("utf-8", "surrogatepass"))
    return Exit.DONE


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
    from kplan.report.views import replaced_text  # noqa: PLC0415
    from kplan.workflow.state_files import push as pushed  # noqa: PLC0415

    data = _bytes(file)
    with progress(session.terminal) as shown:
        ports = wiring.ports(session, "state push", states, shown)
        project = wiring.project(session, states, inputs)
        found = pushed(project, Path(file), data, ports, is_forced=force)
    look = session.terminal.data_look
    session.terminal.data(replaced_text(found.state, found.differences, look))
    return Exit.DONE


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
    from kplan.cli.wiring import project  # noqa: PLC0415 - help needs none of these
    from kplan.report import views  # noqa: PLC0415

    found = project(session, states, inputs).store.history()
    look = session.terminal.data_look
    told = views.history_json(found) if json_ else views.history_text(found, look)
    session.terminal.data(told or "There is no state yet.")
    return Exit.DONE


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
    from kplan.report.views import replaced_text  # noqa: PLC0415
    from kplan.workflow import state_files  # noqa: PLC0415

    project = wiring.project(session, states, inputs)
    with progress(session.terminal) as shown:
        ports = wiring.ports(session, "state restore", states, shown)
        found = (
            state_files.restored(project, serial)
            if dry_run
            else state_files.restore(project, serial, ports)
        )
    look = session.terminal.data_look
    told = replaced_text(found.state, found.differences, look, is_done=not dry_run)
    session.terminal.data(told)
    return Exit.DONE


def _bytes(file: str) -> bytes:
    from kplan.model.errors import UsageError  # noqa: PLC0415 - help needs it not

    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as failure:
        raise UsageError(f"{file} cannot be read: {failure.strerror}.") from None
