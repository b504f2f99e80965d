"""Every row of the table of Kafka's errors, brought about on a real broker where that can be done.

What kplan then does with each of them is shown in `tests/unit/apply/test_every_error.py`.
"""

import struct
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TypeVar

import pytest

from kplan.cluster.errors import ERRORS
from kplan.cluster.port import Cluster
from kplan.cluster.request import NewPartitions, NewTopic, TopicRef
from kplan.cluster.settings import (
    DelegationToken,
    FeatureUpdate,
    QuotaAlteration,
    QuotaEntity,
    ScramAlteration,
    ScramUser,
    TokenRequest,
)
from kplan.kafka.settings.connection import Endpoint, ScramSha512
from kplan.kafka.wire import messages
from kplan.kafka.wire.connection import open_without_login
from kplan.kafka.wire.driver import WireCluster
from kplan.kafka.wire.messages import Api, Message, broker_refusal, define_api
from kplan.kafka.wire.transport import Deadline, FrameStream, open_socket
from kplan.model.errors import AuthError, Refusal
from kplan.sandbox.sandbox import Sandbox
from tests.capability import (
    DIRECT_ACCESS,
    ENDPOINT_TYPES,
    FEATURES,
    KRAFT,
    QUOTA_ON_PREVIEWS,
    RECORD_LIMIT,
    SCRAM,
    TOKEN_OWNERS,
    TOKENS,
    Capability,
)
from tests.contract.clusters import acl, cleaned, connected, described, made, settings_of, soon

DELETE_RECORDS = define_api("DeleteRecords", 21, range(3), "admin.topics")
DESCRIBE_GROUPS = define_api("DescribeGroups", 15, range(5), "admin.groups")
ELECT_LEADERS = define_api("ElectLeaders", 43, range(3), "admin.topics")
REASSIGN = define_api("AlterPartitionReassignments", 45, range(1), "admin.topics")
UNREGISTER_BROKER = 64
BROKER, CONTROLLER, NO_TYPE = 1, 2, 3

NOT_ON_A_HEALTHY_BROKER: Mapping[str, str] = {
    "LEADER_NOT_AVAILABLE": "only in the moments of an election",
    "REPLICA_NOT_AVAILABLE": "only in Metadata version 0, which kplan does not speak",
    "STALE_CONTROLLER_EPOCH": "only between brokers and controllers",
    "COORDINATOR_LOAD_IN_PROGRESS": "only in the moments after a coordinator moved",
    "COORDINATOR_NOT_AVAILABLE": "only in the moments after a coordinator moved",
    "NOT_COORDINATOR": "only in the moments after a coordinator moved",
    "REASSIGNMENT_IN_PROGRESS": "KRaft controllers let a topic grow while its replicas move",
    "PREFERRED_LEADER_NOT_AVAILABLE": "only with the broker of a preferred replica down",
    "ELIGIBLE_LEADERS_NOT_AVAILABLE": "only with every broker of a partition down",
    "FEATURE_UPDATE_FAILED": "only when the controller cannot write",
    "UNKNOWN_CONTROLLER_ID": "only while controllers register",
}
"""What is shown on the cluster in memory alone, and why."""


Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Scene:
    """The brokers of the session, and how the names of this test begin."""

    request: pytest.FixtureRequest
    prefix: str

    def sandbox(self, name: str = "broker") -> Sandbox:
        found: Sandbox = self.request.getfixturevalue(name)
        return found

    def cluster(self, name: str = "broker", user: str = "anonymous") -> WireCluster:
        """Connect; what has the prefix of this test is removed at its end."""
        settings = settings_of(self.sandbox(name), user)
        found = connected("wire", settings)
        assert isinstance(found, WireCluster)
        manager = cleaned(found, self.prefix) if user != "ci" else closing(found)
        manager.__enter__()
        self.request.addfinalizer(lambda: manager.__exit__(None, None, None))
        return found

    def topic(self, cluster: Cluster, *replicas: int) -> str:
        name = f"{self.prefix}topic"
        made(cluster, NewTopic(name, assignment=(replicas or (1,),)))
        return name


def asked(api: Api, request: Message, servers: str) -> Message:
    """Ask that very node."""
    host, _, port = servers.partition(",")[0].rpartition(":")
    deadline = Deadline.after(20)
    with closing(open_without_login(Endpoint(host, int(port)), "tests", None, deadline)) as node:
        return node.ask(api, request, deadline)


