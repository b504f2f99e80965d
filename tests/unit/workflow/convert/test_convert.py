"""YAML of other tools as HCL: one real-looking file of each, and files with mistakes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.config.load import Configuration
from kplan.config.yaml_document import read_yaml
from kplan.kinds import KINDS
from kplan.kinds.acl import Acl
from kplan.kinds.quota import Quota
from kplan.kinds.topic_rules import Topic
from kplan.model.diagnostic import Diagnostic
from kplan.model.errors import ConfigError
from kplan.workflow.convert.conversion import Conversion
from kplan.workflow.convert.convert import READERS, ConversionResult, SourceFormat, convert
from kplan.workflow.project.validate import validate_project
from tests.project_harness import ProjectHarness

JIKKOU = """apiVersion: "kafka.jikkou.io/v1beta2"
kind: KafkaTopicList
items:
  - metadata: { name: orders }
    spec:
      partitions: 6
      replicas: 3
      configMapRefs: [ slow, lost ]
      configs: { min.insync.replicas: 2 }
  - metadata: { name: brokers.choose }
    spec: { partitions: -1, replicas: -1 }
  - metadata:
      name: old
      annotations: { jikkou.io/delete: true }
    spec: { partitions: 1 }
---
apiVersion: core.jikkou.io/v1beta2
kind: ConfigMap
metadata: { name: slow }
data: { retention.ms: -1, min.insync.replicas: 1 }
---
apiVersion: "kafka.jikkou.io/v1beta2"
kind: KafkaPrincipalRole
metadata: { name: reader }
spec:
  acls:
    - resource: { type: topic, pattern: orders, patternType: LITERAL }
      type: ALLOW
      operations: [ READ, DESCRIBE ]
---
apiVersion: "kafka.jikkou.io/v1beta2"
kind: KafkaPrincipalAuthorization
metadata: { name: "User:alice" }
spec:
  roles: [ reader ]
  acls:
    - resource: { type: transactional_id, pattern: alice-, patternType: PREFIXED }
      type: DENY
      operations: [ WRITE ]
      host: 10.0.0.1
    - resource: { type: topic, pattern: "/tmp-.*/", patternType: MATCH }
      type: ALLOW
      operations: [ ALL ]
---
apiVersion: "kafka.jikkou.io/v1beta2"
kind: KafkaClientQuota
metadata: { name: q }
spec:
  type: USER_CLIENT
  entity: { user: alice, clientId: batch }
  configs: { producerByteRate: 1024, requestPercentage: 12.5 }
---
apiVersion: "kafka.jikkou.io/v1beta2"
kind: KafkaClientQuotaList
metadata: { labels: {} }
items:
  - spec:
      type: CLIENT
      entity: { clientId: batch }
      configs: { consumerByteRate: 2048 }
---
apiVersion: kafka.jikkou.io/v1
kind: KafkaUser
metadata: { name: bob }
spec:
  authentications: [ { type: scram-sha-256, password: null } ]
---
apiVersion: kafka.jikkou.io/v1beta2
kind: KafkaTopic
metadata: { name: left, annotations: { jikkou.io/ignore: true } }
spec: { partitions: 1 }
---
apiVersion: schemaregistry.jikkou.io/v1beta2
kind: SchemaRegistrySubject
metadata: { name: orders-value }
spec: {}
"""

GITOPS = """settings:
  topics: { defaults: { replication: 3 } }
topics:
  orders:
    partitions: 6
    configs: { cleanup.policy: compact }
  audit: { partitions: 1, replication: 2, owner: me }
services:
  shop:
    type: application
    principal: User:shop
    produces: [ orders ]
    consumes: [ audit ]
  sums:
    type: kafka-streams
    principal: User:sums
    application-id: sums-v2
    consumes: [ orders ]
  connect:
    type: kafka-connect
    principal: User:connect
    connectors: { sink: { consumes: [ orders ] } }
  cloud: { type: application, produces: [ orders ] }
users:
  ops: { principal: "User:ops", roles: [ operator ] }
customServiceAcls:
  shop:
    more: { name: shop-, type: TOPIC, pattern: PREFIXED, host: "*", operation: ALTER_CONFIGS,
            permission: ALLOW }
"""

JULIE = """context: acme
source: web
projects:
  - name: shop
    consumers:
      - principal: User:reader
        group: "readers-*"
    producers:
      - principal: User:writer
        transactionId: tx
    streams:
      - principal: User:sums
        topics: { read: [ a ], write: [ b ] }
    connectors:
      - principal: User:connect
        topics: { read: [ a ] }
    rbac: []
    topics:
      - name: orders
        dataType: avro
        config: { num.partitions: "3", replication.factor: "2", retention.ms: "1000" }
      - name: plain
        plan: gold
special_topics:
  - name: given
