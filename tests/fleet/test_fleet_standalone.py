"""Part of this suite on a standalone Spark; `poe engines` runs all of it there."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fleet.engines import MIXED

pytestmark = pytest.mark.spark

HERE = Path(__file__).parent
KERNEL = (
    str(HERE / "test_fleet_planning.py"),
    f"{HERE / 'test_fleet_access.py'}::test_a_plan_is_replayed_against_what_was_really_asked",
    f"{HERE / 'test_fleet_faults.py'}::test_the_task_of_a_killed_executor_is_done_by_another",
)


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
