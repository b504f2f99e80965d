"""`kplan lock status` and `kplan force-unlock`."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, Json, StateOptions
from kplan.cli.terminal import Session
from kplan.cli.verb import verb

if TYPE_CHECKING:
    from kplan.state.lock import LockStatus


@verb(
    ("kplan lock status", "Show the run that holds the lock, and whether it is alive."),
    ("kplan lock status -json", "The same for scripts; .locked is true or false."),
)
def status(
    session: Session, inputs: InputOptions, states: StateOptions, *, json_: Json = False
) -> int:
    """Show whether the state is locked, and by which run.

    kplan does not wait for the lock and does not change it. Whether a run on another machine is
    alive is not known: its last sign of life is shown.
    """
    from kplan.cli.wiring import build_project  # noqa: PLC0415 - help needs none of these
    from kplan.state.lock import liveness_text  # noqa: PLC0415

    store = build_project(session, states, inputs).store
    found, place = store.lock_status(), store.location
    if json_:
        session.terminal.write_stdout(json.dumps(_lock_facts(place, found), indent=2))
    elif found.is_held and found.holder:
        alive = liveness_text(found.holder)
        who = f"by {found.holder}. Lock id: {found.holder.id}. {alive}".rstrip()
        session.terminal.write_stdout(f"The state in {place} is locked {who}")
    elif found.is_held:
        note = "Its lock cannot be read, so no run takes it."
        session.terminal.write_stdout(f"The state in {place} counts as locked. {note}")
    elif found.is_dead:
        note = f"The run that held it ended: {found.holder}. The next run takes the lock over."
        session.terminal.write_stdout(f"The state in {place} is not locked. {note}")
    else:
        session.terminal.write_stdout(f"The state in {place} is not locked.")
    return ExitCode.DONE


def _lock_facts(place: str, found: "LockStatus") -> dict[str, object]:
    from kplan.state.lock_holder import seen_s_ago  # noqa: PLC0415 - help needs it not

    seen = seen_s_ago(found.holder) if found.holder else None
    return {
        "state": place,
        "locked": found.is_held,
        "dead": found.is_dead,
        "alive": _is_alive(found),
        "seen_s_ago": None if seen is None else round(seen),
        "holder": asdict(found.holder) if found.holder else None,
    }


def _is_alive(found: "LockStatus") -> bool | None:
    """Whether the holder of the lock runs; None where this machine cannot know."""
    from kplan.state.lock_holder import is_dead, is_running  # noqa: PLC0415 - help needs it not

    if found.holder is None:
        return None
    if is_dead(found.holder):
        return False
    return True if is_running(found.holder) else None


@verb(
    (
        "kplan force-unlock 5f0c7a1e-6d1b-4c8e-9f57-0d1f6a1c2b3d",
        "The error about the lock shows the id.",
    )
)
def force_unlock(
    session: Session,
    lock_id: Annotated[str, typer.Argument(metavar="LOCK_ID", help="The id of the lock.")],
    inputs: InputOptions,
    states: StateOptions,
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Accepted for Terraform; kplan does not ask.")
    ] = False,
) -> int:
    """Remove a lock that a stopped run left behind.

    LOCK_ID is the id in the error about the lock; a lock with another id stays. Make sure that the
    other run has ended: one that is alive stops only before its next request.
    """
    from kplan.cli.wiring import build_project  # noqa: PLC0415 - help needs none of these
    from kplan.state.lock_holder import is_running  # noqa: PLC0415

    del force
    holder = build_project(session, states, inputs).store.force_unlock(lock_id)
    session.terminal.write_stdout(f"Removed the lock. It was held by {holder}.")
    if is_running(holder):
        session.terminal.write_stderr(
            "That run is still alive. It stops before its next request. To finish its plan, "
            "run: kplan apply -resume"
        )
    return ExitCode.DONE
