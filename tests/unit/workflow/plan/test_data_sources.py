"""`data` blocks: read before anything is planned, wherever an expression may stand."""

from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import AclBinding, NewTopic
from kplan.config.console import Console
from kplan.config.inputs import Inputs
from kplan.kinds import KINDS
from kplan.model.errors import ConfigError
from kplan.model.table import RunStatus
from kplan.workflow.ports import Project
from kplan.workflow.project.graph import draw_graph
from kplan.workflow.project.validate import validate_project
from kplan.workflow.test.test import open_suite
from tests.project_harness import ProjectHarness

PROVIDER = 'provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }\n'
COPY = (
    PROVIDER
    + """
data "kafka_topic" "orders" { name = "orders" }
locals { partitions = data.kafka_topic.orders.partitions }
resource "kafka_topic" "copy" {
  name               = "${data.kafka_topic.orders.name}.copy"
  partitions         = local.partitions
  replication_factor = data.kafka_topic.orders.replication_factor
  config             = data.kafka_topic.orders.config
}
output "retention" { value = data.kafka_topic.orders.config["retention.ms"] }
"""
)


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    """Give a cluster with a few things that nobody here declares."""
    found = ProjectHarness(tmp_path, MemoryCluster())
    found.cluster.seed(
        [
            NewTopic("orders", 6, 2, None, {"retention.ms": "1000"}),
            NewTopic("payments", 3, 1),
            NewTopic("__consumer_offsets", 1, 1),
        ],
        [
            AclBinding("TOPIC", "orders", "LITERAL", "User:app", "*", "READ", "ALLOW"),
            AclBinding("TOPIC", "orders", "LITERAL", "User:other", "*", "READ", "ALLOW"),
            AclBinding("GROUP", "app", "LITERAL", "User:app", "*", "READ", "ALLOW"),
        ],
    )
    return found


def refused(site: ProjectHarness, text: str) -> list[tuple[str, str, str]]:
    site.write(text)
    with pytest.raises(ConfigError) as told:
        site.plan()
    return [(each.code, each.detail, each.hint) for each in told.value.diagnostics]


def test_a_topic_is_read_and_its_attributes_are_values_like_any(site: ProjectHarness) -> None:
    site.write(COPY)
    done = site.apply()
    (copy,) = done.plan_result.plan.changes
    assert copy.identity == "orders.copy"
    assert site.cluster.topics()["orders.copy"].name == "orders.copy"  # type: ignore[union-attr]
    found = {each.name: each.value for each in done.plan_result.configuration.outputs}
    assert found == {"retention": "1000"}
    assert not site.plan().plan.is_applyable


def test_lists_of_topics_and_acls_have_the_names_of_the_provider(site: ProjectHarness) -> None:
    site.write(
        PROVIDER
        + """
    data "kafka_topics" "all" {}
    data "kafka_acls" "app" {
      acl_principal = "User:app"
      resource_type = "Topic"
    }
    data "kafka_cluster" "here" {}
    output "topics" { value = [for each in data.kafka_topics.all.list : each.topic_name] }
    output "partitions" { value = data.kafka_topics.all.list[0].partitions }
    output "acls" { value = data.kafka_acls.app.list[*].resource_name }
    output "brokers" { value = length(data.kafka_cluster.here.brokers) }
    output "id" { value = data.kafka_cluster.here.id }
    """
    )
    found = {each.name: each.value for each in site.plan().configuration.outputs}
    assert found == {
        "topics": ["orders", "payments"],
        "partitions": 6,
        "acls": ["orders"],
        "brokers": 3,
        "id": "bWVtb3J5LWNsdXN0ZXItMQ",
    }


def test_what_is_read_may_decide_which_instances_there_are(site: ProjectHarness) -> None:
    site.write(
        PROVIDER
        + """
    data "kafka_topics" "all" {}
    resource "kafka_acl" "read" {
      for_each            = toset(data.kafka_topics.all.list[*].topic_name)
      resource_name       = each.key
      resource_type       = "Topic"
      acl_principal       = "User:auditor"
      acl_host            = "*"
      acl_operation       = "Read"
      acl_permission_type = "Allow"
    }
    """
    )
    keys = {each.address.key for each in site.plan().configuration.resources}
    assert keys == {"orders", "payments"}


def test_instances_of_one_block_are_read_in_one_go(site: ProjectHarness) -> None:
    site.write(
        PROVIDER
        + """
    data "kafka_topic" "some" {
      for_each = toset(["orders", "payments"])
      name     = each.key
    }
    output "sum" { value = sum([for each in data.kafka_topic.some : each.partitions]) }
    output "one" { value = data.kafka_topic.some["orders"].partitions }
    """
    )
    site.cluster.calls.clear()
    found = {each.name: each.value for each in site.plan().configuration.outputs}
    assert found == {"sum": 9, "one": 6}
    asked = [each.method for each in site.cluster.calls]
    assert asked[: asked.index("describe")] == ["topics", "topic_configs"]


