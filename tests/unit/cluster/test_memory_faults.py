"""Faults asked of the cluster in memory do what their names say."""

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.memory.faults import Call
from kplan.cluster.request import (
    AclBinding,
    ConfigAlteration,
    NewPartitions,
    NewTopic,
    TopicDescription,
    TopicPreview,
    TopicRef,
)
from kplan.model.errors import Refusal, RefusalOrigin, UnreachableError, UnreadableError

READ = AclBinding("TOPIC", "orders", "LITERAL", "User:a", "*", "READ", "ALLOW")


def holding(*names: str) -> MemoryCluster:
    cluster = MemoryCluster()
    cluster.seed([NewTopic(name) for name in names])
    return cluster


def errors(answers: object) -> dict[object, str]:
    assert isinstance(answers, dict)
    return {
        name: each.error if isinstance(each, Refusal) else "ok" for name, each in answers.items()
    }


def test_a_refused_item_is_not_carried_out_and_its_neighbour_is() -> None:
    cluster = MemoryCluster()
    cluster.refuse("POLICY_VIOLATION", on="orders", message="No such names here.")
    answers = cluster.create_topics([NewTopic("orders"), NewTopic("bills")])
    assert errors(answers) == {"orders": "POLICY_VIOLATION", "bills": "ok"}
    assert answers["orders"] == Refusal("POLICY_VIOLATION", 44, "No such names here.")
    assert list(cluster.topics()) == ["bills"]


def test_a_fault_strikes_as_many_requests_as_asked() -> None:
    cluster = MemoryCluster()
    cluster.refuse("NOT_CONTROLLER", call="create_topics", times=2)
    seen = [errors(cluster.create_topics([NewTopic("a")]))["a"] for _ in range(4)]
    assert seen == ["NOT_CONTROLLER", "NOT_CONTROLLER", "ok", "TOPIC_ALREADY_EXISTS"]


def test_healing_ends_every_fault() -> None:
    cluster = MemoryCluster()
    cluster.refuse("NOT_CONTROLLER")
    cluster.run_before("create_topics", lambda: pytest.fail("was healed"))
    cluster.clear_faults()
    assert cluster.create_topics([NewTopic("a")]) == {"a": None}


def test_a_refused_read_is_told_item_by_item_or_as_unread() -> None:
    cluster = holding("a", "b")
    cluster.refuse("TOPIC_AUTHORIZATION_FAILED", on="a", call="topic_configs")
    assert errors(cluster.topic_configs(["a", "b"])) == {
        "a": "TOPIC_AUTHORIZATION_FAILED",
        "b": "ok",
    }
    cluster.refuse("CLUSTER_AUTHORIZATION_FAILED", call="acls", times=1)
    with pytest.raises(UnreadableError, match="CLUSTER_AUTHORIZATION_FAILED"):
        cluster.acls()
    cluster.refuse("LEADER_NOT_AVAILABLE", call="topics", times=1)
    assert set(errors(cluster.topics()).values()) == {"LEADER_NOT_AVAILABLE"}
    cluster.refuse("UNSUPPORTED_VERSION", call="describe", times=1)
    with pytest.raises(UnreadableError, match="UNSUPPORTED_VERSION"):
        cluster.describe()


@pytest.mark.parametrize("carried_out", [True, False])
def test_a_write_that_timed_out_is_in_doubt_whether_or_not_it_was_carried_out(
    carried_out: bool,
) -> None:
    cluster = MemoryCluster()
    cluster.time_out(call="create_topics", carried_out=carried_out)
    answers = cluster.create_topics([NewTopic("a"), NewTopic("b")])
    assert errors(answers) == {"a": "CLIENT_TIMED_OUT", "b": "CLIENT_TIMED_OUT"}
    assert list(cluster.topics()) == (["a", "b"] if carried_out else [])


def test_a_time_out_of_one_item_loses_the_answer_of_its_whole_request() -> None:
    cluster = MemoryCluster()
    cluster.time_out(on="a", error="REQUEST_TIMED_OUT", carried_out=False)
    assert errors(cluster.create_topics([NewTopic("b")])) == {"b": "ok"}
    answers = cluster.create_topics([NewTopic("a"), NewTopic("c")])
    assert errors(answers) == {"a": "REQUEST_TIMED_OUT", "c": "REQUEST_TIMED_OUT"}


def test_a_poisoned_item_fails_every_request_that_holds_it_whole() -> None:
    """P9."""
    cluster = MemoryCluster()
    cluster.poison(READ)
    other = replace(READ, principal="User:b")
    for _ in range(2):
        answers = cluster.create_acls([other, READ])
        assert set(errors(answers).values()) == {"UNKNOWN_SERVER_ERROR"}
        assert {each.origin for each in answers.values() if each} == {RefusalOrigin.BROKER}
    assert cluster.acls() == frozenset()
    assert errors(cluster.create_acls([other])) == {other: "ok"}


