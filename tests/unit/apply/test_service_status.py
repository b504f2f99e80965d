"""What a service, which is no broker, does not have after an apply: named, with its reason."""

from collections.abc import Sequence

import pytest

from kplan.cli.signals import Signals
from kplan.cli.watcher import ApplyWatcher
from kplan.cluster.memory.cluster import MemoryCluster
from kplan.kinds.connector import ConnectorKind, KafkaConnector
from kplan.kinds.schema import secret_paths
from kplan.model.diagnostic import SourceRange
from kplan.model.outcome import BrokerBacklog, Outcome, OutcomeStatus, Visibility
from kplan.model.resource import Identity, Resource
from kplan.report import views
from kplan.report.format import PLAIN_STYLE
from tests.apply_harness import ApplyHarness, RecordingWatcher
from tests.unit.cli.test_watcher import Told
from tests.values import address, state

SINK = ConnectorKind().normalize(
    KafkaConnector(
        "svc-sink",
        {"connector.class": "FileStreamSink", "topics": "a", "file": "/none/out"},
        {"db.password": "hunter2"},
    )
)
DECLARED = [
    Resource(
        address("kafka_connector.bad"),
        Identity("svc-sink"),
        SINK,
        SourceRange("main.tf", 1, 1, 1, 20),
        sensitive=secret_paths(KafkaConnector),
    )
]
WHY = "task 0: ConnectException: Couldn't find or create file '/none/out' with hunter2"


class FailingWatcher(RecordingWatcher):
    """Lets the connector fail again as soon as a worker has taken the request."""

    cluster: MemoryCluster

    def on_outcomes(self, outcomes: Sequence[Outcome]) -> None:
        super().on_outcomes(outcomes)
        self.cluster.fail_connector("svc-sink", WHY)


@pytest.fixture
def restarted() -> tuple[Outcome, RecordingWatcher]:
    """Give the outcome of the restart of a connector that fails again."""
    harness = ApplyHarness(MemoryCluster(), state())
    harness.apply(harness.plan(DECLARED))
    harness.cluster.fail_connector("svc-sink", WHY)
    harness.watcher = watcher = FailingWatcher()
    watcher.cluster = harness.cluster
    found = harness.apply(harness.plan(DECLARED))
    return found[Identity("svc-sink")], watcher


def test_a_connector_that_fails_again_is_named_with_the_error_of_its_task(
    restarted: tuple[Outcome, RecordingWatcher],
) -> None:
    outcome, _ = restarted
    assert (outcome.status, outcome.is_verified) == (OutcomeStatus.APPLIED, False)
    assert outcome.pending_brokers == ()
    shown = WHY.replace("hunter2", "(sensitive value)")
    assert outcome.pending_reason == f"connector svc-sink is failed: {shown}"


def test_the_summary_of_it_names_no_controller_and_is_not_complete(
    restarted: tuple[Outcome, RecordingWatcher],
) -> None:
    text = " ".join(views.apply_text([restarted[0]], PLAIN_STYLE).split())
    assert "1 change accepted by Kafka Connect but not seen in Kafka Connect yet" in text
    assert "kafka_connector.bad: connector svc-sink is failed: task 0: " in text
    assert "Apply incomplete: 1 change accepted, but not in effect." in text
    for word in ("controller", "broker", "Apply complete!"):
        assert word not in text


def test_it_is_waited_for_at_the_service_and_said_once(
    restarted: tuple[Outcome, RecordingWatcher],
) -> None:
    change = restarted[0].change
    told = Told()
    watcher = ApplyWatcher(told, Signals(), PLAIN_STYLE)
    late = tuple(BrokerBacklog(broker, (change,)) for broker in (1, 2, 3))
    watcher.on_visibility(Visibility(1, 1, late))
    watcher.on_visibility(Visibility(1, 1, (BrokerBacklog(1, (change,), "no answer."),)))
    assert told.details == [
        "Kafka Connect does not serve kafka_connector.bad yet",
        "Kafka Connect cannot be asked: no answer",
    ]


def test_a_connector_that_runs_has_no_reason_to_be_waited_for() -> None:
    harness = ApplyHarness(MemoryCluster(), state())
    (outcome,) = harness.apply(harness.plan(DECLARED)).values()
    assert (outcome.is_verified, outcome.pending_reason) == (True, "")
    assert "Apply complete!" in views.apply_text([outcome], PLAIN_STYLE)
