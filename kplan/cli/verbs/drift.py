"""`kplan drift`."""

from kplan.cli.exits import Exit
from kplan.cli.options import AnswerOptions, InputOptions, StateOptions
from kplan.cli.progress import progress
from kplan.cli.session import Session
from kplan.cli.verb import verb


@verb(
    ("kplan drift", "What somebody changed by hand. Exits with 2 when there is something."),
    ("kplan drift -json", "The same for an alert."),
)
def drift(
    session: Session, inputs: InputOptions, states: StateOptions, answer: AnswerOptions
) -> int:
    """Tell what was changed outside of kplan.

    The state, which says what kplan applied last, is compared with the cluster. Nothing is changed
    anywhere. Exits with 0 without drift, 2 with drift, 1 when it cannot be told.
    """
    from kplan.cli import showing, wiring  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.drift import drift as drifted  # noqa: PLC0415

    project = wiring.project(session, states, inputs)
    with progress(session.terminal) as shown:
        found = drifted(project, wiring.ports(session, "drift", states, shown))
    showing.show_drift(session, found, is_json=answer.json)
    if found.changes:
        return Exit.CHANGES
    owned = {each.address.kind for each in found.state.owned.values()}
    return Exit.ERROR if owned & found.unread.keys() or found.hidden else Exit.DONE