def exchanged(key: int, version: int, body: bytes, servers: str) -> memoryview:
    """Send a request that nobody has a class for, its header in version 2, and give the answer."""
    host, _, port = servers.partition(",")[0].rpartition(":")
    deadline = Deadline.after(20)
    frame = struct.pack(">hhihb", key, version, 7, -1, 0) + body
    with closing(open_socket(Endpoint(host, int(port)), deadline)) as stream:
        return FrameStream(stream).exchange(struct.pack(">i", len(frame)) + frame, deadline)


def only(answers: Mapping[Item, object]) -> Refusal:
    (found,) = answers.values()
    assert isinstance(found, Refusal)
    return found


# One function for each row; its name is that of the error.


def unknown_server_error(scene: Scene) -> Refusal:
    """Trap 3: a word of filters in an ACL. kplan itself does not send it."""
    creation = messages.CREATE_ACLS.request.AclCreation(
        resource_type=2,
        resource_name=f"{scene.prefix}x",
        resource_pattern_type=3,
        principal="User:x",
        host="*",
        operation=1,
        permission_type=3,
    )
    request = messages.CREATE_ACLS.request(creations=[creation])
    answer = asked(messages.CREATE_ACLS, request, scene.sandbox().bootstrap_servers)
    return broker_refusal(answer.results[0].error_code, answer.results[0].error_message)


def offset_out_of_range(scene: Scene) -> Refusal:
    name = scene.topic(scene.cluster())
    return _records_deleted(name, 9, scene.sandbox().bootstrap_servers)


def unknown_topic_or_partition(scene: Scene) -> Refusal:
    return only(scene.cluster().delete_topics([TopicRef(f"{scene.prefix}absent")]))


def not_leader_or_follower(scene: Scene) -> Refusal:
    cluster = scene.cluster("cluster3")
    name = scene.topic(cluster, 1)
    other = next(each for each in cluster.describe().brokers if each.id == 2)
    soon(lambda: not isinstance(cluster.topics([name], broker=2)[name], Refusal))
    return _records_deleted(name, 0, f"{other.host}:{other.port}")


def _records_deleted(name: str, offset: int, servers: str) -> Refusal:
    topic = DELETE_RECORDS.request.DeleteRecordsTopic
    partition = topic.DeleteRecordsPartition(partition_index=0, offset=offset)
    request = DELETE_RECORDS.request(
        topics=[topic(name=name, partitions=[partition])], timeout_ms=9_000
    )
    answer = asked(DELETE_RECORDS, request, servers)
    return broker_refusal(answer.topics[0].partitions[0].error_code, None)


def request_timed_out(scene: Scene) -> Refusal:
    """Trap 1: a timeout of zero does nothing, and says so."""
    topic = messages.CREATE_TOPICS.request.CreatableTopic(
        name=f"{scene.prefix}late", num_partitions=1, replication_factor=1
    )
    request = messages.CREATE_TOPICS.request(topics=[topic], timeout_ms=0, validate_only=False)
    answer = asked(messages.CREATE_TOPICS, request, scene.sandbox().bootstrap_servers)
    return broker_refusal(answer.topics[0].error_code, answer.topics[0].error_message)


def invalid_topic_exception(scene: Scene) -> Refusal:
    return only(scene.cluster().create_topics([NewTopic(f"{scene.prefix}a/b", 1, 1)]))


def topic_authorization_failed(scene: Scene) -> Refusal:
    return only(scene.cluster("sasl_broker", "ci").create_topics([NewTopic(f"{scene.prefix}x")]))


def group_authorization_failed(scene: Scene) -> Refusal:
    request = DESCRIBE_GROUPS.request(groups=[f"{scene.prefix}x"])
    answer = scene.cluster("sasl_broker", "ci")._gateway.ask(DESCRIBE_GROUPS, request)
    return broker_refusal(answer.groups[0].error_code, None)


def cluster_authorization_failed(scene: Scene) -> Refusal:
    return only(scene.cluster("sasl_broker", "ci").create_acls([acl(scene.prefix)]))


def unsupported_sasl_mechanism(scene: Scene) -> Refusal:
    request = messages.SASL_HANDSHAKE.request(mechanism="NONE")
    servers = scene.sandbox("sasl_broker").bootstrap_servers
    return broker_refusal(asked(messages.SASL_HANDSHAKE, request, servers).error_code, None)


