"""Reading the live cluster, kind by kind and at the same time."""

from collections.abc import Collection, Mapping, Sequence

from kplan.cluster.port import Cluster
from kplan.cluster.request import ClusterDescription
from kplan.kinds.base import ResourceKind
from kplan.model.errors import KplanError, UnreadableError, UnsupportedError
from kplan.model.resource import Identity
from kplan.model.state import KindSnapshot, Snapshot
from kplan.workflow.threads import map_in_threads


def read_snapshot(
    cluster: Cluster,
    description: ClusterDescription,
    kinds: Sequence[ResourceKind],
    wanted: Mapping[str, Collection[Identity]],
) -> Snapshot:
    """Read the kinds that are always read, and those with requested objects.

    One that cannot be read in full is noted as unread with the reason.

    Kinds are independent of each other, so their requests are in flight together.

    Raises:
        UnreachableError, AuthError: the cluster as a whole cannot be asked.

    """
    chosen = [kind for kind in kinds if kind.is_always_read or kind.name in wanted]
    answers = map_in_threads(
        lambda kind: _read_kind(cluster, kind, wanted.get(kind.name, ())), chosen, [cluster]
    )
    found = dict(zip((kind.name for kind in chosen), answers, strict=True))
    return Snapshot(
        description.cluster_id,
        description.brokers,
        readings={name: each for name, each in found.items() if isinstance(each, KindSnapshot)},
        unread={name: each.detail for name, each in found.items() if isinstance(each, KplanError)},
        principal=description.principal,
        version=description.version,
        unsupported=frozenset(
            name for name, each in found.items() if isinstance(each, UnsupportedError)
        ),
        platform=description.platform,
    )


def _read_kind(
    cluster: Cluster, kind: ResourceKind, wanted: Collection[Identity]
) -> KindSnapshot | UnreadableError | UnsupportedError:
    try:
        return kind.read(cluster, wanted)
    except (UnreadableError, UnsupportedError) as failure:
        return failure
