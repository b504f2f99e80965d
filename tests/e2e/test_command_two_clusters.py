"""The installed command on two real clusters at once, with the example of that."""

import json
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from kplan.cluster.request import ConfigAlteration
from kplan.model.errors import Refusal
from kplan.sandbox.sandbox import Sandbox
from tests.e2e.places import Place, config_of, until

pytestmark = pytest.mark.broker

EXAMPLE = Path(__file__).parents[2] / "examples" / "two-clusters"
NOBODY = "127.0.0.1:1"


def test_two_clusters_are_planned_applied_watched_and_emptied_by_one_configuration(
    tmp_path: Path, broker: Sandbox, cluster3: Sandbox
) -> None:
    folder = tmp_path / "two"
    shutil.copytree(EXAMPLE, folder)
    eu, us = broker.bootstrap_servers, cluster3.bootstrap_servers.split(",")[0]
    place = Place(folder, regions(eu, us), text=None)

    told = place.run("plan", "-detailed-exitcode", code=2)
    assert told.splitlines()[0].startswith('Cluster kafka.by_region["eu"]: ')
    assert told.splitlines()[1].startswith('Cluster kafka.by_region["us"]: ')
    assert "Plan: 5 to add, 0 to change, 0 to destroy." in told

    # One is down: the other gets what is its own.
    place.env = regions(eu, NOBODY)
    ran = place.ran("apply", "-auto-approve", code=1)
    assert "Resources: 3 added" in ran.out, ran
    place.env = regions(eu, us)
    assert "Resources: 2 added" in place.run("apply", "-auto-approve")
    place.run("plan", "-detailed-exitcode")

    with closing(
        Place(
            folder, {"KPLAN_BOOTSTRAP_SERVERS": us, "KPLAN_TLS_ENABLED": "false"}, text=None
        ).cluster()
    ) as there:
        assert "shop.settlements" not in there.topics()
        there.alter_topic_configs([ConfigAlteration("shop.orders", {"retention.ms": "1000"})])
        until(lambda: config_of(there, "shop.orders", "retention.ms") == "1000")
        (drifted,) = json.loads(place.run("drift", "-json", code=2))["resource_drift"]
        assert drifted["address"] == 'module.orders["us"].kafka_topic.orders'

        # What is owned stays with its cluster, so addresses cannot be swapped; nor be one cluster.
        place.env = regions(us, eu)
        assert "Object would change its cluster" in place.fails("plan")
        place.env = regions(eu, eu)
        place.fails("plan")
        place.env = regions(eu, us)
        assert "Resources: 5 destroyed" in place.run("destroy", "-auto-approve")
        assert isinstance(there.topics(["shop.orders"])["shop.orders"], Refusal)


def regions(eu: str, us: str) -> dict[str, str]:
    """Name the clusters of the regions."""
    return {
        "KPLAN_VAR_regions": f'{{ eu = "{eu}", us = "{us}" }}',
        "KPLAN_VAR_tls_enabled": "false",
    }