platform:
  kafka:
    quotas:
      - principal: User:reader
        consumer_byte_rate: 1024
        request_percentage: 50.0
  schema_registry:
    instances:
      - { principal: "User:registry", topic: _shop_schemas, group: sr }
      - { principal: "User:registry2" }
  control_center:
    instances:
      - { principal: "User:control", appId: control }
"""

STRIMZI = """apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaTopic
metadata:
  name: orders-topic
  labels: { strimzi.io/cluster: main }
spec:
  topicName: Orders
  partitions: 6
  replicas: 3
  config:
    cleanup.policy: [ compact, delete ]
---
apiVersion: v1
kind: List
items:
  - apiVersion: kafka.strimzi.io/v1beta2
    kind: KafkaUser
    metadata: { name: alice }
    spec:
      authentication: { type: tls }
      authorization:
        type: simple
        acls:
          - resource: { type: topic, name: Or, patternType: prefix }
            operations: [ Read, DescribeConfigs ]
          - resource: { type: cluster }
            operation: IdempotentWrite
            type: deny
      quotas: { consumerByteRate: 2048 }
  - apiVersion: kafka.strimzi.io/v1beta2
    kind: KafkaUser
    metadata: { name: bob }
    spec:
      authentication: { type: scram-sha-512 }
---
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaNodePool
metadata: { name: pool }
"""

TOPICCTL = """meta:
  name: local
  region: here
  environment: dev
  description: Three racks
spec:
  bootstrapAddrs: [ "kafka:9092" ]
  clusterID: abc
  defaultThrottleMB: 200
  defaultRetentionDropStepDuration: 1h30m
  tls: { enabled: true }
---
meta:
  name: defaults
  cluster: local
  environment: dev
  region: here
  description: |
    Where most topics are.
  labels: { team: shop }
  consumers: [ billing ]
spec:
  partitions: 3
  replicationFactor: 2
  retentionMinutes: 102
  placement: { strategy: in-rack, picker: cluster-use }
  migration: { throttleMB: 100, partitionBatchSize: 2 }
  settings:
    cleanup.policy: [ compact, delete ]
    max.message.bytes: 5542880
---
meta: { name: racks, cluster: local, environment: dev, region: here }
spec:
  partitions: 2
  replicationFactor: 1
  placement:
    strategy: static-in-rack
    staticRackAssignments: [ zone1, zone2 ]
---
meta: { name: fixed, cluster: local, environment: dev, region: here }
spec:
  partitions: 2
  replicationFactor: 2
  placement: { strategy: static, staticAssignments: [ [ 1, 2 ], [ 2, 3 ] ] }
---
meta: { name: leads, cluster: local, environment: dev, region: here }
spec: { partitions: 3, replicationFactor: 1, placement: { strategy: balanced-leaders } }
---
meta: { name: across, cluster: other, environment: dev, region: here }
spec:
  partitions: 3
  replicationFactor: 3
  retentionMinutes: 5
  placement: { strategy: cross-rack }
  settings: { retention.ms: 1000 }
---
meta: { name: rights, cluster: local, environment: dev, region: here }
spec:
  acls:
    - resource:
        type: topic
        name: defaults
        patternType: literal
        principal: "User:anna"
        host: "*"
        permission: allow
      operations: [ Read, Describe ]
    - resource: { type: group, name: g-, patternType: prefixed, principal: "User:anna",
                  host: 10.0.0.1, permission: deny }
      operations: [ Read ]
---
meta: { name: ben, cluster: local, environment: dev, region: here }
spec:
  authentication: { type: scram-sha-512, password: hunter2 }
  authorization:
    type: simple
    acls:
      - resource: { type: topic, name: defaults, patternType: literal, host: "*" }
        operations: [ Write ]
