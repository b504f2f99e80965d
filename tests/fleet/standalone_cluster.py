"""A standalone Spark of one's own on loopback: a master and two workers."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from kplan.fleet.spark.jvm import find_java
from kplan.fleet.spark.session import spark_home
from tests.fleet.connect_server import await_port, free_port, kept_classes

WORKERS = 2
_HOST = "127.0.0.1"
ON_LOOPBACK = {
    "spark.driver.host": _HOST,
    "spark.driver.bindAddress": _HOST,
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.cores.max": str(WORKERS),  # what is left is for those who come later
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.pyspark.python": sys.executable,
}
"""Settings of a session on it."""
_DEPLOY = "org.apache.spark.deploy"
_JAVA = """#!/bin/sh
# Workers have Spark name a module that a small Java does not have, and can do without. The class
# path is that of kplan: with another one Java loads all classes anew.
for word do
  shift
  case $word in
    --add-modules=jdk.incubator.vector) ;;
    {home}/conf:*:{home}/jars/\\*) set -- "$@" {home}'/jars/*' ;;
    *) set -- "$@" "$word" ;;
  esac
done
exec {java} "$@"
"""


def java_home(folder: Path) -> Path:
    """Write a JAVA_HOME into a folder with which the scripts of Spark start any Java."""
    launcher = folder / "java" / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    java, home = find_java(os.environ), spark_home()
    command = shlex.join([str(java), "-XX:+UseSerialGC", *kept_classes(java)])
    launcher.write_text(_JAVA.format(java=command, home=shlex.quote(str(home))))
    launcher.chmod(0o700)
    return folder / "java"


@contextmanager
def standalone(folder: Path) -> Iterator[tuple[str, Path]]:
    """Start it; yields its master and the JAVA_HOME to use it with. All of it ends with us."""
    launcher = java_home(folder) / "bin" / "java"
    port = free_port()
    master = f"spark://{_HOST}:{port}"
    place = ("--host", _HOST, "--webui-port", "0")
    work = ("--cores", "4", "--memory", "3g", "--work-dir", str(folder / "work"), master)
    with ExitStack() as stack:
        at = _Node(launcher, folder)
        started = stack.enter_context(at.running("master", ("--port", str(port), *place)))
        await_port(started, port, folder / "master.log")
        for number in range(WORKERS):
            stack.enter_context(at.running("worker", (*place, *work), str(number)))
        yield master, folder / "java"


class _Node:
    """Starts processes of Spark's own cluster manager."""

    def __init__(self, java: Path, folder: Path) -> None:
        self._java = java
        self._folder = folder

    @contextmanager
    def running(
        self, role: str, args: tuple[str, ...], number: str = ""
    ) -> Iterator["subprocess.Popen[bytes]"]:
        """Run one, and end it with the executors that it has started."""
        home = spark_home()
        command = [
            *(str(self._java), "-Xmx256m", "-XX:TieredStopAtLevel=1"),
            *("-cp", str(home / "jars" / "*"), f"{_DEPLOY}.{role}.{role.title()}", *args),
        ]
        environ = {
            **os.environ,
            "JAVA_HOME": str(self._java.parents[1]),
            "SPARK_HOME": str(home),
            "SPARK_SCALA_VERSION": "2.13",  # which bin/spark-class finds out
            "SPARK_LOCAL_IP": _HOST,  # of its pages, too
            "SPARK_LOCAL_DIRS": str(self._folder / "scratch"),
        }
        with (self._folder / f"{role}{number}.log").open("wb") as log:
            process = subprocess.Popen(
                command, env=environ, cwd=self._folder, stdout=log, stderr=subprocess.STDOUT
            )
        try:
            yield process
        finally:
            process.terminate()
            process.wait()
