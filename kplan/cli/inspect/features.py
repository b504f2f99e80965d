"""`kplan features`."""

from kplan.cli.options import InputOptions
from kplan.cli.query import QueryOptions, show_query
from kplan.cli.session import Session
from kplan.cli.verb import verb


@verb(
    ("kplan features", "List metadata.version and other features."),
    ("kplan features -json", "The same for scripts."),
)
def features(session: Session, inputs: InputOptions, ask: QueryOptions) -> int:
    """List the features of the cluster and their levels.

    Lowest and highest are the levels that every node supports. A kafka_feature resource sets the
    level of a feature. Nothing is changed.
    """
    from kplan.workflow.inspect.cluster import list_features  # noqa: PLC0415 - help needs it not

    return show_query(session, inputs, ask, list_features)
