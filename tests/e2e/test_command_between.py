"""The installed command with a stand-in between it and a real broker, at a chosen request."""

import signal
import threading
import time
from contextlib import closing

import pytest

from kplan.cluster.request import NewTopic, TopicRef
from tests.e2e.commands import start
from tests.e2e.places import Place, until
from tests.e2e.proxy import (
    API_VERSIONS,
    CREATE_ACLS,
    CREATE_TOPICS,
    DELETE_ACLS,
    DESCRIBE_ACLS,
    DESCRIBE_CONFIGS,
    DESCRIBE_TOPIC_PARTITIONS,
    Cut,
    Proxy,
)

pytestmark = pytest.mark.broker

MANY = """
provider "kafka" {{}}
resource "kafka_topic" "t" {{
  count              = {count}
  name               = "{prefix}.${{count.index}}"
  partitions         = 1
  replication_factor = 1
  config             = {{ "retention.ms" = "86400000" }}
}}
resource "kafka_acl" "a" {{
  count               = {count}
  resource_type       = "Topic"
  resource_name       = kafka_topic.t[count.index].name
  acl_principal       = "User:reader"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}}
"""


def test_a_plan_takes_a_handful_of_requests_whatever_the_number_of_objects(
    watched: Place, proxy: Proxy
) -> None:
    """All topics in pages of 2,000 partitions, all configs in one request, and all ACLs."""
    asked = []
    for count in (2, 300):
        watched.write(MANY.format(count=count, prefix=watched.prefix))
        watched.run("apply", "-auto-approve")
        proxy.reset()
        watched.run("plan", "-detailed-exitcode")
        counts = proxy.counts
        del counts[API_VERSIONS]  # one a connection; whether a second one is opened is timing
        asked.append(counts)
    few, many = asked
    assert few == many
    told = (many[DESCRIBE_TOPIC_PARTITIONS], many[DESCRIBE_CONFIGS], many[DESCRIBE_ACLS])
    assert told == (1, 1, 1)
    assert many.total() <= 8


def test_the_delete_of_a_replaced_acl_goes_before_the_add(watched: Place, proxy: Proxy) -> None:
    """K4-45: the final state is clear, and the plan says who is without access meanwhile."""
    watched.run("apply", "-auto-approve")
    watched.edit('= "Read"', '= "Write"')
    shown = watched.run("plan", "-out=p")
    assert "# kafka_acl: 1 to replace (destroys are sent before adds)" in shown
    assert "access gap between delete and add for User:reader" in shown
    proxy.reset()
    done = watched.ran("apply", "p")
    acls = [key for key in proxy.seen if key in {CREATE_ACLS, DELETE_ACLS}]
    assert acls == [DELETE_ACLS, CREATE_ACLS]
    assert "kafka_acl.reader: replaced (without access for at most" in done.err
    with closing(watched.cluster()) as cluster:
        left = [each for each in cluster.acls() if each.resource_name == f"{watched.prefix}.a"]
    assert [each.operation for each in left] == ["WRITE"]


def test_a_broker_that_goes_down_during_the_plan_is_told_and_nothing_is_planned(
    watched: Place, proxy: Proxy
) -> None:
    watched.run("apply", "-auto-approve")

    def gone() -> None:
        proxy.is_down = True
        raise Cut

    for request in (DESCRIBE_TOPIC_PARTITIONS, DESCRIBE_ACLS, DESCRIBE_CONFIGS):
        proxy.reset()
        proxy.before[request] = gone
        ran = watched.ran("plan", "-detailed-exitcode", code=7)
        assert ran.out == "", request
        assert "Error: Cannot reach the cluster" in ran.err
        assert proxy.servers in ran.err
        assert request in proxy.seen


def test_a_broker_that_stops_answering_during_the_plan_is_given_up(
    watched: Place, proxy: Proxy
) -> None:
    """The timeout of the provider block is 5 seconds."""
    watched.run("apply", "-auto-approve")
    is_over = threading.Event()
    proxy.before[DESCRIBE_CONFIGS] = lambda: _wait(is_over)
    began = time.monotonic()
    err = watched.fails("plan")
    is_over.set()
    assert "Cannot reach the cluster" in err
    assert "no answer came in time" in err
    assert time.monotonic() - began < 30  # 5 s, and the start of python on a busy machine


def test_a_topic_deleted_between_list_and_describe_is_gone_and_no_error(
    watched: Place, proxy: Proxy
) -> None:
    """ns4kafka#707: the whole read fails there."""
    watched.run("apply", "-auto-approve")
    name = f"{watched.prefix}.b"
    with closing(watched.cluster()) as cluster:
        cluster.topics()

        def delete_meanwhile() -> None:
            proxy.before.clear()
            cluster.delete_topics([TopicRef(name)])
            until(lambda: name not in cluster.topics())

        proxy.before[DESCRIBE_CONFIGS] = delete_meanwhile
        shown = watched.run("plan", "-detailed-exitcode", code=2)
    assert "Plan: 1 to add, 0 to change, 0 to destroy." in shown
    assert 'kafka_topic.t["b"] will be created' in shown
    assert "Objects have changed outside of kplan" in shown


def test_ctrl_c_during_the_plan_stops_it_and_gives_the_lock_back(
    watched: Place, proxy: Proxy
) -> None:
    is_asked, is_over = threading.Event(), threading.Event()

    def hold() -> None:
        is_asked.set()
        _wait(is_over)

    proxy.before[DESCRIBE_ACLS] = hold
    with start(watched.folder, "plan", env=watched.env) as process:
        assert is_asked.wait(60)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    is_over.set()
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert not (watched.folder / "state" / "kplan.lock.json").exists()


def test_what_is_in_flight_at_ctrl_c_is_settled_and_the_rest_is_left(
    watched: Place, proxy: Proxy
) -> None:
    """ACLs are sent first; the topics' request is on its way when the signal comes."""
    with start(watched.folder, "apply", "-auto-approve", env=watched.env) as process:
        proxy.before[CREATE_ACLS] = lambda: process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "kafka_acl.reader: created" in err
    assert "not attempted         2" in " ".join(out.split("\n"))
    assert watched.run("state", "list").splitlines() == ["kafka_acl.reader"]
    assert "3 added" not in watched.run("apply", "-auto-approve")
    watched.run("plan", "-detailed-exitcode")


def test_an_answer_that_is_lost_is_looked_up_and_not_guessed(watched: Place, proxy: Proxy) -> None:
    """K4-24: the topics are created, and the word of it never comes."""
    with closing(watched.cluster()) as cluster:

        def created_by_another_way() -> None:
            proxy.before.clear()
            names = [f"{watched.prefix}.{each}" for each in "ab"]
            cluster.create_topics(
                [NewTopic(name, 2, 1, config={"retention.ms": "86400000"}) for name in names]
            )
            raise Cut

        proxy.before[CREATE_TOPICS] = created_by_another_way
        watched.run("apply", "-auto-approve", "-broker-validate=false")
    assert len(watched.run("state", "list").splitlines()) == 3
    watched.run("plan", "-detailed-exitcode")


def _wait(event: threading.Event) -> None:
    event.wait(120)
