"""`kplan force-unlock`."""

from typing import Annotated

import typer

from kplan.cli.exits import Exit
from kplan.cli.options import InputOptions, StateOptions
from kplan.cli.session import Session
from kplan.cli.verb import verb


@verb(("kplan force-unlock 5f0c7a1e-6d1b-4c8e-9f57-0d1f6a1c2b3d", "The id is in the lock's error."))
def force_unlock(
    session: Session,
    lock_id: Annotated[str, typer.Argument(metavar="LOCK_ID", help="The id of the lock.")],
    inputs: InputOptions,
    states: StateOptions,
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Accepted for Terraform's sake: kplan does not ask.")
    ] = False,
) -> int:
    """Remove the lock that a dead run left behind.

    Give the id that the error told; a lock with another id stays. A run that is alive stops before
    its next request, but not what it has sent: make sure that it is dead.
    """
    from kplan.cli.wiring import project  # noqa: PLC0415 - help needs none of these
    from kplan.state.holder import is_running  # noqa: PLC0415

    del force
    holder = project(session, states, inputs).store.force_unlock(lock_id)
    session.terminal.data(f"The lock is removed. It was held by {holder}.")
    if is_running(holder):
        session.terminal.talk(
            "That run is alive. It stops before its next request, and leaves its journal: "
            "kplan apply -resume"
        )
    return Exit.DONE
