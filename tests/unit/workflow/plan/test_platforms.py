"""What platforms refuse, ignore or take back: told by validate and plan, and seen on fakes."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from kplan.cluster.errors import refusal
from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.platform import Platform, recognize_platform
from kplan.cluster.request import NewTopic
from kplan.model.errors import Refusal
from kplan.model.outcome import OutcomeStatus
from kplan.policy.platform_rule import Effect
from kplan.policy.platform_table import PLATFORM_RULES
from kplan.workflow.apply.apply import ApplyHandlers, apply
from kplan.workflow.ports import PlanOptions
from kplan.workflow.project.validate import validate_project
from tests.managed_cluster import (
    Aiven,
    ConfluentCloud,
    ManagedCluster,
    Msk,
    MskServerless,
    Redpanda,
    Strimzi,
)
from tests.project_harness import ProjectHarness

PROVIDER = 'provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }\n'
PLAIN = """provider "kafka" {
  bootstrap_servers = ["127.0.0.1:1"]
  platform          = "kafka"
}
"""
WRITES = {
    "create_topics", "alter_topic_configs", "create_acls", "alter_quotas", "alter_scram_users",
    "alter_configs",
}  # fmt: skip


def topic(arguments: str) -> str:
    return f'resource "kafka_topic" "t" {{\n  name = "orders"\n  {arguments}\n}}\n'


def config(key: str, value: str) -> str:
    return topic(f'config = {{ "{key}" = "{value}" }}')


def acl(principal: str = "User:sa-1", host: str = "*", sort: str = "Topic") -> str:
    name, operation = ("User:a", "CreateTokens") if sort == "User" else ("orders", "Read")
    return f"""resource "kafka_acl" "a" {{
  resource_name       = "{name}"
  resource_type       = "{sort}"
  acl_principal       = "{principal}"
  acl_host            = "{host}"
  acl_operation       = "{operation}"
  acl_permission_type = "Allow"
}}
"""


def quota(key: str = "producer_byte_rate") -> str:
    return f"""resource "kafka_quota" "q" {{
  entity_type = "client-id"
  entity_name = "app"
  config      = {{ "{key}" = 5 }}
}}
"""


def user(mechanism: str = "SCRAM-SHA-512") -> str:
    return f"""resource "kafka_user_scram_credential" "u" {{
  username        = "app"
  scram_mechanism = "{mechanism}"
  password        = "secret-enough"
}}
"""


BROKER = 'resource "kafka_broker_config" "b" {\n  config = { "log.cleaner.threads" = "2" }\n}\n'

REFUSED: list[tuple[type[ManagedCluster], str, str, str]] = [
    (Aiven, quota(), "KP600", "resource"),
    (Aiven, user(), "KP600", "resource"),
    (ConfluentCloud, config("compression.type", "zstd"), "KP601", '"zstd"'),
    (ConfluentCloud, config("delete.retention.ms", "60566400001"), "KP602", '"6056'),
    (ConfluentCloud, topic("replication_factor = 1"), "KP602", "1"),
    (ConfluentCloud, topic("replica_assignment = [[1, 2, 3]]"), "KP600", "[[1"),
    (ConfluentCloud, acl(host="10.0.0.1"), "KP603", '"10.'),
    (ConfluentCloud, acl(sort="User"), "KP603", '"User"'),
    (ConfluentCloud, quota(), "KP600", "resource"),
    (ConfluentCloud, user(), "KP600", "resource"),
    (MskServerless, acl(), "KP600", "resource"),
    (MskServerless, user(), "KP600", "resource"),
    (MskServerless, BROKER, "KP601", "resource"),
    (MskServerless, config("segment.bytes", "52428800"), "KP601", '"52'),
    (MskServerless, config("max.message.bytes", "8388609"), "KP602", '"83'),
    (Redpanda, quota("request_percentage"), "KP601", "5"),
]
"""What a service answers with an error: its fake does so in these tests."""

ONLY_TOLD: list[tuple[type[ManagedCluster], str, str, str]] = [
    (Aiven, acl(), "KP604", "resource"),
    (ConfluentCloud, acl("User:my-app"), "KP603", '"User:my'),
    (ConfluentCloud, BROKER, "KP601", "resource"),
    (
        ConfluentCloud,
        topic(
            'partitions = 3\n  replication_factor = 3\n  placement = { strategy = "rack-aware" }'
        ),
        "KP600",
        "{ strategy",
    ),
    (Msk, user("SCRAM-SHA-256"), "KP602", '"SCRAM'),
    (Msk, user(), "KP604", "resource"),
    (Msk, acl("User:arn:aws:iam::1:role/app"), "KP603", '"User:arn'),
    (Redpanda, config("min.insync.replicas", "2"), "KP601", '"2"'),
    (Strimzi, acl(), "KP604", "resource"),
    (Strimzi, quota(), "KP604", "resource"),
    (Strimzi, user(), "KP604", "resource"),
    (Strimzi, config("retention.ms", "1000"), "KP604", "resource"),
]
"""What no request fails for."""

PLATFORMS = {
    Aiven: Platform.AIVEN,
    ConfluentCloud: Platform.CONFLUENT_CLOUD,
    Msk: Platform.MSK,
    MskServerless: Platform.MSK_SERVERLESS,
    Redpanda: Platform.REDPANDA,
    Strimzi: Platform.STRIMZI,
}


def place(text: str, mark: str, begin: int = 1) -> str:
    """Give the place of a mark in a file that has `begin` lines before the text."""
    before = text[: text.index(mark)]
    return f"main.tf:{begin + before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def site_of(folder: Path, cluster: MemoryCluster, text: str) -> ProjectHarness:
    found = ProjectHarness(folder, cluster)
    found.write(PROVIDER + text)
    return found


@pytest.mark.parametrize(("service", "text", "code", "mark"), [*REFUSED, *ONLY_TOLD])
def test_a_plan_tells_before_anything_is_sent_what_the_platform_does_not_take(
    tmp_path: Path, service: type[ManagedCluster], text: str, code: str, mark: str
) -> None:
    """The cluster shows itself who it is; value and source are named."""
    site = site_of(tmp_path, service(), text)
    plan = site.plan().plan
    (problem,) = (each for each in plan.diagnostics if each.code == code)
    assert str(problem.subject) == place(text, mark)
    assert f"on {PLATFORMS[service].label}: " in problem.detail
    assert "See https://" in problem.detail
    assert problem.hint
    assert plan.is_applyable is not problem.is_error
    if problem.is_error:
        assert site.apply().outcomes == ()
        assert not [each for each in site.cluster.calls if _is_write(each.method, each)]


def _is_write(method: str, call: object) -> bool:
    return method in WRITES and not getattr(call, "validate_only", False)


@pytest.mark.parametrize(("service", "text", "code", "mark"), [*REFUSED, *ONLY_TOLD])
def test_validate_tells_the_same_without_a_cluster(
    tmp_path: Path, service: type[ManagedCluster], text: str, code: str, mark: str
) -> None:
    site = site_of(tmp_path, service(), "")
    site.write(f'provider "kafka" {{ platform = "{PLATFORMS[service]}" }}\n{text}')
    found = validate_project(site.project)
    told = [(each.code, str(each.subject)) for each in found.diagnostics]
    assert (code, place(text, mark)) in told
    assert site.cluster.calls == []


@pytest.mark.parametrize(("service", "text", "code", "mark"), REFUSED)
def test_a_service_refuses_what_the_table_says(
    tmp_path: Path, service: type[ManagedCluster], text: str, code: str, mark: str
) -> None:
    """Declared as plain Kafka nothing is foreseen; the dry run or the apply tells it then."""
    site = site_of(tmp_path, service(), "")
    site.write(PLAIN + text)
    plan = site.plan().plan
    assert code not in {each.code for each in plan.diagnostics}, mark
    refused = plan.has_errors or bool(plan.violations)
    outcomes = () if refused else site.apply().outcomes
    assert refused or [each.status for each in outcomes] == [OutcomeStatus.FAILED]


def test_every_row_of_the_table_is_tested() -> None:
    rows = {(each.platform, each.kind, each.code) for each in PLATFORM_RULES}
    cases = {
        (PLATFORMS[service], text.split('"')[1], code)
        for service, text, code, _ in [*REFUSED, *ONLY_TOLD]
    }
    assert rows == cases
    refused = {
        (each.platform, each.kind) for each in PLATFORM_RULES if each.effect is Effect.REFUSED
    }
    assert refused >= {
        (PLATFORMS[service], text.split('"')[1]) for service, text, _, _ in REFUSED
    } - {(each.platform, each.kind) for each in PLATFORM_RULES if each.effect is Effect.ELSEWHERE}


def test_a_refusal_that_nobody_foresaw_names_the_platform(tmp_path: Path) -> None:
    """By the dry run of the broker, and by an apply where none was asked for one."""

    class Stricter(Msk):
        def refuse_configs(self, config: Mapping[str, str]) -> Refusal | None:
            return refusal(40, "retention.ms is too small.") if config else None

    site = site_of(tmp_path, Stricter(), config("retention.ms", "1000"))
    (problem,) = site.plan().plan.diagnostics
    assert problem.code == "KP241"
    assert "Amazon MSK may refuse what Apache Kafka takes; kplan help platforms" in problem.hint
    ports = site.ports
    handlers = ApplyHandlers(lambda _: True, site.watcher)
    done = apply(site.project, PlanOptions(has_broker_check=False), ports, handlers)
    assert [each.status for each in done.outcomes] == [OutcomeStatus.FAILED]
    (note,) = (each for each in ports.progress.notes if "may refuse" in each)  # type: ignore[attr-defined]
    assert "kplan help platforms" in note


def test_what_redpanda_ignores_would_be_planned_for_ever(tmp_path: Path) -> None:
    site = site_of(tmp_path, Redpanda(), "")
    text = config("min.insync.replicas", "2")
    site.write(PLAIN + text)
    site.apply()
    again = site.plan().plan
    assert [each.attributes for each in again.changes if each.attributes]


def test_a_config_that_is_as_it_was_is_no_matter(tmp_path: Path) -> None:
    """Only what a request would carry is judged: the service may have set the rest itself."""
    cluster = ConfluentCloud()
    MemoryCluster.create_topics(
        cluster, [NewTopic("orders", 3, 3, config={"compression.type": "zstd"})]
    )
    text = topic(
        'partitions = 3\n  config = { "compression.type" = "zstd", "retention.ms" = "1000" }'
    )
    site = site_of(tmp_path, cluster, text + 'import {\n  to = kafka_topic.t\n  id = "orders"\n}\n')
    assert [each for each in site.plan().plan.diagnostics if each.code.startswith("KP60")] == []


def test_a_cleanup_policy_stays_as_it_was_made_on_msk_serverless(tmp_path: Path) -> None:
    site = site_of(tmp_path, MskServerless(), config("cleanup.policy", "compact"))
    assert site.plan().plan.diagnostics == ()
    site.apply()
    site.write(PROVIDER + config("cleanup.policy", "delete"))
    (problem,) = site.plan().plan.diagnostics
    assert (problem.code, str(problem.subject)) == ("KP601", "main.tf:4:33")
    assert "only when the topic is created" in problem.detail


def test_a_warning_of_another_manager_is_one_for_all_objects(tmp_path: Path) -> None:
    text = """resource "kafka_topic" "t" {
  count = 5
  name  = "orders-${count.index}"
}
"""
    site = site_of(tmp_path, Strimzi(), text)
    (warning,) = (each for each in site.plan().plan.diagnostics if each.code == "KP604")
    assert "kafka_topic.t[0] and 4 more on Strimzi" in warning.detail


def test_a_platform_that_the_cluster_contradicts_is_told(tmp_path: Path) -> None:
    site = site_of(tmp_path, ConfluentCloud(), "")
    provider = 'provider "kafka" {\n  bootstrap_servers = ["127.0.0.1:1"]\n  platform = "msk"\n}\n'
    site.write(provider + config("retention.ms", "1000"))
    (problem,) = site.plan().plan.diagnostics
    assert (problem.code, str(problem.subject)) == ("KP605", "main.tf:3:14")
    assert "declared as Amazon MSK, and the cluster shows itself as Confluent Cloud" in (
        problem.detail
    )
    site.write(provider.replace('"msk"', '"kafka"') + config("retention.ms", "1000"))
    assert site.plan().plan.diagnostics == ()


def test_a_platform_that_nobody_knows_is_an_error_at_its_place(tmp_path: Path) -> None:
    site = site_of(tmp_path, MemoryCluster(), "")
    site.write('provider "kafka" {\n  platform = "azure"\n}\n')
    (problem,) = validate_project(site.project).diagnostics
    assert (problem.code, str(problem.subject)) == ("KP302", "main.tf:2:14")
    assert '"confluent-cloud"' in problem.detail


def test_validate_recognizes_a_platform_by_the_servers_of_the_block(tmp_path: Path) -> None:
    site = site_of(tmp_path, MemoryCluster(), "")
    site.write(
        PROVIDER.replace("127.0.0.1:1", "pkc-0.eu-west-1.aws.confluent.cloud:9092")
        + topic("replication_factor = 2")
    )
    (problem,) = validate_project(site.project).diagnostics
    assert problem.code == "KP602"


def test_a_policy_reads_the_platform(tmp_path: Path) -> None:
    policy = """policy "by-platform" {
  on   = "create"
  kind = "kafka_topic"
  deny {
    condition = cluster.platform == "msk"
    message   = "not on ${cluster.platform}"
  }
}
"""
    plan = site_of(tmp_path, Msk(), policy + config("retention.ms", "1000")).plan().plan
    assert [each.message for each in plan.violations] == ["not on msk"]
    plain = site_of(tmp_path, MemoryCluster(), policy + config("retention.ms", "1000")).plan().plan
    assert plain.violations == ()
    assert plain.cluster.get("platform") is None
    assert plan.cluster["platform"] == "msk"


@pytest.mark.parametrize(
    ("cluster_id", "host", "platform"),
    [
        ("lkc-9", "kafka.internal", Platform.CONFLUENT_CLOUD),
        ("x", "b0-pkc-1.eu-west-1.aws.confluent.cloud", Platform.CONFLUENT_CLOUD),
        ("x", "b-1.orders.x1.c2.kafka.eu-west-1.amazonaws.com", Platform.MSK),
        ("x", "b-1.x.kafka.cn-north-1.amazonaws.com.cn", Platform.MSK),
        ("x", "boot-x.c1.kafka-serverless.us-east-2.amazonaws.com", Platform.MSK_SERVERLESS),
        ("redpanda.initializing", "10.0.0.1", Platform.REDPANDA),
        ("x", "kafka-shop.aivencloud.com.", Platform.AIVEN),
        ("x", "shop-kafka-0.shop-kafka-brokers.ns.svc", Platform.STRIMZI),
        ("x", "shop-kafka-bootstrap.ns.svc.cluster.local", Platform.STRIMZI),
        ("x", "kafka-1.example", None),
        ("x", "confluent.cloud.example", None),
        ("x", "ec2-1.eu-west-1.compute.amazonaws.com", None),
        ("", "", None),
    ],
)
def test_a_platform_is_recognized(cluster_id: str, host: str, platform: Platform | None) -> None:
    assert recognize_platform(cluster_id, [host]) is platform
