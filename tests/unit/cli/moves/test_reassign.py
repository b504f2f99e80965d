"""`kplan reassign` and `kplan elect` as somebody types them (K4o-08 to K4o-13, K201-10)."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kplan.cli.moves.execution import MoveOptions
from kplan.cli.terminal import Terminal
from kplan.cluster.request import ConfigAlteration, ConfigSource, NewTopic, TopicDescription
from kplan.cluster.settings import ConfigResource, ConfigResourceAlteration, ConfigScope
from kplan.cluster.usage import GroupDescription, PartitionUse, TopicUse
from kplan.kinds.throttle import THROTTLE_RATES
from kplan.kinds.topic_rules import THROTTLED_REPLICAS
from kplan.model.errors import Refusal
from tests.unit.cli.memory_command import MemoryCommand, memory_command, send_interrupt

POLICY = """
policy "three_copies" {
  on   = ["alter"]
  kind = "kafka_topic"
  deny {
    condition = requested.replication_factor < 3
    message   = "never below 3"
  }
}
"""


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    found = memory_command(tmp_path, capsys, monkeypatch)
    found.write("")
    found.cluster.seed([NewTopic("a", assignment=((1, 2), (2, 3))), NewTopic("b", 1, 1)])
    found.cluster.set_topic_use("a", TopicUse({0: PartitionUse(0, 10, 0, 2048, 0)}, groups=()))
    return found


def file(desk: MemoryCommand, rows: object, name: str = "moves.json") -> str:
    desk.write(json.dumps({"version": 1, "partitions": rows}), name)
    return name


def move(topic: str, partition: int, *replicas: int) -> dict[str, object]:
    return {"topic": topic, "partition": partition, "replicas": list(replicas)}


def described(desk: MemoryCommand, name: str) -> TopicDescription:
    found = desk.cluster.topics([name])[name]
    assert isinstance(found, TopicDescription)
    return found


def test_what_is_exported_is_imported_again(desk: MemoryCommand) -> None:
    before = desk.run("reassign", "export", "-match=a")
    assert json.loads(before)["partitions"][0] == {
        "topic": "a",
        "partition": 0,
        "replicas": [1, 2],
        "log_dirs": ["any", "any"],
    }
    desk.write(before, "before.json")
    assert "No changes. The replicas match the file." in desk.run(
        "reassign", "import", "before.json", "-dry-run"
    )
    moves = file(desk, [move("a", 0, 3, 2), move("a", 1, 2, 1)])
    told = desk.run("reassign", "import", moves, "-auto-approve")
    assert 'kafka_topic.reassign["a"]' in told
    assert "KP2214 copies 0 bytes to broker 1, 2,048 bytes to broker 3" in told
    assert "moves 2 KiB: broker 1 -2 KiB, broker 3 +2 KiB\n" in told
    assert described(desk, "a").assignment == ((3, 2), (2, 1))
    assert described(desk, "a").leaders == (3, 2)
    assert '"completed"' in desk.run("reassign", "status", moves, "-json")
    desk.run("reassign", "import", "before.json", "-auto-approve")
    assert desk.run("reassign", "export", "-match=a") == before


def test_a_dry_run_moves_nothing_and_nobody_to_ask_is_an_error(desk: MemoryCommand) -> None:
    moves = file(desk, [move("a", 0, 3, 2)])
    assert "1 to change" in desk.run("reassign", "import", moves, "-dry-run")
    assert desk.cluster.count("reassign") == 0
    assert "approval is not possible" in desk.run_failing("reassign", "import", moves)


def test_a_move_is_asked_for_and_a_no_moves_nothing(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Terminal, "can_ask", True)
    monkeypatch.setattr(Terminal, "ask", lambda *_: "no")
    moves = file(desk, [move("a", 0, 3, 2)])
    assert "Cancelled. Nothing was changed." in desk.run_failing("reassign", "import", moves)
    assert desk.cluster.count("reassign") == 0


@pytest.mark.parametrize(
    ("words", "same"),
    [
        (("import", "moves.json"), "import moves.json"),
        (("drain", "1"), "drain 1"),
    ],
)
def test_the_command_that_resumes_leads_to_the_same_cluster(
    desk: MemoryCommand, words: tuple[str, ...], same: str
) -> None:
    """Without its options it would move replicas of the default provider's cluster."""
    desk.write(
        'variable "port" {}\nprovider "kafka" {\n  alias = "east"\n'
        '  bootstrap_servers = ["b:${var.port}"]\n}\n'
    )
    file(desk, [move("a", 0, 3, 2)])
    desk.cluster.refuse("INVALID_REPLICA_ASSIGNMENT", call="reassign", times=None)
    told = desk.run("reassign", *words, "-provider=east", "-var=port=9092", "-auto-approve", code=1)
    assert f"To go on: kplan reassign {same} -provider=east -var=port=...  (" in told


