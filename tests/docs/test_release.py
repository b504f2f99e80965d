"""What a release is made of: fragments, versions, the image."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
FRAGMENTS = sorted((ROOT / ".changes").glob("*.md"))


@pytest.mark.parametrize("file", FRAGMENTS, ids=lambda each: each.stem)
def test_a_fragment_is_one_entry_of_the_changelog(file: Path) -> None:
    first, *more = file.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    assert first.startswith("- ")
    assert all(each.startswith("  ") or not each for each in more)
    assert re.fullmatch(r"[0-9]{4}-[a-z0-9-]+", file.stem)


def test_the_changelog_is_built_of_all_fragments() -> None:
    """It also has what was released before, once a version was."""
    done = subprocess.run(
        [BIN / "scriv", "print"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    entries = re.findall(r"^- ", done.stdout, re.MULTILINE)
    assert len(entries) >= len(FRAGMENTS)


def test_the_image_is_built_as_its_linter_asks() -> None:
    done = subprocess.run(
        [BIN / "hadolint", ROOT / ".ci" / "Containerfile"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    text = (ROOT / ".ci" / "Containerfile").read_text()
    assert re.search(r"^USER (?!0|root)", text, re.MULTILINE), "it does not run as root"


def test_every_python_that_is_named_is_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = re.findall(r"Python :: (3\.[0-9]+)", "\n".join(project["classifiers"]))
    assert project["requires-python"] == f">={named[0]}"
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert all(each in workflow for each in named)
    assert all(f'"{each}"' in (ROOT / ".ci" / "release").read_text() for each in named)
