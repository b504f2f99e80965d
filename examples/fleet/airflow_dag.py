"""A DAG for Airflow: each hour a run of the fleet, the new lines of its logs, and the report.

Needs the provider apache-spark and a connection `spark` with the master. `KPLAN_FLEET` is the
folder of fleet.hcl and submit.py, where the driver finds it.
"""

import os
from datetime import UTC, datetime

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG

FOLDER = os.environ.get("KPLAN_FLEET", "/opt/kplan/fleet")
RUN = "-run={{ run_id | replace(':', '') }}"  # a repeated task replaces its run


def fleet(task: str, *arguments: str) -> SparkSubmitOperator:
    """Make a task of a fleet command."""
    return SparkSubmitOperator(
        task_id=task,
        conn_id="spark",
        name=f"kplan {task}",
        application=f"{FOLDER}/submit.py",
        application_args=[f"-chdir={FOLDER}", *arguments],
    )


with DAG(
    "kplan_fleet", schedule="@hourly", start_date=datetime(2026, 1, 1, tzinfo=UTC), catchup=False
):
    read = [fleet("snapshot", "snapshot", RUN), fleet("ingest", "audit", "ingest")]
    read >> fleet("report", "report", RUN)