"""

ALL = {
    SourceFormat.JIKKOU: JIKKOU,
    SourceFormat.KAFKA_GITOPS: GITOPS,
    SourceFormat.JULIE: JULIE,
    SourceFormat.STRIMZI: STRIMZI,
    SourceFormat.TOPICCTL: TOPICCTL,
}


def from_text(folder: Path, text: str, format_: SourceFormat | None = None) -> ConversionResult:
    (folder / "in.yaml").write_text(text)
    return convert([str(folder / "in.yaml")], format_)


def declared(folder: Path, found: ConversionResult) -> Configuration:
    """Load what was written; it has to be valid as it stands."""
    site = ProjectHarness(folder, MemoryCluster())
    site.write(found.text)
    configuration = validate_project(site.project)
    assert configuration.diagnostics == ()
    return configuration


def topics(of: Configuration) -> dict[str, tuple[int | None, int | None, dict[str, str]]]:
    return {
        each.value.name: (
            each.value.partitions,
            each.value.replication_factor,
            dict(each.value.config),
        )
        for each in of.resources
        if isinstance(each.value, Topic)
    }


def acls(of: Configuration) -> set[str]:
    kind = next(each for each in KINDS if each.schema is Acl)
    return {kind.identify(each.value) for each in of.resources if isinstance(each.value, Acl)}


def left_out(found: ConversionResult) -> list[tuple[int, str]]:
    return [(each.source_range.line, each.subject) for each in found.unconverted]


def mistakes(
    folder: Path, text: str, format_: SourceFormat | None = None
) -> list[tuple[str, int, str]]:
    with pytest.raises(ConfigError) as told:
        from_text(folder, text, format_)
    return [
        (each.code, each.subject.line if each.subject else 0, each.detail)
        for each in told.value.diagnostics
    ]


def test_jikkou_is_carried_over_with_its_maps_and_roles(tmp_path: Path) -> None:
    found = from_text(tmp_path, JIKKOU)
    of = declared(tmp_path, found)
    assert topics(of) == {
        "orders": (6, 3, {"retention.ms": "-1", "min.insync.replicas": "2"}),
        "brokers.choose": (None, None, {}),
    }
    assert acls(of) == {
        "User:alice|*|Read|Allow|Topic|orders|Literal",
        "User:alice|*|Describe|Allow|Topic|orders|Literal",
        "User:alice|10.0.0.1|Write|Deny|TransactionalID|alice-|Prefixed",
    }
    limits = {"producer_byte_rate": "1024", "request_percentage": "12.5"}
    quotas = [each.value for each in of.resources if isinstance(each.value, Quota)]
    assert quotas == [
        Quota("user", "alice", "batch", limits),
        Quota("client-id", "batch", None, {"consumer_byte_rate": "2048"}),
    ]
    assert found.counts == {"topic": 2, "ACL": 3, "quota": 2}
    assert left_out(found) == [
        (8, "ConfigMap lost of topic orders"),
        (12, "KafkaTopic old"),
        (41, "ACL on topic /tmp-.*/ for User:alice"),
        (62, "KafkaUser bob"),
        (68, "KafkaTopic left"),
        (73, "SchemaRegistrySubject orders-value"),
    ]


def test_kafka_gitops_services_and_users_unfold_to_their_acls(tmp_path: Path) -> None:
    found = from_text(tmp_path, GITOPS)
    of = declared(tmp_path, found)
    assert topics(of) == {"orders": (6, 3, {"cleanup.policy": "compact"}), "audit": (1, 2, {})}
    given = acls(of)
    assert {each for each in given if each.startswith("User:shop|")} == {
        "User:shop|*|Write|Allow|Topic|orders|Literal",
        "User:shop|*|Read|Allow|Topic|audit|Literal",
        "User:shop|*|Read|Allow|Group|shop|Literal",
        "User:shop|*|AlterConfigs|Allow|Topic|shop-|Prefixed",
    }
    assert len([each for each in given if each.startswith("User:sums|")]) == 1 + 8 + 3 + 1
    assert "User:sums|*|Create|Allow|Topic|sums-v2|Prefixed" in given
    assert len([each for each in given if each.startswith("User:connect|")]) == 6 + 1 + 2
    assert "User:connect|*|Write|Allow|Topic|connect-offsets-connect|Literal" in given
    assert "User:connect|*|Read|Allow|Group|connect-sink|Literal" in given
    assert len([each for each in given if each.startswith("User:ops|")]) == 5
    assert left_out(found) == [(23, "service cloud")]
    assert '# owner = "me"\nresource "kafka_topic" "audit"' in found.text


DESCRIBES = """settings:
  services: { acls: { describeTopicEnabled: true } }
  topics: { blacklist: { prefixed: [ _schemas ] } }
services:
  shop:
    type: application
    principal: User:p
    produces: [ paid ]
    consumes: [ first ]
  sums:
    type: kafka-streams
    principal: User:p
    consumes: [ paid ]
    produces: [ summed ]
  links:
    type: kafka-connect
    principal: User:p
    produces: [ poison ]
    connectors:
      from-shop: { produces: [ summed ] }
      to-lake: { consumes: [ paid ] }
"""
"""In facts kafka-gitops' own describe-topic-acl-enabled.yaml, whose plan has 30 ACLs."""


def test_the_example_of_kafka_gitops_with_describe_acls_gives_its_30(tmp_path: Path) -> None:
    """Review F5: `describe-topic-enabled` is no key of kafka-gitops, `describeTopicEnabled` is."""
    found = from_text(tmp_path, DESCRIBES)
    assert found.counts == {"ACL": 30}
    given = acls(declared(tmp_path, found))
    described = {each.split("|")[5] for each in given if "|Describe|Allow|Topic|" in each}
    assert described == {"first", "paid", "poison", "summed", "sums"}
    assert left_out(found) == [(3, "settings.topics.blacklist")]
    without = from_text(tmp_path, DESCRIBES.replace("true", "false"))
    assert without.counts == {"ACL": 26}
    wrong = from_text(tmp_path, DESCRIBES.replace("describeTopicEnabled", "describe-topic-enabled"))
    assert (2, "settings.services.acls.describe-topic-enabled") in left_out(wrong)


