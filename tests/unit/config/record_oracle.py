"""Records what Terraform makes of expressions, so that the tests need no Terraform.

    python tests/unit/config/record_oracle.py

runs the expressions of `fixtures/expressions.txt`, separated by lines of `---`, with what
`fixtures/preamble.tf` declares in sight, and writes `fixtures/expressions.jsonl`: type and value as
`terraform output -json` writes them (fractions as `{"$number": "0.1"}`, to keep every digit), or
the summaries of the errors.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).parent / "fixtures"


def expressions() -> list[str]:
    """Read the expressions."""
    return (FIXTURES / "expressions.txt").read_text(encoding="utf-8").strip("\n").split("\n---\n")


def terraform(folder: Path, *arguments: str) -> str:
    """Run Terraform in a folder, without its own configuration and network checks."""
    environ = {**os.environ, "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1"}
    environ.pop("TF_CLI_CONFIG_FILE", None)
    done = subprocess.run(
        ["terraform", *arguments], cwd=folder, env=environ, capture_output=True, check=False
    )
    return done.stdout.decode()


def diagnostics(folder: Path) -> list[dict[str, Any]]:
    """Apply, and gather the errors."""
    text = terraform(folder, "apply", "-auto-approve", "-json", "-input=false")
    events = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    found = [each["diagnostic"] for each in events if each.get("type") == "diagnostic"]
    return [each for each in found if each["severity"] == "error"]


def output(number: int, expression: str) -> str:
    """Write one expression as an output; secrets may be shown here."""
    return f'output "o{number}" {{\n  sensitive = true\n  value = {expression}\n}}\n'


def record_results(folder: Path, numbered: dict[int, str]) -> dict[int, dict[str, Any]]:
    """Run expressions together; those with errors are taken out until the rest has values."""
    results: dict[int, dict[str, Any]] = {}
    pending = dict(numbered)
    while True:
        for old in folder.glob("o*.tf"):
            old.unlink()
        for number, expression in pending.items():
            (folder / f"o{number}.tf").write_text(output(number, expression), encoding="utf-8")
        errors = diagnostics(folder)
        if not errors:
            break
        placed = [each for each in errors if each.get("range", {}).get("filename", "")[:1] == "o"]
        if not placed:
            sys.exit(json.dumps(errors))
        for each in placed:
            number = int(each["range"]["filename"][1:-3])
            pending.pop(number, None)
            results.setdefault(number, {"errors": []})["errors"].append(each["summary"])
    text = terraform(folder, "output", "-json")
    values = json.loads(text, parse_float=lambda number: {"$number": number})
    for number in pending:
        # an output whose value is null is left out
        found = values.get(f"o{number}", {"type": "dynamic", "value": None})
        results[number] = {"type": found["type"], "value": found["value"]}
    return results


def main() -> None:
    """Record all."""
    cases = expressions()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        preamble = (FIXTURES / "preamble.tf").read_text(encoding="utf-8")
        (folder / "preamble.tf").write_text(preamble, encoding="utf-8")
        results = record_results(folder, dict(enumerate(cases)))
    with (FIXTURES / "expressions.jsonl").open("w", encoding="utf-8") as file:
        for number, expression in enumerate(cases):
            line = {"expression": expression, **results[number]}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
