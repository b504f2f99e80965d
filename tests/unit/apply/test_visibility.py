"""A broker that takes a question and never answers: the wait keeps its bound all the same."""

import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest

from kplan.apply.apply import apply_plan
from kplan.apply.limits import ApplyContext, Limits
from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import ClusterDescription, TopicDescription, TopicRef
from kplan.kinds import KINDS
from kplan.kinds.broker_config import BROKER_CONFIG, BrokerConfig
from kplan.kinds.logger import Logger, LoggerKind
from kplan.model.address import Address
from kplan.model.diagnostic import SourceRange
from kplan.model.errors import Refusal, StateError, UnreachableError
from kplan.model.outcome import Outcome, OutcomeStatus, Visibility
from kplan.model.plan import Plan
from kplan.model.resource import Identity, Resource
from tests.apply_harness import ApplyHarness, RecordingWatcher
from tests.values import resource, state, topic


class Wall:
    """Real time."""

    def now(self) -> float:
        """Tell it."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


class Hanging(MemoryCluster):
    """Three brokers; questions to number 3 hang until the test is over, or fail oddly."""

    over: threading.Event
    is_odd = False
    describes = True

    def describe(self) -> ClusterDescription:
        if not self.describes:
            self.over.wait()
        return super().describe()

    def topics(
        self, names: Collection[str] | None = None, *, broker: int | None = None
    ) -> Mapping[str, TopicDescription | Refusal]:
        if broker == 3 and self.is_odd:
            raise StateError("odd")
        if broker == 3:
            self.over.wait()
        return super().topics(names, broker=broker)


@contextmanager
def hanging() -> Iterator[Hanging]:
    cluster = Hanging()
    cluster.over = threading.Event()
    try:
        yield cluster
    finally:
        cluster.over.set()


def planned(cluster: MemoryCluster) -> Plan:
    return ApplyHarness(cluster, state()).plan([resource("kafka_topic.a", topic("a"))])


def applied(cluster: MemoryCluster, plan: Plan, visible_s: float = 0.3, **given: object) -> Outcome:
    limits = Limits(visible_s=visible_s)
    means = ApplyContext(cluster, KINDS, Wall(), RecordingWatcher(), limits, **given)  # type: ignore[arg-type] # is_stopped
    (outcome,) = apply_plan(plan, means)
    return outcome


@pytest.mark.parametrize("describes", [True, False])
def test_a_request_that_hangs_does_not_hold_the_wait(*, describes: bool) -> None:
    """Item 4: the budget holds; what one broker does not tell stays unverified."""
    with hanging() as cluster:
        plan = planned(cluster)
        cluster.describes = describes
        begun = time.monotonic()
        outcome = applied(cluster, plan)
        assert time.monotonic() - begun < 5
    assert (outcome.status, outcome.is_verified) == (OutcomeStatus.APPLIED, False)
    assert outcome.pending_brokers == ((3,) if describes else ())


def test_whoever_asks_to_stop_is_heard_while_a_request_hangs() -> None:
    with hanging() as cluster:
        plan = planned(cluster)
        begun = time.monotonic()
        until = begun + 1.0
        outcome = applied(cluster, plan, 60, is_stopped=lambda: time.monotonic() > until)
        assert time.monotonic() - begun < 10
    assert not outcome.is_verified


def test_what_is_no_answer_of_a_broker_is_not_passed_over() -> None:
    with hanging() as cluster:
        cluster.is_odd = True
        with pytest.raises(StateError, match="odd"):
            applied(cluster, planned(cluster))


def test_who_is_waited_for_and_who_is_down_is_told_while_the_wait_goes_on() -> None:
    """A live broker that hangs is named at once; one that is fenced is named and not asked."""
    with hanging() as cluster:
        plan = planned(cluster)
        cluster.stop_brokers(2)
        watcher = RecordingWatcher()
        means = ApplyContext(cluster, KINDS, Wall(), watcher, Limits(visible_s=0.3))
        apply_plan(plan, means)
    (hung,) = watcher.visibility[-1].backlogs
    assert (hung.broker, hung.reason) == (3, "no answer yet")
    assert [str(each.address) for each in hung.changes] == ["kafka_topic.a"]
    assert watcher.visibility[-1].fenced == (2,)
    assert watcher.verified == []


def test_what_another_client_deletes_meanwhile_is_not_waited_for_to_the_end() -> None:
    """Every broker answers, and none comes nearer to it: it will not come."""
    on = ApplyHarness(MemoryCluster(), state())
    other = on.cluster.connect_as()
    on.cluster.run_before("topics", lambda: other.delete_topics([TopicRef("b")]))
    plan = on.plan([resource("kafka_topic.a", topic("a")), resource("kafka_topic.b", topic("b"))])
    on.cluster.run_before("topics", lambda: other.delete_topics([TopicRef("b")]))
    outcomes = on.apply(plan)
    assert outcomes["a"].is_verified
    assert (outcomes["b"].status, outcomes["b"].is_verified) == (OutcomeStatus.APPLIED, False)
    assert outcomes["b"].pending_brokers == (1, 2, 3)
    assert 25 < on.clock.time < 60


class Restarting(MemoryCluster):
    """Brokers that are away for the first reads of the cluster, or for good."""

    silent_reads = 0
    dead: frozenset[int] = frozenset()

    def describe(self) -> ClusterDescription:
        if self.silent_reads:
            self.silent_reads -= 1
            raise UnreachableError("no broker answers")
        found = super().describe()
        live = tuple(each for each in found.brokers if each.id not in self.dead)
        return replace(found, brokers=live)

    def topics(
        self, names: Collection[str] | None = None, *, broker: int | None = None
    ) -> Mapping[str, TopicDescription | Refusal]:
        if broker is not None and (self.silent_reads or broker in self.dead):
            raise UnreachableError("away")
        return super().topics(names, broker=broker)


def test_brokers_that_come_back_are_asked_and_the_wait_ends() -> None:
    """KIP-4: a change is there when every live broker serves it."""
    on = ApplyHarness(Restarting(), state())
    plan = on.plan([resource("kafka_topic.a", topic("a"), line=7)])
    on.cluster.silent_reads = 3  # type: ignore[attr-defined] # a Restarting
    outcome = on.apply(plan)["a"]
    assert (outcome.status, outcome.is_verified) == (OutcomeStatus.APPLIED, True)
    assert on.clock.time < 10


def test_a_broker_that_dies_during_the_wait_is_not_waited_for() -> None:
    cluster = Restarting()
    on = ApplyHarness(cluster, state())
    plan = on.plan([resource("kafka_topic.a", topic("a"), line=7)])

    def die() -> None:
        cluster.dead = frozenset({3})

    cluster.run_before("create_topics", die)
    outcome = on.apply(plan)["a"]
    assert (outcome.status, outcome.is_verified) == (OutcomeStatus.APPLIED, True)
    assert on.clock.time < 10


NODES = 6
HERE = SourceRange("main.tf", 1, 1, 1, 9)


def declare(kind: str, identity: Identity, value: object) -> Resource:
    """Declare it at an address of its own."""
    return Resource(Address(kind, "a", identity), identity, value, HERE)


def harness_of_nodes() -> tuple[ApplyHarness, list[Resource]]:
    """Declare a config and a logger of each broker, and a config of all."""
    harness = ApplyHarness(MemoryCluster(brokers=NODES), state())
    configs = [BrokerConfig(None, {"background.threads": "9"})]
    configs += [BrokerConfig(node, {"log.cleaner.threads": "2"}) for node in range(1, NODES + 1)]
    loggers = [Logger(node, "kafka.request.logger", "TRACE") for node in range(1, NODES + 1)]
    made = [
        *(declare(BROKER_CONFIG.name, BROKER_CONFIG.identify(each), each) for each in configs),
        *(declare(LoggerKind.name, LoggerKind().identify(each), each) for each in loggers),
    ]
    return harness, made


def asked_configs(cluster: MemoryCluster) -> int:
    """Count the entries that brokers were asked for."""
    return sum(len(call.items) for call in cluster.calls if call.method == "configs")


def test_what_is_of_one_node_is_asked_of_that_node_alone() -> None:
    """With N brokers N entries for each kind, and those for all of each: not N times N."""
    harness, resources = harness_of_nodes()
    plan = harness.plan(resources)
    before = asked_configs(harness.cluster)
    outcomes = harness.apply(plan)
    assert all(each.is_verified for each in outcomes.values())
    assert asked_configs(harness.cluster) - before == 3 * NODES


@dataclass(slots=True)
class StoppingWatcher(RecordingWatcher):
    """Stops a broker when it is about to be asked."""

    cluster: MemoryCluster = field(default_factory=MemoryCluster)

    def on_visibility(self, visibility: Visibility) -> None:  # noqa: ARG002 - of a protocol
        """Stop it."""
        self.cluster.stop_brokers(4)


def test_what_is_of_a_node_that_went_down_is_pending() -> None:
    """No other node serves it, and no other node's answer makes up for that."""
    harness, resources = harness_of_nodes()
    plan = harness.plan(resources)
    harness.watcher = StoppingWatcher(cluster=harness.cluster)
    outcomes = harness.apply(plan)
    late = {str(key) for key, each in outcomes.items() if not each.is_verified}
    assert late == {"4", "4|kafka.request.logger"}
