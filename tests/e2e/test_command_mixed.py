"""A repository of Confluent shape on a real Kafka: everything of the connection is in a state."""

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kplan.kafka.cluster import open_cluster
from kplan.sandbox.sandbox import Sandbox
from tests.contract.clusters import settings_of
from tests.e2e.actors import password
from tests.e2e.places import Place

pytestmark = pytest.mark.broker

ESTATE = Path(__file__).parents[1] / "fixtures" / "estates" / "confluent"
VALUES = "-foreign-values=terraform.tfstate"


@pytest.fixture
def estate(tmp_path: Path, sasl_broker: Sandbox) -> Iterator[Place]:
    """Copy the repository; its state of Terraform names the broker and the user admin."""
    shutil.copytree(ESTATE, tmp_path / "estate")
    found = Place(
        tmp_path / "estate" / "cluster",
        {"KPLAN_VAR_sasl_mechanism": "scram-sha512", "KPLAN_VAR_tls_enabled": "false"},
        text=None,
    )
    for name, old, new in (
        ("terraform.tfstate", "SASL_SSL://pkc-1.example:9092", sasl_broker.bootstrap_servers),
        ("terraform.tfstate", '"id": "KEY"', '"id": "admin"'),
        ("terraform.tfstate", '"hush"', json.dumps(password(sasl_broker, "admin"))),
        ("../platform/terraform.tfstate", '"shop"', f'"{tmp_path.name.replace("_", "-")}"'),
    ):
        found.edit(old, new, name)
    yield found
    found.ran("destroy", "-auto-approve", VALUES)


def test_a_mixed_repository_is_planned_applied_and_planned_empty(
    estate: Place, sasl_broker: Sandbox
) -> None:
    secret, prefix = password(sasl_broker, "admin"), estate.folder.parents[1].name.replace("_", "-")
    planned = estate.ran("plan", VALUES, "-out=p.kplan")
    assert "as User:admin" in planned.out
    assert "4 resources of other providers left out" in planned.err
    assert secret not in planned.out + planned.err
    told = estate.run("apply", VALUES, "p.kplan")
    assert "Apply complete! Resources: 5 added, 0 changed, 0 destroyed." in told
    assert "No changes." in estate.run("plan", VALUES, "-detailed-exitcode")
    with closing(open_cluster(settings_of(sasl_broker, "admin"))) as cluster:
        assert f"{prefix}.orders" in cluster.topics()
        acls = {
            (each.principal, each.resource_name)
            for each in cluster.acls()
            if each.resource_name.startswith(prefix)
        }
    assert acls == {
        (f"User:{account}", f"{prefix}.orders{group}")
        for account, app in (("sa-1", "checkout"), ("sa-2", "billing"))
        for group in ("", f".{app}")
    }
    kept = [
        each for each in estate.folder.rglob("*") if each.is_file() and each.suffix != ".tfstate"
    ]
    assert all(secret.encode() not in each.read_bytes() for each in kept)
