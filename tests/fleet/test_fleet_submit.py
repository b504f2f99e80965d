"""`spark-submit` starts Spark, and kplan works on that."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kplan.fleet.spark.session import spark_home
from tests.e2e.commands import environ
from tests.fleet.connect_server import FAST_SETTINGS
from tests.fleet.standalone_cluster import java_home

pytestmark = pytest.mark.spark

EXAMPLE = Path(__file__).parents[2] / "examples" / "fleet"


@pytest.mark.timeout(900)
def test_spark_submit_runs_a_fleet_command_on_the_spark_that_it_starts(tmp_path: Path) -> None:
    folder = tmp_path / "fleet"
    shutil.copytree(EXAMPLE, folder)
    conf = {**FAST_SETTINGS, "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"}
    options = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    ran = subprocess.run(
        [
            str(spark_home() / "bin" / "spark-submit"),
            *("--master", "local[2]", *options),
            *(str(folder / "submit.py"), f"-chdir={folder}", "snapshot", "-run=first"),
        ],
        cwd=tmp_path,
        env=environ(
            {
                "JAVA_HOME": str(java_home(tmp_path)),
                "SPARK_HOME": str(spark_home()),
                "SPARK_LOCAL_IP": "127.0.0.1",
                "PYSPARK_PYTHON": sys.executable,
            }
        ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr[-3000:]}"
    assert "Run first" in ran.stdout
    assert list((folder / "tables" / "runs").glob("attempt=*"))
