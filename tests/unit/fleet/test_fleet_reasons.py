import pytest

from kplan.fleet.engine import _reason

PYTHON = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/x/planning.py", line 90, in findings
AttributeError: 'PlanRequest' object has no attribute 'clusters'
"""
BEHIND = """ SQLSTATE: 38000

JVM stacktrace:
org.apache.spark.SparkException
"""


@pytest.mark.parametrize("behind", ["", BEHIND.lstrip(" "), BEHIND[17:]])
def test_of_a_failure_in_python_its_last_line_is_told(behind: str) -> None:
    """Spark writes what comes behind it differently from version to version."""
    told = "AttributeError: 'PlanRequest' object has no attribute 'clusters'"
    assert _reason(f"{PYTHON}{behind}") == told


def test_of_any_other_failure_the_first_line_is_told() -> None:
    assert _reason("[PATH_NOT_FOUND] There is no x.\n\nJVM stacktrace:\nat y") == (
        "[PATH_NOT_FOUND] There is no x."
    )
    assert _reason("") == "no reason given"
