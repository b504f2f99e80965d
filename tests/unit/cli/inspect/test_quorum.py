"""Controllers, quorum, features and the registration of brokers, in this process."""

import json
from pathlib import Path
from typing import Any

import pytest

from kplan.cluster.request import NewTopic
from kplan.cluster.settings import FeatureUpdate
from kplan.cluster.topology import Quorum, QuorumReplica
from tests.unit.cli.memory_command import MemoryCommand, memory_command


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    return memory_command(tmp_path, capsys, monkeypatch)


def tables(desk: MemoryCommand, *args: str) -> dict[str, list[dict[str, Any]]]:
    found = json.loads(desk.run(*args, "-json"))["tables"]
    return {name: table["rows"] for name, table in found.items()}


def test_controllers_are_listed_with_the_active_one(desk: MemoryCommand) -> None:
    """K919-07, K919-09."""
    (row,) = tables(desk, "cluster", "controllers")["controllers"]
    assert row == {
        "controller": 101,
        "address": "127.0.0.1:9093",
        "state": "active",
        "behind": 0,
    }
    assert "active" in desk.run("cluster", "controllers")


def test_the_quorum_is_described_with_leader_and_lag(desk: MemoryCommand) -> None:
    """K919-21."""
    found = tables(desk, "quorum", "describe")
    (whole,) = found["quorum"]
    assert (whole["leader"], whole["voters"], whole["observers"]) == (101, 1, 3)
    assert [(row["node"], row["role"]) for row in found["replicas"]] == [
        (101, "leader"),
        (1, "observer"),
        (2, "observer"),
        (3, "observer"),
    ]


