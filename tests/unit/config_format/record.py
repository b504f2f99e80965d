"""Record what `terraform fmt` makes of the samples.

    python tests/unit/config_format/record.py

Each `samples/NAME.tf` is formatted into `formatted/NAME.tf`. Needs the terraform binary; the tests
read only what is stored.
"""

import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    """Format a copy of all samples."""
    target = HERE / "formatted"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(HERE / "samples", target)
    environment = os.environ | {"CHECKPOINT_DISABLE": "1", "TF_CLI_CONFIG_FILE": os.devnull}
    subprocess.run(["terraform", "fmt", "-list=false", target], env=environment, check=True)


if __name__ == "__main__":
    main()