@pytest.mark.parametrize(
    ("group", "acl"),
    [
        ("readers*", "Read|Allow|Group|readers|Prefixed"),
        ("readers", "Read|Allow|Group|readers|Literal"),
        ("'*'", "Read|Allow|Group|*|Literal"),
    ],
)
def test_a_group_of_kafka_gitops_that_ends_in_a_star_is_a_prefix(
    group: str, acl: str, tmp_path: Path
) -> None:
    text = f"""services:
  a: {{ type: application, principal: "User:a", group-id: {group}, consumes: [ t ] }}
"""
    assert f"User:a|*|{acl}" in acls(declared(tmp_path, from_text(tmp_path, text)))


def test_a_cloud_of_kafka_gitops_is_reported(tmp_path: Path) -> None:
    text = "settings: { ccloud: { enabled: true } }\ntopics: { a: { partitions: 1 } }\n"
    assert left_out(from_text(tmp_path, text)) == [(1, "settings.ccloud")]


UNKNOWN = "zz-unknown"


def with_unknown_keys(part: object) -> Iterator[None]:
    """Put an unknown key into each mapping once, one after the other."""
    if isinstance(part, dict):
        part[UNKNOWN] = "1"
        yield
        del part[UNKNOWN]
        for each in list(part.values()):
            yield from with_unknown_keys(each)
    elif isinstance(part, list):
        for each in part:
            yield from with_unknown_keys(each)


@pytest.mark.parametrize("format_", ALL)
def test_no_key_of_any_format_is_dropped_in_silence(format_: SourceFormat, tmp_path: Path) -> None:
    """An unknown key is reported, kept as a comment, a config or a name, or is an error.

    In what is left out as a whole it is left out with it.
    """
    documents = list(yaml.safe_load_all(ALL[format_]))
    before = from_text(tmp_path, ALL[format_], format_)
    count = 0
    for _ in with_unknown_keys(documents):
        try:
            found = from_text(tmp_path, yaml.safe_dump_all(documents, sort_keys=False), format_)
        except ConfigError:  # where a mapping of mappings is, a text is a mistake
            continue
        count += 1
        lines = (tmp_path / "in.yaml").read_text().splitlines()
        told = [each for each in found.unconverted if UNKNOWN in each.subject]
        assert all(UNKNOWN in lines[each.source_range.line - 1] for each in told)
        if not told and UNKNOWN not in found.text:
            at = next(n for n, line in enumerate(lines, 1) if UNKNOWN in line)
            assert is_inside_one_left_out(lines, at, found), lines[at - 1]
    assert count > 10
    assert before.counts


def is_inside_one_left_out(lines: list[str], at: int, found: ConversionResult) -> bool:
    """Whether a line belongs to an entry that was left out, by its indentation."""
    for each in found.unconverted:
        first = each.source_range.line
        depth = each.source_range.column - 1
        inside = lines[first : at - 1]
        if first <= at and all(len(line) - len(line.lstrip(" -")) >= depth for line in inside):
            return True
    return False


LABELS = {
    SourceFormat.JIKKOU: """apiVersion: kafka.jikkou.io/v1beta2
kind: KafkaTopic
metadata: { name: orders, labels: { team: shop, "a b": "x\\ny" }, annotations: { cost: "7" } }
spec: { partitions: 1 }
---
apiVersion: kafka.jikkou.io/v1beta2
kind: KafkaPrincipalAuthorization
metadata: { name: "User:a", labels: { team: shop } }
spec:
  acls:
    - resource: { type: topic, pattern: orders, patternType: LITERAL }
      type: ALLOW
      operations: [ READ, WRITE ]
""",
    SourceFormat.STRIMZI: """apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaTopic
metadata:
  name: orders
  namespace: kafka
  labels: { team: shop, "a b": "x\\ny" }
  annotations: { cost: "7" }
spec: { partitions: 1 }
status: { observedGeneration: 1 }
---
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaUser
metadata: { name: a, labels: { team: shop } }
spec:
  authorization:
    type: simple
    acls: [ { resource: { type: topic, name: orders }, operations: [ Read, Write ] } ]
""",
    SourceFormat.JULIE: """context: c
projects:
  - name: p
    topics:
      - name: orders
        metadata: { team: shop, "a b": "x\\ny", cost: "7" }
        consumers: [ { principal: "User:a", metadata: { team: shop } } ]
""",
}


