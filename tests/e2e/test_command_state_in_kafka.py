"""The installed command with its state in a topic: a pipeline that leaves nothing on its disk."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kplan.cluster.request import TopicRef
from kplan.model.errors import Refusal
from tests.e2e.commands import start
from tests.e2e.places import Place, until

pytestmark = pytest.mark.broker

APPLY = ("apply", "-auto-approve")
BLOCK = """
state {{
  backend = "kafka"
  topic   = "__kplan_e2e_{prefix}"
  key     = "shop"
}}
"""


@pytest.fixture
def remote(place: Place) -> Iterator[Place]:
    """Work with a state block; the topic is removed at the end, and what is owned before that."""
    text = (place.folder / "main.tf").read_text()
    place.write(text + BLOCK.format(prefix=place.prefix))
    yield place
    place.write(text + BLOCK.format(prefix=place.prefix))
    if place.run("state", "list"):
        place.run("destroy", "-auto-approve")
    with closing(place.cluster()) as cluster:
        cluster.delete_topics([TopicRef(topic_of(place))])


def topic_of(place: Place) -> str:
    return f"__kplan_e2e_{place.prefix}"


def test_the_main_job_without_a_disk(remote: Place) -> None:
    where = f'the topic {topic_of(remote)} (key "shop")'
    assert f"State: {where}" in remote.run("init")
    assert "3 to add" in remote.run("plan", "-detailed-exitcode", code=2)
    with closing(remote.cluster()) as cluster:
        assert topic_of(remote) not in cluster.topics()  # a plan changes nothing
    remote.run("apply", "-auto-approve")
    assert "No changes." in remote.run("plan", "-detailed-exitcode")
    assert "No changes." in remote.run("plan", "-detailed-exitcode", "-lock=false")
    assert remote.run("state", "list").splitlines() == [
        "kafka_acl.reader",
        'kafka_topic.t["a"]',
        'kafka_topic.t["b"]',
    ]
    assert json.loads(remote.run("drift", "-json"))["unmanaged"].get("kafka_topic", 0) >= 0
    assert remote.run("lock", "status") == f"The state in {where} is not locked.\n"
    assert json.loads(remote.run("output", "-json"))["count"]["value"] == 2
    remote.run("state", "rm", "kafka_acl.reader")
    assert "would own 3 objects" in remote.run("state", "restore", "-dry-run", "1")
    remote.run("state", "restore", "1")
    assert [line.split()[0] for line in remote.run("state", "history").splitlines()[1:]] == [
        "3", "2", "1",
    ]  # fmt: skip
    assert [each.name for each in remote.folder.iterdir()] == ["main.tf"]


def test_the_topic_of_the_state_is_never_planned_counted_or_deleted(remote: Place) -> None:
    remote.run("apply", "-auto-approve")
    before = json.loads(remote.run("drift", "-json"))
    remote.edit("output", f'resource "kafka_topic" "own" {{ name = "{topic_of(remote)}" }}\noutput')
    assert "belongs to kplan itself" in remote.fails("plan")
    remote.edit(f'resource "kafka_topic" "own" {{ name = "{topic_of(remote)}" }}\n', "")
    with closing(remote.cluster()) as cluster:
        listed = cluster.topics()
    assert topic_of(remote) in listed
    foreign = [each for each in listed if not each.startswith("__")]  # those of Kafka, neither
    assert before["unmanaged"]["kafka_topic"] == len(foreign) - 2


def test_a_state_is_moved_to_the_topic_and_back(place: Place) -> None:
    text = (place.folder / "main.tf").read_text()
    file = place.folder / "state" / "kplan.json"
    place.run("apply", "-auto-approve")
    document = file.read_bytes()
    refused = place.fails("state", "migrate", "-to", "kafka")
    assert "no state block with another backend than the file" in refused
    place.write(text + BLOCK.format(prefix=place.prefix))
    try:
        assert "still in state/kplan.json" in place.fails("plan")
        told = place.run("state", "migrate", "-to", "kafka")
        assert f'to the topic {topic_of(place)} (key "shop").' in told
        assert place.run("state", "pull").encode() == document
        assert "No changes." in place.run("plan", "-detailed-exitcode")
        assert "moved to the topic" in place.fails("state", "list", "-state=state/kplan.json")
        place.edit("default = 2", "default = 3")
        place.run("apply", "-auto-approve")
        later = place.run("state", "pull")
        moved = place.ran("state", "migrate", "-to", "file")
        assert "remove the state block" in moved.err
        assert file.read_text() == later
        assert "moved to state/kplan.json" in place.fails("plan")
        place.write(text.replace("default = 2", "default = 3"))
        assert "No changes." in place.run("plan", "-detailed-exitcode")
    finally:
        with closing(place.cluster()) as cluster:
            cluster.delete_topics([TopicRef(topic_of(place))])


def test_a_killed_apply_is_resumed_by_another_run(remote: Place) -> None:
    """Its lock is taken over once it has been silent, as the process is gone."""
    names = ", ".join(f'"{number}"' for number in range(1200))
    remote.edit('toset(["a", "b"])', f"toset([{names}])")
    remote.edit('kafka_topic.t["a"]', 'kafka_topic.t["0"]')
    with start(remote.folder, *APPLY, env=remote.env, stdout=subprocess.DEVNULL) as process:
        with closing(remote.cluster()) as cluster:
            first = (
                f"{remote.prefix}.0"  # asked by name: a list of all comes after the last of them
            )
            until(lambda: not isinstance(cluster.topics([first])[first], Refusal))
        os.kill(process.pid, signal.SIGKILL)
    refused = remote.fails("apply", "-resume", "-detailed-exitcode", code=6)
    assert "Its process has ended" in refused
    status = json.loads(remote.run("lock", "status", "-json"))
    assert status["locked"]
    begun = time.monotonic()
    remote.run("apply", "-resume", "-lock-timeout=90s")
    assert time.monotonic() - begun < 90
    assert "No changes." in remote.run("plan", "-detailed-exitcode")
    assert len(remote.run("state", "list").splitlines()) == 1201


def test_two_applies_at_once_are_told_who_is_at_work(remote: Place) -> None:
    remote.run("apply", "-auto-approve")
    remote.edit("default = 2", "default = 4")
    first = start(remote.folder, *APPLY, env=remote.env)
    second = start(remote.folder, *APPLY, env=remote.env)
    said = [(each.communicate(timeout=120), each.returncode) for each in (first, second)]
    codes = sorted(code for _, code in said)
    assert codes in ([0, 0], [0, 1]), said
    for (_, err), code in said:
        assert code == 0 or "The state is locked" in err, said
    assert "No changes." in remote.run("plan", "-detailed-exitcode")


def test_a_broken_block_never_means_the_file(place: Place) -> None:
    text = (place.folder / "main.tf").read_text()
    place.write(text + 'state {\n  backend = "kafak"\n}\n')
    for verb in (("plan",), ("state", "list"), ("lock", "status"), ("validate",)):
        assert 'Did you mean "kafka"?' in place.fails(*verb)
    place.write(text)
    assert not (place.folder / "state").exists()
    assert Path(place.folder / "main.tf").exists()
