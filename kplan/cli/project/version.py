"""`kplan version`."""

from typing import Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.project.version_text import version_text
from kplan.cli.session import Session
from kplan.cli.verb import verb


@verb(("kplan version", "Versions for people."), ("kplan version -json", "The same for scripts."))
def version(
    session: Session,
    json_: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,  # noqa: FBT002
) -> int:
    """Tell the versions of kplan and its libraries."""
    session.terminal.write_stdout(version_text(is_json=json_))
    return ExitCode.DONE
