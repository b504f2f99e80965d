"""What verbs share that ask one cluster something and change nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from kplan.cli.exits import Exit
from kplan.cli.options import BootstrapController, InputOptions, Json, Provider, StateOptions
from kplan.cli.progress import progress
from kplan.cli.session import Session

if TYPE_CHECKING:  # help needs none of these
    from kplan.cluster.port import Cluster
    from kplan.model.tables import Figures

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class AskOptions:
    """Which cluster is asked, and how its answer is told."""

    provider: Provider = ""
    json: Json = False
    bootstrap_controller: BootstrapController = ""


def answer(
    session: Session, inputs: InputOptions, provider: str, question: "Callable[[Cluster], Answer]"
) -> Answer:
    """Ask a cluster under a progress display; neither state nor lock is touched."""
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.asking import asked  # noqa: PLC0415

    states = StateOptions(lock=False)
    project = wiring.project(session, states, inputs)
    with progress(session.terminal) as shown:
        return asked(project, wiring.ports(session, "", states, shown), provider, question)


def tell(
    session: Session,
    inputs: InputOptions,
    ask: AskOptions,
    question: "Callable[[Cluster], Figures]",
) -> int:
    """Ask a cluster for tables, and show them; what could not be read makes the exit code 4."""
    from kplan.report import views  # noqa: PLC0415 - see above

    found = answer(session, inputs, ask.provider, question)
    look = session.terminal.data_look
    session.terminal.data(
        views.figures_json(found) if ask.json else views.figures_text(found, look)
    )
    return Exit.PARTLY if "unread" in found.findings else Exit.DONE
