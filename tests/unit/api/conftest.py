"""A folder of configuration, and a cluster in memory behind its provider block."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

import kplan
from kplan.cluster.memory.cluster import MemoryCluster
from tests.project_harness import MAIN_TF


@dataclass
class Folder:
    """A folder, and the cluster that answers whatever its provider block says."""

    path: Path
    cluster: MemoryCluster = field(default_factory=MemoryCluster)

    def write(self, text: str, name: str = "main.tf") -> None:
        (self.path / name).write_text(text)

    def load(self, **given: object) -> kplan.Project:
        return kplan.load(self.path, connect=lambda _: self.cluster, **given)  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    found = Folder(tmp_path)
    found.write(MAIN_TF)
    return found
