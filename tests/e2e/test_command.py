"""The installed command on a real Apache Kafka: exit code, stdout, stderr."""

import json
import os
import pty
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest

from kplan.cluster.request import ConfigAlteration, NewTopic
from tests.e2e.commands import KPLAN, environ, kplan, start
from tests.e2e.places import Place, config_of, until

pytestmark = pytest.mark.broker


def test_the_main_job_from_an_empty_cluster_to_an_empty_cluster(place: Place) -> None:
    """Plan 2, apply, plan 0, drift 0, drift 2 after a change by hand, apply, destroy."""
    assert "Plan: 3 to add, 0 to change, 0 to destroy." in place.run(
        "plan", "-detailed-exitcode", code=2
    )
    applied = place.run("apply", "-auto-approve")
    assert "Apply complete! Resources: 3 added, 0 changed, 0 destroyed." in applied
    assert "No changes. Your infrastructure matches the configuration." in place.run(
        "plan", "-detailed-exitcode"
    )
    place.run("drift")
    with closing(place.cluster()) as cluster:
        topic = f"{place.prefix}.a"
        cluster.alter_topic_configs([ConfigAlteration(topic, {"retention.ms": "1000"})])
        until(lambda: config_of(cluster, topic, "retention.ms") == "1000")
    assert "retention.ms" in place.run("drift", code=2)
    assert "0 added, 1 changed, 0 destroyed" in place.run("apply", "-auto-approve")
    assert "Destroy complete! Resources: 3 destroyed." in place.run("destroy", "-auto-approve")
    assert place.run("state", "list") == ""


@pytest.mark.parametrize(
    "steps",
    [[("apply", "-auto-approve")], [("plan", "-out=p.kplan"), ("apply", "p.kplan")]],
    ids=["planned now", "saved"],
)
def test_a_change_by_hand_that_is_declared_then_is_drift_until_the_next_apply(
    steps: list[tuple[str, ...]], place: Place
) -> None:
    """In an incident: without other changes the apply updates the state alone."""
    place.run("apply", "-auto-approve")
    with closing(place.cluster()) as cluster:
        for topic in (f"{place.prefix}.a", f"{place.prefix}.b"):
            cluster.alter_topic_configs([ConfigAlteration(topic, {"retention.ms": "1000"})])
        until(lambda: config_of(cluster, topic, "retention.ms") == "1000")
    place.run("drift", code=2)
    place.edit("86400000", "1000")
    planned = " ".join(place.run("plan", "-detailed-exitcode").split())
    assert "No changes. Your infrastructure matches the configuration." in planned
    assert "already has what was changed outside of kplan in 2 objects" in planned
    for step in steps:
        place.run(*step)
    place.run("drift")
    assert "outside of kplan" not in place.run("plan")


def test_a_saved_plan_is_carried_out_without_asking_and_only_once(place: Place) -> None:
    shown = place.run("plan", "-out=p.kplan")
    assert place.run("show", "p.kplan") == shown
    document = json.loads(place.run("show", "-json", "p.kplan"))
    assert document["terraform_version"]
    assert {each["address"] for each in document["resource_changes"]} == {
        "kafka_acl.reader",
        'kafka_topic.t["a"]',
        'kafka_topic.t["b"]',
    }
    place.run("apply", "p.kplan")
    assert "The plan is stale" in place.fails("apply", "p.kplan", "-detailed-exitcode", code=6)


def test_json_is_one_message_a_line(place: Place) -> None:
    planned = [json.loads(line) for line in place.run("plan", "-json").splitlines()]
    assert planned[0]["type"] == "version"
    assert sum(each["type"] == "planned_change" for each in planned) == 3
    applied = [
        json.loads(line) for line in place.run("apply", "-json", "-auto-approve").splitlines()
    ]
    assert sum(each["type"] == "apply_complete" for each in applied) == 3
    assert applied[-1]["type"] == "change_summary"
    assert json.loads(place.run("drift", "-json"))


