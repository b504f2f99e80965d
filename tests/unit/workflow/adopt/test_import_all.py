"""A cluster that is there already becomes configuration and state in one step."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import AclBinding, NewTopic, TopicRef
from kplan.cluster.settings import ConfigResource, ConfigResourceAlteration, ConfigScope
from kplan.config.format.formatter import format_text
from kplan.kinds import KINDS
from kplan.model.errors import ConfigError, StateError, UsageError
from kplan.workflow.adopt.block import BlockNames, declarable_value, generate_blocks
from kplan.workflow.adopt.import_ import ImportAllResult, ImportSelection, import_all
from kplan.workflow.state.state import list_owned_objects
from tests.project_harness import MAIN_TF, ProjectHarness
from tests.values import topic

GENERATED = Path(__file__).parent / "fixtures" / "generated.tf"


def binding(
    principal: str, operation: str = "READ", name: str = "shop.orders", **given: str
) -> AclBinding:
    parts = {
        "resource_type": "TOPIC",
        "pattern_type": "LITERAL",
        "host": "*",
        "permission": "ALLOW",
        **given,
    }
    return AclBinding(principal=principal, operation=operation, resource_name=name, **parts)


TOPICS = (
    NewTopic("shop.orders", 6, 3, config={"retention.ms": "604800000", "cleanup.policy": "delete"}),
    NewTopic("shop.orders-dlq", 1, 3),
    NewTopic("9lives", 1, 1, config={"preallocate": "true"}),
    NewTopic("a_b", 3, 2),
    NewTopic("a-b", 3, 2),
    NewTopic("__consumer_offsets", 50, 3, config={"cleanup.policy": "compact"}),
)
ACLS = (
    binding("User:checkout", "WRITE"),
    binding("User:checkout", "DESCRIBE"),
    binding("User:billing"),
    binding("User:billing", name="billing", resource_type="GROUP"),
    binding("User:billing", name="shop.", pattern_type="PREFIXED", operation="DESCRIBE"),
    binding("User:billing", host="10.0.0.7", permission="DENY", operation="DELETE"),
    binding("User:*", "DESCRIBE", "kafka-cluster", resource_type="CLUSTER"),
    binding('User:CN=app,O="${x}"\\'),
)


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    found = ProjectHarness(tmp_path, MemoryCluster(3))
    found.cluster.seed(TOPICS, ACLS)
    return found


def imported(
    site: ProjectHarness,
    file: str = "cluster.tf",
    prefix: str = "",
    *,
    has_broker_configs: bool = False,
) -> ImportAllResult:
    selection = ImportSelection(prefix, has_broker_configs)
    return import_all(site.project, site.folder / file, selection, site.ports)


def test_a_cluster_becomes_tidy_configuration_and_then_there_is_nothing_to_do(
    site: ProjectHarness,
) -> None:
    """From an empty folder; peers 11, plan-apply.md 1a."""
    found = imported(site)
    assert (site.folder / "cluster.tf").read_text() == found.text == GENERATED.read_text()
    assert (len(found.owned), found.unimported) == (13, ())
    made = site.plan().plan
    assert not made.has_changes
    assert not made.has_adoptions
    assert made.diagnostics == ()
    assert [each.method for each in site.cluster.calls if "create" in each.method] == []


def test_what_is_written_is_laid_out_as_terraform_does(tmp_path: Path) -> None:
    """`terraform fmt` itself is asked where there is one."""
    assert format_text(GENERATED.read_text(), "generated.tf") == GENERATED.read_text()
    if terraform := shutil.which("terraform"):
        copy = shutil.copy(GENERATED, tmp_path)
        subprocess.run([terraform, "fmt", copy], check=True, capture_output=True)
        assert Path(copy).read_text() == GENERATED.read_text()


def test_a_prefix_takes_topics_and_acls_on_such_names(site: ProjectHarness) -> None:
    found = imported(site, prefix="shop.")
    assert {each.identity for each in found.owned if each.address.kind == "kafka_topic"} == {
        "shop.orders",
        "shop.orders-dlq",
    }
    assert sum(1 for each in found.owned if each.address.kind == "kafka_acl") == 6
    assert not site.plan().plan.has_changes


def test_what_is_declared_or_owned_already_is_not_declared_again(site: ProjectHarness) -> None:
    site.write(MAIN_TF.replace("{ orders = 3, payments = 6 }", "{ orders = 3 }"))
    site.apply()
    first = imported(site)
    assert not {"orders"} & {each.identity for each in first.owned}
    assert not site.plan().plan.has_changes
    second = imported(site, "again.tf")
    assert (second.text, second.owned) == ("", ())
    assert not (site.folder / "again.tf").exists()


def test_names_of_blocks_that_are_there_are_not_taken_again(site: ProjectHarness) -> None:
    site.write(
        'resource "kafka_topic" "shop_orders" {\n  name = "new"\n  partitions = 1\n'
        "  replication_factor = 1\n}\n"
    )
    found = imported(site, prefix="shop.orders")
    assert 'resource "kafka_topic" "shop_orders_2" {' in found.text
    assert [str(each.address) for each in site.plan().plan.changes if each.touches_cluster] == [
        "kafka_topic.shop_orders"
    ]


def test_a_file_is_never_written_over_and_lies_in_the_folder(
    site: ProjectHarness, tmp_path: Path
) -> None:
    site.write("", "there.tf")
    with pytest.raises(UsageError, match="exists"):
        imported(site, "there.tf")
    for elsewhere in ("sub/x.tf", "../x.tf", "x.txt"):
        (tmp_path / "sub").mkdir(exist_ok=True)
        with pytest.raises(UsageError, match="is not a configuration file of"):
            imported(site, elsewhere)


def test_nothing_is_left_behind_when_the_cluster_cannot_be_had(site: ProjectHarness) -> None:
    site.cluster.run_before("describe", lambda: (_ for _ in ()).throw(StateError("gone")))
    with pytest.raises(StateError):
        imported(site)
    assert not (site.folder / "cluster.tf").exists()
    assert list_owned_objects(site.project) == ()


def test_a_file_that_would_not_load_is_taken_away_again(site: ProjectHarness) -> None:
    """What is declared here gets in the way of a topic that is there."""
    site.write('resource "kafka_topic" "x" {\n  name = "shop_orders"\n}\n')
    with pytest.raises(ConfigError):
        imported(site)
    assert not (site.folder / "cluster.tf").exists()
    assert list_owned_objects(site.project) == ()


def test_a_folder_that_cannot_be_written_to_is_told(site: ProjectHarness) -> None:
    elsewhere = replace(site.project, folder=site.folder / "absent")
    with pytest.raises(UsageError, match="cannot be written"):
        import_all(elsewhere, elsewhere.folder / "c.tf", ImportSelection(), site.ports)


def test_a_topic_that_vanishes_while_it_is_read_is_left_out(site: ProjectHarness) -> None:
    gone = [TopicRef("a-b")]
    site.cluster.run_before("topic_configs", lambda: site.cluster.connect_as().delete_topics(gone))
    assert 'name               = "a-b"' not in imported(site).text


def test_what_cannot_be_seen_is_left_out_and_told(site: ProjectHarness) -> None:
    site.cluster.disable_authorizer()
    site.cluster.hide_topic("9lives")
    found = imported(site)
    assert list(found.unread) == ["kafka_acl"]
    assert {each.address.kind for each in found.owned} == {"kafka_topic"}
    assert "9lives" not in found.text
    assert not site.plan().plan.has_changes


def test_an_acl_that_kafka_stores_but_nobody_can_declare_is_left_out(site: ProjectHarness) -> None:
    """Trap 13."""
    site.cluster.seed([], [binding("User:x", host="")])
    found = imported(site)
    assert [each.reason for each in found.unimported] == ["The host is empty."]
    assert not site.plan().plan.has_changes


def test_blocks_have_names_of_their_own() -> None:
    names = BlockNames({"taken"})
    given = ["a.b", "a_b", "taken", "1", "***", "ü", "User:x", "-x-"]
    assert [names.unique_name(each) for each in given] == [
        "a_b",
        "a_b_2",
        "taken_2",
        "_1",
        "any",
        "any_2",
        "User_x",
        "_-x-",
    ]


def test_attributes_left_to_their_default_are_left_out() -> None:
    value = declarable_value(topic("t", replica_assignment=((1,),)))
    text = generate_blocks({"kafka_topic": [value]}, KINDS, {}, "f.tf")
    assert text == 'resource "kafka_topic" "t" {\n  name = "t"\n}\n'


def test_configs_of_brokers_are_taken_only_when_asked(site: ProjectHarness) -> None:
    """Issue 18.6: they are of whoever runs the cluster, and a team's import owned them."""
    cluster = site.cluster.connect_as()
    resource = ConfigResource(ConfigScope.BROKER, "")
    setting = ConfigResourceAlteration(resource, {"log.retention.ms": "86400000"})
    assert set(cluster.alter_configs([setting]).values()) == {None}
    found = imported(site)
    assert "kafka_broker_config" not in found.text
    assert [(each.kind, each.identity, each.reason) for each in found.unimported] == [
        (
            "kafka_broker_config",
            "<default>",
            "configs of brokers are imported with -include=broker-configs",
        )
    ]
    asked = imported(site, "brokers.tf", has_broker_configs=True)
    assert [str(each.address) for each in asked.owned] == ["kafka_broker_config.default"]
    assert asked.unimported == ()
    assert not site.plan().plan.has_changes


