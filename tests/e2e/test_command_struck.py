"""The installed command when processes, nodes and disks fail while it applies.

The long version, with hundreds of runs, is `python -m tests.soak`.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kplan.sandbox.layout import SandboxSpec
from kplan.sandbox.sandbox import Sandbox
from tests.brokers import StartSandbox
from tests.soak.estate import Estate
from tests.soak.faults import (
    ONE,
    THREE,
    Strike,
    both_destroy,
    clock_moved,
    full_disk,
    kill_active_controller,
    kill_and_restart,
    killed,
    lock_of_the_dead,
    moments,
    pause_a_while,
    struck,
)
from tests.unit.state.state_faults import small_disk

pytestmark = pytest.mark.broker

TOPICS = 30
EstateOn = Callable[..., Estate]


@pytest.fixture
def estate_on(tmp_path: Path) -> Iterator[EstateOn]:
    """Make estates; what they own is destroyed at the end."""
    made: list[Estate] = []

    def estate_on(sandbox: Sandbox, factor: int = 1) -> Estate:
        name = f"{tmp_path.name.replace('_', '-')}-{len(made)}"
        made.append(Estate(tmp_path / name, sandbox.bootstrap_servers, TOPICS, factor))
        made[-1].write()
        return made[-1]

    yield estate_on
    for each in made:
        if each.state_path.exists():
            assert each.destroyed()


def test_an_apply_killed_at_random_moments_is_resumed_to_the_goal(
    broker: Sandbox, estate_on: EstateOn
) -> None:
    """S29, plan-apply.md 7.1: Terraform leaves an empty state 16 times of 20."""
    moment = moments(0.5)
    for _ in range(2):
        assert killed(estate_on(broker), moment()) == ""


def test_the_lock_of_a_run_that_was_killed_is_told_and_taken_over(
    broker: Sandbox, estate_on: EstateOn
) -> None:
    assert lock_of_the_dead(estate_on(broker), 0.0) == ""


def test_two_runs_may_delete_the_same_objects_at_once(broker: Sandbox, estate_on: EstateOn) -> None:
    """K4-33."""
    assert both_destroy(estate_on(broker)) == ""


def test_a_clock_that_jumps_by_two_days_between_two_runs_does_no_harm(
    broker: Sandbox, estate_on: EstateOn
) -> None:
    assert clock_moved(estate_on(broker), 0.0) == ""


@pytest.mark.parametrize("pages", [0, 6])
def test_a_disk_that_fills_up_is_named_and_costs_nothing(
    broker: Sandbox, estate_on: EstateOn, tmp_path: Path, pages: int
) -> None:
    """plan-apply.md 7.3."""
    with small_disk(tmp_path / "try", 4096):  # skips where nothing may be mounted
        pass
    assert full_disk(estate_on(broker), pages) == ""


@pytest.mark.parametrize(
    ("spec", "strike", "factor"),
    [
        pytest.param(ONE, kill_and_restart(1, 5), 1, id="the only broker"),
        pytest.param(ONE, pause_a_while(1, 5), 1, id="the only broker is paused"),
        pytest.param(THREE, kill_and_restart(2, 2), 2, id="one of three brokers"),
        pytest.param(THREE, kill_active_controller(2), 2, id="the active controller"),
    ],
)
def test_an_apply_during_which_a_node_fails_reaches_the_goal_or_is_finished_by_the_next(
    spec: SandboxSpec, strike: Strike, factor: int, sandbox_of: StartSandbox, estate_on: EstateOn
) -> None:
    """S17. Nobody else uses sandboxes of these shapes; their nodes are back at the end."""
    sandbox = sandbox_of(spec)
    assert struck(estate_on(sandbox, factor), sandbox, strike) == ""
