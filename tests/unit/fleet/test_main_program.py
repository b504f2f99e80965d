"""`python -m kplan.fleet` and the main program of spark-submit."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kplan.fleet.__main__ import fleet_arguments

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (("inventory", "-json"), ["fleet", "inventory", "-json"]),
        (("-chdir=x", "-no-color", "plan"), ["-chdir=x", "-no-color", "fleet", "plan"]),
        ((), ["fleet"]),
        (("-help",), ["fleet", "-help"]),
    ],
)
def test_arguments_are_those_of_kplan_fleet(given: tuple[str, ...], meant: list[str]) -> None:
    assert fleet_arguments(given) == meant


def test_a_wheel_in_the_path_is_enough_and_its_copy_is_removed(tmp_path: Path) -> None:
    """As `spark-submit --py-files` has it: help pages and templates are files."""
    wheel, scratch = tmp_path / "kplan.whl", tmp_path / "scratch"
    scratch.mkdir()
    with zipfile.ZipFile(wheel, "w") as packed:
        for each in (ROOT / "kplan").rglob("*"):
            if each.suffix in {".py", ".md", ".json", ".j2", ".html"}:
                packed.write(each, each.relative_to(ROOT))
    script = (
        "import sys; sys.argv[1:] = ['inventory', '-help']; from kplan.fleet.__main__ import main\n"
        "main(); import kplan.cli.app; print(kplan.cli.app.__file__)"
    )
    ran = subprocess.run(
        [sys.executable, "-P", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(wheel), "TMPDIR": str(scratch)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.startswith("Usage: kplan fleet inventory")
    assert str(scratch) in ran.stdout.splitlines()[-1]
    assert not list(scratch.iterdir())


def test_a_failure_is_the_exit_code_of_the_program(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "kplan.fleet", "inventory"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "fleet.hcl" in ran.stderr
