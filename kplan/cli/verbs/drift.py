"""`kplan drift`."""

from typing import TYPE_CHECKING

from kplan.cli.exits import Exit
from kplan.cli.options import InputOptions, ResultOptions, StateOptions
from kplan.cli.problems import timestamp
from kplan.cli.progress import progress
from kplan.cli.reporting import reporting
from kplan.cli.session import Session
from kplan.cli.verb import verb

if TYPE_CHECKING:
    from kplan.workflow.drift import Drifted


@verb(
    ("kplan drift", "What somebody changed by hand. Exits with 2 when there is something."),
    ("kplan drift -json", "The same for an alert."),
    ("kplan drift -report=html=drift.html", "With a page to look at."),
)
def drift(
    session: Session, inputs: InputOptions, states: StateOptions, answer: ResultOptions
) -> int:
    """Tell what was changed outside of kplan.

    The state, which says what kplan applied last, is compared with the cluster. Nothing is changed
    anywhere. Exits with 0 without drift, 2 with drift, 1 when it cannot be told.
    """
    from kplan.cli import showing, wiring  # noqa: PLC0415 - help needs none of these
    from kplan.report.reports import drift_report  # noqa: PLC0415
    from kplan.workflow.drift import drift as drifted  # noqa: PLC0415

    reports = reporting(session, "drift", answer.report, is_json=answer.json)
    project = wiring.project(session, states, inputs)
    with reports.of_failures(), progress(session.terminal) as shown:
        found = drifted(project, wiring.ports(session, "drift", states, shown))
    if not answer.is_silent:
        showing.show_drift(session, found, is_json=answer.json)
    report = drift_report(found.changes, showing.coverage(found), timestamp())
    return reports.write(report, _code(found))


def _code(found: "Drifted") -> Exit:
    if found.changes:
        return Exit.CHANGES
    return Exit.ERROR if found.is_blind or found.hidden else Exit.DONE