def unsupported_version(scene: Scene) -> Refusal:
    """KIP-511: an ApiVersions request that is too new is answered in the words of version 0."""
    client = b"\x06tests\x021\x00"
    answer = exchanged(18, 99, client, scene.sandbox().bootstrap_servers)
    return broker_refusal(struct.unpack_from(">h", answer, 4)[0], None)


def topic_already_exists(scene: Scene) -> Refusal:
    cluster = scene.cluster()
    return only(cluster.create_topics([NewTopic(scene.topic(cluster), 1, 1)]))


def invalid_partitions(scene: Scene) -> Refusal:
    cluster = scene.cluster()
    return only(cluster.create_partitions([NewPartitions(scene.topic(cluster), 1)]))


def invalid_replication_factor(scene: Scene) -> Refusal:
    return only(scene.cluster().create_topics([NewTopic(f"{scene.prefix}x", 1, 9)]))


def invalid_replica_assignment(scene: Scene) -> Refusal:
    twins = NewTopic(f"{scene.prefix}x", assignment=((1, 1),))
    return only(scene.cluster().create_topics([twins]))


def invalid_config(scene: Scene) -> Refusal:
    bad = NewTopic(f"{scene.prefix}x", 1, 1, config={"retention.ms": "soon"})
    return only(scene.cluster().create_topics([bad]))


def not_controller(scene: Scene) -> Refusal:
    """K919-25: a controller that is not the active one."""
    topic = messages.CREATE_TOPICS.request.CreatableTopic(
        name=f"{scene.prefix}x", num_partitions=1, replication_factor=1
    )
    request = messages.CREATE_TOPICS.request(topics=[topic], timeout_ms=9_000, validate_only=True)
    found = [
        broker_refusal(answer.topics[0].error_code, answer.topics[0].error_message)
        for servers in scene.sandbox("cluster3").bootstrap_controllers.split(",")
        if (answer := asked(messages.PREVIEW_TOPICS, request, servers)).topics[0].error_code
    ]
    assert len(found) == 2, "one of three is active"
    return found[0]


def invalid_request(scene: Scene) -> Refusal:
    return only(scene.cluster().create_topics([NewTopic(f"{scene.prefix}x", 1, 1)] * 2))


def policy_violation(scene: Scene) -> Refusal:
    """Trap 4: no policy is involved."""
    return only(scene.cluster().preview_topics([NewTopic(f"{scene.prefix}x", 10_001, 1)]))


def security_disabled(scene: Scene) -> Refusal:
    with closing(connected("wire", settings_of(scene.sandbox("open_broker"), "anonymous"))) as it:
        return only(it.create_acls([acl(scene.prefix)]))


def sasl_authentication_failed(scene: Scene) -> Refusal:
    settings = settings_of(scene.sandbox("sasl_broker"), "ci")
    assert settings.sasl is not None
    wrong = replace(settings, sasl=ScramSha512("ci", "wrong"))
    with (
        closing(connected("wire", wrong)) as cluster,
        pytest.raises(AuthError, match="refused the login of User:ci"),
    ):
        cluster.describe()
    return broker_refusal(58, None)  # it is the answer to a login, and told as an AuthError


def delegation_token_auth_disabled(scene: Scene) -> Refusal:
    return _of_token(scene, "tls_broker", "admin")


def delegation_token_request_not_allowed(scene: Scene) -> Refusal:
    """KIP-48: not over a connection that proves nothing."""
    return _of_token(scene, "broker", "anonymous")


def delegation_token_authorization_failed(scene: Scene) -> Refusal:
    """KIP-373: not for another user without the right to."""
    return _of_token(scene, "sasl_broker", "alice", "User:bob")


def delegation_token_owner_mismatch(scene: Scene) -> Refusal:
    cluster, other = scene.cluster("sasl_broker", "admin"), scene.cluster("sasl_broker", "ci")
    token = cluster.create_token(TokenRequest())
    assert isinstance(token, DelegationToken)
    scene.request.addfinalizer(lambda: cluster.expire_token(token.hmac, -1))
    soon(lambda: token in cluster.delegation_tokens())
    found = other.renew_token(token.hmac, -1)
    assert isinstance(found, Refusal)
    return found