def test_modules_read_from_the_cluster_they_are_handed(site: ProjectHarness) -> None:
    west = MemoryCluster(1, cluster_id="west")
    west.seed([NewTopic("orders", 2, 1)])
    site.clusters = {"west": west}
    (site.folder / "inner").mkdir()
    inner = 'data "kafka_topic" "t" { name = "orders" }\n'
    site.write(inner + 'output "n" { value = data.kafka_topic.t.partitions }\n', "inner/main.tf")
    site.write(
        PROVIDER
        + """
    provider "kafka" { alias = "west" }
    data "kafka_topic" "west" {
      provider = kafka.west
      name     = "orders"
    }
    module "here" { source = "./inner" }
    module "there" {
      source    = "./inner"
      providers = { kafka = kafka.west }
    }
    output "all" { value = [module.here.n, module.there.n, data.kafka_topic.west.partitions] }
    """
    )
    (found,) = site.plan().configuration.outputs
    assert found.value == [6, 2, 2]


def test_a_topic_that_is_not_there_is_told_with_the_way_out(site: ProjectHarness) -> None:
    assert refused(site, COPY.replace('{ name = "orders" }', '{ name = "ordres" }')) == [
        ("KP167", 'The cluster has no topic "ordres".', 'Did you mean "orders"?')
    ]
    told = refused(site, COPY.replace('{ name = "orders" }', '{ name = "nothing.alike" }'))
    assert told[0][2] == "Create it first; or declare it as a resource, and refer to that."


def test_a_destroy_where_nothing_is_owned_reads_no_data(site: ProjectHarness) -> None:
    """As in Terraform: what a data block names may be gone already."""
    site.write('data "kafka_topic" "t" {\n  name = "nosuch"\n}\n')
    assert site.plan(is_destroy=True).plan.changes == ()
    assert site.apply(is_destroy=True).outcomes == ()


def test_a_connection_cannot_depend_on_what_is_read_over_one(site: ProjectHarness) -> None:
    text = """
    data "kafka_topic" "t" { name = "orders" }
    locals { name = data.kafka_topic.t.name }
    provider "kafka" { bootstrap_servers = ["${local.name}:9092"] }
    """
    ((code, detail, hint),) = refused(site, text)
    assert (code, hint) == ("KP167", "Use a variable.")
    assert detail.startswith('"bootstrap_servers" depends on a data source')


@pytest.mark.parametrize(
    ("block", "code", "detail"),
    [
        ('data "kafka_topic" "t" {}', "KP122", "name"),
        ('data "kafka_acls" "t" { acl_principle = "x" }', "KP121", "acl_principle"),
        ('data "kafka_topci" "t" {}', "KP126", "data.kafka_topci.t"),
        ("locals { x = data.kafka_topic.no.name }", "KP146", "data.kafka_topic.no"),
        ('data "kafka_topic" "t" { name = [] }', "KP178", "is a string"),
        ('data "kafka_cluster" "t" {}\nlocals { x = data.kafka_cluster.t.nope }', "KP144", "nope"),
        ("locals { x = data.kafka_topic }", "KP116", "data.kafka_topic"),
    ],
)  # fmt: skip
def test_mistakes_are_told(site: ProjectHarness, block: str, code: str, detail: str) -> None:
    told = refused(site, PROVIDER + block)
    assert told[0][0] == code
    assert detail in told[0][1] + str(told)


def test_checking_and_drawing_need_no_cluster(site: ProjectHarness) -> None:
    site.write(COPY)
    site.cluster.calls.clear()
    assert validate_project(site.project).diagnostics == ()
    assert draw_graph(site.project).diagnostics == ()
    assert site.cluster.calls == []


def test_the_console_says_that_it_asks_no_cluster(site: ProjectHarness) -> None:
    site.write(COPY)
    console = Console(site.folder, Inputs(), KINDS)
    (problem,) = console.evaluate_text("local.partitions").diagnostics
    assert problem.detail == (
        "data.kafka_topic.orders is read from a cluster, and this command connects to none."
    )
    assert problem.hint == "kplan plan reads it."
    assert console.evaluate_text("1 + 1").text == "2"


def test_tests_read_the_cluster_in_memory(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(COPY)
    (tmp_path / "a.kptest.hcl").write_text("""
    cluster {
      resource "kafka_topic" "orders" {
        name               = "orders"
        partitions         = 4
        replication_factor = 1
        config             = { "retention.ms" = "5" }
      }
    }
    run "the_copy_is_as_large" {
      assert {
        condition     = kafka_topic.copy.partitions == 4 && output.retention == "5"
        error_message = "no"
      }
    }
    """)
    found = open_suite(Project(tmp_path, tmp_path / "state.json", Inputs()))
    results = [each for script in found.test_files for each in found.run_file(script, lambda: 0.0)]
    assert [each.status for each in results] == [RunStatus.PASS], results
