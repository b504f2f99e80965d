"""`kplan schema`."""

from typing import Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.session import Session
from kplan.cli.verb import verb
from kplan.model.errors import UsageError


@verb(
    ("kplan schema", "A JSON Schema, for editors that complete *.tf.json files."),
    ("kplan schema -json", "The same as Terraform's providers schema -json writes it."),
    ("kplan schema -markdown", "A page to read, with every attribute."),
)
def schema(
    session: Session,
    *,
    json_: Annotated[
        bool, typer.Option("--json", help="Write the schemas as Terraform's tools read them.")
    ] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Write a reference to read.")
    ] = False,
) -> int:
    """Describe the blocks and attributes that kplan knows.

    Without an option a JSON Schema (draft 2020-12) of files in JSON syntax is written; its $defs
    hold one schema for each kind, for use in files of your own.
    """
    from kplan.workflow.project import schema as described  # noqa: PLC0415 - help needs it not

    if json_ and markdown:
        raise UsageError("-json and -markdown exclude each other.")
    if json_:
        session.terminal.write_stdout(described.provider_schema())
    else:
        session.terminal.write_stdout(
            described.reference() if markdown else described.json_schema()
        )
    return ExitCode.DONE
