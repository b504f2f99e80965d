"""Verbs of the state on modules and on blocks with several instances."""

import json
from pathlib import Path

import pytest

from tests.project_harness import MAIN_TF
from tests.unit.cli.memory_command import MemoryCommand, memory_command

STATE = Path("state/kplan.json")
PROVIDER = 'provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }\n'
ACL = MAIN_TF[MAIN_TF.index('resource "kafka_acl"') : MAIN_TF.index("output")].replace(
    'kafka_topic.t["orders"].name', '"shared"'
)
INNER = """
variable "at" {}
resource "kafka_topic" "t" {
  for_each           = toset(["a", "b"])
  name               = "${var.at}.${each.key}"
  partitions         = 1
  replication_factor = 1
}
"""
OUTER = INNER + 'module "deep" {\n  source = "../deep"\n  at = "${var.at}.deep"\n}\n'
CALLS = """
module "topics" {
  source = "./outer"
  at     = "topics"
}
module "each" {
  source   = "./deep"
  for_each = toset(["eu", "us"])
  at       = each.key
}
"""
TOPICS = [
    'module.topics.kafka_topic.t["a"]',
    'module.topics.kafka_topic.t["b"]',
    "module.topics.module.deep.kafka_acl.read",
    'module.topics.module.deep.kafka_topic.t["a"]',
    'module.topics.module.deep.kafka_topic.t["b"]',
]


def each(region: str, module: str = "each") -> list[str]:
    steps = f'module.{module}["{region}"]'
    return [f"{steps}.kafka_acl.read", *(f'{steps}.kafka_topic.t["{key}"]' for key in "ab")]


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    found = memory_command(tmp_path, capsys, monkeypatch)
    for name, text in (("outer", OUTER), ("deep", INNER + ACL)):
        (tmp_path / name).mkdir()
        found.write(text, f"{name}/main.tf")
    found.write(PROVIDER + CALLS)
    found.run("apply", "-auto-approve")
    return found


def listed(desk: MemoryCommand, *addresses: str) -> list[str]:
    return desk.run("state", "list", *addresses).splitlines()


# ---- list and show


def test_a_module_is_listed_with_the_modules_in_it(desk: MemoryCommand) -> None:
    assert listed(desk, "module.topics") == TOPICS
    assert listed(desk, "module.topics.module.deep") == TOPICS[2:]


def test_a_module_with_a_key_is_one_instance_and_without_is_all(desk: MemoryCommand) -> None:
    assert listed(desk, 'module.each["eu"]') == each("eu")
    assert listed(desk, "module.each") == [*each("eu"), *each("us")]
    assert listed(desk, 'module.each["eu"].kafka_topic.t') == each("eu")[1:]


def test_what_two_names_fit_is_listed_once(desk: MemoryCommand) -> None:
    assert listed(desk, "module.topics.kafka_topic.t", "module.topics") == TOPICS


def test_a_module_that_owns_nothing_is_an_error(desk: MemoryCommand) -> None:
    for verb in (["list"], ["rm"], ["rm", "-dry-run"]):
        told = desk.run_failing("state", *verb, "module.topic")
        assert "KP901" in told
        assert "The state owns nothing at module.topic." in told
    assert "owns nothing" in desk.run_failing("state", "mv", "module.topic", "module.t")


def test_show_is_for_one_object_and_names_the_command_for_a_module(desk: MemoryCommand) -> None:
    told = desk.run_failing("state", "show", "module.topics")
    assert "kplan state show shows one object, and module.topics is a module." in told
    assert "kplan state list module.topics shows what is in it." in told
    assert "eu.a" in desk.run("state", "show", each("eu")[1])


# ---- rm


def test_a_module_is_forgotten_with_all_that_is_in_it(desk: MemoryCommand) -> None:
    before = STATE.read_bytes()
    would = desk.run("state", "rm", "-dry-run", "module.topics")
    assert [line.split()[2] for line in would.splitlines()] == TOPICS
    assert STATE.read_bytes() == before
    assert desk.run("state", "rm", "module.topics") == would.replace("Would forget", "Forgot")
    assert listed(desk) == [*each("eu"), *each("us")]
    assert len(desk.cluster.topics()) == 8


def test_one_instance_of_a_module_is_forgotten_and_the_other_stays(desk: MemoryCommand) -> None:
    desk.run("state", "rm", 'module.each["eu"]')
    assert listed(desk, "module.each") == each("us")


