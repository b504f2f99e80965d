"""What Spark's Python workers have imported before their first task."""

import subprocess
import sys

PROGRAM = """
import sys
from kplan.fleet.spark.daemon import import_needed
import_needed()
import pyarrow
assert pyarrow.array(["a"]).to_pylist() == ["a"]
assert "pyspark.worker" in sys.modules
assert "pandas" not in sys.modules
import pandas
"""


def test_workers_import_no_pandas_for_a_list_and_may_import_it_themselves() -> None:
    command = [sys.executable, "-c", PROGRAM]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
