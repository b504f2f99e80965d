"""`kplan demo`."""

from typing import Annotated

import typer

from kplan.cli.session import Session
from kplan.cli.verb import verb


@verb(
    ("kplan demo", "About half a minute; the first time Kafka is fetched."),
    ("kplan demo -keep", "Leave the sandbox and the configuration there, to try things."),
)
def demo(
    session: Session,
    *,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the sandbox running, and tell how to go on.")
    ] = False,
) -> int:
    """Watch plan, apply and drift on a sandbox of its own.

    A real Apache Kafka is started, the quickstart example is planned and applied on it, and a
    change made behind kplan's back is found. Exits with 0 if every step came out as it should.
    """
    from kplan.cli.project.demo_steps import run_demo  # noqa: PLC0415 - help needs none of this

    return run_demo(session, keep=keep)