def _of_token(scene: Scene, name: str, user: str, owner: str = "") -> Refusal:
    with closing(connected("wire", settings_of(scene.sandbox(name), user))) as cluster:
        found = cluster.create_token(TokenRequest(owner))
    assert isinstance(found, Refusal)
    return found


def election_not_needed(scene: Scene) -> Refusal:
    topic = ELECT_LEADERS.request.TopicPartitions(
        topic=scene.topic(scene.cluster()), partitions=[0]
    )
    request = ELECT_LEADERS.request(election_type=0, topic_partitions=[topic], timeout_ms=9_000)
    answer = asked(ELECT_LEADERS, request, scene.sandbox().bootstrap_servers)
    found = answer.replica_election_results[0].partition_result[0]
    return broker_refusal(found.error_code, found.error_message)


def no_reassignment_in_progress(scene: Scene) -> Refusal:
    topic = REASSIGN.request.ReassignableTopic
    partition = topic.ReassignablePartition(partition_index=0, replicas=None)
    request = REASSIGN.request(
        timeout_ms=9_000,
        topics=[topic(name=scene.topic(scene.cluster()), partitions=[partition])],
    )
    answer = asked(REASSIGN, request, scene.sandbox().bootstrap_servers)
    found = answer.responses[0].partitions[0]
    return broker_refusal(found.error_code, found.error_message)


def throttling_quota_exceeded(scene: Scene) -> Refusal:
    """Trap 8: checking alone uses the quota up."""
    admin, us = scene.cluster("sasl_broker", "admin"), scene.cluster("sasl_broker", "ci")
    right = acl(scene.prefix, principal="User:ci", operation="CREATE", resource_name="*")
    assert set(admin.create_acls([right]).values()) == {None}
    scene.request.addfinalizer(lambda: admin.delete_acls([right]))
    _limited(admin, 0.1)
    scene.request.addfinalizer(lambda: _limited(admin, None))
    end = time.monotonic() + 20
    while time.monotonic() < end:
        found = us.preview_topics([NewTopic(f"{scene.prefix}x", 50, 1)])
        (answer,) = found.values()
        if isinstance(answer, Refusal) and answer.error != "TOPIC_AUTHORIZATION_FAILED":
            assert answer.throttle_ms > 0
            return answer
    pytest.fail("never throttled")


def _limited(admin: WireCluster, rate: float | None) -> None:
    key, who = "controller_mutation_rate", QuotaEntity(user="ci")
    quota = QuotaAlteration(who, {}, (key,)) if rate is None else QuotaAlteration(who, {key: rate})
    assert admin.alter_quotas([quota]) == {who: None}


def resource_not_found(scene: Scene) -> Refusal:
    gone = ScramAlteration(ScramUser(f"{scene.prefix}gone", "SCRAM-SHA-256"))
    return only(scene.cluster().alter_scram_users([gone]))


def duplicate_resource(scene: Scene) -> Refusal:
    """Set one credential twice in a request, which kplan itself does not do."""
    upsertion = messages.ALTER_SCRAM.request.ScramCredentialUpsertion(
        name=f"{scene.prefix}x",
        mechanism=1,
        iterations=4096,
        salt=b"salt",
        salted_password=b"salted",
    )
    request = messages.ALTER_SCRAM.request(deletions=[], upsertions=[upsertion] * 2)
    answer = asked(messages.ALTER_SCRAM, request, scene.sandbox().bootstrap_servers)
    return broker_refusal(answer.results[0].error_code, answer.results[0].error_message)


def unacceptable_credential(scene: Scene) -> Refusal:
    few = ScramAlteration(ScramUser(f"{scene.prefix}few", "SCRAM-SHA-256"), 1, "secret")
    return only(scene.cluster().alter_scram_users([few]))


def invalid_update_version(scene: Scene) -> Refusal:
    return only(scene.cluster().update_features([FeatureUpdate("no.such.feature", 1)]))


def unknown_topic_id(scene: Scene) -> Refusal:
    """K4-36."""
    cluster = scene.cluster()
    name = scene.topic(cluster)
    assert described(cluster, name).topic_id != "AAAAAAAAQACAAAAAAAAAAA"
    return only(cluster.delete_topics([TopicRef(name, "AAAAAAAAQACAAAAAAAAAAA")]))


