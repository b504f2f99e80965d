"""The wire driver when connections break: against a broker of our own making."""

import logging
import re
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace

import pytest

from kplan.cluster.errors import Handling, handling
from kplan.cluster.request import AclBinding, NewTopic
from kplan.kafka.settings.connection import (
    ConnectionSettings,
    Endpoint,
    Plain,
    SocketOptions,
    Timeouts,
    seconds,
)
from kplan.kafka.wire import messages, transport
from kplan.kafka.wire.driver import WireCluster, preflight
from kplan.kafka.wire.messages import Message
from kplan.model.errors import (
    AuthError,
    ClusterError,
    Refusal,
    UnreachableError,
    UnsupportedError,
    WrongEndpointError,
)
from tests.unit.kafka.wire.fake_broker import Act, FakeBroker, described, fake_broker, settings_for

SPEC = NewTopic("a", 1, 1)


def created(*names: str) -> Message:
    answer = messages.CREATE_TOPICS.response
    return answer(topics=[answer.CreatableTopicResult(name=name, error_code=0) for name in names])


def listed(request: Message) -> Message:
    """Answer Metadata with the names that were asked for."""
    answer = messages.METADATA.response
    return answer(
        cluster_id="fake",
        topics=[
            answer.MetadataResponseTopic(name=each.name, error_code=0, partitions=[])
            for each in request.topics
        ],
    )


@contextmanager
def connected(broker: FakeBroker) -> Iterator[WireCluster]:
    with closing(WireCluster(settings_for(broker.endpoint))) as cluster:
        yield cluster


def test_a_read_is_asked_again_over_a_new_connection() -> None:
    """Brokers close idle connections: connections.max.idle.ms."""
    with fake_broker() as broker, connected(broker) as cluster:
        broker.on(messages.DESCRIBE_CLUSTER, Act.CLOSE, described(broker))
        assert cluster.describe().cluster_id == "fake"
        assert broker.connections == 2


def test_a_read_is_asked_again_only_once() -> None:
    with fake_broker() as broker, connected(broker) as cluster:
        broker.on(messages.DESCRIBE_CLUSTER, Act.CLOSE)
        with pytest.raises(UnreachableError, match="the other side closed the connection"):
            cluster.describe()
        assert broker.count(messages.DESCRIBE_CLUSTER) == 2


def test_a_read_without_an_answer_ends_at_its_timeout() -> None:
    with fake_broker() as broker, connected(broker) as cluster:
        broker.on(messages.DESCRIBE_CLUSTER, Act.STAY_SILENT)
        begun = time.monotonic()
        with pytest.raises(UnreachableError, match="no answer came in time"):
            cluster.describe()
        assert 0.9 < time.monotonic() - begun < 3
        assert broker.count(messages.DESCRIBE_CLUSTER) == 1


def test_the_limit_of_a_read_is_named_with_its_setting() -> None:
    assert Timeouts().read_s == seconds(30)
    with fake_broker() as broker, connected(broker) as cluster:
        broker.on(messages.DESCRIBE_CLUSTER, Act.STAY_SILENT)
        with pytest.raises(UnreachableError, match=r"in time \(1 s\)") as told:
            cluster.describe()
    assert 'timeout in provider "kafka"' in told.value.hint


def test_each_silent_node_is_named_with_the_time_that_it_had() -> None:
    """The first has half of all the time, the last what is left."""
    with fake_broker() as one, fake_broker() as two, fake_broker() as three:
        for broker in (one, two, three):
            broker.on(messages.DESCRIBE_CLUSTER, Act.STAY_SILENT)
        all_of_them = settings_for(
            *(each.endpoint for each in (one, two, three)),
            timeouts=Timeouts(max_read_s=seconds(1.6)),
        )
        with (
            closing(WireCluster(all_of_them)) as cluster,
            pytest.raises(UnreachableError) as told,
        ):
            cluster.describe()
    spans = re.findall(r"no answer came in time \(([^)]+)\)", told.value.detail)
    assert spans == ["0.8 s", "0.4 s", "0.4 s"]


