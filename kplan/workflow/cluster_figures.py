"""What a cluster tells about itself, as tables."""

from kplan.cluster.port import Cluster
from kplan.model.tables import Figures, FigureTable


def cluster_described(cluster: Cluster) -> Figures:
    """Tell the id, version and live brokers of a cluster, and who we are to it.

    Raises:
        ClusterError: the cluster does not answer, or refuses to.

    """
    found = cluster.describe()
    brokers = sorted(found.brokers, key=lambda each: each.id)
    rows = tuple((each.id, f"{each.host}:{each.port}", each.rack) for each in brokers)
    whole = (found.cluster_id, found.version, found.principal, len(brokers))
    return Figures(
        "The cluster",
        (
            FigureTable("cluster", ("cluster_id", "version", "principal", "brokers"), (whole,)),
            FigureTable("brokers", ("broker", "address", "rack"), rows),
        ),
    )
