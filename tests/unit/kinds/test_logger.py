"""`kafka_logger`: levels of loggers, each at its node."""

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.kinds.logger import Logger, LoggerKind
from kplan.model.address import Address
from kplan.model.diagnostic import SourceRange
from kplan.model.errors import ClusterError
from kplan.model.plan import Action, Change, Reason
from kplan.model.resource import Identity, Resource
from kplan.plan.logger_levels import keep_logger_levels
from kplan.workflow.inspect.loggers import list_loggers
from tests.apply_harness import ApplyHarness
from tests.values import state

KIND = LoggerKind()
REQUESTS = "kafka.request.logger"


def declared(name: str, value: Logger) -> Resource:
    at = Address("kafka_logger", name)
    return Resource(at, KIND.identify(value), value, SourceRange("main.tf", 1, 1, 1, 9))


def level(cluster: MemoryCluster, logger: str = REQUESTS) -> str:
    found = KIND.read(cluster, [Identity(f"1|{logger}")]).objects[Identity(f"1|{logger}")]
    value = found.value
    assert isinstance(value, Logger)
    return value.level


def test_levels_are_set_adopted_and_reset() -> None:
    on = ApplyHarness(MemoryCluster(), state())
    wanted = declared("a", Logger(1, REQUESTS, "DEBUG"))
    done = on.apply(on.plan([wanted]))
    assert [each.is_verified for each in done.values()] == [True]
    assert level(on.cluster) == "DEBUG"
    assert not on.plan([wanted]).has_changes
    gone = on.plan([declared("b", Logger(1, "root", "INFO"))])
    assert [each.action for each in gone.changes if each.touches_cluster] == [Action.DELETE]
    on.apply(gone)
    assert level(on.cluster) == "INFO"


def test_an_unknown_logger_is_refused_and_its_neighbours_are_set() -> None:
    on = ApplyHarness(MemoryCluster(), state())
    plan = on.plan(
        [
            declared("a", Logger(1, REQUESTS, "DEBUG")),
            declared("b", Logger(1, "state.change.logger", "TRACE")),
        ]
    )
    on.apply(plan)
    (update,) = on.plan([declared("a", Logger(1, REQUESTS, "TRACE"))]).batches[:1]
    spoilt = update.changes[0]
    odd = type(spoilt)(
        spoilt.address, spoilt.kind, Identity("1|nosuch"), Action.CREATE, None,
        Logger(1, "nosuch", "INFO"),
    )  # fmt: skip
    answers = KIND.apply(on.cluster, update.step, [spoilt, odd])
    assert answers[spoilt.identity] is None
    assert answers[odd.identity] is not None
    assert level(on.cluster) == "TRACE"


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (Logger(1, REQUESTS, "LOUD"), ("level",)),
        (Logger(1, "", "INFO"), ("logger",)),
        (Logger(2**31, REQUESTS, "INFO"), ("node_id",)),
    ],
)
def test_what_is_no_logger_or_level_is_told_without_a_cluster(
    value: Logger, path: tuple[str, ...]
) -> None:
    (problem,) = KIND.check(KIND.normalize(value))
    assert (problem.code, problem.path) == ("KP226", path)


def test_a_node_that_is_down_hides_its_loggers() -> None:
    cluster = MemoryCluster()
    cluster.stop_brokers(1)
    name = Identity(f"1|{REQUESTS}")
    hidden = KIND.read(cluster, [name]).hidden
    assert hidden.keys() == {name}
    assert hidden[name].hint == "Start broker 1 and plan again."


def test_the_hint_for_a_node_that_is_no_broker_names_the_way_to_controllers() -> None:
    cluster = MemoryCluster()
    name = Identity(f"101|{REQUESTS}")
    refused = KIND.read(cluster, [name]).hidden[name]
    assert "No running broker has the id 101" in refused.message
    assert refused.hint == "Start broker 101; if it is a controller, use -bootstrap-controller."
    with pytest.raises(ClusterError) as caught:
        list_loggers(cluster, 101)
    assert caught.value.hint == refused.hint


@pytest.mark.parametrize("is_destroy", [False, True])
def test_the_root_logger_is_forgotten_because_kafka_refuses_to_reset_it(is_destroy: bool) -> None:
    on = ApplyHarness(MemoryCluster(), state())
    other = declared("a", Logger(1, REQUESTS, "DEBUG"))
    on.apply(on.plan([other, declared("r", Logger(1, "root", "WARN"))]))
    gone = on.plan([] if is_destroy else [other], is_destroy=is_destroy)
    (kept,) = [each for each in gone.changes if each.identity == "1|root"]
    assert (kept.action, "not in configuration" in kept.reason) == (Action.FORGET, not is_destroy)
    on.apply(gone)
    assert level(on.cluster, "root") == "WARN"
    assert list(on.state.owned) == ([] if is_destroy else [other.address])


def test_a_logger_keeps_its_declared_level_when_root_changes() -> None:
    on = ApplyHarness(MemoryCluster(), state())
    wanted = [declared("n", Logger(1, REQUESTS, "INFO")), declared("r", Logger(1, "root", "WARN"))]
    plan = on.plan(wanted)
    kept, _ = sorted(plan.changes, key=lambda each: each.address.name)
    assert (kept.action, kept.reason) == (Action.UPDATE, Reason.ADOPTED_AND_CHANGED)
    assert kept.notes == ("set again: it may have its level from kafka_logger.r",)
    on.apply(plan)
    assert (level(on.cluster), level(on.cluster, "root")) == ("INFO", "WARN")
    assert not on.plan(wanted).has_changes


@pytest.mark.parametrize(
    ("kept", "is_set"),
    [
        (Logger(1, "kafka.request.logger", "INFO"), True),
        (Logger(1, "kafka.requests", "INFO"), False),
        (Logger(1, "kafka.request.logger", "WARN"), False),
        (Logger(2, "kafka.request.logger", "INFO"), False),
    ],
)
def test_only_a_logger_that_may_have_the_level_of_a_changed_one_is_set_again(
    kept: Logger, is_set: bool
) -> None:
    before, after = Logger(1, "kafka.request", "INFO"), Logger(1, "kafka.request", "DEBUG")
    moving = Change(
        Address("kafka_logger", "a"), KIND.name, KIND.identify(after), Action.UPDATE, before, after
    )
    still = Change(
        Address("kafka_logger", "b"), KIND.name, KIND.identify(kept), Action.NO_OP, kept, kept
    )
    _, found = keep_logger_levels([moving, still])
    assert (found.action is Action.UPDATE) == is_set
