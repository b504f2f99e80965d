"""`kplan version`."""

from typing import Annotated

import typer

from kplan.cli.exits import Exit
from kplan.cli.session import Session
from kplan.cli.verb import verb
from kplan.cli.versions import versions


@verb(("kplan version", "Versions for people."), ("kplan version -json", "The same for scripts."))
def version(
    session: Session,
    json_: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,  # noqa: FBT002
) -> int:
    """Tell the versions of kplan and its libraries."""
    session.terminal.data(versions(is_json=json_))
    return Exit.DONE
