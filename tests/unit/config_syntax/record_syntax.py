"""Records which texts Terraform takes for HCL, so that the tests need no Terraform.

    python tests/unit/config/record_syntax.py

formats every text of `fixtures/syntax.jsonl` and writes down anew whether that was refused.
"""

import json
import os
import subprocess
from pathlib import Path

SYNTAX = Path(__file__).parent / "fixtures" / "syntax.jsonl"


def is_accepted(text: str) -> bool:
    """Format one text."""
    environ = {**os.environ, "CHECKPOINT_DISABLE": "1"}
    environ.pop("TF_CLI_CONFIG_FILE", None)
    done = subprocess.run(
        ["terraform", "fmt", "-"],
        env=environ,
        input=text.encode(),
        capture_output=True,
        check=False,
    )
    return done.returncode == 0


def main() -> None:
    """Record all."""
    texts = [json.loads(line)["text"] for line in SYNTAX.read_text(encoding="utf-8").splitlines()]
    lines = [json.dumps({"text": each, "is_accepted": is_accepted(each)}) for each in texts]
    SYNTAX.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