def test_outputs_and_state_can_be_looked_at(place: Place) -> None:
    place.run("apply", "-auto-approve")
    names = [f"{place.prefix}.a", f"{place.prefix}.b"]
    assert json.loads(place.run("output", "-json", "names")) == names
    assert place.run("output", "-raw", "count") == "2"
    assert json.loads(place.run("output", "-json"))["names"]["value"] == names
    assert place.run("state", "list", "kafka_topic.t").splitlines() == [
        'kafka_topic.t["a"]',
        'kafka_topic.t["b"]',
    ]
    assert names[0] in place.run("state", "show", 'kafka_topic.t["a"]')
    shown = json.loads(place.run("show", "-json"))["values"]
    assert len(shown["root_module"]["resources"]) == 3
    assert names[1] in place.run("show")


def test_a_resource_moves_is_forgotten_and_is_taken_over_again(place: Place) -> None:
    place.run("apply", "-auto-approve")
    place.run("state", "rm", "-dry-run", "kafka_topic.t")
    assert "kafka_topic.t" in place.run("state", "list")
    place.run("state", "rm", 'kafka_topic.t["a"]')
    place.run("import", 'kafka_topic.t["a"]', f"{place.prefix}.a")
    place.run("plan", "-detailed-exitcode")
    place.run("state", "mv", "kafka_acl.reader", "kafka_acl.other")
    place.edit('"reader"', '"other"')
    place.run("plan", "-detailed-exitcode")


def test_target_and_variables_narrow_and_change_the_plan(place: Place) -> None:
    shown = place.run("plan", '-target=kafka_topic.t["a"]', "-var", "partitions=5")
    assert "Plan: 1 to add" in shown
    assert "partitions         = 5" in shown
    (place.folder / "four.tfvars").write_text("partitions = 4\n")
    assert "partitions         = 4" in place.run("plan", "-var-file", "four.tfvars")
    assert "partitions         = 5" in place.run(
        "plan", "-var-file=four.tfvars", "-var=partitions=5"
    )


def test_what_a_broker_refuses_is_told_in_the_plan(place: Place) -> None:
    place.edit("replication_factor = 1", "replication_factor = 3")
    err = place.fails("plan", "-detailed-exitcode")
    assert "INVALID_REPLICATION_FACTOR" in err
    assert "main.tf line" in err


def test_one_refused_item_leaves_its_neighbours_alone_and_is_told(place: Place) -> None:
    place.edit("replication_factor = 1", 'replication_factor = each.key == "a" ? 1 : 3')
    args = ("apply", "-auto-approve", "-broker-validate=false", "-detailed-exitcode")
    assert "INVALID_REPLICATION_FACTOR" in place.run(*args, code=4)
    assert 'kafka_topic.t["a"]' in place.run("state", "list")
    assert 'kafka_topic.t["b"]' not in place.run("state", "list")


def test_an_apply_asks_on_a_terminal_and_only_yes_counts(place: Place) -> None:
    assert _typed_at_a_terminal(place, "y\n") == 1
    assert place.run("state", "list") == ""
    assert _typed_at_a_terminal(place, "yes\n") == 0
    assert place.run("state", "list") != ""


def _typed_at_a_terminal(place: Place, answer: str) -> int:
    asking = _start_at_a_terminal(place.folder, place.env, "apply")
    code, _ = _answer(asking, answer)
    return code


