"""Reading ends with the first thing that ends it."""

import threading
from collections.abc import Callable, Collection
from typing import Any, cast

import pytest

from kplan.cluster.port import Cluster
from kplan.cluster.request import ClusterDescription
from kplan.kinds.base import ResourceKind
from kplan.model.errors import AuthError
from kplan.model.state import KindSnapshot
from kplan.workflow.snapshot import read_snapshot


class Silent:
    """A cluster that answers nothing until it is closed."""

    def __init__(self) -> None:
        self.closed = threading.Event()

    def close(self) -> None:
        self.closed.set()


class Stub:
    """A kind whose reading is a function."""

    is_always_read = True

    def __init__(self, name: str, reading: Callable[[Any], object]) -> None:
        self.name = name
        self._reading = reading

    def read(self, cluster: Cluster, wanted: Collection[str]) -> KindSnapshot:
        del wanted
        self._reading(cluster)
        return KindSnapshot({})


def fails(_: Silent) -> None:
    raise AuthError


def waits(cluster: Silent) -> None:
    assert cluster.closed.wait(60)


@pytest.mark.timeout(30)
def test_a_refused_kind_does_not_wait_for_one_that_nobody_answers() -> None:
    cluster, description = Silent(), ClusterDescription("c", ())
    kinds = cast("list[ResourceKind]", [Stub("a", fails), Stub("b", waits)])
    with pytest.raises(AuthError):
        read_snapshot(cast("Cluster", cluster), description, kinds, {})
    assert cluster.closed.is_set()