def test_who_is_waited_for_is_told_and_a_silent_node_does_not_take_all_of_the_time(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A broker that takes the request and says nothing more."""
    monkeypatch.setattr(transport, "NOTICE_S", 0.2)
    with fake_broker() as silent, fake_broker() as broker:
        broker.on(messages.DESCRIBE_CLUSTER, described(broker))
        silent.on(messages.DESCRIBE_CLUSTER, Act.STAY_SILENT)
        two = settings_for(silent.endpoint, broker.endpoint)
        with caplog.at_level(logging.WARNING, "kplan.wait"), closing(WireCluster(two)) as cluster:
            assert cluster.describe().cluster_id == "fake"
    assert f"{silent.endpoint} has not answered DescribeCluster for 0 s" in caplog.text
    assert "(timeout)" in caplog.text


def test_a_debug_log_names_every_request_and_no_contents(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with fake_broker() as broker, connected(broker) as cluster:
        broker.on(messages.DESCRIBE_CLUSTER, described(broker))
        broker.on(messages.CREATE_TOPICS, Act.CLOSE)
        with caplog.at_level(logging.DEBUG, "kplan.request"):
            cluster.describe()
            cluster.create_topics([replace(SPEC, name="secret-name"), SPEC])
    lines = [each.getMessage() for each in caplog.records if each.name == "kplan.request"]
    assert any("DescribeCluster v" in each and each.endswith("no error") for each in lines)
    (broken,) = [each for each in lines if "CreateTopics v" in each]
    assert "2 items" in broken
    assert "closed the connection" in broken
    assert "secret-name" not in caplog.text


def test_a_write_whose_connection_breaks_is_in_doubt_and_never_sent_again() -> None:
    """Design law 2."""
    with fake_broker() as broker, connected(broker) as cluster:
        broker.on(messages.CREATE_TOPICS, Act.CLOSE)
        answer = cluster.create_topics([SPEC, replace(SPEC, name="b")])
        assert set(answer) == {"a", "b"}
        for verdict in answer.values():
            assert verdict is not None
            assert verdict.error == "CLIENT_DISCONNECTED"
            assert handling(verdict) is Handling.IN_DOUBT
        assert broker.count(messages.CREATE_TOPICS) == 1


def test_a_write_without_an_answer_in_time_is_in_doubt() -> None:
    """K117-14."""
    with fake_broker() as broker, connected(broker) as cluster:
        broker.on(messages.CREATE_TOPICS, Act.STAY_SILENT)
        verdict = cluster.create_topics([SPEC])["a"]
        assert verdict is not None
        assert (verdict.error, handling(verdict)) == ("CLIENT_TIMED_OUT", Handling.IN_DOUBT)
        assert broker.count(messages.CREATE_TOPICS) == 1


def test_a_write_that_finds_nobody_says_that_nothing_was_sent() -> None:
    """K117-14."""
    with fake_broker() as broker:
        endpoint = broker.endpoint
    with closing(WireCluster(settings_for(endpoint))) as cluster:
        verdict = cluster.create_topics([SPEC])["a"]
    assert verdict is not None
    assert verdict.error == "CLIENT_NOT_SENT"
    assert verdict.message.startswith("Nothing was sent. ")


def test_a_connection_that_was_closed_while_idle_is_not_used_for_a_write() -> None:
    with fake_broker() as broker, connected(broker) as cluster:
        broker.closes_after = {messages.DESCRIBE_CLUSTER.key}
        broker.on(messages.CREATE_TOPICS, created("a"))
        cluster.describe()
        time.sleep(0.1)
        assert cluster.create_topics([SPEC]) == {"a": None}
        assert (broker.connections, broker.count(messages.CREATE_TOPICS)) == (2, 1)


def test_one_connection_serves_one_request_after_the_other() -> None:
    with fake_broker() as broker, connected(broker) as cluster:
        for _ in range(5):
            cluster.describe()
        assert (broker.connections, broker.count(messages.API_VERSIONS)) == (1, 1)


def test_sixteen_threads_get_their_own_answers() -> None:
    """K117-05."""
    with fake_broker() as broker, connected(broker) as cluster:
        broker.on(messages.METADATA, listed)

        def ask(number: int) -> bool:
            names = [f"topic-{number}-{each}" for each in range(3)]
            return list(cluster.topics(names)) == names

        with ThreadPoolExecutor(16) as threads:
            assert all(threads.map(ask, range(320)))
        assert broker.connections <= 16


@pytest.mark.parametrize("act", [Act.MISCOUNT, Act.CUT, b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff"])
def test_an_answer_that_makes_no_sense_is_never_taken_for_one(act: Act | bytes) -> None:
    with fake_broker() as broker, connected(broker) as cluster:
        broker.on(messages.DESCRIBE_CLUSTER, act)
        with pytest.raises(UnreachableError):
            cluster.describe()
        broker.on(messages.CREATE_TOPICS, act)
        verdict = cluster.create_topics([SPEC])["a"]
        assert verdict is not None
        assert handling(verdict) is Handling.IN_DOUBT


def test_the_next_bootstrap_server_is_asked_and_then_kept() -> None:
    with fake_broker() as dead:
        gone = dead.endpoint
    with fake_broker() as broker, fake_broker() as other:
        settings = settings_for(gone, broker.endpoint, other.endpoint)
        with closing(WireCluster(settings)) as cluster:
            cluster.describe()
            cluster.describe()
        assert (broker.count(messages.DESCRIBE_CLUSTER), other.connections) == (2, 0)


def test_a_broker_that_was_heard_of_is_asked_when_no_bootstrap_server_answers() -> None:
    with fake_broker() as second:
        with fake_broker() as broker:
            cluster = WireCluster(settings_for(broker.endpoint))
            broker.on(messages.DESCRIBE_CLUSTER, described(broker, (2, second.port)))
            cluster.describe()
        second.on(messages.METADATA, listed)
        assert list(cluster.topics(["a"])) == ["a"]
        cluster.close()


def test_when_nobody_answers_every_failure_is_told() -> None:
    with fake_broker() as one, fake_broker() as two:
        endpoints = (one.endpoint, two.endpoint)
    with pytest.raises(UnreachableError) as caught:
        preflight(settings_for(*endpoints))
    assert [str(each) in caught.value.detail for each in endpoints] == [True, True]
    assert caught.value.hint == "Check host and port, and that the node runs."


def test_a_broker_is_asked_at_its_own_address() -> None:
    with fake_broker() as broker, fake_broker() as second, connected(broker) as cluster:
        broker.on(messages.DESCRIBE_CLUSTER, described(broker, (2, second.port)))
        second.on(messages.METADATA, listed)
        assert list(cluster.topics(["a"], broker=2)) == ["a"]
        assert second.count(messages.METADATA) == 1
        with pytest.raises(UnreachableError, match="Broker 7 is not there"):
            cluster.topics(["a"], broker=7)


def test_an_api_that_the_cluster_lacks_is_named() -> None:
    lacking = frozenset({messages.DESCRIBE_ACLS.key, messages.CREATE_ACLS.key})
    with fake_broker(lacking) as broker, connected(broker) as cluster:
        with pytest.raises(
            UnsupportedError, match=r"DescribeAcls .* 127\.0\.0\.1:\d+ lacks it"
        ) as caught:
            cluster.acls()
        assert "kplan works with Kafka 2.8 and later" in caught.value.hint
        with pytest.raises(UnsupportedError, match="CreateAcls"):
            cluster.create_acls(
                [AclBinding("TOPIC", "a", "LITERAL", "User:a", "*", "READ", "ALLOW")]
            )


def test_a_controller_is_told_from_a_broker() -> None:
    """K919-05."""
    with (
        fake_broker(frozenset({messages.METADATA.key})) as controller,
        pytest.raises(WrongEndpointError, match="is a controller, not a broker"),
    ):
        preflight(settings_for(controller.endpoint))


def test_an_old_broker_is_asked_for_versions_in_its_own_words() -> None:
    """KIP-511: it answers error 35, and then version 0."""
    with fake_broker() as broker, connected(broker) as cluster:
        fine = broker.script[messages.API_VERSIONS.key](None)
        refused = messages.API_VERSIONS.response(error_code=35)
        broker.on(messages.API_VERSIONS, refused, refused, fine)
        assert cluster.describe().cluster_id == "fake"
        assert [version for key, version in broker.asked if key == 18] == [4, 3, 0]


def logging_in(broker: FakeBroker, lifetime_ms: int = 0) -> ConnectionSettings:
    handshake = messages.SASL_HANDSHAKE.response(error_code=0, mechanisms=["PLAIN"])
    fine = messages.SASL_AUTHENTICATE.response(
        error_code=0, auth_bytes=b"", session_lifetime_ms=lifetime_ms
    )
    broker.on(messages.SASL_HANDSHAKE, handshake)
    broker.on(messages.SASL_AUTHENTICATE, fine)
    return replace(settings_for(broker.endpoint), sasl=Plain("a", "p"))


def test_a_login_that_ends_soon_is_not_used_again() -> None:
    """KIP-368: brokers close connections whose login has expired."""
    with fake_broker() as broker:
        with closing(WireCluster(logging_in(broker, lifetime_ms=1))) as cluster:
            cluster.describe()
            time.sleep(0.01)
            cluster.describe()
        assert broker.connections == 2
    with fake_broker() as broker:
        with closing(WireCluster(logging_in(broker, lifetime_ms=60_000))) as cluster:
            cluster.describe()
            cluster.describe()
        assert broker.connections == 1


def test_a_refused_login_is_told_at_once_and_not_tried_elsewhere() -> None:
    with fake_broker() as broker, fake_broker() as other:
        settings = logging_in(broker)
        refused = messages.SASL_AUTHENTICATE.response(error_code=58, error_message="Wrong.")
        broker.on(messages.SASL_AUTHENTICATE, refused)
        settings = replace(settings, bootstrap_servers=(broker.endpoint, other.endpoint))
        with pytest.raises(AuthError, match="refused the login of User:a by PLAIN: Wrong") as told:
            preflight(settings)
        assert other.connections == 0
        assert "p" not in told.value.detail.split()


def test_a_mechanism_that_is_not_offered_is_told_with_those_that_are() -> None:
    with fake_broker() as broker:
        settings = logging_in(broker)
        offer = messages.SASL_HANDSHAKE.response(error_code=33, mechanisms=["B", "A"])
        broker.on(messages.SASL_HANDSHAKE, offer)
        with pytest.raises(AuthError, match=r"does not offer .* PLAIN\. It offers: A, B"):
            preflight(settings)


def test_closing_wakes_whoever_waits() -> None:
    """K117-06."""
    with fake_broker() as broker:
        broker.on(messages.DESCRIBE_CLUSTER, Act.STAY_SILENT)
        long = Timeouts(seconds(5), seconds(30))
        cluster = WireCluster(settings_for(broker.endpoint, timeouts=long))
        failures: list[ClusterError] = []

        def ask() -> None:
            try:
                cluster.describe()
            except ClusterError as failure:
                failures.append(failure)

        thread = threading.Thread(target=ask)
        thread.start()
        while not broker.count(messages.DESCRIBE_CLUSTER):
            time.sleep(0.01)
        cluster.close()
        thread.join(5)
        assert not thread.is_alive()
        assert len(failures) == 1


def test_a_port_that_is_not_kafka_is_told_with_what_it_said() -> None:
    def greet(listener: socket.socket) -> None:
        for _ in range(3):
            try:
                stream, _ = listener.accept()
            except OSError:
                return
            with stream:
                stream.recv(1)
                stream.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=greet, args=(listener,))
        server.start()
        endpoint = Endpoint("127.0.0.1", listener.getsockname()[1])
        with pytest.raises(UnreachableError, match=r"does not speak Kafka's protocol: .*HTTP"):
            preflight(settings_for(endpoint))
        listener.shutdown(socket.SHUT_RDWR)
        server.join()


def test_a_host_name_that_is_not_known_is_told() -> None:
    with pytest.raises(
        UnreachableError, match=r'The host name "no-such-host\.invalid" is not known'
    ):
        preflight(settings_for(Endpoint("no-such-host.invalid", 1)))


def test_a_count_beyond_kafkas_numbers_is_refused_without_its_neighbours() -> None:
    with fake_broker() as broker, connected(broker) as cluster:
        broker.on(messages.CREATE_TOPICS, created("a"))
        answer = cluster.create_topics([SPEC, NewTopic("b", 2**31), NewTopic("c", 1, 2**15)])
        assert answer["a"] is None
        for name in ("b", "c"):
            verdict = answer[name]
            assert isinstance(verdict, Refusal)
            assert verdict.error == "CLIENT_INVALID"


def test_a_list_that_is_refused_as_a_whole_is_an_error() -> None:
    with fake_broker() as broker, connected(broker) as cluster:
        broker.on(messages.METADATA, messages.METADATA.response(error_code=41))
        with pytest.raises(ClusterError, match="Topics cannot be listed: NOT_CONTROLLER"):
            cluster.topics()


def test_an_item_that_the_answer_leaves_out_has_no_verdict() -> None:
    """Design law 2: silence is not success."""
    with fake_broker() as broker, connected(broker) as cluster:
        broker.on(messages.CREATE_TOPICS, created("a"))
        assert cluster.create_topics([SPEC, replace(SPEC, name="b")]) == {"a": None}


def test_buffers_are_asked_for_and_idle_connections_are_left() -> None:
    """K117-03: connections.max.idle.ms and the sizes of buffers."""
    with fake_broker() as broker:
        settings = replace(settings_for(broker.endpoint), sockets=SocketOptions(32768, 65536, 0.05))
        with closing(WireCluster(settings)) as cluster:
            cluster.describe()
            (held,) = cluster._gateway._pool._idle[broker.endpoint]
            stream = held._link._stream
            assert stream.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) >= 32768
            assert stream.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) >= 65536
            time.sleep(0.1)
            cluster.describe()
            assert broker.connections == 2
