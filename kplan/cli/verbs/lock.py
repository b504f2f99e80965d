"""`kplan lock status`."""

import json
from dataclasses import asdict

from kplan.cli.exits import Exit
from kplan.cli.options import InputOptions, Json, StateOptions
from kplan.cli.session import Session
from kplan.cli.verb import verb


@verb(
    ("kplan lock status", "Who works on the state now, since when, and whether that run lives."),
    ("kplan lock status -json", "The same for scripts; .locked is true or false."),
)
def status(
    session: Session, inputs: InputOptions, states: StateOptions, *, json_: Json = False
) -> int:
    """Tell who holds the lock of the state. Nothing is waited for or changed."""
    from kplan.cli.wiring import project  # noqa: PLC0415 - help needs it not

    store = project(session, states, inputs).store
    found, place = store.lock_status(), store.place
    if json_:
        holder = asdict(found.holder) if found.holder else None
        facts = {"state": place, "locked": found.is_held, "dead": found.is_dead}
        session.terminal.data(json.dumps({**facts, "holder": holder}, indent=2))
    elif found.is_held:
        who = f"by {found.holder}. Lock id: {found.holder.id}" if found.holder else "by somebody"
        session.terminal.data(f"The state in {place} is locked {who}.")
    elif found.is_dead:
        told = f"The run that held it is dead: {found.holder}. The next run takes it over."
        session.terminal.data(f"The state in {place} is not locked. {told}")
    else:
        session.terminal.data(f"The state in {place} is not locked.")
    return Exit.DONE