def test_nodes_that_have_not_fetched_for_long_are_noted(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K919-21: a controller that is down stays a voter."""
    voters = (
        QuorumReplica(101, 9, 0, 0, 0),
        QuorumReplica(102, 4, 5, 30_500, 30_500),
        QuorumReplica(103, -1, 10),
    )
    quorum = Quorum(101, 1, 9, voters, (QuorumReplica(1, 9, 0, 400, 400),))
    monkeypatch.setattr(desk.cluster, "quorum", lambda: quorum)
    told = desk.run("quorum", "describe")
    assert "Node 102 has not fetched for 30 s." in told
    assert "Node 103 has not fetched yet." in told
    assert "Node 1 " not in told


def test_who_may_not_see_the_quorum_is_told_so(desk: MemoryCommand) -> None:
    desk.cluster.deny_operation("DESCRIBE", "CLUSTER")
    assert "DESCRIBE on CLUSTER" in desk.run_failing("quorum", "describe")


def test_features_are_listed_with_their_level_and_range(desk: MemoryCommand) -> None:
    """K919-20."""
    rows = {row["feature"]: row for row in tables(desk, "features")["features"]}
    base = rows["metadata.version"]
    assert base["lowest"] <= base["level"] <= base["highest"]
    assert base["can_be_raised"] is (base["level"] < base["highest"])
    assert "metadata.version" in desk.run("features")


def test_features_are_those_that_every_broker_that_answers_can_run(desk: MemoryCommand) -> None:
    """K117-08: one that does not answer is noted."""
    desk.cluster.stop_brokers(2)
    assert "features" in tables(desk, "features")


def test_a_broker_that_is_gone_and_empty_is_taken_out(desk: MemoryCommand) -> None:
    """K919-22."""
    desk.cluster.stop_brokers(3)
    told = desk.run("broker", "unregister", "3", "-auto-approve")
    assert told == "Unregistered broker 3.\n"
    assert desk.cluster.unregister_broker(3) is not None


def test_a_broker_is_taken_out_for_scripts(desk: MemoryCommand) -> None:
    desk.cluster.stop_brokers(3)
    told = desk.run("broker", "unregister", "3", "-auto-approve", "-json")
    assert json.loads(told) == {"broker": 3, "unregistered": True}
    told = desk.run("broker", "unregister", "3", "-json", code=1)
    assert "-json requires -auto-approve" in told


def test_a_broker_that_runs_is_left_alone_unless_it_is_forced(desk: MemoryCommand) -> None:
    """K919-22: Kafka itself would take it out without a word."""
    told = desk.run_failing("broker", "unregister", "3", "-auto-approve")
    assert "Broker 3 cannot be removed: it is running" in told
    assert "-force" in told
    desk.run("broker", "unregister", "3", "-auto-approve", "-force")
    assert [each.id for each in desk.cluster.describe().brokers] == [1, 2]


def test_a_broker_with_replicas_is_left_alone_with_their_topics_named(desk: MemoryCommand) -> None:
    """K919-22."""
    desk.cluster.seed([NewTopic(f"t{number}", assignment=((1, 3),)) for number in range(7)])
    desk.cluster.stop_brokers(3)
    told = desk.run_failing("broker", "unregister", "3", "-auto-approve")
    assert "it has replicas of t0, t1, t2, t3, t4 and 2 more" in told


def test_a_broker_that_nobody_knows_is_told(desk: MemoryCommand) -> None:
    """K919-22: the cluster says so, with its own code."""
    told = desk.run_failing("broker", "unregister", "77", "-auto-approve")
    assert "BROKER_ID_NOT_REGISTERED" in told


def test_nobody_is_taken_out_without_a_yes(desk: MemoryCommand) -> None:
    """K919-22: without a terminal nobody can say it."""
    desk.cluster.stop_brokers(3)
    assert "-auto-approve" in desk.run_failing("broker", "unregister", "3")
    assert desk.cluster.unregister_broker(3) is None


@pytest.fixture
def voters(desk: MemoryCommand) -> MemoryCommand:
    """Have three voters, and a controller that only follows, in a quorum that can change."""
    desk.cluster.update_features([FeatureUpdate("kraft.version", 1)])
    desk.cluster.run_controllers((101, 102, 103), (104,))
    return desk


def test_a_controller_that_follows_is_let_vote(voters: MemoryCommand) -> None:
    """S25, KIP-853."""
    told = voters.run("quorum", "add-voter", "104@c4:9093", "-auto-approve")
    assert told == "Added controller 104; the voters are 101, 102, 103, 104.\n"
    assert "votes already" in voters.run_failing(
        "quorum", "add-voter", "104@c4:9093", "-auto-approve"
    )


def test_a_controller_votes_no_more(voters: MemoryCommand) -> None:
    told = voters.run("quorum", "remove-voter", "103", "-auto-approve", "-json")
    assert json.loads(told) == {"voters": [101, 102]}
    told = voters.run_failing("quorum", "remove-voter", "103", "-auto-approve")
    assert "Controller 103 does not vote." in told
    assert "Voters are 101, 102." in told


@pytest.mark.parametrize(
    ("running", "down", "gone", "told"),
    [
        ((101, 102, 103), (103,), "102", "101, 103, of which 2 have to run, and 101 alone"),
        ((101,), (), "101", "none, of which 1 have to run, and none of them runs"),
        ((101, 102, 103, 104, 105), (104, 105), "103", "of which 3 have to run, and 101, 102 of"),
    ],
)
def test_no_voter_goes_without_whom_there_is_no_majority(
    voters: MemoryCommand, running: tuple[int, ...], down: tuple[int, ...], gone: str, told: str
) -> None:
    """Kafka would take it out, and then agree on nothing any more."""
    voters.cluster.run_controllers(running, (), down)
    refused = voters.run_failing("quorum", "remove-voter", gone, "-auto-approve")
    assert "there would be no majority" in refused
    assert told in refused
    assert len(voters.cluster.quorum().voters) == len(running)


def test_a_voter_that_is_down_can_go(voters: MemoryCommand) -> None:
    voters.cluster.run_controllers((101, 102, 103), (), (103,))
    voters.run("quorum", "remove-voter", "103", "-auto-approve")


def test_a_controller_that_does_not_follow_cannot_vote(voters: MemoryCommand) -> None:
    told = voters.run_failing("quorum", "add-voter", "105@c5:9093", "-auto-approve")
    assert "Controller 105 does not follow the metadata" in told
    assert "--no-initial-controllers" in told


def test_a_fixed_quorum_is_told_with_what_it_needs(desk: MemoryCommand) -> None:
    """K117-21: API, feature and level, before anything is sent."""
    told = desk.run_failing("quorum", "add-voter", "104@c4:9093", "-auto-approve")
    assert "AddRaftVoter needs kraft.version at level 1; the cluster is at level 0" in told
    assert "controller.quorum.voters" in told
    desk.cluster.remove_api("remove_voter", "RemoveRaftVoter", (0, 0))
    told = desk.run_failing("quorum", "remove-voter", "101", "-auto-approve")
    assert "kplan needs RemoveRaftVoter in version 0; the cluster offers none" in told


@pytest.mark.parametrize("wrong", ["104", "c4:9093", "x@c4:9093", "104@c4", "104@c4:99999"])
def test_an_address_of_a_voter_that_is_none_is_told(voters: MemoryCommand, wrong: str) -> None:
    assert "is not ID@HOST:PORT" in voters.run_failing(
        "quorum", "add-voter", wrong, "-auto-approve"
    )


def test_the_voters_stay_without_a_yes(voters: MemoryCommand) -> None:
    assert "-auto-approve" in voters.run_failing("quorum", "add-voter", "104@c4:9093")
    assert "-auto-approve" in voters.run_failing("quorum", "remove-voter", "103")
    assert len(voters.cluster.quorum().voters) == 3


def test_a_refusal_of_the_cluster_is_told(voters: MemoryCommand) -> None:
    voters.cluster.refuse("CLUSTER_AUTHORIZATION_FAILED", call="add_voter")
    told = voters.run_failing("quorum", "add-voter", "104@c4:9093", "-auto-approve")
    assert "Controller 104 does not vote: CLUSTER_AUTHORIZATION_FAILED" in told
