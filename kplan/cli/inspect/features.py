"""`kplan features`."""

from kplan.cli.options import InputOptions
from kplan.cli.query import QueryOptions, show_query
from kplan.cli.session import Session
from kplan.cli.verb import verb


@verb(
    ("kplan features", "metadata.version and the others."),
    ("kplan features -json", "The same for scripts."),
)
def features(session: Session, inputs: InputOptions, ask: QueryOptions) -> int:
    """Tell the level of each feature, and what it can be.

    Lowest and highest are the levels that every node could run. A feature is brought to another
    level by a kafka_feature resource. Nothing is changed anywhere.
    """
    from kplan.workflow.inspect.cluster import list_features  # noqa: PLC0415 - help needs it not

    return show_query(session, inputs, ask, list_features)
