"""The table of rights, and how a missing one is told."""

import inspect

import pytest

from kplan.cluster.authorization import REQUIRED_OPERATIONS, missing_operation_message
from kplan.cluster.port import Cluster
from kplan.cluster.settings import ConfigResource, ConfigScope

GROUP = ConfigResource(ConfigScope.GROUP, "billing")
BROKER = ConfigResource(ConfigScope.BROKER, "1")


def test_every_method_that_may_be_refused_has_its_right() -> None:
    """S23: what has no row would be told as a bare code."""
    refusable = {
        name
        for name, method in inspect.getmembers(Cluster, inspect.isfunction)
        if "Refusal" in str(inspect.signature(method))
    }
    assert {"create_topics", "alter_quotas", "configs", "delete_records"} <= refusable
    assert refusable <= REQUIRED_OPERATIONS.keys()


@pytest.mark.parametrize(
    ("method", "item", "right"),
    [
        ("create_topics", "orders", "CREATE on TOPIC orders"),
        ("delete_records", ("orders", 3), "DELETE on TOPIC orders"),
        ("alter_configs", GROUP, "ALTER_CONFIGS on GROUP billing"),
        ("alter_configs", BROKER, "ALTER_CONFIGS on CLUSTER"),
        ("configs", GROUP, "DESCRIBE_CONFIGS on GROUP billing"),
        ("alter_quotas", "", "ALTER_CONFIGS on CLUSTER"),
        ("scram_users", "", "DESCRIBE on CLUSTER"),
    ],
)
def test_a_missing_right_is_said_with_what_it_is_on(method: str, item: object, right: str) -> None:
    assert missing_operation_message("User:ci", method, item) == f"Principal User:ci needs {right}."