def test_a_read_that_timed_out_raises() -> None:
    cluster = holding("a")
    cluster.time_out(call="topics")
    with pytest.raises(UnreachableError):
        cluster.topics()
    assert list(cluster.topics()) == ["a"]


def test_an_item_left_out_is_carried_out_and_has_no_answer() -> None:
    """Law 2: silence is not success."""
    cluster = MemoryCluster()
    cluster.omit_items(on="a")
    assert cluster.create_topics([NewTopic("a"), NewTopic("b")]) == {"b": None}
    assert list(cluster.topics()) == ["a", "b"]
    cluster.omit_items(call="topic_configs")
    assert cluster.topic_configs(["a"]) == {}


def test_a_throttled_request_carries_out_the_first_items_only() -> None:
    """KIP-599; trap 8: asking only consumes the quota too."""
    cluster = MemoryCluster()
    cluster.throttle(1500)
    assert errors(cluster.create_topics([NewTopic("a")])) == {"a": "THROTTLING_QUOTA_EXCEEDED"}
    cluster.throttle(1500, allowed=1, times=2)
    answers = cluster.create_topics([NewTopic("a"), NewTopic("b")])
    throttled = answers["b"]
    assert answers["a"] is None
    assert throttled is not None
    assert (throttled.error, throttled.throttle_ms) == ("THROTTLING_QUOTA_EXCEEDED", 1500)
    assert errors(cluster.alter_topic_configs([ConfigAlteration("a")])) == {"a": "ok"}
    preview = cluster.preview_topics([NewTopic("b"), NewTopic("c")])
    assert isinstance(preview["b"], TopicPreview)
    assert isinstance(preview["c"], Refusal)
    assert errors(cluster.create_topics([NewTopic("b"), NewTopic("c")])) == {"b": "ok", "c": "ok"}


def test_a_hidden_topic_is_absent_from_lists_and_refused_by_name() -> None:
    """K4-34, K117-15."""
    cluster = holding("secret", "open")
    cluster.hide_topic("secret")
    refused = {"secret": "TOPIC_AUTHORIZATION_FAILED"}
    assert list(cluster.topics()) == ["open"]
    assert errors(cluster.topics(["secret"])) == refused
    assert errors(cluster.topic_configs(["secret"])) == refused
    assert errors(cluster.create_topics([NewTopic("secret")])) == refused
    assert errors(cluster.preview_topics([NewTopic("secret")])) == refused
    assert errors(cluster.delete_topics([TopicRef("secret")])) == refused
    assert errors(cluster.create_partitions([NewPartitions("secret", 2)])) == refused
    assert errors(cluster.alter_topic_configs([ConfigAlteration("secret")])) == refused
    assert list(cluster.connect_as().topics()) == ["open", "secret"]


def test_a_denied_right_stops_what_needs_it_and_nothing_else() -> None:
    cluster = holding("a", "b")
    cluster.deny_operation("DELETE", "TOPIC", "a")
    cluster.deny_operation("DESCRIBE_CONFIGS", "TOPIC")
    assert errors(cluster.delete_topics([TopicRef("a"), TopicRef("b")])) == {
        "a": "TOPIC_AUTHORIZATION_FAILED",
        "b": "ok",
    }
    assert cluster.preview_topics([NewTopic("c")]) == {"c": TopicPreview()}, "K4-27"


def test_a_write_shows_on_a_lagging_broker_after_so_many_reads() -> None:
    """P10, trap 2: acknowledged is not visible."""
    cluster = MemoryCluster()
    cluster.delay_reads(2, brokers=[2])
    cluster.create_topics([NewTopic("a")])
    assert isinstance(cluster.topics(["a"], broker=1)["a"], TopicDescription)
    seen = [errors(cluster.topics(["a"], broker=2))["a"] for _ in range(3)]
    assert seen == ["UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_OR_PARTITION", "ok"]
    cluster.create_acls([READ])
    assert [len(cluster.acls(broker=2)) for _ in range(3)] == [0, 0, 1]
    cluster.delay_reads(0)
    cluster.delete_topics([TopicRef("a")])
    assert cluster.topics(broker=2) == {}


def test_what_others_write_lags_too_and_the_lag_is_ours_alone() -> None:
    cluster = MemoryCluster(1)
    other = cluster.connect_as()
    cluster.delay_reads(1)
    other.create_topics([NewTopic("a")])
    assert list(other.topics()) == ["a"]
    assert [len(cluster.topics()) for _ in range(2)] == [0, 1]
    cluster.delay_reads(0)
    other.delete_topics([TopicRef("a")])
    assert cluster.topics() == {}


