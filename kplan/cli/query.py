"""Query one cluster without state and lock, and show the tables."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from kplan.cli.exit_code import ExitCode
from kplan.cli.options import BootstrapController, InputOptions, Json, Provider, StateOptions
from kplan.cli.progress import show_progress
from kplan.cli.terminal import Session
from kplan.model.dataclass import dataclass

if TYPE_CHECKING:  # help needs none of these
    from kplan.cluster.port import Cluster
    from kplan.model.table import Figures

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """The cluster to query, and the format of the answer."""

    provider: Provider = ""
    json: Json = False
    bootstrap_controller: BootstrapController = ""


def cluster_options(provider: str, inputs: InputOptions, state: str = "") -> list[str]:
    """Return the options that lead a later command to the same cluster.

    Values of variables may be secret and are left out.
    """
    return [
        *([f"-provider={provider}"] if provider else []),
        *([f"-state={state}"] if state else []),
        *(f"-var-file={each}" for each in inputs.var_file),
        *(f"-var={each.partition('=')[0]}=..." for each in inputs.var),
    ]


def query_cluster(
    session: Session, inputs: InputOptions, provider: str, question: "Callable[[Cluster], Answer]"
) -> Answer:
    """Query a cluster under a progress display, without state and lock."""
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.inspect.query import query_cluster  # noqa: PLC0415

    states = StateOptions(lock=False)
    project = wiring.build_project(session, states, inputs)
    with show_progress(session.terminal) as progress:
        return query_cluster(
            project, wiring.build_ports(session, "", states, progress), provider, question
        )


def show_query(
    session: Session,
    inputs: InputOptions,
    ask: QueryOptions,
    question: "Callable[[Cluster], Figures]",
) -> int:
    """Query a cluster for tables and show them; unreadable parts make the exit code 4."""
    from kplan.report import views  # noqa: PLC0415 - see above

    found = query_cluster(session, inputs, ask.provider, question)
    look = session.terminal.stdout_style
    session.terminal.write_stdout(
        views.figures_json(found) if ask.json else views.figures_text(found, look)
    )
    return ExitCode.PARTIAL if "unread" in found.findings else ExitCode.DONE
