"""The installed command at real controllers, with the brokers left out (KIP-919)."""

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kplan.cluster.request import AclBinding
from kplan.cluster.settings import QuotaAlteration, QuotaEntity
from kplan.kafka.cluster import open_cluster
from kplan.kafka.settings.connection import ConnectionSettings
from kplan.kafka.settings.resolver import resolve_settings
from kplan.model.errors import KplanError, Refusal, UnsupportedError, WrongEndpointError
from kplan.sandbox import fault
from kplan.sandbox.layout import SandboxSpec
from kplan.sandbox.lifecycle import temporary_sandbox
from kplan.sandbox.sandbox import Sandbox
from tests.e2e.places import Place, until

pytestmark = pytest.mark.broker

EXAMPLE = Path(__file__).parents[2] / "examples" / "break-glass"
SOON_S = 2.0


@pytest.fixture(scope="module")
def shattered() -> Iterator[Sandbox]:
    """Run a broker and three controllers of their own, which may be voted out and killed."""
    spec = SandboxSpec(brokers=1, controllers=3, heap_mb=512, dynamic_quorum=True)
    with temporary_sandbox(spec) as sandbox:
        yield sandbox


def asked(controllers: str) -> ConnectionSettings:
    found = resolve_settings(
        None, {"KPLAN_TLS_ENABLED": "false"}, folder=Path(), controllers=controllers
    ).settings
    assert found is not None
    return found


def told_soon(settings: ConnectionSettings) -> KplanError:
    """Connect, and give the error that comes within two seconds."""
    begun = time.monotonic()
    with pytest.raises(KplanError) as failure:
        open_cluster(settings)
    assert time.monotonic() - begun < SOON_S
    return failure.value


def test_a_broker_asked_as_a_controller_is_told_at_once(broker: Sandbox, place: Place) -> None:
    """K919-04, K919-28: without a second try."""
    servers = broker.bootstrap_servers
    assert isinstance(told_soon(asked(servers)), WrongEndpointError)
    told = place.fails("plan", f"-bootstrap-controller={servers}")
    assert f"{servers} is a broker; a controller was expected" in told
    assert "MISMATCHED_ENDPOINT_TYPE" in told


def test_a_controller_asked_as_a_broker_is_told_at_once(broker: Sandbox, place: Place) -> None:
    """K919-05, K919-28: no request is sent that it would not answer."""
    place.env = {
        "KPLAN_BOOTSTRAP_SERVERS": broker.bootstrap_controllers,
        "KPLAN_TLS_ENABLED": "false",
    }
    settings = resolve_settings(None, place.env, folder=Path()).settings
    assert settings is not None
    assert isinstance(told_soon(settings), WrongEndpointError)
    told = place.fails("plan")
    assert f"{broker.bootstrap_controllers} is a controller, not a broker" in told
    assert "-bootstrap-controller" in told


def test_brokers_and_controllers_together_are_told_before_anybody_is_asked(place: Place) -> None:
    """K919-02, K919-28."""
    place.env["KPLAN_BOOTSTRAP_CONTROLLERS"] = "127.0.0.1:1"
    assert "[KP308]" in place.fails("plan")
    both = 'bootstrap_controllers = ["c:1"]\n  bootstrap_servers = ["b:1"]'
    place.edit('provider "kafka" {}', f'provider "kafka" {{\n  {both}\n}}')
    assert "[KP308]" in place.fails("validate")


def test_an_old_metadata_version_is_told_at_once() -> None:
    """K919-10, K919-28: metadata.version 3.6, on today's Kafka."""
    old = SandboxSpec(metadata_version="3.6-IV2", heap_mb=512)
    with temporary_sandbox(old) as sandbox:
        failure = told_soon(asked(sandbox.bootstrap_controllers))
        assert isinstance(failure, UnsupportedError)
        assert "metadata.version (3.6) is too old for a direct connection" in failure.detail
        settings = resolve_settings(
            None,
            {"KPLAN_BOOTSTRAP_SERVERS": sandbox.bootstrap_servers, "KPLAN_TLS_ENABLED": "false"},
            folder=Path(),
        ).settings
        assert settings is not None
        with closing(open_cluster(settings)) as cluster:
            assert cluster.describe().version == "3.6"


def test_a_combined_node_serves_both_ways_and_is_one_cluster(broker: Sandbox) -> None:
    """K919-28, K919-31: the id is the same from either side."""
    settings = resolve_settings(
        None,
        {"KPLAN_BOOTSTRAP_SERVERS": broker.bootstrap_servers, "KPLAN_TLS_ENABLED": "false"},
        folder=Path(),
    ).settings
    assert settings is not None
    direct = asked(broker.bootstrap_controllers)
    with closing(open_cluster(settings)) as one, closing(open_cluster(direct)) as other:
        assert one.describe().cluster_id == other.describe().cluster_id
        assert (
            one.quorum().leader == other.quorum().leader == other.describe().verifying_node_ids[0]
        )
        rights = other.rights([]).cluster
        assert rights is not None
        assert "ALTER" in rights


