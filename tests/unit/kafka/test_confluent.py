"""The confluent driver without a broker: what it sends, and what it makes of answers."""

import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from kplan.cluster.request import ConfigAlteration, NewPartitions, NewTopic
from kplan.kafka import confluent
from kplan.kafka.confluent import ConfluentCluster
from kplan.kafka.settings.connection import Seconds, Timeouts
from kplan.kafka.wire import messages
from kplan.kafka.wire.messages import Message
from kplan.model.errors import ClusterError, Refusal, RefusalOrigin
from tests.unit.kafka.wire.fake_broker import fake_broker

Answer = Callable[[str], object]


class Admin:
    """Stands in for AdminClient: notes what it is sent, answers by name."""

    def __init__(self, *_: object, **__: object) -> None:
        self.sent: list[tuple[str, list[str], dict[str, object]]] = []
        self.native: list[Any] = []
        self.answer: Answer = lambda _: None
        self.too_much: frozenset[str] = frozenset()

    def create_topics(self, items: Sequence[Any], **given: object) -> object:
        self.native += items
        return self._send("create_topics", {each.topic: each.topic for each in items}, given)

    def create_partitions(self, items: Sequence[Any], **given: object) -> object:
        self.native += items
        return self._send("create_partitions", {each.topic: each.topic for each in items}, given)

    def incremental_alter_configs(self, items: Sequence[Any], **given: object) -> object:
        return self._send("incremental_alter_configs", {each: each.name for each in items}, given)

    def poll(self, _: float) -> int:
        return 0

    def _send(self, method: str, names: dict[Any, str], given: dict[str, object]) -> object:
        self.sent.append((method, list(names.values()), given))
        if wrong := self.too_much & set(names.values()):
            raise ValueError(f"Invalid {min(wrong)}")
        return {key: self._future(name) for key, name in names.items()}

    def _future(self, name: str) -> "Future[object]":
        future: Future[object] = Future()
        try:
            future.set_result(self.answer(name))
        except (KafkaException, RuntimeError) as failure:
            future.set_exception(failure)
        return future


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> Admin:
    made = Admin()
    monkeypatch.setattr(confluent, "AdminClient", lambda *_, **__: made)
    return made


def cluster(request_s: float = 30) -> ConfluentCluster:
    return ConfluentCluster({}, Timeouts(request_s=Seconds(request_s)))


def failing(code: int, text: str | None = None) -> Answer:
    def answer(_: str) -> object:
        raise KafkaException(KafkaError(code, text) if text else KafkaError(code))

    return answer


def only(verdicts: object) -> Refusal:
    assert isinstance(verdicts, dict)
    (found,) = verdicts.values()
    assert isinstance(found, Refusal)
    return found


def test_all_items_go_in_one_request_with_positive_timeouts(admin: Admin) -> None:
    answers = cluster().create_topics([NewTopic("a"), NewTopic("b")])
    assert answers == {"a": None, "b": None}
    limits = {"operation_timeout": 30, "request_timeout": 40}
    assert admin.sent == [("create_topics", ["a", "b"], limits)]


@pytest.mark.parametrize(
    ("given", "operation_s", "request_s"),
    [(0.000_1, 0.001, 10.001), (3600, 3590, 3600), (5, 5, 15)],
)
def test_no_timeout_reaches_zero_and_none_exceeds_what_librdkafka_takes(
    admin: Admin, given: float, operation_s: float, request_s: float
) -> None:
    """P2, law 9: a timeout of 0 is a success that never happened."""
    cluster(given).create_partitions([NewPartitions("a", 2)])
    (sent,) = admin.sent
    assert sent[2]["operation_timeout"] == pytest.approx(operation_s)
    assert sent[2]["request_timeout"] == pytest.approx(request_s)


def test_an_assignment_is_sent_partition_by_partition(admin: Admin) -> None:
    cluster().create_topics([NewTopic("a", assignment=((1, 2), (2, 3)))])
    cluster().create_partitions([NewPartitions("a", 3, ((3, 1),))])
    created, grown = admin.native
    assert (created.num_partitions, created.replica_assignment) == (2, [[1, 2], [2, 3]])
    assert (grown.new_total_count, grown.replica_assignment) == (3, [[3, 1]])