def broker_id_not_registered(scene: Scene) -> Refusal:
    """UnregisterBroker (KIP-500): int32 id; answered with throttle time, code, text."""
    body = struct.pack(">ib", 99, 0)
    answer = exchanged(UNREGISTER_BROKER, 0, body, scene.sandbox().bootstrap_servers)
    return broker_refusal(struct.unpack_from(">h", answer, 9)[0], None)


def mismatched_endpoint_type(scene: Scene) -> Refusal:
    """K919-04: a broker that is asked for controllers."""
    return _described_as(CONTROLLER, scene.sandbox("cluster3").bootstrap_servers)


def unsupported_endpoint_type(scene: Scene) -> Refusal:
    return _described_as(NO_TYPE, scene.sandbox("cluster3").bootstrap_servers)


def _described_as(endpoint_type: int, servers: str) -> Refusal:
    request = messages.DESCRIBE_CLUSTER.request(endpoint_type=endpoint_type)
    answer = asked(messages.DESCRIBE_CLUSTER, request, servers)
    return broker_refusal(answer.error_code, answer.error_message)


PROVOKED: Mapping[str, Callable[[Scene], Refusal]] = {
    function.__name__.upper(): function
    for function in (
        unknown_server_error,
        offset_out_of_range,
        unknown_topic_or_partition,
        not_leader_or_follower,
        request_timed_out,
        invalid_topic_exception,
        topic_authorization_failed,
        group_authorization_failed,
        cluster_authorization_failed,
        unsupported_sasl_mechanism,
        unsupported_version,
        topic_already_exists,
        invalid_partitions,
        invalid_replication_factor,
        invalid_replica_assignment,
        invalid_config,
        not_controller,
        invalid_request,
        policy_violation,
        security_disabled,
        sasl_authentication_failed,
        delegation_token_auth_disabled,
        delegation_token_owner_mismatch,
        delegation_token_request_not_allowed,
        delegation_token_authorization_failed,
        election_not_needed,
        no_reassignment_in_progress,
        throttling_quota_exceeded,
        resource_not_found,
        duplicate_resource,
        unacceptable_credential,
        invalid_update_version,
        unknown_topic_id,
        broker_id_not_registered,
        mismatched_endpoint_type,
        unsupported_endpoint_type,
    )
}
NEEDS: Mapping[str, Capability] = {
    "NOT_CONTROLLER": DIRECT_ACCESS,
    "POLICY_VIOLATION": RECORD_LIMIT,
    "DELEGATION_TOKEN_AUTH_DISABLED": TOKENS,
    "DELEGATION_TOKEN_OWNER_MISMATCH": TOKENS,
    "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED": TOKENS,
    "DELEGATION_TOKEN_AUTHORIZATION_FAILED": TOKEN_OWNERS,
    "THROTTLING_QUOTA_EXCEEDED": QUOTA_ON_PREVIEWS,
    "RESOURCE_NOT_FOUND": SCRAM,
    "DUPLICATE_RESOURCE": SCRAM,
    "UNACCEPTABLE_CREDENTIAL": SCRAM,
    "INVALID_UPDATE_VERSION": FEATURES,
    "BROKER_ID_NOT_REGISTERED": KRAFT,
    "MISMATCHED_ENDPOINT_TYPE": ENDPOINT_TYPES,
    "UNSUPPORTED_ENDPOINT_TYPE": ENDPOINT_TYPES,
}
"""What brokers must have to answer with an error."""

BROKERS_OWN = frozenset(row.name for row in ERRORS.values() if row.code >= -1)


def test_every_error_of_the_table_is_provoked_or_says_why_it_cannot_be() -> None:
    """A row that is added to the table is added here too."""
    assert PROVOKED.keys() | NOT_ON_A_HEALTHY_BROKER.keys() == BROKERS_OWN
    assert not PROVOKED.keys() & NOT_ON_A_HEALTHY_BROKER.keys()


@pytest.mark.broker
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.needs(NEEDS[name])] if name in NEEDS else [])
        for name in PROVOKED
    ],
)
def test_a_real_broker_answers_with_the_error(
    name: str, prefix: str, request: pytest.FixtureRequest
) -> None:
    """K4o-01, K117-24."""
    found = PROVOKED[name](Scene(request, prefix))
    assert (found.error, found.code) == (name, ERRORS[name].code)