# ---- mv


def test_a_module_moves_with_all_that_is_in_it_and_the_plan_is_empty(desk: MemoryCommand) -> None:
    told = desk.run("state", "mv", "module.topics", "module.t2").splitlines()
    moved = [each.replace("module.topics", "module.t2") for each in TOPICS]
    pairs = zip(TOPICS, moved, strict=True)
    assert told == [
        *(f"Moved {old} to {new}." for old, new in pairs),
        "Successfully moved 5 object(s).",
    ]
    assert listed(desk) == [*each("eu"), *each("us"), *moved]
    assert json.loads(STATE.read_text())["serial"] == 2
    desk.write(PROVIDER + CALLS.replace('"topics" {', '"t2" {'))
    desk.run("plan", "-detailed-exitcode")


def test_the_instances_of_a_module_keep_their_keys(desk: MemoryCommand) -> None:
    desk.run("state", "mv", "module.each", "module.region")
    assert listed(desk, "module.region") == [*each("eu", "region"), *each("us", "region")]
    desk.run("state", "mv", 'module.region["eu"]', "module.region")
    desk.run("state", "mv", "module.region", 'module.region["eu"]')
    desk.run("state", "mv", 'module.region["eu"]', "module.only")
    assert listed(desk, "module.only")[0] == "module.only.kafka_acl.read"
    assert listed(desk, "module.region") == each("us", "region")
    desk.run("state", "mv", "module.only", 'module.region["eu"]')
    desk.run("state", "mv", "module.region", "module.each")
    desk.run("plan", "-detailed-exitcode")


def test_a_module_moves_into_another_and_out_again(desk: MemoryCommand) -> None:
    desk.run("state", "mv", "module.topics", "module.topics.module.deep")
    assert listed(desk, "module.topics.module.deep.module.deep")
    desk.run("state", "mv", "module.topics.module.deep", "module.topics")
    assert listed(desk, "module.topics") == TOPICS


def test_the_instances_of_a_block_move_and_keep_their_keys(desk: MemoryCommand) -> None:
    told = desk.run("state", "mv", "module.topics.kafka_topic.t", "kafka_topic.free")
    assert told.endswith("Successfully moved 2 object(s).\n")
    assert listed(desk, "kafka_topic.free") == ['kafka_topic.free["a"]', 'kafka_topic.free["b"]']


def test_an_object_that_several_addresses_declare_moves_once(desk: MemoryCommand) -> None:
    owned = json.loads(STATE.read_text())["resources"]
    (shared,) = [each for each in owned if each.get("also_declared")]
    told = desk.run("state", "mv", "module.each", "module.region")
    assert told.endswith("Successfully moved 5 object(s).\n")  # at six addresses
    after = json.loads(STATE.read_text())["resources"]
    (moved,) = [each for each in after if each.get("also_declared")]
    assert {moved["address"], *moved["also_declared"]} == {
        at.replace("module.each", "module.region")
        for at in (shared["address"], *shared["also_declared"])
    }


@pytest.mark.parametrize(
    ("source", "target", "told"),
    [
        ("module.topics", "module.each", "already"),
        ("module.topics", 'module.each["eu"]', "already"),
        ("module.each", "module.topics", "To merge the two, move each object by itself"),
        ("module.topics", "module.topics", "already"),
        ("module.topics.kafka_topic.t", "module.topics.module.deep.kafka_topic.t", "already"),
        ("module.topics", "kafka_topic.a", "is a module and cannot become a kafka_topic"),
        (TOPICS[0], "module.t", 'module.t.kafka_topic.t["a"]'),
        ("module.topics.kafka_topic.t", "kafka_acl.t", "cannot become a kafka_acl"),
        ("module.each", 'module.region["eu"]', "has instances with keys"),
        ("module.topics.kafka_topic.t", 'kafka_topic.t["a"]', "NEW without its last key"),
    ],
)
def test_a_move_that_cannot_be_done_in_whole_is_refused_and_writes_nothing(
    desk: MemoryCommand, source: str, target: str, told: str
) -> None:
    before = STATE.read_bytes()
    failure = desk.run_failing("state", "mv", source, target)
    assert "KP901" in failure
    assert told in failure
    assert STATE.read_bytes() == before
