"""What a release is made of: fragments, versions, the image."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from kplan.model.version import VERSION

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
FRAGMENTS = sorted((ROOT / ".changes").glob("*.md"))


@pytest.mark.parametrize("file", FRAGMENTS, ids=lambda each: each.stem)
def test_a_fragment_is_one_entry_of_the_changelog(file: Path) -> None:
    first, *more = file.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    assert first.startswith("- ")
    assert all(each.startswith("  ") or not each for each in more)
    assert re.fullmatch(r"[0-9]{4}-[a-z0-9-]+", file.stem)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a copy of what the changelog is made from."""
    shutil.copytree(ROOT / ".changes", tmp_path / ".changes")
    for name in ("pyproject.toml", "CHANGELOG.md", "kplan/model/version.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def write_changelog(project: Path, *options: str) -> str:
    subprocess.run(
        [sys.executable, ROOT / ".ci" / "changelog", "--folder", project, *options], check=True
    )
    return (project / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_changelog_has_every_fragment_once_however_often_it_is_written(project: Path) -> None:
    text = write_changelog(project)
    assert write_changelog(project) == text
    assert all(text.count(each.read_text("utf-8").strip()) == 1 for each in FRAGMENTS)
    assert f"\n## {VERSION} - unreleased\n" in text
    assert len(list((project / ".changes").glob("*.md"))) == len(FRAGMENTS)


def test_a_release_dates_its_entry_and_the_next_version_starts_a_new_one(project: Path) -> None:
    released = write_changelog(project, "--release")
    assert re.search(
        rf"^## {re.escape(VERSION)} - [0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}$", released, re.MULTILINE
    )
    assert "unreleased" not in released
    assert not list((project / ".changes").glob("*.md"))
    (project / ".changes" / "9999-next.md").write_text("- Next.\n")
    file = project / "kplan" / "model" / "version.py"
    file.write_text(file.read_text().replace(VERSION, "99.0.0"))
    text = write_changelog(project)
    assert write_changelog(project) == text
    anchor = f"<a id='changelog-{VERSION}'></a>"
    head, _, rest = text.partition(anchor)
    assert head.endswith("## 99.0.0 - unreleased\n\n- Next.\n\n")
    assert rest == released.partition(anchor)[2]


def test_the_top_level_has_what_the_design_lists_and_the_changelog_of_this_version() -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    top = {each.partition("/")[0] for each in listed if each and not each.startswith(".")}
    assert top == {
        "pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE",
        "kplan", "modules", "examples", "tests", "state",
    }  # fmt: skip
    assert f"\n## {VERSION} - " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


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