@pytest.mark.parametrize("format_", LABELS)
def test_labels_and_owners_stand_above_the_blocks(format_: SourceFormat, tmp_path: Path) -> None:
    found = from_text(tmp_path, LABELS[format_])
    declared(tmp_path, found)
    key = "metadata" if format_ is SourceFormat.JULIE else "labels"
    topic, acl = found.text.split('resource "kafka_acl"')[0].split('resource "kafka_topic"')
    assert topic.splitlines()[:2] == [f'# {key}.team = "shop"', f'# {key}."a b" = "x\\ny"']
    assert 'cost = "7"' in topic
    assert acl.splitlines()[-1] == f'# {key}.team = "shop"'
    expected = [(5, "namespace of orders")] if format_ is SourceFormat.STRIMZI else []
    assert left_out(found) == expected


def test_labels_that_no_block_is_there_for_are_reported(tmp_path: Path) -> None:
    text = """apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaUser
metadata: { name: a, labels: { team: shop } }
spec: {}
"""
    found = from_text(tmp_path, text)
    assert left_out(found) == [(3, "labels of a, who has no ACL and no quota")]


def test_labels_of_topics_that_share_a_block_stand_above_their_lines(tmp_path: Path) -> None:
    lines = [f"  shop.t{n:03}: {{ partitions: 1, owner: team-{n % 2} }}" for n in range(100)]
    found = from_text(tmp_path, "topics:\n" + "\n".join(lines) + "\n")
    assert found.text.count("resource ") == 1
    assert '    # owner = "team-1"\n    "shop.t099",\n' in found.text
    assert len(topics(declared(tmp_path, found))) == 100


def test_a_state_of_kafka_gitops_in_several_files_is_one(tmp_path: Path) -> None:
    """`settings.files` names them; defaults and owners of one hold for the others."""
    parts = {
        "state": "settings:\n  files: { topics: topics.yaml, users: users.yaml }\n"
        "  topics: { defaults: { replication: 3 } }\n"
        "customUserAcls:\n  anna:\n    all: { type: TOPIC, name: x, operation: ALL }\n",
        "topics": "topics:\n  orders: { partitions: 6 }\n",
        "users": "users:\n  anna: { principal: 'User:anna', roles: [writer] }\n",
    }
    files = [str(tmp_path / f"{name}.yaml") for name in parts]
    for file, text in zip(files, parts.values(), strict=True):
        Path(file).write_text(text)
    found = convert(files, None)
    of = declared(tmp_path, found)
    assert topics(of) == {"orders": (6, 3, {})}
    assert sorted(acls(of)) == [
        "User:anna|*|All|Allow|Topic|x|Literal",
        "User:anna|*|Write|Allow|Topic|*|Literal",
    ]
    assert found.unconverted == ()
    missing = convert(files[:2], None)
    assert left_out(missing) == [(2, "users of users.yaml"), (6, "ACL all of anna")]


def test_julie_names_topics_by_their_place_and_unfolds_roles(tmp_path: Path) -> None:
    found = from_text(tmp_path, JULIE)
    of = declared(tmp_path, found)
    assert topics(of) == {
        "acme.web.shop.orders.avro": (3, 2, {"retention.ms": "1000"}),
        "acme.web.shop.plain": (None, None, {}),
        "given": (None, None, {}),
    }
    given = acls(of)
    assert {each for each in given if each.startswith("User:reader|")} == {
        f"User:reader|*|{operation}|Allow|Topic|acme.web.shop.{topic}|Literal"
        for topic in ("orders.avro", "plain")
        for operation in ("Read", "Describe")
    } | {"User:reader|*|Read|Allow|Group|readers-|Prefixed"}
    assert "User:writer|*|Write|Allow|TransactionalID|tx|Literal" in given
    assert "User:writer|*|IdempotentWrite|Allow|Cluster|kafka-cluster|Literal" in given
    assert "User:sums|*|All|Allow|Topic|acme.web.shop|Prefixed" in given
    assert len([each for each in given if each.startswith("User:connect|")]) == 6 + 1 + 1 + 1
    assert "User:connect|*|Create|Allow|Cluster|kafka-cluster|Literal" in given
    assert left_out(found) == [
        (17, "rbac of project shop"),
        (23, "plan of topic acme.web.shop.plain"),
        (36, "platform control_center"),
    ]
    assert {each for each in given if each.startswith("User:registry|")} == {
        f"User:registry|*|{each}|Allow|Topic|_shop_schemas|Literal"
        for each in ("Create", "Describe", "DescribeConfigs", "Read", "Write")
    } | {
        "User:registry|*|Describe|Allow|Topic|__consumer_offsets|Literal",
        "User:registry|*|Read|Allow|Group|sr|Literal",
    }
    assert "User:registry2|*|Read|Allow|Topic|_schemas|Literal" in given
    assert "User:registry2|*|Read|Allow|Group|schema-registry|Literal" in given
    rates = {"consumer_byte_rate": "1024", "request_percentage": "50"}
    quotas = [each.value for each in of.resources if isinstance(each.value, Quota)]
    assert quotas == [Quota("user", "reader", None, rates)]


