"""`kplan wait`."""

from typing import Annotated

import typer

from kplan.cli.options import InputOptions, OutputOptions, StateOptions
from kplan.cli.session import Session
from kplan.cli.verb import verb


@verb(
    ("kplan wait", "After `kplan apply -no-wait`, or one that ran out of patience."),
    ("kplan wait -timeout=10m", "Longer than the two minutes that it waits otherwise."),
)
def wait(
    session: Session,
    inputs: InputOptions,
    states: StateOptions,
    answer: OutputOptions,
    *,
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="SPAN", help="How long, as in 30s or 5m.")
    ] = "2m",
) -> int:
    """Wait until every broker serves what was applied.

    Objects that were applied and not yet seen everywhere are marked in the state; the mark is
    taken off those that are served now. Exits with 1 (5 with -detailed-exitcode) when some are
    not.
    """
    from kplan.cli.apply.visibility import wait_for_visibility  # noqa: PLC0415 - help needs none of this

    return wait_for_visibility(session, inputs, states, answer, timeout)
