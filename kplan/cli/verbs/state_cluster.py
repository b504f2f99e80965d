"""`kplan state verify | rebuild`."""

from typing import Annotated

import typer

from kplan.cli.options import AutoApprove, InputOptions, Json, StateOptions
from kplan.cli.progress import progress
from kplan.cli.session import Session
from kplan.cli.verb import verb


@verb(
    ("kplan state verify", "Whether the file is whole and everything in it is on the cluster."),
    ("kplan state verify -json", "How every object stands, for scripts."),
)
def verify(
    session: Session, inputs: InputOptions, states: StateOptions, *, json_: Json = False
) -> int:
    """Compare the state with the cluster, object by object.

    Nothing is changed anywhere. Exits with 0 when everything is as last applied, 2 when something
    is not, 1 when it cannot be told.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.cli.verifying import exit_code, told  # noqa: PLC0415
    from kplan.workflow.verification import verify as verified  # noqa: PLC0415

    project = wiring.project(session, states, inputs)
    with progress(session.terminal) as shown:
        found = verified(project, wiring.ports(session, "state verify", states, shown))
    session.terminal.data(told(session, found, is_json=json_))
    return exit_code(found)


@verb(
    ("kplan state rebuild -dry-run", "What is declared and live, and would be owned."),
    ("kplan state rebuild", "Make a lost or damaged state anew, after a yes."),
)
def rebuild(
    session: Session,
    inputs: InputOptions,
    states: StateOptions,
    *,
    auto_approve: AutoApprove = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only tell what would be owned.")
    ] = False,
) -> int:
    """Make a state anew from what is declared and live.

    Every declared object that is on the cluster is proposed to be owned as it is; the next plan
    tells how it differs from what is declared. Nothing on the cluster is touched. What was owned
    and is not declared any more cannot be found this way.
    """
    from kplan.cli import rebuilding  # noqa: PLC0415 - help needs none of these

    wish = rebuilding.Wish(inputs, states, auto_approve=auto_approve, dry_run=dry_run)
    return rebuilding.rebuilt(session, wish)
