"""`kplan cluster versions`."""

from kplan.cli.exits import Exit
from kplan.cli.options import InputOptions, Json, StateOptions
from kplan.cli.progress import progress
from kplan.cli.session import Session
from kplan.cli.verb import verb


@verb(
    ("kplan cluster versions", "A table of brokers by APIs."),
    ("kplan cluster versions -json", "The same for scripts."),
)
def versions(
    session: Session, inputs: InputOptions, states: StateOptions, *, json_: Json = False
) -> int:
    """Tell which APIs and features every broker offers, and in which versions.

    Brokers that differ are noted: an upgrade may be under way. A plan that takes an API that the
    cluster lacks is refused before anything is changed.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.report import views  # noqa: PLC0415
    from kplan.workflow.versions import versions as told  # noqa: PLC0415

    project = wiring.project(session, states, inputs)
    with progress(session.terminal) as shown:
        found = told(project, wiring.ports(session, "cluster versions", states, shown))
    look = session.terminal.data_look
    session.terminal.data(views.figures_json(found) if json_ else views.figures_text(found, look))
    return Exit.DONE
