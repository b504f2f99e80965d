"""`kplan version`."""

from typing import Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.project.version_text import version_text
from kplan.cli.terminal import Session
from kplan.cli.verb import verb


@verb(
    ("kplan version", "Show the versions."), ("kplan version -json", "Write the versions as JSON.")
)
def version(
    session: Session,
    json_: Annotated[bool, typer.Option("--json", help="Write JSON to stdout.")] = False,  # noqa: FBT002
) -> int:
    """Show the versions of kplan and its libraries."""
    session.terminal.write_stdout(version_text(is_json=json_))
    return ExitCode.DONE
