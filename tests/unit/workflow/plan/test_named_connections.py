"""Connections that somebody names on the command line."""

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.model.errors import UnreachableError, UsageError
from kplan.workflow.clusters import Clusters, single_cluster


def test_a_connection_is_found_by_its_key() -> None:
    clusters = single_cluster(MemoryCluster())
    assert clusters.connection("") is clusters.connections[""]


def test_a_cluster_that_is_down_is_told_as_down_and_not_as_undeclared() -> None:
    down = UnreachableError("nobody listens")
    with pytest.raises(UnreachableError, match="nobody listens"):
        Clusters(unreachable={"west": down}).connection("west")


def test_a_connection_that_nobody_declares_names_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"no connection kafka\.wset") as told:
        Clusters(unreachable={"west": UnreachableError("down")}).connection("wset")
    assert "kafka.west" in (told.value.hint or "")
