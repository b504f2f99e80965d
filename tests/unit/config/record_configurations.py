"""Records what Terraform makes of whole configurations, so that the tests need no Terraform.

    python tests/unit/config/record_configurations.py

applies every folder of `fixtures/configurations` and writes `terraform.json` beside its files:
the outputs as `terraform output -json` gives them, or the summaries of the errors.
"""

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from tests.unit.config.record_oracle import FIXTURES, diagnostics, terraform

CONFIGURATIONS = FIXTURES / "configurations"


def record_configuration(source: Path) -> dict[str, Any]:
    """Apply a copy of a folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "root"
        shutil.copytree(source, folder)
        terraform(folder, "init", "-backend=false", "-input=false")
        errors = diagnostics(folder)
        if errors:
            return {"errors": sorted(each["summary"] for each in errors)}
        text = terraform(folder, "output", "-json")
        return {"outputs": json.loads(text, parse_float=lambda number: {"$number": number})}


def main() -> None:
    """Record all."""
    for source in sorted(each for each in CONFIGURATIONS.iterdir() if each.is_dir()):
        found = json.dumps(
            record_configuration(source), indent=2, ensure_ascii=False, sort_keys=True
        )
        (source / "terraform.json").write_text(f"{found}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
