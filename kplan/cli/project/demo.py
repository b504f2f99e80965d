"""`kplan demo`."""

from typing import Annotated

import typer

from kplan.cli.session import Session
from kplan.cli.verb import verb


@verb(
    ("kplan demo", "Takes about 30 seconds; the first run downloads Kafka."),
    ("kplan demo -keep", "Keep the sandbox and the configuration."),
)
def demo(
    session: Session,
    *,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the sandbox running and show how to use it.")
    ] = False,
) -> int:
    """Run plan, apply and drift on a temporary sandbox.

    kplan starts a real Apache Kafka, plans and applies the quickstart example, and detects a change
    made outside kplan. Exits with 0 if every step has the expected result.
    """
    from kplan.cli.project.demo_steps import run_demo  # noqa: PLC0415 - help needs none of this

    return run_demo(session, keep=keep)
