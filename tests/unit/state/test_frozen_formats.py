"""Files of every format that kplan ever wrote are read by this version (K117-22).

The fixtures are frozen: a change that makes one of these tests fail needs a new format number, a
fixture of its own, and code that still reads the old one.
"""

import shutil
from dataclasses import replace
from pathlib import Path

from kplan.kinds.acl import Acl, AclKind
from kplan.kinds.topic_rules import Topic
from kplan.model.address import Address
from kplan.model.diagnostic import Diagnostic, Severity, SourceRange
from kplan.model.errors import Refusal
from kplan.model.outcome import Outcome, OutcomeStatus
from kplan.model.plan import (
    Action,
    AttributeChange,
    Batch,
    Change,
    OutputChange,
    Plan,
    PlanBasis,
    Reason,
    Risk,
    Step,
)
from kplan.model.resource import Identity
from kplan.model.state import OutputValue, OwnedObject, State
from kplan.state.codec import decode_state, encode_state
from kplan.state.file import read_state
from kplan.state.journal import Journal, JournalHeader, journal_path, read_journal
from kplan.state.lock_holder import LockHolder, decode_holder
from kplan.state.plan_file import PlanMetadata, SavedPlan, read_plan

FIXTURES = Path(__file__).parent / "fixtures"
LINEAGE = "6f1c2d7e-0a4b-4c39-9a55-2f0d5b1c7e11"
CLUSTER = "4L6g3nShT-eMCtK--X86sw"
ORDERS = Topic("eu.orders.v1", 6, 3, None, {"retention.ms": "604800000"})
AUDIT = Topic("audit", None, None, ((1, 2), (2, 3)))
READ = Acl("eu.orders.", "Topic", "User:billing", "*", "Read", "Allow", "Prefixed")
AT_ORDERS = Address("kafka_topic", "orders", "eu", ("pay",))
AT_AUDIT = Address("kafka_topic", "audit")
AT_READ = Address("kafka_acl", "billing", 0)
PLACE = SourceRange("topics.tf", 12, 1, 18, 2)

STATE = State(
    LINEAGE,
    41,
    CLUSTER,
    {
        AT_READ: OwnedObject(AT_READ, AclKind().identify(READ), READ, declared_at="acls.tf:3"),
        AT_AUDIT: OwnedObject(AT_AUDIT, Identity("audit"), AUDIT, is_pending=True),
        AT_ORDERS: OwnedObject(
            AT_ORDERS, Identity("eu.orders.v1"), ORDERS, "b8tRS7h4TJ2Vt43Dp85v2A",
            is_protected=True, declared_at="topics.tf:12",
        ),
    },
    {
        "names": OutputValue(["eu.orders.v1", 3, 1.5, None, True], ["tuple", ["string"]]),
        "password": OutputValue(None, "string", is_sensitive=True),
    },
)  # fmt: skip

GROWTH = Change(
    AT_ORDERS, "kafka_topic", Identity("eu.orders.v1"), Action.UPDATE, ORDERS,
    replace(ORDERS, partitions=12), (AttributeChange(("partitions",), 6, 12),), Reason.NONE,
    "b8tRS7h4TJ2Vt43Dp85v2A", PLACE, True, Address("kafka_topic", "old"), Risk.REVIEW,
    ("keys move to other partitions",), frozenset({("config", "retention.ms")}),
)  # fmt: skip
DELETION = Change(
    AT_READ, "kafka_acl", AclKind().identify(READ), Action.DELETE, READ, None,
    reason=Reason.NOT_DECLARED,
)  # fmt: skip
KEPT = Change(AT_AUDIT, "kafka_topic", Identity("audit"), Action.NO_OP, AUDIT, AUDIT)
DRIFTED = replace(GROWTH, attributes=(AttributeChange(("config", "retention.ms"), "1", None),))
PLAN = Plan(
    PlanBasis("digest", LINEAGE, 41, CLUSTER),
    (DELETION, GROWTH, KEPT),
    (
        Batch("kafka_acl", Step(10, "delete_acls"), (DELETION,)),
        Batch("kafka_topic", Step(60, "create_partitions"), (GROWTH,)),
    ),
    (DRIFTED,),
    (OutputChange("names", Action.UPDATE, ["a"], {"b": 1}),),
    (
        Diagnostic(
            "KP202", Severity.WARNING, "Topic names collide", "detail", "hint", AT_AUDIT, PLACE,
            (("first", PLACE),), (("var.n", "is 200"),),
        ),
    ),
    {"kafka_quota": "not authorized"},
    is_complete=False,
    checksum="5c2e-91ab",
    cluster={"id": CLUSTER},
    created_at="2026-08-04T10:00:00+00:00",
)  # fmt: skip
META = PlanMetadata(
    LINEAGE, 41, CLUSTER, "2026-08-04T10:00:00+00:00", "2026-08-05T10:00:00+00:00", "nonce-1",
    "5c2e-91ab", "0.1.0",
)  # fmt: skip
HOLDER = LockHolder(
    "0d6b1f43-5c62-4c39-8f0e-9a4f0f6f9a01", "apply", "deploy", "runner-7", 4711,
    "b1e0d3c2-0000-4000-8000-000000000000", "https://ci/run/7", "9f31c2a", CLUSTER,
    "2026-08-04T10:00:00Z", "2026-08-04T10:00:10Z", "123456",
)  # fmt: skip
REMEMBERED = replace(GROWTH, before=None, attributes=(), notes=(), sensitive=frozenset(),
                     reason=Reason.NONE, risk=Risk.SAFE)  # fmt: skip
