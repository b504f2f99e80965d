"""The global order of requests: one table, pinned here (K4-45)."""

from collections.abc import Mapping
from dataclasses import replace

from kplan.kinds import KINDS
from kplan.kinds.acl import AclKind
from kplan.kinds.base import CreateFirstKind
from kplan.kinds.broker_config import BrokerConfig
from kplan.kinds.connector import KafkaConnector
from kplan.kinds.feature import Feature
from kplan.kinds.logger import Logger
from kplan.kinds.named_config import ClientMetrics, GroupConfig
from kplan.kinds.quota import Quota
from kplan.kinds.schema_subject import SchemaSubject
from kplan.kinds.scram import ScramCredential
from kplan.kinds.topic import TopicKind
from kplan.model.plan import Action, Change, Step
from tests.values import acl, address, identity, topic

ORDER = """\
4 update_features      kafka_feature update
6 delete_connectors    kafka_connector delete
8 alter_scram_users    kafka_user_scram_credential delete
10 delete_acls          kafka_acl delete
20 delete_acls          kafka_acl replace
21 create_acls          kafka_acl replace
24 create_acls          kafka_acl replace, adds first
25 delete_acls          kafka_acl replace, adds first
26 alter_configs        kafka_broker_config update
27 alter_configs        kafka_broker_config replace
28 alter_configs        kafka_broker_config replace
29 alter_configs        kafka_logger update
30 create_acls          kafka_acl create
33 alter_scram_users    kafka_user_scram_credential replace
34 alter_scram_users    kafka_user_scram_credential replace
35 delete_acls          kafka_acl delete, adds first
36 alter_quotas         kafka_quota update
37 alter_quotas         kafka_quota replace
38 alter_quotas         kafka_quota replace
39 alter_scram_users    kafka_user_scram_credential update
40 create_topics        kafka_topic create
50 alter_topic_configs  kafka_topic update
60 create_partitions    kafka_topic update
64 register_schemas     kafka_schema update
65 register_schemas     kafka_schema replace
66 delete_subjects      kafka_schema replace
67 configure_connectors kafka_connector update
68 rename_connectors    kafka_connector replace
70 alter_configs        kafka_group_config update
71 alter_configs        kafka_group_config replace
72 alter_configs        kafka_group_config replace
74 alter_configs        kafka_client_metrics update
75 alter_configs        kafka_client_metrics replace
76 alter_configs        kafka_client_metrics replace
77 alter_configs        kafka_logger replace
78 alter_configs        kafka_logger replace
88 delete_subjects      kafka_schema delete
90 delete_topics        kafka_topic delete
91 alter_configs        kafka_logger delete
92 alter_quotas         kafka_quota delete
93 alter_configs        kafka_broker_config delete
94 alter_configs        kafka_client_metrics delete
95 alter_configs        kafka_group_config delete
96 delete_topics        kafka_topic replace
97 create_topics        kafka_topic replace
"""


PAIRS: Mapping[str, tuple[object, object]] = {
    "kafka_acl": (acl(acl_operation="Write"), acl()),
    "kafka_broker_config": (BrokerConfig(1), BrokerConfig(2)),
    "kafka_client_metrics": (ClientMetrics("a"), ClientMetrics("b")),
    "kafka_connector": (KafkaConnector("a"), KafkaConnector("b")),
    "kafka_feature": (Feature("metadata.version", 1), Feature("metadata.version", 2)),
    "kafka_group_config": (GroupConfig("a"), GroupConfig("b")),
    "kafka_logger": (Logger(1, "root", "INFO"), Logger(2, "root", "INFO")),
    "kafka_quota": (Quota("user", "a"), Quota("user", "b")),
    "kafka_schema": (SchemaSubject("a", "{}"), SchemaSubject("b", "{}")),
    "kafka_user_scram_credential": (ScramCredential("a", "x"), ScramCredential("b", "x")),
    "kafka_topic": (topic(), topic(partitions=6, config={"retention.ms": "1"})),
}


def change(action: Action, kind: str) -> Change:
    before, after = PAIRS[kind]
    return Change(
        address(f"{kind}.a"),
        kind,
        identity(acl()),
        action,
        None if action is Action.CREATE else before,
        None if action in {Action.DELETE, Action.FORGET} else after,
    )


def test_the_order_of_all_requests_is_this() -> None:
    rows = sorted(
        {
            step: f"{kind.name} {action}{said}"
            for said, adds_first in ((", adds first", True), ("", False))
            for kind in KINDS
            for action in Action
            for step in kind.steps(replace(change(action, kind.name), adds_first=adds_first))
        }.items()
    )
    table = "".join(f"{step.rank} {step.name:<20} {what}\n" for step, what in rows)
    assert table == ORDER


def test_every_acl_is_deleted_before_one_is_added_and_topics_go_last() -> None:
    steps = {
        step
        for kind in KINDS
        for action in Action
        for step in kind.steps(change(action, kind.name))
    }
    ranks = {
        name: {step.rank for step in steps if step.name == name} for name in {s.name for s in steps}
    }
    assert max(ranks["delete_acls"]) < max(ranks["create_acls"])
    ranks["create_topics"].discard(97)  # of one that is replaced, after its delete
    of_topics = {"create_topics", "alter_topic_configs", "create_partitions"}
    assert max(max(ranks[name]) for name in of_topics) < min(ranks["delete_topics"])


def test_a_replaced_acl_is_deleted_and_added_in_adjacent_requests() -> None:
    out, in_ = AclKind().steps(change(Action.REPLACE, "kafka_acl"))
    assert (out.name, in_.name, in_.rank - out.rank) == ("delete_acls", "create_acls", 1)


def test_an_update_sends_only_what_it_needs() -> None:
    kind = TopicKind()

    def steps(before: object, after: object) -> tuple[str, ...]:
        update = Change(
            address("kafka_topic.a"), "kafka_topic", identity(topic()), Action.UPDATE, before, after
        )
        return tuple(step.name for step in kind.steps(update))

    more = topic(partitions=6)
    assert steps(topic(), more) == ("create_partitions",)
    assert steps(topic(), topic(config={"a": "1"})) == ("alter_topic_configs",)
    assert steps(topic(), topic()) == ()
    assert steps(topic(), topic(partitions=6, config={"a": "1"})) == (
        "alter_topic_configs",
        "create_partitions",
    )


def test_a_step_sorts_by_rank_first() -> None:
    assert sorted([Step(20, "a"), Step(3, "b")]) == [Step(3, "b"), Step(20, "a")]


def test_kinds_say_by_which_step_a_replacement_creates_the_new_object_first() -> None:
    replaced = {
        kind.name: kind.steps(replace(change(Action.REPLACE, kind.name), adds_first=True))[0].name
        for kind in KINDS
        if isinstance(kind, CreateFirstKind)
    }
    assert replaced == {"kafka_acl": "create_acls", "kafka_schema": "register_schemas"}
    found = [each for each in KINDS if isinstance(each, CreateFirstKind)]
    assert {each.name: each.creating_step for each in found} == replaced
