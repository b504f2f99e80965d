"""The manual as a site: `poe site` builds it from the pages of `kplan help`."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from kplan.cli.app import VERBS
from kplan.cli.manual.topics import SECTIONS, help_topics
from kplan.model.codes import SUMMARIES

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    tasks = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["poe"]["tasks"]
    program, *args = shlex.split(tasks["site"]["cmd"])
    built = subprocess.run(
        [Path(sys.executable).with_name(program), *args, "-d", folder],
        cwd=ROOT,
        env={**os.environ, **tasks["site"]["env"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    return folder


def page(site: Path, name: str) -> str:
    return (site / name / "index.html").read_text(encoding="utf-8")


def test_every_topic_and_command_has_a_page_in_the_navigation(site: Path) -> None:
    front = (site / "index.html").read_text(encoding="utf-8")
    for name in help_topics():
        assert f'href="{name}/"' in front, name
    for name in VERBS:
        assert f"kplan {name}" in page(site, f"commands/{name.replace(' ', '-')}")
    for title in SECTIONS:
        assert title in front


def test_every_code_has_the_address_that_reports_link_to(site: Path) -> None:
    found = set(re.findall(r'<h2 id="(kp\d+)"', page(site, "codes")))
    assert {code.lower() for code in SUMMARIES} <= found


def test_notes_for_tests_are_not_on_the_site(site: Path) -> None:
    for name in help_topics():
        assert "not run:" not in page(site, name), name


def test_columns_become_tables_and_named_topics_links(site: Path) -> None:
    assert re.search(
        r"<td><code>-chdir=DIR</code></td>\s*<td>work in another folder", page(site, "migrating")
    )
    assert '<a href="../incidents/">Incidents</a>' in page(site, "states")


def test_the_api_page_has_signatures(site: Path) -> None:
    functions = page(site, "api/kplan")
    for name in ("api.plan.plan", "api.apply.apply", "load", "drift", "Plan.has_changes"):
        assert f'id="kplan.{name}"' in functions, name
    assert "ClusterState" in page(site, "api/kplan.policy.facts")


def test_the_site_asks_no_other_server(site: Path) -> None:
    front = (site / "index.html").read_text(encoding="utf-8")
    loaded = re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(https?://[^"]+)"', front)
    assert loaded == []