@pytest.mark.parametrize("is_exactly_once", [True, False])
def test_streams_of_julie_that_write_exactly_once_get_their_transactions(
    *, is_exactly_once: bool, tmp_path: Path
) -> None:
    text = f"""context: c
projects:
  - name: p
    streams: [ {{ principal: "User:s", exactlyOnce: {is_exactly_once} }} ]
"""
    found = from_text(tmp_path, text)
    assert left_out(found) == []
    given = {each for each in acls(declared(tmp_path, found)) if "|TransactionalID|" in each}
    assert given == {
        f"User:s|*|{operation}|Allow|TransactionalID|c.p|Prefixed"
        for operation in ("Write", "Describe")
        if is_exactly_once
    }


def test_observers_of_streams_of_julie_read_what_the_application_writes(tmp_path: Path) -> None:
    text = """context: c
projects:
  - name: p
    streams: [ { principal: "User:s", observerPrincipals: [ { principal: "User:o" } ] } ]
"""
    found = from_text(tmp_path, text)
    assert left_out(found) == []
    given = acls(declared(tmp_path, found))
    assert {each for each in given if each.startswith("User:o|")} == {
        "User:o|*|Read|Allow|Topic|c.p|Prefixed",
        "User:o|*|Describe|Allow|Topic|c.p|Prefixed",
        "User:o|*|Read|Allow|Group|c.p|Prefixed",
    }


def test_a_transactional_producer_of_julie_may_be_idempotent_too(tmp_path: Path) -> None:
    text = """context: c
projects:
  - name: p
    topics:
      - name: t
        producers: [ { principal: "User:p", transactionId: x, idempotence: true } ]
"""
    found = from_text(tmp_path, text)
    assert left_out(found) == []
    assert found.counts == {"topic": 1, "ACL": 5}


def test_queries_of_julie_get_the_acls_of_their_topics_and_groups(tmp_path: Path) -> None:
    text = """context: c
projects:
  - name: p
    ksql:
      artefacts: { streams: [ { path: a.sql, name: a } ] }
      access_control:
        - { principal: "User:q", topics: { read: [ r ], write: [ w ] } }
        - { principal: "User:own", applicationId: own }
"""
    found = from_text(tmp_path, text)
    assert left_out(found) == [(5, "artefacts of ksql")]
    assert acls(declared(tmp_path, found)) == {
        "User:q|*|Read|Allow|Topic|r|Literal",
        "User:q|*|Write|Allow|Topic|w|Literal",
        "User:q|*|All|Allow|Topic|c.p|Prefixed",
        "User:q|*|All|Allow|Group|c.p|Prefixed",
        "User:own|*|All|Allow|Topic|own|Prefixed",
        "User:own|*|All|Allow|Group|own|Prefixed",
    }


def test_strimzi_users_are_named_as_kafka_knows_them(tmp_path: Path) -> None:
    found = from_text(tmp_path, STRIMZI)
    of = declared(tmp_path, found)
    assert topics(of) == {"Orders": (6, 3, {"cleanup.policy": "compact,delete"})}
    assert acls(of) == {
        "User:CN=alice|*|Read|Allow|Topic|Or|Prefixed",
        "User:CN=alice|*|DescribeConfigs|Allow|Topic|Or|Prefixed",
        "User:CN=alice|*|IdempotentWrite|Deny|Cluster|kafka-cluster|Literal",
    }
    assert found.counts == {"topic": 1, "ACL": 3, "quota": 1}
    assert left_out(found) == [
        (20, "tls credential of alice"),
        (34, "scram-sha-512 credential of bob"),
        (36, "KafkaNodePool pool"),
    ]


def test_topicctl_keeps_topics_placements_and_acls(tmp_path: Path) -> None:
    """In facts the examples of topicctl's README and its folders local-cluster and auth."""
    found = from_text(tmp_path, TOPICCTL)
    of = declared(tmp_path, found)
    assert topics(of) == {
        "defaults": (
            3,
            2,
            {
                "cleanup.policy": "compact,delete",
                "max.message.bytes": "5542880",
                "retention.ms": "6120000",
            },
        ),
        "racks": (2, 1, {}),
        "fixed": (None, None, {}),
        "leads": (3, 1, {}),
        "across": (3, 3, {"retention.ms": "1000"}),
    }
    values = [each.value for each in of.resources if isinstance(each.value, Topic)]
    assert {each.name: each.strategy for each in values} == {
        "defaults": "in-rack",
        "racks": "",
        "fixed": "static",
        "leads": "balanced-leaders",
        "across": "rack-aware",
    }
    assert [each.replica_assignment for each in values if each.name == "fixed"] == [
        ((1, 2), (2, 3))
    ]
    assert acls(of) == {
        "User:anna|*|Read|Allow|Topic|defaults|Literal",
        "User:anna|*|Describe|Allow|Topic|defaults|Literal",
        "User:anna|10.0.0.1|Read|Deny|Group|g-|Prefixed",
        "User:ben|*|Write|Allow|Topic|defaults|Literal",
    }
    above = ['# description = "Where most topics are."', '# labels.team = "shop"']
    above += ['# consumers[0] = "billing"', 'resource "kafka_topic" "defaults" {']
    assert "\n".join(above) in found.text
    assert found.text.count('# name = "rights"') == 2
    assert "hunter2" not in str(found)
    assert left_out(found) == [
        (3, "region of cluster local"),
        (4, "environment of cluster local"),
        (5, "description of cluster local"),
        (7, "bootstrapAddrs of cluster local"),
        (8, "clusterID of cluster local"),
        (9, "defaultThrottleMB of cluster local"),
        (11, "tls of cluster local"),
        (15, "meta.cluster local, dev, here"),
        (26, "picker of topic defaults"),
        (27, "throttleMB of topic defaults"),
        (27, "partitionBatchSize of topic defaults"),
        (37, "placement strategy static-in-rack of topic racks"),
        (38, "staticRackAssignments of topic racks"),
        (49, "meta.cluster other, dev, here"),
        (53, "retentionMinutes of topic across"),
        (74, "authentication of user ben"),
    ]


