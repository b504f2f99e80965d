"""`kplan schema`."""

from typing import Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.terminal import Session
from kplan.cli.verb import verb
from kplan.model.errors import UsageError


@verb(
    ("kplan schema", "Write a JSON Schema for editors of *.tf.json files."),
    ("kplan schema -json", "Write the schemas as terraform providers schema -json does."),
    ("kplan schema -markdown", "Write a reference of every attribute."),
    ("kplan schema -document=plan", "Write the JSON Schema of plans as JSON."),
)
def schema(
    session: Session,
    *,
    json_: Annotated[
        bool, typer.Option("--json", help="Write the schemas as Terraform's tools read them.")
    ] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Write a reference in Markdown.")
    ] = False,
    document: Annotated[
        str,
        typer.Option(
            "--document",
            metavar="NAME",
            help="Write the JSON Schema of a document that kplan writes: plan, outcomes, stream, "
            "drift, diagnostics, state, policy, figures or tables.",
        ),
    ] = "",
) -> int:
    """Describe the blocks and attributes of the configuration.

    Without an option kplan writes a JSON Schema (draft 2020-12) for files in JSON syntax; its $defs
    has one schema for each kind. With -document it writes the schema of what kplan writes.
    """
    from kplan.workflow.project import schema as described  # noqa: PLC0415 - help needs it not

    if sum((json_, markdown, bool(document))) > 1:
        raise UsageError("-json, -markdown and -document cannot be combined with each other.")
    if document:
        session.terminal.write_stdout(described.document_schema(document))
    elif json_:
        session.terminal.write_stdout(described.provider_schema())
    else:
        session.terminal.write_stdout(
            described.reference_page() if markdown else described.json_schema()
        )
    return ExitCode.DONE
