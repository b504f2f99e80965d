"""Records what `terraform console` prints, so that the tests need no Terraform.

    python tests/unit/config/record_console.py

runs the expressions of `fixtures/console.txt`, one a line, in a folder with `fixtures/console.tf`,
and writes `fixtures/console.jsonl`.
"""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

FIXTURES = Path(__file__).parent / "fixtures"


def terraform_output(folder: Path, expression: str) -> str:
    """Run one expression; Terraform prints the last of several only."""
    environ = {**os.environ, "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1"}
    environ.pop("TF_CLI_CONFIG_FILE", None)
    environ["HOME"] = str(folder)  # whose configuration file is not there
    done = subprocess.run(
        ["terraform", "console"],
        cwd=folder,
        env=environ,
        input=f"{expression}\n".encode(),
        capture_output=True,
        check=True,
    )
    return done.stdout.decode()


def main() -> None:
    """Record all."""
    cases = (FIXTURES / "console.txt").read_text(encoding="utf-8").splitlines()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(FIXTURES / "console.tf", folder / "main.tf")
        lines = [
            json.dumps(
                {"expression": each, "printed": terraform_output(folder, each)}, ensure_ascii=False
            )
            for each in cases
        ]
    (FIXTURES / "console.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
