"""What is sent to Pythons that have no kplan."""

import subprocess
import sys
from pathlib import Path

from kplan.fleet.spark.jvm import write_package


def test_a_kplan_that_was_sent_along_has_all_that_it_reads(tmp_path: Path) -> None:
    """Modules that speak to a cluster read the schemas of messages beside them."""
    package = write_package(tmp_path)
    code = (
        f"import sys; sys.path.insert(0, {str(package)!r}); "
        "import kplan.kafka.wire.messages as found; print(found.__file__)"
    )
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True)
    assert str(package) in ran.stdout, ran.stderr
