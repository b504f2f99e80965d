"""The sorts of Spark that this suite runs on."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kplan.fleet.spark.session import SparkSettings
from kplan.workflow.fleet import fleet, ingest, maintain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MIXED, LOCAL, STANDALONE, CONNECT = "mixed", "local", "standalone", "connect"


@dataclass(frozen=True, slots=True)
class SparkTarget:
    """A Spark: `engine` for sessions of a test's own process, `options` for commands."""

    name: str
    engine: SparkSettings
    options: tuple[str, ...]


@contextmanager
def commands_at_work(folder: Path, spark: "SparkSession") -> Iterator[None]:
    """Have the commands of a folder work on the Spark of the test."""

    @contextmanager
    def ours(*_: object) -> "Iterator[SparkSession]":
        yield spark

    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        for module in (fleet, ingest, maintain):
            patched.setattr(module, "open_session", ours)
        yield
