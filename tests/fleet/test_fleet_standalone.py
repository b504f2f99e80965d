"""Part of this suite on a standalone Spark; `poe engines` runs all of it there."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fleet.spark_target import MIXED

pytestmark = pytest.mark.spark

HERE = Path(__file__).parent
KERNEL = tuple(
    f"{HERE / file}::test_{name}"
    for file, name in (
        ("test_fleet_planning.py", "executors_run_the_kplan_that_asks"),
        ("test_fleet_planning.py", "every_cluster_is_planned_by_the_planner_of_one"),
        ("test_fleet_access.py", "a_plan_is_replayed_against_what_was_really_asked"),
        ("test_fleet_faults.py", "the_task_of_a_killed_executor_is_done_by_another"),
    )
)
"""What can go wrong on workers only: reading through the data source is in the last one."""


def test_a_standalone_cluster_reads_plans_and_replays(
    pytestconfig: pytest.Config, tmp_path: Path
) -> None:
    """Two workers with nothing of kplan but what is sent to them."""
    if pytestconfig.getoption("--engine") != MIXED:
        pytest.skip("an engine was named")
    options = ("-n0", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", "--engine=standalone")
    own = f"--basetemp={tmp_path / 'own'}"
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, own, *KERNEL],
        capture_output=True,
        text=True,
        check=False,
    )
    logs = "\n".join(f"{log.name}: {log.read_text()[-1000:]}" for log in tmp_path.rglob("*.log"))
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}\n{logs}"