def test_validate_only_is_passed_on(admin: Admin) -> None:
    cluster().create_partitions([NewPartitions("a", 2)], validate_only=True)
    cluster().alter_topic_configs([ConfigAlteration("a", {"k": "v"})], validate_only=True)
    assert [given["validate_only"] for _, _, given in admin.sent] == [True, True]


def test_nothing_is_sent_for_no_items_or_only_bad_ones(admin: Admin) -> None:
    """confluent-kafka refuses an empty list."""
    assert cluster().create_topics([]) == {}
    assert only(cluster().create_topics([NewTopic("a\0")])).error == "CLIENT_INVALID"
    twice = [ConfigAlteration("a", {"k": "v"}), ConfigAlteration("a", {"l": "v"})]
    assert only(cluster().alter_topic_configs(twice)).error == "INVALID_REQUEST"
    assert admin.sent == []


def test_a_bad_item_is_answered_and_its_neighbours_are_sent(admin: Admin) -> None:
    answers = cluster().create_topics([NewTopic("a"), NewTopic("b", partitions=0), NewTopic("c")])
    assert {name: each.error if each else None for name, each in answers.items()} == {
        "a": None,
        "b": "INVALID_PARTITIONS",
        "c": None,
    }
    assert [names for _, names, _ in admin.sent] == [["a", "c"]]


def test_an_item_that_the_client_refuses_unforeseen_is_found_by_halving(admin: Admin) -> None:
    admin.too_much = frozenset(("c",))
    answers = cluster().create_topics([NewTopic(name) for name in "abcde"])
    assert [name for name, each in answers.items() if each is None] == ["a", "b", "d", "e"]
    refused = answers["c"]
    assert refused is not None
    assert (refused.error, refused.message) == ("CLIENT_INVALID", "Invalid c")


@pytest.mark.parametrize(
    ("code", "wanted", "origin"),
    [
        (36, "TOPIC_ALREADY_EXISTS", RefusalOrigin.BROKER),
        (17, "INVALID_TOPIC_EXCEPTION", RefusalOrigin.BROKER),
        (3, "UNKNOWN_TOPIC_OR_PARTITION", RefusalOrigin.BROKER),
        (-1, "UNKNOWN_SERVER_ERROR", RefusalOrigin.BROKER),
        (7, "REQUEST_TIMED_OUT", RefusalOrigin.BROKER),
        (102, "BROKER_ID_NOT_REGISTERED", RefusalOrigin.BROKER),
        (127, "VOTER_NOT_FOUND", RefusalOrigin.BROKER),
        (-185, "CLIENT_TIMED_OUT", RefusalOrigin.CLIENT),
        (-166, "CLIENT_TIMED_OUT", RefusalOrigin.CLIENT),
        (-195, "CLIENT_DISCONNECTED", RefusalOrigin.CLIENT),
        (-187, "CLIENT_DISCONNECTED", RefusalOrigin.CLIENT),
        (-193, "CLIENT_DISCONNECTED", RefusalOrigin.CLIENT),
        (-199, "CLIENT_DISCONNECTED", RefusalOrigin.CLIENT),
        (-186, "CLIENT_INVALID", RefusalOrigin.CLIENT),
        (-173, "CLIENT_INVALID", RefusalOrigin.CLIENT),
    ],
)
def test_an_error_is_told_by_kafkas_name_and_doubt_is_doubt(
    admin: Admin, code: int, wanted: str, origin: RefusalOrigin
) -> None:
    """What librdkafka could not read may have been carried out: it is never a refusal."""
    admin.answer = failing(code, "so it is")
    found = only(cluster().create_topics([NewTopic("a")]))
    assert (found.error, found.origin, found.message) == (wanted, origin, "so it is")


