"""`kplan wait`."""

from typing import Annotated

import typer

from kplan.cli.options import InputOptions, OutputOptions, StateOptions
from kplan.cli.session import Session
from kplan.cli.verb import verb


@verb(
    ("kplan wait", "Wait after kplan apply -no-wait or a timed-out wait."),
    ("kplan wait -timeout=10m", "Wait longer than the default of two minutes."),
)
def wait(
    session: Session,
    inputs: InputOptions,
    states: StateOptions,
    answer: OutputOptions,
    *,
    timeout: Annotated[
        str,
        typer.Option(
            "--timeout", metavar="SPAN", help="Wait up to this long, for example 30s or 5m."
        ),
    ] = "2m",
) -> int:
    """Wait until every broker serves the applied changes.

    The state marks applied objects that some brokers do not serve yet; kplan removes the mark when
    all brokers do. Exits with 1 (5 with -detailed-exitcode) if some are still pending.
    """
    from kplan.cli.apply.visibility import wait_for_visibility  # noqa: PLC0415 - help needs none of this

    return wait_for_visibility(session, inputs, states, answer, timeout)