JOURNAL = Journal(
    JournalHeader("5c2e-91ab", LINEAGE, 41, CLUSTER, "0.1.0", "2026-08-04T10:00:00Z"),
    (replace(DELETION, before=None, reason=Reason.NONE), REMEMBERED),
    frozenset({DELETION.key, GROWTH.key}),
    (
        Outcome(
            replace(DELETION, before=None, reason=Reason.NONE), OutcomeStatus.FAILED,
            Refusal("CLUSTER_AUTHORIZATION_FAILED", 31, "no"), 2, 12, "gave up",
        ),
        Outcome(REMEMBERED, OutcomeStatus.APPLIED, None, 1, 31, "", True, "b8tRS7h4TJ2Vt43Dp85v2A"),
    ),
    {42: 2},
    is_ended=True,
)  # fmt: skip


def test_a_state_of_format_1_is_read_and_still_written_the_same() -> None:
    assert read_state(FIXTURES / "state-1.json") == STATE
    assert encode_state(STATE, "0.1.0") == (FIXTURES / "state-1.json").read_bytes()
    assert decode_state(encode_state(STATE, "0.1.0")) == STATE


def test_a_lock_of_format_1_is_read() -> None:
    assert decode_holder((FIXTURES / "lock-1.json").read_bytes()) == HOLDER


def test_a_plan_of_format_1_is_read() -> None:
    assert read_plan(FIXTURES / "plan-1.kplan") == SavedPlan(PLAN, META, b"{}")


def test_a_journal_of_format_1_is_read(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    shutil.copyfile(FIXTURES / "journal-1.journal", journal_path(path))
    assert read_journal(path) == JOURNAL


# ---- format 2: several clusters

CLUSTERS = {'by_region["eu"]': "eu-cluster", "west": "west-cluster"}
STATE_2 = replace(
    STATE,
    clusters=CLUSTERS,
    owned={
        AT_ORDERS: replace(STATE.owned[AT_ORDERS], provider='by_region["eu"]'),
        AT_READ: STATE.owned[AT_READ],
    },
)
GROWTH_2 = replace(GROWTH, provider='by_region["eu"]')
PLAN_2 = replace(
    PLAN,
    based_on=replace(PLAN.based_on, clusters=CLUSTERS),
    changes=(DELETION, GROWTH_2, KEPT),
    batches=(
        PLAN.batches[0],
        Batch("kafka_topic", Step(60, "create_partitions"), (GROWTH_2,), 'by_region["eu"]'),
    ),
    drift=(),
    clusters={'by_region["eu"]': {"at": "eu:9092"}},
)
JOURNAL_2 = replace(
    JOURNAL,
    header=replace(JOURNAL.header, clusters=CLUSTERS),
    changes=(JOURNAL.changes[0], replace(REMEMBERED, provider='by_region["eu"]')),
    sent_keys=frozenset({DELETION.key, GROWTH_2.key}),
    outcomes=(
        JOURNAL.outcomes[0],
        replace(JOURNAL.outcomes[1], change=replace(REMEMBERED, provider='by_region["eu"]')),
    ),
)


def test_a_state_of_format_2_is_read_and_still_written_the_same() -> None:
    """Only what is about several clusters is written so; all else stays readable for format 1."""
    assert read_state(FIXTURES / "state-2.json") == STATE_2
    assert encode_state(STATE_2, "0.2.0") == (FIXTURES / "state-2.json").read_bytes()
    assert b'"format": 2' in encode_state(STATE_2, "0.2.0")
    assert b'"format": 1' in encode_state(STATE, "0.2.0")


def test_a_plan_of_format_2_is_read() -> None:
    meta = replace(META, clusters=CLUSTERS)
    assert read_plan(FIXTURES / "plan-2.kplan") == SavedPlan(PLAN_2, meta, b"{}")


def test_a_journal_of_format_2_is_read(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    shutil.copyfile(FIXTURES / "journal-2.journal", journal_path(path))
    assert read_journal(path) == JOURNAL_2


SHARED = replace(
    STATE,
    owned={
        **STATE.owned,
        AT_READ: replace(
            STATE.owned[AT_READ], others=(Address("kafka_acl", "read", "a", ('team["x"]',)),)
        ),
    },
)


def test_a_state_with_an_acl_that_several_resources_declare_is_read() -> None:
    data = (FIXTURES / "state-1-shared.json").read_bytes()
    assert decode_state(data) == SHARED
    assert encode_state(SHARED, "0.1.0") == data