@pytest.mark.parametrize("state", ["waiting for controller", "waiting for broker"])
def test_what_librdkafka_did_not_send_is_not_in_doubt(admin: Admin, state: str) -> None:
    admin.answer = failing(-185, f"Timed out {state}")
    found = only(cluster().create_topics([NewTopic("a")]))
    assert (found.error, found.message) == (
        "CLIENT_NOT_SENT",
        f"Nothing was sent: Timed out {state}.",
    )
    admin.answer = failing(-185, "Timed out waiting for response from broker")
    assert only(cluster().create_topics([NewTopic("a")])).error == "CLIENT_TIMED_OUT"


def test_a_controller_that_has_died_is_not_waited_for() -> None:
    """Brokers name it until its session has ended; librdkafka would ask after five minutes."""
    with fake_broker() as broker, closing(socket.create_server(("127.0.0.1", 0))) as dead:
        port = dead.getsockname()[1]
        dead.close()
        controllers = [2]

        def nodes(_: Message) -> Message:
            answer = messages.METADATA.response
            brokers = [
                answer.MetadataResponseBroker(node_id=number, host="127.0.0.1", port=at)
                for number, at in ((1, broker.port), (2, port))
            ]
            return answer(
                cluster_id="fake", brokers=brokers, controller_id=controllers[-1], topics=[]
            )

        broker.on(messages.METADATA, nodes)
        made = messages.CREATE_TOPICS.response
        broker.on(
            messages.CREATE_TOPICS,
            made(topics=[made.CreatableTopicResult(name="a", error_code=0)]),
        )
        found = ConfluentCluster(
            {"bootstrap.servers": str(broker.endpoint)}, Timeouts(request_s=Seconds(20))
        )
        timer = threading.Timer(0.5, controllers.append, [1])
        timer.start()
        assert found.create_topics([NewTopic("a")]) == {"a": None}
        timer.join()
        found.close()


def test_words_of_librdkafkas_own_give_way_to_the_meaning_of_the_code(admin: Admin) -> None:
    admin.answer = failing(3)
    found = only(cluster().create_partitions([NewPartitions("a", 2)]))
    assert found.message == "The broker does not know the topic."


def test_a_fault_of_the_client_itself_is_not_taken_for_an_answer(admin: Admin) -> None:
    def answer(_: str) -> object:
        raise RuntimeError("not found in future-map")

    admin.answer = answer
    with pytest.raises(RuntimeError, match="future-map"):
        cluster().create_topics([NewTopic("a")])


def test_answers_that_come_late_are_waited_for(admin: Admin) -> None:
    late: Future[object] = Future()
    admin._future = lambda name: late  # type: ignore[method-assign] # noqa: ARG005 - takes its time
    timer = threading.Timer(0.3, late.set_result, [None])
    timer.start()
    assert cluster().create_topics([NewTopic("a")]) == {"a": None}
    timer.join()


def test_a_closed_driver_sends_nothing(admin: Admin) -> None:
    closed = cluster()
    closed.close()
    found = only(closed.create_topics([NewTopic("a")]))
    assert (found.error, admin.sent) == ("CLIENT_NOT_SENT", [])


def test_a_setting_that_librdkafka_does_not_take_is_told_without_its_siblings() -> None:
    settings = {"bootstrap.servers": "127.0.0.1:1", "no.such": "x", "sasl.password": "hidden"}
    with pytest.raises(ClusterError, match=r"no\.such") as caught:
        ConfluentCluster(settings, Timeouts())
    assert "hidden" not in str(caught.value)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted on Linux")
def test_a_cluster_that_does_not_answer_is_in_doubt_in_time_and_nothing_is_printed(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confluent, "GRACE_S", 0.3)
    before = _threads()
    nobody = ConfluentCluster(
        {"bootstrap.servers": "127.0.0.1:1"}, Timeouts(request_s=Seconds(0.5))
    )
    assert _threads() > before
    start = time.monotonic()
    found = only(nobody.create_topics([NewTopic("a")]))
    assert found.error == "CLIENT_NOT_SENT"
    assert "Nothing was sent: " in found.message
    assert time.monotonic() - start < 5
    nobody.close()
    assert _threads() == before, "librdkafka's threads are gone (K117-06)"
    assert capfd.readouterr() == ("", "")


def _threads() -> int:
    return len(list(Path("/proc/self/task").iterdir()))