def test_rates_that_no_move_needs_are_named(desk: MemoryCommand) -> None:
    """A broker that dies in a move keeps them, and they limit the next one."""
    assert "rates" not in desk.run("reassign", "status")
    own = ConfigResource(ConfigScope.BROKER, "3")
    rates = dict.fromkeys(THROTTLE_RATES, "5000000")
    desk.cluster.seed_settings(configs=[ConfigResourceAlteration(own, rates)])
    told = " ".join(desk.run("reassign", "status").split())
    assert "Broker 3 has throttle rates that no move needs." in told
    assert "--entity-name 3 --delete-config follower.replication.throttled.rate,leader" in told
    assert "HOST:PORT --alter" in told, "a connection without a login takes no file"


def test_the_command_that_removes_rates_takes_a_login_where_the_cluster_asks_for_one(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = replace(desk.cluster.describe(), security_protocol="SASL_SSL")
    monkeypatch.setattr(desk.cluster, "describe", lambda: found)
    own = ConfigResource(ConfigScope.BROKER, "3")
    rates = dict.fromkeys(THROTTLE_RATES, "5000000")
    desk.cluster.seed_settings(configs=[ConfigResourceAlteration(own, rates)])
    told = " ".join(desk.run("reassign", "status").split())
    assert "kafka-configs.sh --bootstrap-server HOST:PORT --command-config FILE --alter" in told


def test_a_broker_that_went_down_in_a_move_is_named_with_the_rates_that_it_keeps(
    desk: MemoryCommand,
) -> None:
    """Nobody can take them away while it is down, and they limit later moves."""
    kept = "Broker 3 is down and keeps the throttle rates of the moves. To remove them once it is"
    desk.cluster.slow_reassignments(99)
    desk.cluster.run_before("reassign", send_interrupt)
    moves = file(desk, [move("a", 0, 3, 2)])
    desk.run("reassign", "import", moves, "-auto-approve", code=1)
    assert "keeps" not in desk.run("reassign", "status")
    desk.cluster.stop_brokers(3)
    assert kept in " ".join(desk.run("reassign", "status").split())
    told = " ".join(desk.run("reassign", "cancel", moves).split())
    assert "Removed the throttles of: a." in told
    assert kept in told
    assert "--entity-name 3 --delete-config" in told
    idle = " ".join(desk.run("reassign", "status").split())
    assert "Broker 3 is down, and whether it has throttle rates is unknown" in idle
    assert "--entity-name 3 --delete-config" in idle
    desk.cluster.start_brokers()
    told = " ".join(desk.run("reassign", "status").split())
    assert "Broker 3 has throttle rates that no move needs." in told


def test_what_a_killed_import_left_is_taken_away_by_the_same_command(desk: MemoryCommand) -> None:
    left = dict.fromkeys(THROTTLED_REPLICAS, "00:1")
    desk.cluster.alter_topic_configs([ConfigAlteration("a", left)])
    moves = file(desk, [move("a", 0, 1, 2)])
    desk.run("reassign", "import", moves, "-dry-run")
    assert own_keys(desk) == set(THROTTLED_REPLICAS)
    assert "No changes. The replicas match the file." in desk.run(
        "reassign", "import", moves, "-auto-approve"
    )
    assert own_keys(desk) == set()


def own_keys(desk: MemoryCommand) -> set[str]:
    found = desk.cluster.topic_configs(["a"])["a"]
    assert not isinstance(found, Refusal)
    return {key for key, each in found.items() if each.source is ConfigSource.TOPIC}


def test_policies_see_the_topic_as_it_will_be(desk: MemoryCommand) -> None:
    """K201-10: Kafka asks nobody about a reassignment; kplan does."""
    desk.write(POLICY)
    fewer, more = move("a", 0, 1), move("b", 0, 1, 2, 3)
    moves = file(desk, [fewer, move("a", 1, 2), more])
    desk.run("reassign", "import", moves, "-auto-approve", code=1)
    assert described(desk, "a").assignment == ((1, 2), (2, 3))
    assert described(desk, "b").assignment == ((1, 2, 3),)


def test_status_tells_how_far_each_partition_is(desk: MemoryCommand) -> None:
    """K4o-10: -1, 0 and 1 by name, and as exit codes."""
    desk.cluster.slow_reassignments(9)
    desk.cluster.reassign({("a", 0): (3, 2)})
    found = json.loads(desk.run("reassign", "status", "-json"))
    (row,) = found["tables"]["partitions"]["rows"]
    assert (row["from"], row["to"], row["bytes_left"]) == ("2, 1", "3, 2", 2048)
    running = file(desk, [move("a", 0, 3, 2), move("a", 1, 2, 3)])
    found = json.loads(desk.run("reassign", "status", running, "-json", code=2))
    rows = found["tables"]["partitions"]["rows"]
    assert [row["status"] for row in rows] == ["in_progress", "completed"]
    failing = file(desk, [move("a", 1, 1, 3), move("gone", 0, 1), move("b", 7, 1)])
    found = json.loads(desk.run("reassign", "status", failing, "-json", code=4))
    assert {row["status"] for row in found["tables"]["partitions"]["rows"]} == {"failed"}


def test_status_tells_no_bytes_where_all_old_replicas_are_down(desk: MemoryCommand) -> None:
    desk.cluster.slow_reassignments(9)
    desk.cluster.reassign({("a", 0): (3, 2)})
    desk.cluster.stop_brokers(1, 2)
    found = json.loads(desk.run("reassign", "status", "-json"))
    (row,) = found["tables"]["partitions"]["rows"]
    assert row["bytes_left"] is None
    running = file(desk, [move("a", 0, 3, 2)])
    found = json.loads(desk.run("reassign", "status", running, "-json", code=2))
    (row,) = found["tables"]["partitions"]["rows"]
    assert row["bytes_left"] is None


def test_what_moves_is_taken_back(desk: MemoryCommand) -> None:
    """K4o-11."""
    desk.cluster.slow_reassignments(9)
    desk.cluster.reassign({("a", 0): (3, 2), ("b", 0): (2,)})
    told = desk.run("reassign", "cancel", file(desk, [move("a", 0, 3, 2)]))
    assert "cancelled" in told
    assert list(desk.cluster.reassignments()) == [("b", 0)]
    desk.run("reassign", "cancel", "-all", "-auto-approve")
    every = ("reassign", "cancel", "-all", "-auto-approve")
    assert "No replicas are being moved." in desk.run(*every)
    assert set(described(desk, "a").assignment[0]) == {1, 2}
    assert "requires either FILE or -all" in desk.run_failing("reassign", "cancel")


def test_all_moves_are_cancelled_only_with_an_approval(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may be those of another tool."""
    desk.cluster.slow_reassignments(99)
    desk.cluster.reassign({("a", 0): (3, 2), ("b", 0): (2,)})
    refused = desk.run_failing("reassign", "cancel", "-all")
    assert "approval is not possible; use -auto-approve" in refused
    questions: list[str] = []

    def answer(_: Terminal, question: str) -> str:
        questions.append(question)
        return "no" if len(questions) == 1 else "yes"

    monkeypatch.setattr(Terminal, "can_ask", True)
    monkeypatch.setattr(Terminal, "ask", answer)
    refused = desk.run_failing("reassign", "cancel", "-all")
    assert "a:0 b:0" in refused
    assert "Cancelled. Nothing was changed." in refused
    assert len(desk.cluster.connect_as().reassignments()) == 2
    moves = file(desk, [move("a", 0, 3, 2)])
    desk.run("reassign", "cancel", moves)
    desk.cluster.reassign({("a", 0): (3, 2)})
    desk.run("reassign", "cancel", moves, "-auto-approve")
    assert len(questions) == 1, "a file names what it cancels"
    assert "cancelled" in desk.run("reassign", "cancel", "-all")
    assert "also those of other tools" in questions[1]
    assert desk.cluster.reassignments() == {}
    desk.run("reassign", "cancel", "-all")
    assert len(questions) == 2, "there was nothing to ask about"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nothing", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ("[]", 'has no list "partitions"'),
        ('{"partitions": []}', 'The list "partitions" of moves.json is empty'),
        ('{"partitions": [3]}', "is not an object"),
        ('{"partitions": [{"topic": "a", "partition": -1}]}', "has no topic, or no number"),
        ('{"partitions": [{"topic": "a", "partition": 0}]}', "has no list of broker ids"),
        (
            '{"partitions": [{"topic": "a", "partition": 0, "replicas": [1, 1]}]}',
            "names a broker twice",
        ),
        (
            (
                '{"partitions": [{"topic": "a", "partition": 9, "replicas": [1, 8]},'
                ' {"topic": "c", "partition": 0, "replicas": [1]}]}'
            ),
            "a has no partition 9; a:9 names broker 8, which does not exist; topic c does not",
        ),
    ],
)
def test_a_file_that_cannot_be_followed_is_told(desk: MemoryCommand, text: str, told: str) -> None:
    desk.write(text, "moves.json")
    assert told in desk.run_failing("reassign", "import", "moves.json", "-auto-approve")
    assert "cannot be read" in desk.run_failing("reassign", "import", "none.json", "-auto-approve")


def test_a_rate_that_is_none_is_told(desk: MemoryCommand) -> None:
    moves = file(desk, [move("a", 0, 3, 2)])
    told = desk.run_failing("reassign", "import", moves, "-auto-approve", "-throttle=fast")
    assert "-throttle=fast is not a rate" in told


@pytest.mark.parametrize(
    ("given", "bytes_per_s"),
    [("500K", 500_000), ("500k", 500_000), ("50m", 50_000_000), ("1GB/s", 10**9), ("0", 0)],
)
def test_a_rate_has_its_unit_in_any_case(given: str, bytes_per_s: int) -> None:
    assert MoveOptions(throttle=given).move_limits().bytes_per_s == bytes_per_s


def test_first_replicas_lead_again(desk: MemoryCommand) -> None:
    """K4o-12, K4o-13."""
    desk.cluster.stop_brokers(1)
    desk.cluster.start_brokers()
    assert described(desk, "a").leaders == (2, 2)
    told = desk.run("elect", "preferred", "-all")
    assert "leader == preferred: " in told
    assert described(desk, "a").leaders == (1, 2)
    assert "No partition needs an election." in desk.run("elect", "preferred", "-all")
    assert "not needed" in desk.run("elect", "preferred", file(desk, [move("a", 0)]))
    desk.run("elect", "preferred", file(desk, [move("a", 7)]), code=1)
    assert "requires either FILE or -all" in desk.run_failing("elect", "preferred")


def test_who_sees_no_topic_is_not_told_that_none_needs_an_election(desk: MemoryCommand) -> None:
    for name in ("a", "b"):
        desk.cluster.hide_topic(name)
    said = " ".join(desk.run("elect", "preferred", "-all").split())
    assert "Note: No topic was shown: there is none, or kplan lacks DESCRIBE on all." in said
    assert "No partition needs an election" not in said


@pytest.mark.parametrize("verb", [("elect", "preferred"), ("reassign", "cancel")])
def test_a_file_and_all_are_told_apart_from_neither(
    desk: MemoryCommand, verb: tuple[str, str]
) -> None:
    told = desk.run_failing(*verb, "-all", file(desk, [move("a", 0)]))
    assert "takes FILE or -all, and both are given" in told
    assert "Remove -all" in told


def test_an_unclean_election_takes_an_option_and_a_yes(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "-allow-unclean" in desk.run_failing("elect", "unclean", "-all", "-auto-approve")
    moves = file(desk, [move("a", 0)])
    assert "approval is not possible" in desk.run_failing(
        "elect", "unclean", moves, "-allow-unclean"
    )
    monkeypatch.setattr(Terminal, "can_ask", True)
    monkeypatch.setattr(Terminal, "ask", lambda *_: "no")
    desk.run_failing("elect", "unclean", moves, "-allow-unclean")
    assert desk.cluster.count("elect_leaders") == 0
    monkeypatch.setattr(Terminal, "ask", lambda *_: "yes")
    assert "not needed" in desk.run("elect", "unclean", moves, "-allow-unclean")


def test_an_unclean_election_tells_what_is_lost_as_far_as_anybody_knows(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S11: what a group had read and is gone is the least that is lost."""
    monkeypatch.setattr(desk.cluster, "elect_leaders", lambda keys, _: dict.fromkeys(keys))
    args = ("elect", "unclean", file(desk, [move("a", 0)]), "-allow-unclean", "-auto-approve")
    told = desk.run(*args)
    assert (
        "a:0 continues at offset 10: what a former leader had from there on is lost."
        in " ".join(told.split())
    )
    assert "No running broker knows how many records are lost." in told
    group = GroupDescription("billing", "classic", "consumer", "Empty", 1)
    desk.cluster.add_described_group(replace(group, committed_offsets={("a", 0): 25, ("b", 0): 1}))
    found = json.loads(desk.run(*args, "-json"))
    assert found["tables"]["partitions"]["rows"][0]["end_offset"] == 10
    (said,) = [each for each in found["notes"] if "billing" in each]
    assert "had read a:0 up to 25: at least 15 records are lost" in said
    assert not [each for each in found["notes"] if "Nobody" in each]
    desk.cluster.refuse("CLUSTER_AUTHORIZATION_FAILED", call="group_names")
    assert "No running broker knows" in desk.run(*args)


TOPIC = """
resource "kafka_topic" "a" {
  name               = "a"
  partitions         = 2
  replication_factor = 3
}
"""


def test_a_saved_plan_moves_replicas_as_it_was_reviewed(desk: MemoryCommand) -> None:
    desk.write(TOPIC)
    desk.run("plan", "-out=moves.kplan")
    desk.run("apply", "moves.kplan")
    assert [len(each) for each in described(desk, "a").assignment] == [3, 3]
    desk.run("plan", "-detailed-exitcode")
    desk.run("drift")


def test_a_move_that_was_stopped_is_resumed_from_where_it_stands(desk: MemoryCommand) -> None:
    """K4o-14: what is placed by kplan is placed anew from what stands by now."""
    placed = '  placement          = { strategy = "rack-aware" }\n}\n'
    desk.write(TOPIC.replace("= 3", "= 2").replace("}\n", placed))
    desk.cluster.reassign({("a", 0): (1, 2), ("a", 1): (1, 2)})
    desk.run("apply", "-auto-approve")
    desk.cluster.reassign({("a", 0): (1,), ("a", 1): (1,)})
    desk.cluster.slow_reassignments(2)
    desk.cluster.run_before("elect_leaders", lambda: pytest.fail("not finished"))
    seen: list[int] = []

    def stop_at_the_second() -> None:
        seen.append(1)
        if len(seen) == 2:
            send_interrupt()
        desk.cluster.run_before("reassign", stop_at_the_second)

    desk.cluster.run_before("reassign", stop_at_the_second)
    desk.run("apply", "-auto-approve", "-move-batch=1", code=130)
    desk.cluster.clear_faults()
    desk.run("apply", "-resume")
    assert [len(each) for each in described(desk, "a").assignment] == [2, 2]
    desk.run("plan", "-detailed-exitcode")


def test_what_is_being_moved_is_imported_without_its_throttles(desk: MemoryCommand) -> None:
    throttle = {"leader.replication.throttled.replicas": "0:1", "retention.ms": "9"}
    desk.cluster.alter_topic_configs([ConfigAlteration("b", throttle)])
    desk.run("import", "-all", "-generate-config=found.tf")
    written = (desk.folder / "found.tf").read_text(encoding="utf-8")
    assert "retention.ms" in written
    assert "throttled" not in written


@pytest.mark.parametrize("again", [("apply", "-resume"), ("apply", "-auto-approve")])
def test_throttles_go_also_where_the_move_ended_without_us(
    desk: MemoryCommand, again: tuple[str, ...]
) -> None:
    """S10: kplan was gone when the last replica arrived."""
    desk.write(TOPIC)
    desk.cluster.slow_reassignments(3)
    desk.cluster.run_before("reassign", send_interrupt)
    desk.run("apply", "-auto-approve", code=130)
    while desk.cluster.reassignments():
        pass
    assert own_keys(desk) == set(THROTTLED_REPLICAS)
    desk.run(*again)
    assert own_keys(desk) == set()


def test_a_broker_that_a_move_waits_for_is_named_with_the_way_out(desk: MemoryCommand) -> None:
    desk.cluster.slow_reassignments(99)
    desk.cluster.run_before("reassign", send_interrupt)
    placed = "replica_assignment = [[1, 2], [2, 1]]"
    desk.write(f'resource "kafka_topic" "a" {{\n  name = "a"\n  {placed}\n}}\n')
    desk.run("apply", "-auto-approve", code=130)
    assert "is down" not in desk.run("reassign", "status")
    desk.cluster.stop_brokers(1)
    told = " ".join(desk.run("reassign", "status").split())
    assert "Broker 1 is down, and the replicas that are to move to it wait for it." in told
    assert "kplan reassign cancel -all" in told
    refused = desk.run_failing("apply", "-resume")
    assert "brokers that are not alive: 1." in refused
    assert "kplan reassign cancel -all" in refused


def test_a_move_to_a_broker_that_runs_is_not_told_to_be_taken_back(desk: MemoryCommand) -> None:
    block = 'resource "kafka_topic" "a" {\n  name = "a"\n  replica_assignment = [[1], [1]]\n}\n'
    desk.write(block)
    desk.run("apply", "-auto-approve")
    desk.cluster.slow_reassignments(99)
    desk.cluster.reassign({("a", 0): (2,)})
    desk.cluster.stop_brokers(3)
    desk.write(block.replace("[[1], [1]]", "[[1], [3]]"))
    refused = desk.run_failing("plan")
    assert "brokers that are not alive: 3." in refused
    assert "reassign cancel" not in refused