@pytest.mark.parametrize(
    ("before", "after", "is_refused"),
    [("86400000", "1000", True), ("5401000", "1000", False), ("1000", "86400000", False)],
)
def test_the_retention_step_of_topicctl_becomes_a_policy(
    before: str, after: str, is_refused: bool, tmp_path: Path
) -> None:
    """`defaultRetentionDropStepDuration` of 1h30m lets 5,400,000 ms go at a time."""
    cluster = TOPICCTL.split("---", maxsplit=1)[0]
    topic = (
        "---\nmeta: {{ name: t, cluster: local }}\n"
        "spec: {{ partitions: 1, settings: {{ retention.ms: {} }} }}\n"
    )
    site = ProjectHarness(tmp_path, MemoryCluster())
    site.write(from_text(tmp_path, cluster + topic.format(before)).text)
    site.apply()
    site.write(from_text(tmp_path, cluster + topic.format(after)).text)
    made = site.plan().plan
    told = [each.policy for each in made.violations]
    assert told == (["retention_step"] if is_refused else [])
    assert made.has_changes is not is_refused


@pytest.mark.parametrize("written", ["6", "h", "1h 30m", "-6h", "1d"])
def test_a_duration_that_go_does_not_know_is_a_mistake(written: str, tmp_path: Path) -> None:
    text = "meta: { name: c }\nspec:\n  bootstrapAddrs: [ k ]\n"
    text += f"  defaultRetentionDropStepDuration: {written}\n"
    ((code, line, detail),) = mistakes(tmp_path, text)
    assert (code, line) == ("KP181", 4)
    assert f'there is "{written}"' in detail


