"""Shared options: what they refuse."""

from pathlib import Path

import pytest

from kplan.cli.options import PlanningOptions, StateOptions, duration_s
from kplan.model.errors import UsageError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0), ("0s", 0), ("90s", 90), ("5m", 300), ("1h", 3600), ("1m30s", 90), ("250ms", 0.25)],
)
def test_a_span_of_time_is_read_as_go_writes_it(text: str, seconds: float) -> None:
    assert duration_s("-lock-timeout", text) == seconds


@pytest.mark.parametrize("text", ["", "5", "-5s", "5 m", "m", "5d", "5s!", "1e3s"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="is not a duration") as told:
        duration_s("-lock-timeout", text)
    assert "5m" in told.value.hint


def test_the_lock_timeout_is_that_of_the_command_line_or_else_of_the_environment() -> None:
    environ = {"KPLAN_LOCK_TIMEOUT": "5s"}
    assert StateOptions(lock_timeout="2m").lock_timeout_s(environ) == 120
    assert StateOptions().lock_timeout_s(environ) == 5
    assert StateOptions().lock_timeout_s({}) == 0
    with pytest.raises(UsageError, match="KPLAN_LOCK_TIMEOUT=soon is not a duration"):
        StateOptions().lock_timeout_s({"KPLAN_LOCK_TIMEOUT": "soon"})


def test_the_state_is_that_of_the_command_line_or_else_of_the_environment() -> None:
    environ = {"KPLAN_STATE": "theirs.json"}
    assert StateOptions("mine.json").path(environ) == Path("mine.json")
    assert StateOptions().path(environ) == Path("theirs.json")
    assert StateOptions().path({}) == Path("state/kplan.json")


def test_planning_without_reading_the_cluster_is_refused() -> None:
    """A plan is made from the live cluster only: it is the truth."""
    with pytest.raises(UsageError, match="without reading the cluster"):
        PlanningOptions(refresh=False).check()


def test_a_parallelism_below_one_is_refused() -> None:
    with pytest.raises(UsageError, match="-parallelism must be 1 or more, not 0"):
        PlanningOptions(parallelism=0).check()
    PlanningOptions().check()
    with pytest.raises(UsageError, match="KPLAN_PARALLELISM=many is not a number of 1 or more"):
        PlanningOptions().parallel_requests({"KPLAN_PARALLELISM": "many"})


def test_the_parallelism_is_that_of_the_command_line_or_else_of_the_environment() -> None:
    environ = {"KPLAN_PARALLELISM": "4"}
    assert PlanningOptions(parallelism=1).parallel_requests(environ) == 1
    assert PlanningOptions().parallel_requests(environ) == 4
    assert PlanningOptions().parallel_requests({}) is None


@pytest.mark.parametrize("target", ["orders", "kafka_topic", "kafka_topic.t[eu]", ""])
def test_a_target_that_can_fit_nothing_is_refused(target: str) -> None:
    """A shell takes the quotes of a key away."""
    with pytest.raises(UsageError, match="is not a resource address") as told:
        PlanningOptions(target=["kafka_topic.t", target]).check()
    assert "in quotes" in told.value.hint


@pytest.mark.parametrize("target", ['kafka_topic.t["eu"]', "kafka_topic.*", "*", "module.pay"])
def test_a_target_is_an_address_a_module_or_a_pattern(target: str) -> None:
    PlanningOptions(target=[target]).check()
