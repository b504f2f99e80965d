"""`kplan import` in its three ways."""

import shutil
from pathlib import Path

import pytest

from kplan.cluster.request import NewTopic
from kplan.cluster.settings import ConfigResource, ConfigResourceAlteration, ConfigScope
from tests.unit.cli.memory_command import MemoryCommand, memory_command

TFSTATE = Path(__file__).parents[2] / "workflow" / "adopt" / "fixtures" / "terraform.tfstate"
NO_CHANGES = "No changes. Your infrastructure matches the configuration."


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    return memory_command(tmp_path, capsys, monkeypatch)


def test_a_whole_cluster_is_taken_over_into_an_empty_folder(desk: MemoryCommand) -> None:
    desk.run("apply", "-auto-approve")
    for each in ("main.tf", "state"):
        path = desk.folder / each
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    told = desk.run("import", "-all", "-generate-config=cluster.tf")
    assert told == (
        "Wrote their configuration to cluster.tf. The next plan has no changes.\n\n"
        "Import successful: 1 kafka_acl, 2 kafka_topic owned now.\n"
    )
    assert NO_CHANGES in desk.run("plan", "-detailed-exitcode")
    again = desk.run("import", "-all", "-generate-config=more.tf")
    assert again == "There was nothing to import.\n"


def test_what_was_left_out_is_told(desk: MemoryCommand) -> None:
    desk.run("apply", "-auto-approve")
    desk.cluster.seed([NewTopic("secret", 1, 1)])
    desk.cluster.disable_authorizer()
    told = desk.run("import", "-all", "-prefix=s", "-generate-config=x.tf")
    assert "Left out: all kafka_acl: " in told
    assert "Import successful: 1 kafka_topic owned now." in told


def test_kinds_that_may_not_be_listed_are_told(desk: MemoryCommand) -> None:
    """The cluster would seem to be taken over as a whole."""
    desk.run("apply", "-auto-approve")
    desk.cluster.seed([NewTopic("secret", 1, 1)])
    desk.cluster.deny_operation("DESCRIBE_CONFIGS", "CLUSTER")
    desk.cluster.deny_operation("DESCRIBE", "CLUSTER")
    told = desk.run("import", "-all", "-prefix=s", "-generate-config=x.tf")
    for kind in ("kafka_acl", "kafka_quota", "kafka_user_scram_credential"):
        assert f"Left out: all {kind}: " in told


def test_a_name_that_is_not_the_blocks_is_answered_with_the_blocks(desk: MemoryCommand) -> None:
    (desk.folder / "user.tf").write_text(
        'resource "kafka_user_scram_credential" "carol" {\n  username = "carol"\n'
        '  scram_mechanism = "SCRAM-SHA-512"\n  password = "secret"\n}\n'
    )
    told = desk.run_failing("import", "kafka_user_scram_credential.carol", "carol")
    assert 'The cluster has no SCRAM credential "carol".' in told
    command = "kplan import kafka_user_scram_credential.carol 'carol|SCRAM-SHA-512'"
    assert command in " ".join(told.replace("│", " ").split())


OTHER_TOPIC = """
resource "kafka_topic" "a" {
  name               = "p3.a"
  partitions         = 1
  replication_factor = 1
}
"""
OTHER_ACL = """
resource "kafka_acl" "a" {
  resource_type       = "Topic"
  resource_name       = "p3.a"
  acl_principal       = "User:a"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
"""


def test_an_object_that_no_plan_could_rename_is_not_imported(desk: MemoryCommand) -> None:
    """The way out of every later plan would delete its records."""
    desk.cluster.seed([NewTopic("p4.b", 1, 1)])
    (desk.folder / "more.tf").write_text(OTHER_TOPIC)
    told = desk.run_failing("import", "kafka_topic.a", "p4.b")
    assert 'not "p4.b".' in told
    assert "The block declares another one: kplan import kafka_topic.a p3.a" in told
    assert desk.run("state", "list") == ""


def test_an_acl_that_is_to_be_another_one_is_imported_and_replaced(desk: MemoryCommand) -> None:
    desk.run("apply", "-auto-approve")
    shutil.rmtree(desk.folder / "state")
    desk.write('provider "kafka" {\n  bootstrap_servers = ["127.0.0.1:9092"]\n}\n' + OTHER_ACL)
    desk.run("import", "kafka_acl.a", "User:app|*|Read|Allow|Topic|orders|Literal")
    assert "1 to replace" in desk.run("plan")