def test_a_controller_is_voted_out_and_in_again(shattered: Sandbox, tmp_path: Path) -> None:
    """S25, KIP-853: through brokers and directly; what is left is always a majority."""
    servers = {"KPLAN_BOOTSTRAP_SERVERS": shattered.bootstrap_servers, "KPLAN_TLS_ENABLED": "false"}
    place = Place(tmp_path, servers, 'provider "kafka" {{}}')
    found = _quorum(place)
    (leader,) = (node for node, role in found.items() if role == "leader")
    gone = next(node for node, role in found.items() if role == "voter")
    left = ", ".join(str(node) for node in (101, 102, 103) if node != gone)
    told = place.run("quorum", "remove-voter", f"{gone}", "-auto-approve")
    assert told == f"Removed controller {gone}; the voters are {left}.\n"
    until(lambda: _quorum(place).get(gone) == "observer")
    assert "does not vote" in place.fails("quorum", "remove-voter", f"{gone}", "-auto-approve")

    place.env |= {"KPLAN_ALLOW_DIRECT": "true"}
    at = f"-bootstrap-controller={shattered.bootstrap_controllers}"
    port = shattered.node(gone).controller_port
    back = ("quorum", "add-voter", f"{gone}@127.0.0.1:{port}", "-auto-approve", "-json", at)
    assert sorted(json.loads(place.run(*back))["voters"]) == [101, 102, 103]
    assert _quorum(place)[leader] == "leader"
    assert _quorum(place)[gone] == "voter"


def _quorum(place: Place) -> dict[int, str]:
    """Tell the role of each node."""
    told = json.loads(place.run("quorum", "describe", "-json"))
    return {row["node"]: row["role"] for row in told["tables"]["replicas"]["rows"]}


def test_glass_is_broken_while_no_broker_runs(shattered: Sandbox, tmp_path: Path) -> None:
    """K919-01, 06, 07, 09, 12..14, 16, 20..22, 25, S24..S27: the example, from end to end.

    Brokers and then the active controller are killed. What was changed is on the brokers when they
    are back.
    """
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    servers = {"KPLAN_BOOTSTRAP_SERVERS": shattered.bootstrap_servers, "KPLAN_TLS_ENABLED": "false"}
    place = Place(tmp_path, servers, text=None)
    place.run("apply", "-auto-approve")
    fault.kill(shattered.folder, 1)
    at = f"-bootstrap-controller={shattered.bootstrap_controllers}"
    change = ("-var=cleaner_threads=1", "-var=retention=3600000", "-var=payments=User:mended")

    refused = place.fails("apply", "-auto-approve", at, *change)
    assert "[KP246]" in refused
    assert "Brokers are bypassed [KP245]" in refused
    nonsense = place.fails("plan", at, "-var=cleaner_threads=1.5", "-var=break_glass=true")
    assert "log.cleaner.threads is" in nonsense
    assert "Not a number of type INT" in nonsense
    ignored = place.fails("plan", at, "-var=cleaner_threads=-4", "-var=break_glass=true")
    assert "must be at least 0" in ignored  # brokers would ignore it without a word
    single = place.folder / "single.tf"
    single.write_text(
        'resource "kafka_broker_config" "one" {\n  broker_id = 1\n'
        '  config    = { "log.cleaner.threads" = "1" }\n}\n'
    )
    assert "Object is hidden [KP233]" in place.fails("plan", at, *change, "-var=break_glass=true")
    narrow = place.run("plan", at, *change, "-var=break_glass=true", "-target=kafka_acl.writer")
    assert "User:mended" in narrow
    single.unlink()
    unserved = place.fails("plan", at, "-destroy", "-var=break_glass=true")
    assert "controllers change ACLs, configs of existing topics" in unserved
    done = place.ran("apply", "-auto-approve", at, *change, "-var=break_glass=true")
    assert "Resources: 1 added, 2 changed, 1 destroyed" in done.out
    assert "kafka_quota objects could not be read" in done.out
    _controllers_are_followed(shattered, place, at)

    fault.restart(shattered.folder, 1)
    place.run("plan", "-detailed-exitcode", *change)


def _controllers_are_followed(shattered: Sandbox, place: Place, at: str) -> None:
    """Kill the active controller between looking for it and asking it."""
    binding = AclBinding("TOPIC", "payments", "LITERAL", "User:late", "*", "READ", "ALLOW")
    with closing(open_cluster(asked(shattered.bootstrap_controllers))) as cluster:
        (killed,) = cluster.describe().verifying_node_ids
        fault.kill(shattered.folder, killed)
        assert binding not in cluster.acls()  # another one is asked from now on
        assert cluster.create_acls([binding]) == {binding: None}
        (active,) = cluster.describe().verifying_node_ids
        assert active != killed
        # A controller serves what it has published, a moment after it has answered.
        until(lambda: binding in cluster.acls())
        quota = QuotaAlteration(QuotaEntity(user="late"), {"producer_byte_rate": 5.0})
        assert cluster.alter_quotas([quota], validate_only=True) == {quota.entity: None}
        refused = cluster.unregister_broker(77)
        assert isinstance(refused, Refusal)
        assert refused.error == "BROKER_ID_NOT_REGISTERED"
        assert cluster.delete_acls([binding]) == {binding: None}
    told = json.loads(place.run("cluster", "controllers", at, "-json"))
    states = {row["controller"]: row["state"] for row in told["tables"]["controllers"]["rows"]}
    assert states == dict.fromkeys((101, 102, 103), "inactive") | {active: "active"}
    assert f"Controller {killed} cannot be asked" in told["notes"][0]
    assert "raised" in place.run("features", at)
    forbidden = place.fails("broker", "unregister", "1", "-auto-approve", at)
    assert "allow_direct is not set" in forbidden
    allowed = "-var=break_glass=true"
    unknown = place.fails("broker", "unregister", "1", "-auto-approve", at, allowed)
    assert "controllers do not return whether it has replicas" in unknown
