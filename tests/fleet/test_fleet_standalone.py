"""Part of this suite on a standalone Spark; `standalone.py` runs all of it there."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fleet.standalone import standalone

pytestmark = pytest.mark.spark

HERE = Path(__file__).parent
KERNEL = (
    str(HERE / "test_fleet_planning.py"),
    f"{HERE / 'test_fleet_access.py'}::test_a_plan_is_replayed_against_what_was_really_asked",
    f"{HERE / 'test_fleet_faults.py'}::test_the_task_of_a_killed_executor_is_done_by_another",
)


def test_a_standalone_cluster_reads_plans_and_replays(tmp_path: Path) -> None:
    """Two workers with nothing of kplan but what is sent to them."""
    options = ("-n0", "-q", "-p", "no:randomly", "-p", "no:cacheprovider")
    with standalone(tmp_path) as environ:
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *KERNEL],
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
    logs = "\n".join(f"{log.name}: {log.read_text()[-1000:]}" for log in tmp_path.glob("*.log"))
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}\n{logs}"