def test_several_files_are_read_together_and_what_is_declared_twice_is_told(tmp_path: Path) -> None:
    for name, text in (("a.yaml", GITOPS), ("b.yaml", "topics: { orders: { partitions: 7 } }")):
        (tmp_path / name).write_text(text)
    found = convert([str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")], None)
    assert found.counts["topic"] == 2
    assert found.unconverted[-1].reason == "it is declared before, and not alike"


def test_what_kafka_would_refuse_is_left_out(tmp_path: Path) -> None:
    text = "topics: { a/b: { partitions: 1 }, c: { partitions: 1 } }"
    found = from_text(tmp_path, text)
    assert list(topics(declared(tmp_path, found))) == ["c"]
    assert left_out(found) == [(1, "topic a/b")]


BAD_CONFIGS = "{ retention.ms: 7d,\n      cleanup.policy: compacted, segment.ms: [ a, {} ] }"
BAD_LIMITS = "{ producerByteRate: x,\n      consumerByteRat: 1 }"
KUBERNETES = "apiVersion: {group}/v1beta2\nkind: {kind}\nmetadata: {{ name: t }}\nspec:\n"


def resource(group: str, kind: str, spec: str) -> str:
    return KUBERNETES.format(group=group, kind=kind) + spec


@pytest.mark.parametrize(
    ("text", "line", "codes"),
    [
        (
            resource("kafka.jikkou.io", "KafkaTopic", f"  configs: {BAD_CONFIGS}"),
            5,
            ["KP208", "KP208", "KP181"],
        ),
        (
            resource("kafka.strimzi.io", "KafkaTopic", f"  config: {BAD_CONFIGS}"),
            5,
            ["KP208", "KP208", "KP181"],
        ),
        (f"topics:\n  t:\n    configs: {BAD_CONFIGS}", 3, ["KP208", "KP208", "KP181"]),
        (
            (
                "context: c\nprojects:\n  - name: p\n    topics:\n"
                f"    - name: t\n      config: {BAD_CONFIGS}"
            ),
            6,
            ["KP208", "KP208", "KP181"],
        ),
        (
            f"meta: {{ name: t }}\nspec:\n  settings: {BAD_CONFIGS}",
            3,
            ["KP208", "KP208", "KP181"],
        ),
        (
            resource(
                "kafka.jikkou.io",
                "KafkaClientQuota",
                f"  type: CLIENTS_DEFAULT\n  configs: {BAD_LIMITS}",
            ),
            6,
            ["KP224", "KP224"],
        ),
        (
            resource("kafka.strimzi.io", "KafkaUser", f"  quotas: {BAD_LIMITS}"),
            5,
            ["KP224", "KP224"],
        ),
        (
            (
                "context: c\nprojects: []\nplatform:\n  kafka:\n    quotas:\n"
                '    - { principal: "User:a", producer_byte_rate: x,\n      consumer_byte_rat: 1 }'
            ),
            6,
            ["KP224", "KP224"],
        ),
    ],
)
def test_each_value_that_kafka_refuses_is_a_mistake_where_it_is_written(
    text: str, line: int, codes: list[str], tmp_path: Path
) -> None:
    told = mistakes(tmp_path, text)
    assert [at for _, at, _ in told] == [line, *[line + 1] * (len(codes) - 1)]
    assert [code for code, _, _ in told] == codes


@pytest.mark.parametrize(
    ("text", "code", "line", "told"),
    [
        ("topics:\n  a: [1", "KP149", 2, "expected"),
        ("topics:\n  a: 1\n  a: 2\n", "KP149", 3, 'The key "a" is set twice.'),
        ("topics:\n  é: \x01\n", "KP149", 2, "ontrol characters are not allowed"),
        ("topics: &x [*x]\n", "KP149", 1, "levels"),
        ("topics:\n  a: {partitions: many}\n", "KP181", 2, 'a whole number, and there is "many"'),
        ("services:\n  a: {produces: [t]}\n", "KP181", 2, '"type" is missing here; it is a text.'),
        ("topics:\n  - a\n", "KP181", 2, "Here belongs a mapping, and there is a list."),
        ("? [a]\n: b\n", "KP149", 1, "A key has to be a text."),
        ("", "KP181", 1, "is in none of the formats"),
        ("some: thing\n", "KP181", 1, "is in none of the formats"),
        ("just text\n", "KP181", 1, "Here belongs a mapping"),
    ],
)
def test_a_mistake_is_told_with_its_line(
    text: str, code: str, line: int, told: str, tmp_path: Path
) -> None:
    ((found_code, found_line, detail),) = mistakes(tmp_path, text)
    assert (found_code, found_line) == (code, line)
    assert told in detail


@pytest.mark.parametrize("format_", READERS)
def test_no_wrong_document_makes_a_reader_fall_over(format_: SourceFormat) -> None:
    """Each line of the sample is taken out once: that is told, or converted without it."""
    lines = ALL[format_].splitlines(keepends=True)
    for number in range(len(lines)):
        found = Conversion()
        read = read_yaml("".join(lines[:number] + lines[number + 1 :]), "in.yaml")
        if isinstance(read, Diagnostic):
            found.problems.append(read)
        else:
            READERS[format_](read, found)
        assert found.values or found.problems
        assert all(each.subject for each in found.problems)


def test_all_mistakes_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    text = "topics:\n  a: { partitions: x }\n  b: []\nservices:\n  s: { type: [] }\n"
    assert [line for _, line, _ in mistakes(tmp_path, text)] == [2, 3, 5]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (resource("kafka.jikkou.io", "KafkaTopic", "  partitions: 0\n  replicas: 0"), [5, 6]),
        (resource("kafka.strimzi.io", "KafkaTopic", "  partitions: 0\n  replicas: -2"), [5, 6]),
        (
            (
                "settings: { topics: { defaults: { replication: 0 } } }\ntopics:\n  t:\n"
                "    partitions: 0\n    replication: 0\n"
            ),
            [1, 4, 5],
        ),
        (
            (
                "context: c\nprojects: []\nspecial_topics:\n  - name: t\n    config:\n"
                "      num.partitions: 0\n      replication.factor: 0\n"
            ),
            [6, 7],
        ),
        ("meta: { name: t }\nspec:\n  partitions: 0\n  replicationFactor: 0\n", [3, 4]),
    ],
)
def test_no_topic_has_0_partitions_or_replicas(text: str, lines: list[int], tmp_path: Path) -> None:
    told = mistakes(tmp_path, text)
    assert [(code, line) for code, line, _ in told] == [("KP181", line) for line in lines]
    assert all("Here belongs a number above 0" in detail for _, _, detail in told)


def test_deep_nesting_is_a_mistake_and_no_crash(tmp_path: Path) -> None:
    assert mistakes(tmp_path, "[" * 100_000)[0][0] == "KP149"