def _start_at_a_terminal(
    folder: Path, env: Mapping[str, str], *args: str
) -> "tuple[subprocess.Popen[bytes], int]":
    """Start kplan, wait until it asks for a value, and give the end of its terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*KPLAN, *args],
        cwd=folder,
        env=environ({"TERM": "xterm", **env}),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    written = b""
    while b"Enter a value:" not in written:
        written += os.read(ours, 4096)
    return process, ours


def _answer(asking: "tuple[subprocess.Popen[bytes], int]", answer: str) -> tuple[int, str]:
    """Type an answer; returns the exit code and what was written after it."""
    process, ours = asking
    os.write(ours, answer.encode())
    written = b""
    with suppress(OSError):  # the other end is closed
        while more := os.read(ours, 4096):
            written += more
    code = process.wait()
    os.close(ours)
    return code, written.decode()


def test_a_second_apply_is_told_who_holds_the_lock_or_waits(place: Place) -> None:
    lock = place.folder / "state" / "kplan.lock.json"
    first = start(place.folder, "apply", "-auto-approve", env=place.env)
    with first:
        while not lock.exists():
            assert first.poll() is None
            time.sleep(0.01)
        first.send_signal(signal.SIGSTOP)
        second = kplan(place.folder, "plan", "-detailed-exitcode", env=place.env)
        third = start(place.folder, "plan", "-lock-timeout=2m", env=place.env)
        time.sleep(0.5)
        first.send_signal(signal.SIGCONT)
        first.communicate()
        with third:
            out, err = third.communicate()
    assert second.code == 6
    assert f"pid {first.pid}" in second.err
    assert (first.returncode, third.returncode) == (0, 0), (out, err)


def test_a_signal_during_apply_settles_what_is_in_flight_and_says_what_is_left(
    place: Place,
) -> None:
    many = "\n".join(f"    t{number} = 1" for number in range(400))
    place.write(
        'provider "kafka" {}\nresource "kafka_topic" "t" {\n  for_each = {\n'
        f"{many}\n  }}\n"
        f'  name = "{place.prefix}.${{each.key}}"\n  partitions = 6\n  replication_factor = 1\n}}\n'
    )
    said = place.folder / "said.txt"
    with (
        said.open("w", encoding="utf-8") as file,
        start(place.folder, "apply", "-auto-approve", env=place.env, stdout=file) as process,
    ):
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("Sending"):
                process.send_signal(signal.SIGINT)
                break
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "send the signal again to stop at once" in err
    owned = place.run("state", "list").splitlines()
    with closing(place.cluster()) as cluster:
        live = [name for name in cluster.topics() if name.startswith(f"{place.prefix}.")]
    assert len(owned) == len(live)
    assert "outcome " in said.read_text(encoding="utf-8")
    place.run("apply", "-auto-approve")
    place.run("plan", "-detailed-exitcode")


def test_a_topic_that_is_not_owned_is_never_deleted(place: Place) -> None:
    name = f"{place.prefix}.foreign"
    with closing(place.cluster()) as cluster:
        cluster.create_topics([NewTopic(name, 1, 1)])
        place.run("apply", "-auto-approve")
        place.run("destroy", "-auto-approve")
        assert name in cluster.topics()


def test_the_demo_shows_every_step_and_succeeds(tmp_path: Path) -> None:
    """Whatever the user has set for other clusters, the demo stays on its own."""
    env = {
        "KPLAN_BOOTSTRAP_SERVERS": "127.0.0.1:1",
        "KPLAN_STATE": str(tmp_path / "mine.json"),
        "TF_VAR_environment": "prod",
    }
    ran = kplan(tmp_path, "demo", env=env)
    assert ran.code == 0, ran
    assert "Apply complete! Resources: 7 added, 0 changed, 0 destroyed." in ran.out
    assert "No changes. Your infrastructure matches the configuration." in ran.out
    assert '"604800000" -> "3600000"' in ran.out
    assert "Every step had the expected result." in ran.err
    assert list(tmp_path.iterdir()) == []


def test_two_destroys_at_once_both_find_everything_gone(place: Place, tmp_path: Path) -> None:
    """What the other one deleted meanwhile is deleted, not created again: ids are compared."""
    count = 300
    place.write(
        f"""
provider "kafka" {{}}
resource "kafka_topic" "t" {{
  count              = {count}
  name               = "{place.prefix}.${{count.index}}"
  partitions         = 1
  replication_factor = 1
}}
"""
    )
    place.run("apply", "-auto-approve")
    other = tmp_path / "other"
    shutil.copytree(place.folder, other, ignore=shutil.ignore_patterns("other"))
    env = {"NO_COLOR": "1", **place.env}
    asking = [_start_at_a_terminal(each, env, "destroy") for each in (place.folder, other)]
    with ThreadPoolExecutor(len(asking)) as pool:  # both have planned all
        runs = list(pool.map(_answer, asking, ["yes\n"] * len(asking)))
    for code, out in runs:
        assert code == 0, out
        assert f"Destroy complete! Resources: {count} destroyed." in out
        assert "created again" not in out
