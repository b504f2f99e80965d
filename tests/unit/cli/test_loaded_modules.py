"""What a command loads is what it takes time for, which itself depends on the machine."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

QUICKSTART = Path(__file__).parents[3] / "examples" / "quickstart"
SLOW = {"confluent_kafka", "deepdiff", "hcl2", "jinja2", "kafka", "pydantic", "pyspark", "rich"}
ROOMS = {"kplan.config", "kplan.kafka", "kplan.kinds", "kplan.plan", "kplan.workflow"}


def loaded(*words: str) -> set[str]:
    """Run a command in a process of its own, and give every module that it loaded."""
    code = (
        "import os, sys\n"
        "from kplan.cli.main import main\n"
        "try:\n    main()\nfinally:\n    print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    environ = {name: value for name, value in os.environ.items() if name != "CI"}
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        check=False, capture_output=True, text=True, env=environ, cwd=QUICKSTART,
    )  # fmt: skip
    assert "Error" not in done.stdout
    return set(done.stderr.splitlines())


@pytest.mark.parametrize("words", [("-help",), ("plan", "-help"), ("state", "-help"), ("help",)])
def test_help_loads_nothing_of_what_a_run_needs(words: tuple[str, ...]) -> None:
    assert not loaded(*words) & (SLOW | ROOMS)


def test_the_version_needs_no_typer() -> None:
    assert "typer" not in loaded("-version")


def test_a_small_run_loads_no_library_but_typer() -> None:
    """Pydantic came through typer, and all formats of reports through one that no option named."""
    found = loaded("validate")
    assert "kplan.config.load" in found
    assert not found & (SLOW - {"hcl2"})  # the parser
    assert not {each for each in found if each.startswith("kplan.report.formats")}


def test_what_is_shown_as_text_loads_no_templates() -> None:
    assert "jinja2" not in loaded("state", "list")


def test_a_value_that_typer_must_convert_is_converted() -> None:
    assert "pydantic" in loaded("apply", "-parallelism=x")
