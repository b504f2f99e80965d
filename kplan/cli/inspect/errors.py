"""`kplan errors explain`."""

from typing import Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.options import Json
from kplan.cli.terminal import Session
from kplan.cli.verb import verb


@verb(
    ("kplan errors explain NOT_CONTROLLER", "Explain an error by name."),
    ("kplan errors explain 41 7 -json", "Explain errors by number, for scripts."),
    ("kplan errors explain -- -1", "Explain a negative number, after two dashes."),
)
def explain(
    session: Session,
    code: Annotated[
        list[str], typer.Argument(metavar="CODE", help="Names or numbers of Kafka's errors.")
    ],
    *,
    json: Json = False,
) -> int:
    """Explain errors of Kafka and how kplan handles them.

    No cluster is needed. kplan explain explains the codes of kplan, for example KP201.
    """
    from kplan.cluster.errors import find_error  # noqa: PLC0415 - help needs none of these
    from kplan.report.documents.kafka_error import errors_data, errors_text  # noqa: PLC0415
    from kplan.report.formats.json_text import json_text  # noqa: PLC0415

    rows = [find_error(each) for each in code]
    session.terminal.write_stdout(json_text(errors_data(rows)) if json else errors_text(rows))
    return ExitCode.DONE
