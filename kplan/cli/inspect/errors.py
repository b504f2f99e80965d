"""`kplan errors explain`."""

from typing import Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.options import Json
from kplan.cli.session import Session
from kplan.cli.verb import verb


@verb(
    ("kplan errors explain NOT_CONTROLLER", "What kplan makes of it."),
    ("kplan errors explain 41 7 -json", "By number, for scripts."),
    ("kplan errors explain -- -1", "Numbers below zero stand behind two dashes."),
)
def explain(
    session: Session,
    code: Annotated[
        list[str], typer.Argument(metavar="CODE", help="Names or numbers, as Kafka has them.")
    ],
    *,
    json: Json = False,
) -> int:
    """Explain errors of Kafka, and what kplan does about them.

    No cluster is asked. Codes of kplan itself, as in KP201, are explained by kplan explain.
    """
    from kplan.cluster.errors import find_error  # noqa: PLC0415 - help needs none of these
    from kplan.report.documents.kafka_error import errors_data, errors_text  # noqa: PLC0415
    from kplan.report.formats.json_text import json_text  # noqa: PLC0415

    rows = [find_error(each) for each in code]
    session.terminal.write_stdout(json_text(errors_data(rows)) if json else errors_text(rows))
    return ExitCode.DONE