def test_a_lagging_broker_shows_several_writes_in_their_order() -> None:
    cluster = MemoryCluster(1)
    cluster.delay_reads(1)
    cluster.create_topics([NewTopic("a")])
    cluster.create_topics([NewTopic("b")])
    assert list(cluster.topics()) == []
    cluster.delete_topics([TopicRef("a")])
    assert list(cluster.topics()) == ["a", "b"]
    assert list(cluster.topics()) == ["b"]


def test_a_cluster_that_is_down_raises_on_reads_and_leaves_writes_in_doubt() -> None:
    cluster = holding("a")
    cluster.stop_brokers()
    for read in (cluster.describe, cluster.topics, cluster.acls):
        with pytest.raises(UnreachableError):
            read()
    assert errors(cluster.delete_topics([TopicRef("a")])) == {"a": "CLIENT_DISCONNECTED"}
    cluster.start_brokers()
    assert list(cluster.topics()) == ["a"]


def test_one_broker_down_leaves_its_partitions_leaderless_and_the_rest_at_work() -> None:
    """K4-11, K4-12, K4-30."""
    cluster = holding("other")
    cluster.seed([NewTopic("a", assignment=((1,), (2,), (1,)))])
    cluster.stop_brokers(1)
    assert [broker.id for broker in cluster.describe().brokers] == [2, 3]
    found = cluster.topics()["a"]
    assert isinstance(found, TopicDescription)
    assert (found.assignment, found.leaderless) == (((1,), (2,), (1,)), 2)
    assert cluster.create_topics([NewTopic("b", 1, 3)]) == {"b": None}
    only_fenced = NewTopic("c", assignment=((1,),))
    assert errors(cluster.create_topics([only_fenced])) == {"c": "INVALID_REPLICA_ASSIGNMENT"}
    with pytest.raises(UnreachableError, match="Broker 1"):
        cluster.topics(broker=1)
    with pytest.raises(UnreachableError, match="Broker 9"):
        cluster.topics(broker=9)


def test_the_cluster_can_change_between_two_calls() -> None:
    """A topic deleted between list and describe."""
    cluster = holding("a", "b")
    other = cluster.connect_as()
    cluster.run_before("topic_configs", lambda: other.delete_topics([TopicRef("a")]))
    cluster.run_before("acls", lambda: pytest.fail("ACLs are not asked for"))
    names = list(cluster.topics())
    assert errors(cluster.topic_configs(names)) == {"a": "UNKNOWN_TOPIC_OR_PARTITION", "b": "ok"}
    assert errors(cluster.topic_configs(["b"])) == {"b": "ok"}
    assert other.count("delete_topics") == 1, "once only"
    assert cluster.count("delete_topics") == 0, "another administrator has another log"


def test_every_request_is_logged_in_order_with_its_items() -> None:
    cluster = MemoryCluster()
    cluster.create_topics([NewTopic("a"), NewTopic("b")])
    cluster.create_partitions([NewPartitions("a", 2)], validate_only=True)
    cluster.topics(["b", "a"], broker=2)
    cluster.preview_topics([NewTopic("c")])
    cluster.create_acls([READ])
    cluster.acls()
    assert cluster.calls == [
        Call("create_topics", ("a", "b")),
        Call("create_partitions", ("a",), validate_only=True),
        Call("topics", ("a", "b"), broker=2),
        Call("preview_topics", ("c",), validate_only=True),
        Call("create_acls", (READ,)),
        Call("acls"),
    ]
    assert [call.count for call in cluster.calls] == [2, 1, 2, 1, 1, 0]
    assert cluster.count("acls") == 1


def test_the_log_and_the_cluster_keep_up_with_many_threads() -> None:
    cluster = MemoryCluster()

    def work(number: int) -> Callable[[], None]:
        def run() -> None:
            for each in range(20):
                cluster.create_topics([NewTopic(f"t{number}-{each}")])
                cluster.topics()

        return run

    threads = [threading.Thread(target=work(number)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    topics = cluster.topics()
    assert len(topics) == 120
    ids = {each.topic_id for each in topics.values() if isinstance(each, TopicDescription)}
    assert len(ids) == 120
    assert len(cluster.calls) == 241


def test_who_we_are_and_that_we_left_is_kept() -> None:
    cluster = MemoryCluster(principal="User:ci")
    assert cluster.describe().principal == "User:ci"
    assert [broker.id for broker in cluster.describe().brokers] == [1, 2, 3]
    cluster.close()
    assert cluster.is_closed
