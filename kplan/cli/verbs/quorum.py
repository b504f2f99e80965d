"""`kplan quorum describe`."""

from kplan.cli.asking import AskOptions, tell
from kplan.cli.options import InputOptions
from kplan.cli.session import Session
from kplan.cli.verb import verb


@verb(
    ("kplan quorum describe", "Who leads, and how far all others are."),
    ("kplan quorum describe -bootstrap-controller=c1:9093 -json", "While no broker runs."),
)
def describe(session: Session, inputs: InputOptions, ask: AskOptions) -> int:
    """Tell the leader of the metadata, and who lags.

    Voters are the controllers, observers the brokers. Nodes that have not fetched for 10 seconds
    are noted: most often they are down. Nothing is changed anywhere.
    """
    from kplan.workflow.cluster_figures import quorum_described  # noqa: PLC0415 - help needs it not

    return tell(session, inputs, ask, quorum_described)