def test_configs_of_brokers_are_left_out_until_asked_for(desk: MemoryCommand) -> None:
    desk.run("apply", "-auto-approve")
    every = ConfigResource(ConfigScope.BROKER, "")
    setting = ConfigResourceAlteration(every, {"log.retention.ms": "86400000"})
    desk.cluster.connect_as().alter_configs([setting])
    told = desk.run("import", "-all", "-generate-config=x.tf")
    assert "Left out: <default>: configs of brokers are imported with -include=broker-conf" in told
    told = desk.run("import", "-all", "-include=broker-configs", "-generate-config=x.tf")
    assert "Import successful: 1 kafka_broker_config owned now." in told
    assert "-include requires -all." in desk.run_failing(
        "import", "-include=broker-configs", "kafka_topic.a", "a"
    )


def test_a_state_of_terraform_is_taken_over(desk: MemoryCommand) -> None:
    desk.run("apply", "-auto-approve")
    Path("state/kplan.json").unlink()
    shutil.copy(TFSTATE, "terraform.tfstate")
    told = desk.run("import", "-from-tfstate=terraform.tfstate")
    assert "Do not apply this folder with Terraform any more." in told
    assert "Left out: kafka_vault_secret.app: kplan does not know kafka_vault_secret." in told
    assert "Import successful: 1 kafka_acl, 2 kafka_topic owned now." in told
    assert "to destroy" not in desk.run("plan")
    assert "no.tfstate cannot be read" in desk.run_failing("import", "-from-tfstate=no.tfstate")


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ([], "requires ADDRESS and ID, -all, or -from-tfstate=FILE"),
        (["kafka_topic.a"], "requires both ADDRESS and ID"),
        (["-all"], "-all and -generate-config=FILE require each other."),
        (["kafka_topic.a", "a", "-all"], "requires ADDRESS and ID, -all, or -from-tfstate=FILE"),
        (["kafka_topic.a", "a", "-generate-config=x.tf"], "require each other."),
        (["-from-tfstate=x", "-prefix=a"], "-prefix requires -all."),
    ],
)
def test_what_says_too_much_or_too_little_is_refused(
    desk: MemoryCommand, typed: list[str], told: str
) -> None:
    assert told in desk.run_failing("import", *typed)


def test_a_name_that_is_no_id_of_a_broker_is_an_error_of_usage(desk: MemoryCommand) -> None:
    (desk.folder / "broker.tf").write_text(
        'resource "kafka_broker_config" "b" {\n  broker_id = 1\n'
        '  config = { "log.cleaner.threads" = "2" }\n}\n'
    )
    told = desk.run_failing("import", "kafka_broker_config.b", "abc")
    assert 'The cluster has no broker config "abc".' in told
    assert "kplan import kafka_broker_config.b 1" in told


def test_a_broker_that_is_not_the_blocks_is_answered_with_the_blocks(desk: MemoryCommand) -> None:
    """Its broker_id needs no correction: the ID was typed for another one."""
    (desk.folder / "broker.tf").write_text(
        'resource "kafka_broker_config" "b" {\n  for_each  = toset(["1", "4"])\n'
        '  broker_id = each.key\n  config = { "log.cleaner.threads" = "2" }\n}\n'
    )
    told = desk.run_failing("import", 'kafka_broker_config.b["4"]', "9")
    assert "The cluster lists no broker 9" in told
    assert "declares another one: kplan import 'kafka_broker_config.b[\"4\"]' 4" in told
    told = desk.run_failing("import", 'kafka_broker_config.b["4"]', "4")
    assert "hint: Correct broker_id, or start broker 4" in told
    told = desk.run_failing("import", 'kafka_broker_config.b["1"]', "1")
    assert 'The cluster has no broker config "1".' in told
    assert "hint: Only what exists can be imported; kplan apply creates it." in told


def test_a_name_cannot_write_lines_or_colours_of_its_own(desk: MemoryCommand) -> None:
    name = "User:a\x1b[31m\nForgot all"
    acl = desk.folder.joinpath("main.tf").read_text()
    desk.write(acl.replace('"User:app"', r'"User:a\u001b[31m\nForgot all"'))
    desk.run("apply", "-auto-approve")
    shown = r"User:a\u001b[31m\nForgot all|*|Read|Allow|Topic|orders|Literal"
    address = "kafka_acl.read"
    assert desk.run("state", "rm", address) == f"Forgot {address} ({shown}).\n"
    identity = f"{name}|*|Read|Allow|Topic|orders|Literal"
    told = desk.run("import", address, identity)
    assert told == f"Import successful: {address} now owns {shown}.\n"
