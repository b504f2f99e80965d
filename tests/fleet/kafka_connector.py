"""Spark's Kafka connector for tests, jar by jar: mirrors of Maven lack some of one version."""

import os

from kplan.fleet.compat import minor_version, spark_version
from kplan.sandbox.artifact import MAVEN_CENTRAL, cache_folder, file_lock

_SCALA_2_13 = (
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.12.1",
    "org.scala-lang.modules:scala-parallel-collections_2.13:1.2.0",
)
_NEWEST = ("org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0", *_SCALA_2_13)
JARS = {
    "3.5": (
        "org.apache.spark:spark-sql-kafka-0-10_2.12:3.5.7",
        "org.apache.spark:spark-token-provider-kafka-0-10_2.12:3.5.7",
        "org.apache.kafka:kafka-clients:3.4.1",
        "org.apache.commons:commons-pool2:2.11.1",
    ),
    "4.0": ("org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0", *_SCALA_2_13),
    "4.1": ("org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.2", *_SCALA_2_13),
}
"""By version of Spark, where it is not the newest: a connector calls classes of its own version."""


def connector() -> dict[str, str]:
    """Give the settings of a Spark with it; it is fetched once, by one process of a test run."""
    from jgo.maven import MavenContext, PythonResolver

    source = os.environ.get("KPLAN_MAVEN_REPOSITORY", MAVEN_CENTRAL)
    folder = cache_folder() / "spark-kafka"
    maven = MavenContext(
        resolver=PythonResolver(),
        repo_cache=folder,
        remote_repos={"central": source},
        timeout=30,
    )
    jars = JARS.get(minor_version(spark_version()), _NEWEST)
    with file_lock(folder.with_suffix(".lock")):  # a jar is there before all of it has arrived
        files = [maven.create_dependency(each).artifact.resolve() for each in jars]
    return {"spark.jars": ",".join(map(str, files))}
