"""What the author of a pull request may decide about the plan of a fleet."""

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from kplan.cli.run import run
from kplan.config.inputs import Inputs, Trust
from kplan.fleet.dataframe import unpack
from kplan.fleet.plan import FleetPlanRequest
from kplan.kafka.settings.resolver import resolve_settings
from kplan.model.errors import UsageError
from kplan.workflow.connection import remote_state_store
from kplan.workflow.fleet.desired import load_desired, read_owned
from kplan.workflow.fleet.fleet import read_fleet
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts

if TYPE_CHECKING:
    from kplan.fleet.spark.session import DataFrame

FLEET = """
store { path = "runs" }
spark { master = "local[2]" }
cluster "eu" {
  configuration = "eu"
  provider "kafka" { bootstrap_servers = ["eu.example:9093"] }
}
"""
TOPIC = """
resource "kafka_topic" "orders" {
  name               = "orders"
  partitions         = 1
  replication_factor = 1
}
"""


class _Silence:
    def stage(self, name: str, total: int | None = None) -> None:
        """Say nothing."""

    def advance(self, count: int = 1) -> None:
        """Say nothing."""

    def note(self, text: str) -> None:
        """Say nothing."""

    def tasks(self, done: int, total: int) -> None:
        """Say nothing."""


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_hcl", ".hcl").replace("_tf", ".tf")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    folder = tmp_path / "base"
    write(folder, fleet_hcl=FLEET, eu__main_tf=TOPIC)
    return folder


@pytest.fixture
def change(tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "change"
    shutil.copytree(base, folder)
    (folder / ".git").mkdir()
    write(folder, eu__main_tf=TOPIC.replace('"orders"', '"changed"'))
    monkeypatch.chdir(folder)
    return folder


def options(change: Path, base: Path | None) -> FleetOptions:
    return FleetOptions(Path(), Inputs(trust=Trust(change, base)))


def load(given: FleetOptions, *, is_drift: bool = False) -> FleetPlanRequest:
    ports = FleetPorts(
        lambda _: pytest.fail("no cluster is connected"),
        lambda folder, inputs: remote_state_store(folder, inputs, {}),
        lambda _: {},
        _Silence(),
        lambda: datetime.now(UTC),
    )
    rows = cast("DataFrame", None)
    return load_desired(read_fleet(given), given, ports, rows, lists_undeclared=is_drift)


def test_resources_are_those_of_the_change_and_all_else_is_of_the_checkout(
    change: Path, base: Path
) -> None:
    evil = FLEET.replace("eu.example", "evil.example").replace("local[2]", "spark://evil:7077")
    write(change, fleet_hcl=evil.replace('"runs"', '"/tmp/evil"'))
    given = options(change, base)
    fleet = read_fleet(given)
    assert fleet.store == str(base / "runs")
    assert fleet.spark_master == "local[2]"
    provider = fleet.clusters[0].provider
    assert provider is not None
    assert provider.arguments["bootstrap_servers"] == ["eu.example:9093"]
    found = load(given)
    assert found.problems == {}
    sent = unpack(found.for_cluster("eu")).request.expand({})
    assert [each.identity for each in sent.resources] == ["changed"]
    assert "fleet.hcl differs from the trusted one, which this plan uses." in found.notes


def test_the_state_is_that_of_the_checkout(change: Path, base: Path) -> None:
    (change / "eu" / "state").symlink_to("/etc")
    write(change, fleet_hcl=FLEET.replace('configuration = "eu"', 'state = "evil.json"'))
    given = options(change, base)
    (cluster,) = read_fleet(given).clusters
    assert cluster.state is None or cluster.state.is_relative_to(base)
    assert load(given).stateless == ("eu",)
    told = [
        [each for each in load(given, is_drift=is_drift).notes if "no state" in each]
        for is_drift in (False, True)
    ]
    assert [len(each) for each in told] == [0, 1]
    assert told[1][0].startswith("eu: its drift is unknown, because it has no state.")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('output "x" {\n  value = file("../../base/fleet.hcl")\n}\n', "outside of the repository"),
        ('output "x" {\n  value = filebase64("/proc/self/environ")\n}\n', "is of the system"),
        (
            'provider "kafka" {\n  alias = "e"\n  bootstrap_servers = ["evil:1"]\n}\n',
            "is not in the trusted configuration",
        ),
    ],
)
def test_a_hostile_folder_of_a_cluster_is_a_problem_of_that_cluster(
    change: Path, base: Path, text: str, why: str
) -> None:
    write(change, eu__evil_tf=text)
    found = load(options(change, base))
    assert not found.requests
    assert why in found.problems["eu"]


def test_a_changed_provider_and_policies_are_shown_and_not_used(change: Path, base: Path) -> None:
    write(change, eu__evil_tf='provider "kafka" {\n  bootstrap_servers = ["evil:1"]\n}\n')
    found = load(options(change, base))
    assert any("provider block differs from the trusted one" in each for each in found.notes)


def test_without_a_checkout_no_fleet_is_planned(change: Path) -> None:
    with pytest.raises(UsageError, match=r"not those of this fleet\.hcl"):
        read_fleet(options(change, None))


def test_the_command_takes_the_options_and_refuses_links(
    change: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (change / "eu" / "out").symlink_to("/etc")
    assert run(["fleet", "plan", "-untrusted", "-trusted-ref=../base"], {}) == 1
    told = " ".join(capfd.readouterr().err.replace("│", " ").split())
    assert "links to files outside of it: eu/out" in told
    (change / "eu" / "out").unlink()
    assert run(["fleet", "plan", "-untrusted"], {}) == 1
    told = " ".join(capfd.readouterr().err.replace("│", " ").split())
    assert "not those of this fleet.hcl" in told


def test_what_is_owned_is_read_where_the_checkout_keeps_it(change: Path, base: Path) -> None:
    write(change, eu__state__kplan_json="not a state")
    given = options(change, base)
    (cluster,) = read_fleet(given).clusters
    ports = FleetPorts(
        lambda _: (None, ()), lambda *_: None, lambda _: {}, _Silence(), lambda: datetime.now(UTC)
    )
    assert not read_owned(cluster, given, ports).owned


def test_paths_of_connections_start_in_the_trusted_checkout(base: Path, change: Path) -> None:
    """A file of the change said where the credentials of the job were sent to."""
    named = FLEET.replace('bootstrap_servers = ["eu.example:9093"]', 'properties_file = "eu.conf"')
    for folder, server in ((base, "eu.example:9093"), (change, "evil.example:9093")):
        write(folder, fleet_hcl=named)
        (folder / "eu.conf").write_text(f"bootstrap.servers={server}\nsecurity.protocol=SSL\n")
    (cluster,) = read_fleet(options(change, base)).clusters
    found = resolve_settings(cluster.provider, {}, folder=change).settings
    assert found is not None
    assert [str(each) for each in found.bootstrap_servers] == ["eu.example:9093"]
