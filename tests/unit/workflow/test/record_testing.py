"""Records what `terraform test` makes of test files, so that the tests need no Terraform.

    python tests/unit/workflow/test/record_testing.py

runs the files of `testing_oracle` and writes the status of every run to its `statuses.json`.
"""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent / "testing_oracle"


def statuses(folder: Path) -> dict[str, dict[str, str]]:
    """Run all tests, and give the status of every run by file."""
    environ = {**os.environ, "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1"}
    environ.pop("TF_CLI_CONFIG_FILE", None)
    subprocess.run(["terraform", "init"], cwd=folder, env=environ, capture_output=True, check=True)
    done = subprocess.run(
        ["terraform", "test", "-json"], cwd=folder, env=environ, capture_output=True, check=False
    )
    found: dict[str, dict[str, str]] = {}
    for each in map(json.loads, done.stdout.decode().splitlines()):
        run = each.get("test_run", {})
        if run.get("progress") == "complete":
            found.setdefault(run["path"], {})[run["run"]] = run["status"]
    return found


def main() -> None:
    """Record all."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for each in FOLDER.glob("*.*"):
            shutil.copy(each, folder)
        text = json.dumps(statuses(folder), indent=2)
    (FOLDER / "statuses.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
