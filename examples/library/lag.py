"""Print the lag of every group, and topics with fewer replicas in sync than they should have."""

import os
from collections.abc import Iterator
from datetime import timedelta

from kplan.admin import AdminClient, Cluster, ClusterError


def lags(admin: AdminClient) -> Iterator[str]:
    """Say how far each group is behind, and which brokers did not answer."""
    for broker, listed in admin.list_groups(timeout=timedelta(seconds=10)).items():
        if listed.error is not None:
            yield f"broker {broker}: {listed.error}"
            continue
        for name in [each.name for each in listed.get()]:
            group = admin.describe_group(name)
            behind = [group.lag(each) or 0 for each in group.committed_offsets]
            yield f"{name}: {sum(behind):,} records behind, {group.state}"


def under_replicated(admin: AdminClient) -> Iterator[str]:
    """Name topics that lack replicas."""
    for name, described in admin.list_topics().items():
        if described.is_success and described.get().under_replicated:
            yield f"{name}: {described.get().under_replicated} partitions lack replicas"


def main(cluster: Cluster | None = None) -> int:
    """Ask the cluster of the environment, or the one that is given."""
    try:
        with AdminClient(cluster or {}, environment=os.environ) as admin:
            for line in (*lags(admin), *under_replicated(admin)):
                print(line)
    except ClusterError as error:
        print(f"{error.summary}: {error.detail}")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
