"""Voters and delegation tokens on the wire: what is asked, and what is made of the answers."""

from collections.abc import Iterator
from contextlib import closing
from uuid import UUID

import pytest

from kplan.cluster.settings import DelegationToken, TokenRequest
from kplan.cluster.topology import Voter
from kplan.kafka.settings.connection import Timeouts, seconds
from kplan.kafka.wire import quorum
from kplan.kafka.wire.driver import WireCluster
from kplan.kafka.wire.messages import (
    ADD_VOTER,
    CREATE_TOKEN,
    DESCRIBE_QUORUM,
    DESCRIBE_TOKENS,
    EXPIRE_TOKEN,
    REMOVE_VOTER,
    RENEW_TOKEN,
)
from kplan.model.errors import ClusterError, Refusal, UnreachableError, UnreadableError
from tests.unit.kafka.wire.fake_broker import Act, FakeBroker, fake_broker, settings_for

TOKEN_APIS = (CREATE_TOKEN, RENEW_TOKEN, EXPIRE_TOKEN, DESCRIBE_TOKENS)
DIRECTORY = "AAAAAAAAAAAAAAAAAAAABw"
Asked = tuple[FakeBroker, WireCluster]


@pytest.fixture
def asked() -> Iterator[Asked]:
    with fake_broker() as broker, closing(WireCluster(settings_for(broker.endpoint))) as cluster:
        yield broker, cluster


def test_a_voter_is_named_with_its_directory_and_where_it_listens(asked: Asked) -> None:
    """KIP-853."""
    broker, cluster = asked
    broker.on(ADD_VOTER, ADD_VOTER.response())
    assert cluster.add_voter(Voter(104, DIRECTORY, "CONTROLLER", "c4", 49093)) is None
    (request,) = [each for each in broker.requests if each.name == "AddRaftVoterRequest"]
    assert (request.voter_id, request.voter_directory_id) == (104, UUID(int=7))
    (listener,) = request.listeners
    assert (listener.name, listener.host, listener.port) == ("CONTROLLER", "c4", 49093)


def test_a_refused_voter_is_told_in_the_controllers_words(asked: Asked) -> None:
    broker, cluster = asked
    broker.on(REMOVE_VOTER, REMOVE_VOTER.response(error_code=127, error_message="not a voter"))
    refused = cluster.remove_voter(104, DIRECTORY)
    assert isinstance(refused, Refusal)
    assert str(refused) == "VOTER_NOT_FOUND: not a voter"


def test_a_quorum_without_a_leader_is_told_as_that(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Controllers answer NOT_LEADER_OR_FOLLOWER as long as too few of them run to elect one."""
    monkeypatch.setattr(quorum, "ELECTION_TIMEOUT_S", 0.1)
    broker, cluster = asked
    topic = DESCRIBE_QUORUM.response.TopicData
    partition = topic.PartitionData(partition_index=0, error_code=6, error_message="refused")
    refused = topic(topic_name="__cluster_metadata", partitions=[partition])
    broker.on(DESCRIBE_QUORUM, DESCRIBE_QUORUM.response(topics=[refused]))
    with pytest.raises(ClusterError, match=r"has no active controller\.") as told:
        cluster.quorum()
    assert told.value.hint == "A majority of the controllers that vote has to run."


def test_brokers_that_wait_for_a_controller_are_not_said_to_need_more_time() -> None:
    quick = Timeouts(max_read_s=seconds(0.2))
    with fake_broker() as broker:
        broker.on(DESCRIBE_QUORUM, Act.STAY_SILENT)
        with (
            closing(WireCluster(settings_for(broker.endpoint, timeouts=quick))) as cluster,
            pytest.raises(UnreachableError, match=r"came in time \(0\.2 s\)") as told,
        ):
            cluster.quorum()
    assert "-bootstrap-controller=HOST:PORT" in told.value.hint
    assert "set timeout" not in told.value.hint


def test_a_directory_that_is_none_is_not_sent(asked: Asked) -> None:
    broker, cluster = asked
    for refused in (
        cluster.add_voter(Voter(104, "", "CONTROLLER", "c4", 9093)),
        cluster.remove_voter(104, "nonsense"),
    ):
        assert isinstance(refused, Refusal)
        assert refused.error == "CLIENT_INVALID"
    assert broker.count(ADD_VOTER) == broker.count(REMOVE_VOTER) == 0


def test_a_token_is_read_with_all_it_tells(asked: Asked) -> None:
    """KIP-48, KIP-373."""
    broker, cluster = asked
    answer = CREATE_TOKEN.response(
        principal_type="User",
        principal_name="app",
        token_requester_principal_type="User",
        token_requester_principal_name="admin",
        issue_timestamp_ms=1,
        expiry_timestamp_ms=2,
        max_timestamp_ms=3,
        token_id="id",
        hmac=b"secret",
    )
    broker.on(CREATE_TOKEN, answer)
    found = cluster.create_token(TokenRequest("User:app", ("User:b:c",)))
    made = DelegationToken("id", "User:app", "User:admin", ("User:b:c",), 1, 2, 3, b"secret")
    assert found == made
    (request,) = [each for each in broker.requests if each.name == "CreateDelegationTokenRequest"]
    assert (request.owner_principal_name, request.max_lifetime_ms) == ("app", -1)
    assert request.renewers[0].principal_name == "b:c"


def test_what_a_token_cannot_be_is_told(asked: Asked) -> None:
    broker, cluster = asked
    broker.on(CREATE_TOKEN, CREATE_TOKEN.response(error_code=64))
    broker.on(RENEW_TOKEN, RENEW_TOKEN.response(error_code=66))
    broker.on(DESCRIBE_TOKENS, DESCRIBE_TOKENS.response(error_code=64))
    answers = (cluster.create_token(TokenRequest()), cluster.renew_token(b"secret", -1))
    told = [each.error for each in answers if isinstance(each, Refusal)]
    assert told == ["DELEGATION_TOKEN_REQUEST_NOT_ALLOWED", "DELEGATION_TOKEN_EXPIRED"]
    with pytest.raises(UnreadableError) as failure:
        cluster.delegation_tokens()
    assert "Log in by SASL" in failure.value.hint


def test_the_messages_are_those_of_the_protocol() -> None:
    """Keys and versions as Kafka 4.3 has them."""
    apis = {
        each.name: (each.key, each.oldest, each.newest)
        for each in (*TOKEN_APIS, ADD_VOTER, REMOVE_VOTER)
    }
    assert apis == {
        "CreateDelegationToken": (38, 1, 3),
        "RenewDelegationToken": (39, 1, 2),
        "ExpireDelegationToken": (40, 1, 2),
        "DescribeDelegationToken": (41, 1, 3),
        "AddRaftVoter": (80, 0, 1),
        "RemoveRaftVoter": (81, 0, 0),
    }
