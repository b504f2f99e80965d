"""Records what Terraform says first of erroneous configurations, so that tests need no Terraform.

    python -m tests.unit.config.record_errors

runs `terraform validate` and, if that finds nothing, `terraform plan` on every case of
`fixtures/errors.txt`, and writes `fixtures/errors.json`: summary, line and column of the first
error in `main.tf`. What is below "accepted" is kept.
"""

import json
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.unit.config.record_oracle import FIXTURES, terraform

CASES = FIXTURES / "errors.txt"
RECORD = FIXTURES / "errors.json"
MODULES = {
    "child/main.tf": 'output "name" { value = "x" }\n',
    "needs/main.tf": 'variable "wanted" {\n  type     = string\n  nullable = false\n}\n',
}


def cases() -> dict[str, str]:
    """Read the text of each case by its name."""
    parts = CASES.read_text(encoding="utf-8").split("### ")[1:]
    return {name: text for name, _, text in (each.partition("\n") for each in parts)}


def case_files(text: str) -> dict[str, str]:
    """Return the files of a case: its own, and the modules that it may call."""
    called = {path: module for path, module in MODULES.items() if f"./{path[:5]}" in text}
    return {"main.tf": text, **called}


def first_error(text: str) -> dict[str, Any] | None:
    """Return the first error that Terraform has of a configuration."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, file in case_files(text).items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(file, encoding="utf-8")
        terraform(folder, "init", "-backend=false", "-input=false")
        found = json.loads(terraform(folder, "validate", "-json"))["diagnostics"]
        if not any(each["severity"] == "error" for each in found):
            lines = terraform(folder, "plan", "-json", "-input=false").splitlines()
            events = [json.loads(line) for line in lines if line.startswith("{")]
            found = [each["diagnostic"] for each in events if each["type"] == "diagnostic"]
    errors = [each for each in found if each["severity"] == "error"]
    return min((_place(each) for each in errors), key=_order) if errors else None


def _place(found: dict[str, Any]) -> dict[str, Any]:
    start = found.get("range", {}).get("start", {})
    return {
        "summary": found["summary"],
        "line": start.get("line", 0),
        "column": start.get("column", 0),
    }


def _order(found: dict[str, Any]) -> tuple[int, int]:
    return found["line"], found["column"]


def main() -> None:
    """Record all."""
    texts = cases()
    with ThreadPoolExecutor(2) as pool:
        found = dict(zip(texts, pool.map(first_error, texts.values()), strict=True))
    if silent := [name for name, each in found.items() if each is None]:
        raise SystemExit(f"Terraform accepts: {', '.join(silent)}")
    old = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    record = {"accepted": old.get("accepted", {}), "errors": found}
    text = json.dumps(record, indent=2, ensure_ascii=False)
    RECORD.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