def test_many_topics_that_are_alike_share_a_block(site: ProjectHarness) -> None:
    """Ten thousand topics are a map and one block (plan-apply.md 4.2)."""
    compact = {"cleanup.policy": "compact"}
    site.cluster.seed([NewTopic(f"x{number:03}", 2, 1) for number in range(60)])
    site.cluster.seed([NewTopic(f"y{n:03}", n % 3 + 1, 1, config=compact) for n in range(60)])
    site.cluster.seed([], [binding("User:app", "READ", f"x{n:03}") for n in range(30)])
    site.cluster.seed([], [binding("User:app", "WRITE", f"y{n:03}") for n in range(30)])
    text = imported(site).text
    assert not site.plan().plan.has_changes
    assert text.count("resource ") < 20
    for part in (
        'resource "kafka_topic" "x" {\n  for_each = toset([\n    "x000",\n',
        'resource "kafka_topic" "y" {\n  for_each = {\n',
        '    "y000" = 1\n    "y001" = 2\n',
        'resource "kafka_topic" "shop_orders" {\n  name ',
        'resource "kafka_acl" "app_topic_read" {\n  for_each = toset([\n    "x000",\n',
        'resource "kafka_acl" "app_topic_write" {',
    ):
        assert part in text
    assert format_text(text, "f.tf") == text


def test_blocks_of_many_topics_are_named_by_what_their_names_begin_with(
    site: ProjectHarness,
) -> None:
    """Settings tell groups apart and name none: `rf_3_retention_ms_604800000` says nothing."""
    week, day = {"retention.ms": "604800000"}, {"retention.ms": "86400000"}
    site.cluster.seed(
        [NewTopic(f"bill.eu.t{n}", 1, 1, config=week) for n in range(40)]
        + [NewTopic(f"bill.us.t{n}", 1, 1, config=day) for n in range(30)]
        + [NewTopic(f"bill.eu.u{n}", 1, 1) for n in range(20)]
        + [NewTopic(f"{chr(100 + n) * 3}-only", 1, 1) for n in range(12)]
    )
    text = imported(site).text
    blocks = re.findall(
        r'resource "kafka_topic" "(\w+)" \{\n  for_each = \w+\(\[\n +"([^"]+)', text
    )
    assert blocks == [
        ("a", "a-b"),
        ("bill_eu", "bill.eu.t0"),
        ("bill_eu_2", "bill.eu.u0"),
        ("bill_us", "bill.us.t0"),
        ("other_topics", "ddd-only"),
    ]
    assert not site.plan().plan.has_changes
