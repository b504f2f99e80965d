"""The tutorial, typed into a shell by somebody who has nothing but kplan."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from kplan.cli.manual.topics import help_page
from kplan.sandbox.artifact import cache_folder
from tests.e2e.commands import environ

pytestmark = pytest.mark.broker
BLOCKS = re.findall(r"^```(hcl|sh)\n(.*?)^```", help_page("tutorial"), re.MULTILINE | re.DOTALL)


def test_the_tutorial_works_in_an_empty_folder_on_a_sandbox_of_its_own(tmp_path: Path) -> None:
    """Issue 9: a run of the tutorial's steps. Every block is typed in the order it stands."""
    cache, project = tmp_path / "cache", tmp_path / "project"
    cache.mkdir()
    project.mkdir()
    for kafka in cache_folder().glob("kafka-*"):  # fetched for the other tests
        (cache / kafka.name).symlink_to(kafka)
    lines = [
        f'kplan() {{ {sys.executable} -m kplan.cli.main "$@"; }}',
        "trap 'kplan sandbox stop' EXIT",
    ]
    for number, (language, text) in enumerate(BLOCKS):
        block = tmp_path / f"{number}.hcl"
        block.write_text(text)
        lines.append(f"cp {block} main.tf" if language == "hcl" else text)
    done = subprocess.run(
        ["bash", "-eu", "-c", "\n".join(lines)], cwd=project, check=False, timeout=300,
        capture_output=True, text=True, env=environ({"KPLAN_CACHE": str(cache)}),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Apply complete! Resources: 1 added, 1 changed, 0 destroyed." in done.stdout
    assert "No drift." in done.stdout
    assert not (project / "state" / "kplan.lock.json").exists()
